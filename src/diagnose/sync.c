/* Does the host synchronize inside the loop? A wait for a data copy counts for the copy
 * (transfers.c). What remains are explicit synchronizations and reads of a value: a few bytes
 * copied to the host, then a wait. */
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

void diagnose_sync(struct diagnosis *diagnosis) {
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
