/* Does the host synchronize inside the loop? A wait for a data copy counts for the copy
 * (transfers.c). What remains are explicit synchronizations and reads of a value: a few bytes
 * copied to the host, then a wait. */
#include "base/min_max.h"
#include "diagnose/diagnosis.h"
#include "diagnose/remedies.h"

/* The range with the most time in synchronizing calls of that name. */
static struct text sync_site(const struct diagnosis *diagnosis, uint32_t call) {
    const struct syncs *syncs = diagnosis->source->syncs;
    uint32_t name = diagnosis->trace->call.name[call];
    for (size_t i = 0; i < syncs->site_count; i++)
        if (syncs->sites[i].call == name && syncs->sites[i].range_text.length)
            return syncs->sites[i].range_text;
    return (struct text){0};
}

static void add_evidence(struct diagnosis *diagnosis, struct finding *finding,
                         const struct sync_facts *syncs, const char *what) {
    const struct trace *trace = diagnosis->trace;
    char count[FORMAT_PLURAL_SIZE], time[FORMAT_SIZE];
    if (syncs->count == 0)
        return;
    struct text name = trace_text(trace, trace->call.name[syncs->call]);
    struct text site = sync_site(diagnosis, syncs->call);
    finding_evidence(
        diagnosis, finding,
        (struct evidence){.kind = EVIDENCE_CALL,
                          .name = trace->call.name[syncs->call],
                          .start = trace->call.start[syncs->call],
                          .end = model_call_end(diagnosis->source->model, syncs->call)},
        "%.*s%s: %s%s%s%s%.*s", TEXT_ARGS(name), what,
        format_plural(syncs->count, "time", "times", count), syncs->time ? ", " : "",
        syncs->time ? format_duration(syncs->time, time) : "", site.length ? ", in " : "",
        TEXT_ARGS(site));
}

/* In a run without steps: the fraction of synchronizations that the loop makes. */
static double steady_sync_fraction(const struct facts *facts) {
    int64_t counts[QUARTERS], all = 0;
    for (unsigned quarter = 0; quarter < QUARTERS; quarter++) {
        counts[quarter] = (int64_t)facts->quarter_calls[CALL_SYNC][quarter];
        all += counts[quarter];
    }
    return all ? steady_fraction(counts, 1, all) : 1; /* blocking copies alone */
}

/* ---- waits without a call ---- */

static int64_t launching_state(const struct diagnosis *diagnosis, unsigned state) {
    int64_t time = 0;
    for (size_t i = 0; i < diagnosis->source->device_count; i++)
        time += diagnosis->source->devices[i].gaps->host_state[state].time;
    return time;
}

/* JAX waits for a value without a call of the API: its own threads wake the one that reads. The
 * copy of the value shows it, if the launching thread is blocked for most of the idle time. Without
 * the wait, what that thread runs overlaps with the kernels. */
void diagnose_reads(struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    const struct copy_facts *values = &facts->directed[COPIES_SCALAR][COPY_DTOH];
    size_t steps = diagnosis->source->step_count;
    int64_t blocked = launching_state(diagnosis, STATE_BLOCKED);
    int64_t running = launching_state(diagnosis, STATE_RUNNING) + facts->cause[CAUSE_LAUNCH];
    int64_t left = MAX(running, facts->window - facts->idle);
    uint64_t seen = facts->syncs[SYNC_PLAIN].count + facts->syncs[SYNC_SCALAR].count;
    char number[FORMAT_SIZE], time[FORMAT_SIZE], change[FROM_TO_SIZE];
    if (facts->framework != FRAMEWORK_JAX || steps == 0 || 3 * values->count < steps ||
        3 * seen >= steps || per_step(diagnosis, blocked) == 0 ||
        2 * blocked < facts->cause[CAUSE_HOST] || left >= facts->window)
        return;
    struct finding *finding = diagnose_add(diagnosis, FINDING_SYNC_IN_LOOP, CONFIDENCE_HIGH);
    finding_estimate(diagnosis, finding, facts->window - left);
    finding->error = finding->recoverable / 5;
    finding_summary(diagnosis, finding,
                    "The program reads %s values from the device in the loop; the launching thread "
                    "is blocked for %s %s while the device is idle",
                    format_count(values->count, number),
                    format_duration(per_step(diagnosis, blocked), time), per_step_text(diagnosis));
    finding_gain(diagnosis, finding, "without the waits, about %s",
                 from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding,
                  "JAX waits for each value without a call of the GPU API, then the device waits "
                  "for the next launch.");
    diagnose_set_text(diagnosis, &finding->assumes, "%s",
                      "what the launching thread runs overlaps with kernels");
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL, "%s",
                remedy_text(facts->framework, REMEDY_NO_SYNC));
}

/* ---- launches that wait ---- */

/* Kernels too long to end while their launch call still returns. */
struct blocking {
    uint64_t launches, waits;
    int64_t time;  /* in launch calls, from the start of the kernel on */
    uint32_t call; /* the last */
};

static bool launches_kernel(struct text call) {
    return text_find(call, "LaunchKernel") >= 0 &&
           (text_starts(call, "cu") || text_starts(call, "hip"));
}

static void find_blocking(const struct diagnosis *diagnosis, struct blocking *blocking) {
    enum { LONG_KERNEL_NS = 20000 };
    const struct model *model = diagnosis->source->model;
    const struct trace *trace = diagnosis->trace;
    const struct diagnose_device *device = &diagnosis->source->devices[0];
    for (size_t i = model->device_first[device->id]; i < model->device_first[device->id + 1]; i++) {
        uint32_t call = model->launch[i];
        int64_t start = trace->activity.start[i];
        if (trace->activity.kind[i] != ACTIVITY_KERNEL || call == NO_ROW ||
            trace->activity.duration[i] < LONG_KERNEL_NS ||
            !selection_contains(device->selection, start) ||
            !launches_kernel(trace_text(trace, trace->call.name[call])))
            continue;
        blocking->launches++;
        if (model_call_end(model, call) < model_activity_end(model, i))
            continue;
        blocking->waits++;
        blocking->time += model_call_end(model, call) - start;
        blocking->call = call;
    }
}

/* With CUDA_LAUNCH_BLOCKING every launch call returns after its kernel. */
static void find_blocking_launches(struct diagnosis *diagnosis) {
    enum { LAUNCHES_MIN = 16 };
    const struct facts *facts = &diagnosis->facts;
    struct blocking blocking = {0};
    char count[FORMAT_SIZE], all[FORMAT_SIZE], change[FROM_TO_SIZE];
    if (diagnosis->source->device_count == 0)
        return;
    find_blocking(diagnosis, &blocking);
    if (blocking.launches < LAUNCHES_MIN || 10 * blocking.waits < 9 * blocking.launches)
        return;
    int64_t left = MAX(facts->window - blocking.time, facts->window - facts->idle);
    struct finding *finding = diagnose_add(diagnosis, FINDING_SYNC_IN_LOOP, CONFIDENCE_HIGH);
    finding_estimate(diagnosis, finding, facts->window > left ? facts->window - left : 0);
    finding->error = finding->recoverable / 5;
    finding_summary(diagnosis, finding,
                    "%s of %s launch calls of long kernels return only when their kernel has ended",
                    format_count(blocking.waits, count), format_count(blocking.launches, all));
    finding_gain(diagnosis, finding, "without the waits, about %s",
                 from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding,
                  "Launches are synchronous, as with CUDA_LAUNCH_BLOCKING=1: the device is idle "
                  "while the host prepares the next launch.");
    diagnose_set_text(diagnosis, &finding->assumes, "%s", "host code overlaps with kernels");
    finding_evidence(
        diagnosis, finding,
        (struct evidence){.kind = EVIDENCE_CALL,
                          .name = diagnosis->trace->call.name[blocking.call],
                          .start = diagnosis->trace->call.start[blocking.call],
                          .end = model_call_end(diagnosis->source->model, blocking.call)},
        "One of these calls");
    finding_fix(diagnosis, finding, EFFORT_SETTING, NULL,
                "Unset CUDA_LAUNCH_BLOCKING (ROCm: HIP_LAUNCH_BLOCKING, AMD_SERIALIZE_KERNEL), "
                "which is for debugging");
}

void diagnose_sync(struct diagnosis *diagnosis) {
    find_blocking_launches(diagnosis);
    const struct facts *facts = &diagnosis->facts;
    const struct sync_facts *plain = &facts->syncs[SYNC_PLAIN];
    const struct sync_facts *scalar = &facts->syncs[SYNC_SCALAR];
    const struct sync_facts *copies = &facts->syncs[SYNC_COPY];
    size_t steps = diagnosis->source->step_count;
    uint64_t count = plain->count + scalar->count;
    char number[FORMAT_SIZE], time[FORMAT_SIZE], change[FROM_TO_SIZE];
    if (count < 3 || (steps && 3 * count < steps))
        return; /* rare synchronizations are harmless */
    const struct prediction *without = predict_alone(diagnosis, CHANGE_NO_SYNC);
    struct finding *finding =
        diagnose_add(diagnosis, FINDING_SYNC_IN_LOOP, steps ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
    finding_change(finding, CHANGE_NO_SYNC, (struct text){0}, 0);
    if (without->applicable) {
        finding_take(diagnosis, finding, without);
    } else {
        finding_estimate(diagnosis, finding, facts->cause[CAUSE_SYNC]);
        finding->confidence = CONFIDENCE_MEDIUM;
        finding->change_count = 0;
    }
    int64_t own = plain->time + scalar->time;
    if (steps == 0) /* start-up synchronizes too: scale by count, as its waits are short */
        finding->recoverable =
            (int64_t)((double)finding->recoverable * steady_sync_fraction(facts));
    if (copies->time > own / 8) /* the replay removes the waits for copies too */
        finding->recoverable =
            (int64_t)((double)finding->recoverable * share_of(own, own + copies->time));
    const struct sync_facts *main_syncs = scalar->time > plain->time ? scalar : plain;
    struct text name = trace_text(diagnosis->trace, diagnosis->trace->call.name[main_syncs->call]);
    struct text site = sync_site(diagnosis, main_syncs->call);
    finding_summary(diagnosis, finding, "%s synchronizations in the loop (%.*s%s%.*s%s)%s%s",
                    format_count(count, number), TEXT_ARGS(name), site.length ? " in " : "",
                    TEXT_ARGS(site), scalar->count > plain->count ? ", to read a value" : "",
                    own ? " block the host for " : "", own ? format_duration(own, time) : "");
    finding_gain(diagnosis, finding, "without synchronization, %s",
                 from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding, "%s",
                  scalar->count > plain->count
                      ? framework_is_plain(facts->framework)
                            ? "The program reads values from the device in the loop. The host "
                              "waits for the value, then the device waits for the next launch."
                            : "The program reads values from the device in the loop (.item(), "
                              "nonzero(), if on a tensor). The host waits for the value, then the "
                              "device waits for the next launch."
                      : "The host waits until the device has finished. Then the device is idle "
                        "until the next launch arrives.");
    add_evidence(diagnosis, finding, plain, "");
    add_evidence(diagnosis, finding, scalar, " after copying a few bytes to the host");
    finding_fix(diagnosis, finding, EFFORT_LINES, "--no-sync", "%s",
                remedy_text(facts->framework, REMEDY_NO_SYNC));
    finding_fix(diagnosis, finding, EFFORT_DESIGN, NULL,
                framework_is_plain(facts->framework)
                    ? "Branch on the device instead"
                    : "Branch on the device instead (masks, conditional graph nodes)");
}
