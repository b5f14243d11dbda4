/* Runs cases in rounds over all cases of a device rather than repeating each case: a
 * disturbance of minutes then affects all of them alike, and every round allocates new memory.
 *
 * A case's output is checked before it is timed. Its traced calls come last, since recording slows
 * them down. */
#include "bench/run.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/format.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/temporary.h"
#include "bench/results/compare.h"
#include "bench/roofs/roof_cache.h"
#include "device/device.h"
#include "machine/health.h"
#include "tensor/tensor.h"

enum { PIECE = 1 << 20 }; /* bytes of a file copied at a time */
#define MEMORY_SHARE 0.9  /* of a device's, that a case may need */

/* A device and its context while experiments run on it. */
struct run_stage {
    struct stage stage;
    const struct run_options *options;
    struct peer *peer; /* or NULL */
    struct health_watch *health;
};

struct planned {
    const struct experiment *experiment;
    struct bench_case work;
    size_t result; /* its place in the set */
};

struct plan {
    struct planned *cases;
    size_t count, capacity;
};

static void report_progress(const struct run_options *options, unsigned number, unsigned total,
                            const char *what) {
    if (options->progress)
        options->progress(options->context, number, total, what);
}

static void report_roof_progress(void *context, const char *what) {
    report_progress(context, 0, 0, what);
}

/* ---- Planning --------------------------------------------------------------------------- */

static void result_of_case(const struct planned *planned, const char *device,
                           struct result *result) {
    const struct bench_case *work = &planned->work;
    *result = (struct result){.dtype = work->dtype,
                              .size = work->size,
                              .batch = work->batch,
                              .compare = work->compare,
                              .curve = work->curve};
    memcpy(result->numbers, work->numbers, sizeof result->numbers);
    snprintf(result->experiment, sizeof result->experiment, "%s", planned->experiment->name);
    snprintf(result->device, sizeof result->device, "%s", device);
    snprintf(result->label, sizeof result->label, "%s", work->label);
    snprintf(result->variant, sizeof result->variant, "%s", work->variant);
}

/* Sizes given by the user must fit; default sizes may be skipped. */
static bool fits(const struct run_stage *run, const struct bench_case *work, struct result *result,
                 struct status *status) {
    uint64_t memory = run->stage.info.memory_bytes;
    char needed[FORMAT_SIZE], there[FORMAT_SIZE];
    if (memory == 0 || (double)work->memory_bytes <= MEMORY_SHARE * (double)memory)
        return true;
    format_bytes(work->memory_bytes, needed);
    format_bytes(memory, there);
    if (run->options->bench.size_count > 0 || run->options->bench.batch_count > 0)
        return status_fail(status, STATUS_USAGE, "%s needs %s, and %s has %s: use a smaller size",
                           work->label, needed, run->stage.info.name, there);
    snprintf(result->problem, sizeof result->problem, "skipped: it needs %s, and the device has %s",
             needed, there);
    return true;
}

static bool plan_case(struct run_stage *run, const struct experiment *experiment,
                      const struct bench_case *work, struct plan *plan, struct result_set *set,
                      struct status *status) {
    struct planned planned = {.experiment = experiment, .work = *work, .result = set->count};
    struct result result;
    result_of_case(&planned, run->stage.info.name, &result);
    if (run->options->only && !result_find(run->options->only, &result))
        return true;
    const struct result *done =
        run->options->done ? result_find(run->options->done, &result) : NULL;
    if (done) {
        result = *done;
        result.spans = NULL;
        result.span_count = 0;
    } else if (!fits(run, work, &result, status)) {
        return false;
    }
    if (!result_add(set, &result, status) ||
        !GROW(plan->cases, &plan->capacity, plan->count + 1, status))
        return false;
    plan->cases[plan->count++] = planned;
    return true;
}

static bool plan_experiment(struct run_stage *run, const struct experiment *experiment,
                            struct plan *plan, struct result_set *set, struct status *status) {
    struct case_list list = {0};
    bool ok = experiment->plan(experiment, &run->stage, &list, status);
    for (size_t i = 0; ok && i < list.count; i++)
        ok = plan_case(run, experiment, &list.cases[i], plan, set, status);
    memory_free(list.cases);
    return ok || status_context(status, "%s", experiment->name);
}

/* ---- Traced calls ------------------------------------------------------------------------ */

enum { CALLS_MAX = 10, TIMELINE_CALLS = 3, SPANS_MAX = 1 << 16 };
#define TRACED_NS 100e6 /* worth of calls */

struct collected {
    struct span *spans;
    size_t count, capacity;
    size_t kernels;
    struct status status;
};

static void collect_activity(void *context, const struct row_activity *row) {
    struct collected *collected = context;
    collected->kernels += row->kind == ACTIVITY_KERNEL;
    if (collected->count == SPANS_MAX ||
        !GROW(collected->spans, &collected->capacity, collected->count + 1, &collected->status))
        return;
    collected->spans[collected->count++] = (struct span){
        .start = row->start,
        .end = row->start + row->duration,
        .copy = row->kind != ACTIVITY_KERNEL,
    };
}

/* Of spans in the order of their starts. */
static int64_t union_length(const struct span *spans, size_t count) {
    int64_t length = 0, reached = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        int64_t start = spans[i].start > reached ? spans[i].start : reached;
        if (spans[i].end > start)
            length += spans[i].end - start;
        if (spans[i].end > reached)
            reached = spans[i].end;
    }
    return length;
}

static unsigned traced_calls(const struct bench_case *work, const struct result *result) {
    if (work->timeline)
        return TIMELINE_CALLS;
    double calls = TRACED_NS / (result->time.time.median + 1);
    return calls < 1 ? 1 : calls > CALLS_MAX ? CALLS_MAX : (unsigned)calls;
}

static bool do_calls(struct run_stage *run, const struct bench_case *work, void *state,
                     unsigned calls, struct status *status) {
    ridge_device *device = run->stage.device;
    char name[sizeof work->label + sizeof work->variant + 2];
    snprintf(name, sizeof name, "%s%s%s", work->label, *work->variant ? " " : "", work->variant);
    if (!ridge_synchronize(device) || !ridge_trace_resume(device))
        return run_tensor_failed(status);
    ridge_range_begin(device, name);
    bool ok = true;
    for (unsigned i = 0; ok && i < calls; i++)
        ok = work->kind->call(state, i, status);
    if (ok && !ridge_synchronize(device))
        ok = run_tensor_failed(status);
    ridge_range_end(device);
    return ok;
}

static void note_spans(const struct bench_case *work, struct collected *collected, unsigned calls,
                       struct result *result) {
    result->kernels = (double)collected->kernels / calls;
    result->device_ns = collected->count < SPANS_MAX
                            ? (double)union_length(collected->spans, collected->count) / calls
                            : 0;
    if (!work->timeline)
        return;
    int64_t first = collected->count > 0 ? collected->spans[0].start : 0;
    for (size_t i = 0; i < collected->count; i++) {
        collected->spans[i].start -= first;
        collected->spans[i].end -= first;
    }
    memory_free(result->spans);
    result->spans = collected->spans;
    result->span_count = collected->count;
    collected->spans = NULL;
}

/* Runs a few calls under the device's paused trace, and records how long the device was busy with
 * one and how many kernels it ran. */
static bool run_traced(struct run_stage *run, const struct bench_case *work, void *state,
                       struct result *result, struct status *status) {
    ridge_device *device = run->stage.device;
    struct collected collected = {0};
    unsigned calls = traced_calls(work, result);
    struct recorder *recorder = device->paused;
    recorder_set_observer(recorder, collect_activity, &collected);
    bool ok = do_calls(run, work, state, calls, status);
    if (device->recorder) {
        recorder_settle(recorder);
        ridge_trace_pause(device);
    }
    recorder_set_observer(recorder, NULL, NULL);
    if (ok && collected.status.code != STATUS_OK) {
        *status = collected.status;
        ok = false;
    }
    if (ok)
        note_spans(work, &collected, calls, result);
    memory_free(collected.spans);
    return ok;
}

/* ---- A case ------------------------------------------------------------------------------ */

#define NOISY 0.2 /* spread */
#define SETTLE_NS 5000000

struct timed {
    struct run_stage *run;
    const struct case_kind *kind;
    void *state;
    unsigned turn;
};

bool run_tensor_failed(struct status *status) {
    *status = *tensor_status();
    ridge_error_clear();
    if (status->code == STATUS_OK)
        status_fail(status, STATUS_IO, "the device failed without giving a reason");
    return false;
}

static bool is_stopped(const struct run_options *options, struct status *status) {
    if (options->stop && *options->stop)
        return !status_fail(status, STATUS_IO, "stopped");
    return false;
}

static bool timed_batch(void *context, unsigned calls, double *ns, struct status *status) {
    struct timed *timed = context;
    if (is_stopped(timed->run->options, status))
        return false;
    double start = measure_clock();
    for (unsigned i = 0; i < calls; i++)
        if (!timed->kind->call(timed->state, timed->turn++, status))
            return false;
    if (!ridge_synchronize(timed->run->stage.device))
        return run_tensor_failed(status);
    *ns = measure_clock() - start;
    return true;
}

static void add_note(struct result *result, const char *note) {
    size_t used = strlen(result->notes);
    if (*note && !strstr(result->notes, note))
        snprintf(result->notes + used, sizeof result->notes - used, "%s%s", used ? "; " : "", note);
}

/* A failed peer only loses its own figure; one that is gone is not used again. */
static void drop_peer(struct run_stage *run, struct result *result, struct status *status) {
    char note[160];
    snprintf(note, sizeof note, "no peer result: %.120s", status->message);
    add_note(result, note);
    if (status->code != STATUS_UNSUPPORTED) {
        peer_stop(run->peer);
        run->peer = NULL;
    }
    *status = (struct status){0};
}

static bool prepare_peer(struct run_stage *run, const struct bench_case *work,
                         struct result *result) {
    struct peer_work peer = {0};
    struct status status = {0};
    bool has = false;
    if (!run->peer || !work->kind->peer || !work->kind->peer(&run->stage, work, &peer))
        return false;
    if (peer_prepare(run->peer, &peer, &has, &status))
        return has;
    drop_peer(run, result, &status);
    return false;
}

/* Whether a batch of the peer failed: measure() does not report which work failed. */
struct peer_timed {
    struct peer *peer;
    bool failed;
};

static bool peer_timed_batch(void *context, unsigned calls, double *ns, struct status *status) {
    struct peer_timed *timed = context;
    timed->failed = !peer_batch(timed->peer, calls, ns, status);
    /* Its threads go on looking for work for a while, on the processors that ours need next. */
    nanosleep(&(struct timespec){.tv_nsec = SETTLE_NS}, NULL);
    return !timed->failed;
}

static bool is_noisy(const struct measurement *measurement) {
    return !measurement->steady || statistics_spread(&measurement->time) > NOISY;
}

static bool time_case(struct run_stage *run, const struct bench_case *work, void *state,
                      struct result *result, struct status *status) {
    struct timed timed = {.run = run, .kind = work->kind, .state = state};
    struct peer_timed peer = {.peer = run->peer};
    struct measured_work works[2] = {{.context = &timed, .batch = timed_batch},
                                     {.context = &peer, .batch = peer_timed_batch}};
    struct measurement measurements[2];
    struct health before, after;
    char words[160] = "";
    bool has_peer = prepare_peer(run, work, result);
    health_read(run->health, &before);
    bool ok = measure(&run->options->measure, works, has_peer ? 2 : 1, measurements, status);
    if (!ok && peer.failed && !is_stopped(run->options, status)) {
        drop_peer(run, result, status);
        has_peer = false;
        health_read(run->health, &before);
        ok = measure(&run->options->measure, works, 1, measurements, status);
    }
    if (!ok)
        return false;
    health_read(run->health, &after);
    if (health_disturbed(&before, &after, words, sizeof words))
        add_note(result, words);
    if (is_noisy(&measurements[0]))
        add_note(result, "noisy");
    if (has_peer && is_noisy(&measurements[1]))
        add_note(result, "the peer's times are noisy");
    measurement_add(&result->time, &measurements[0]);
    compare_keep_round(result, &measurements[0], has_peer ? NULL : &before, &after);
    if (has_peer)
        measurement_add(&result->peer, &measurements[1]);
    result->has_peer = has_peer;
    return true;
}

static void set_problem(struct result *result, const char *what, const struct status *status) {
    snprintf(result->problem, sizeof result->problem, "%s%.160s", what, status->message);
}

/* Whether the failure is this case's own, to be shown in its line. */
static bool is_its_own(const struct status *status) {
    return status->code == STATUS_UNSUPPORTED || status->code == STATUS_MEMORY ||
           status->code == STATUS_USAGE;
}

static bool check_case(const struct bench_case *work, void *state, struct result *result,
                       struct status *status) {
    if (!work->kind->check)
        return true;
    if (work->kind->check(state, &result->error, status)) {
        result->checked = true;
        return true;
    }
    if (status->code != STATUS_INPUT)
        return false;
    set_problem(result, "wrong result: ", status);
    result->wrong = true;
    *status = (struct status){0};
    return true;
}

static bool first_round(struct run_stage *run, const struct bench_case *work, void *state,
                        struct result *result, struct status *status) {
    if (!check_case(work, state, result, status))
        return false;
    if (result->wrong)
        return true;
    if (!time_case(run, work, state, result, status) ||
        !run_traced(run, work, state, result, status))
        return false;
    result->limit = roofs_limit(&run->stage.roofs, &result->amount);
    return true;
}

static bool later_round(struct run_stage *run, const struct bench_case *work, void *state,
                        struct result *result, struct status *status) {
    return time_case(run, work, state, result, status);
}

/* Adds a round of the case to its result: everything in the first round, later only the times.
 * An unsupported case (a missing type, too little memory) and a wrong output become the result's
 * problem; anything else fails. */
static bool run_case(struct run_stage *run, const struct bench_case *work, struct result *result,
                     struct status *status) {
    void *state = NULL;
    struct amount amount = {0};
    bool first = result->round_count == 0;
    if (*result->problem)
        return true;
    bool ok = work->kind->prepare(&run->stage, work, &state, &amount, status);
    if (ok) {
        if (first)
            result->amount = amount;
        ok = (first ? first_round : later_round)(run, work, state, result, status);
        work->kind->finish(state);
    }
    ridge_pool_clear(run->stage.device);
    if (ok || (run->options->stop && *run->options->stop) || !is_its_own(status))
        return ok || status_context(status, "%s", work->label);
    set_problem(result, "", status);
    *status = (struct status){0};
    return true;
}

/* ---- Rounds ----------------------------------------------------------------------------- */

static bool note_reference(struct result_set *set, struct status *status) {
    if (!GROW(set->reference, &set->reference_capacity, set->reference_count + 1, status))
        return false;
    set->reference[set->reference_count++] = compare_reference_loop();
    return true;
}

/* A case with a problem is not retried, and rounds of an earlier run are not measured again. */
static bool needs_round(const struct result *result, unsigned round) {
    return !*result->problem && result->round_count <= round;
}

static bool run_planned(struct run_stage *run, const struct planned *planned, unsigned number,
                        unsigned total, struct result_set *set, struct status *status) {
    const struct run_options *options = run->options;
    struct result *result = &set->results[planned->result];
    char what[160];
    snprintf(what, sizeof what, "%s on %s: %s %s", planned->experiment->name, run->stage.info.name,
             planned->work.label, planned->work.variant);
    report_progress(options, number, total, what);
    if (!note_reference(set, status) || !run_case(run, &planned->work, result, status))
        return false;
    return !options->kept || options->kept(options->context, set, status);
}

static bool run_rounds(struct run_stage *run, const struct plan *plan, struct result_set *set,
                       struct status *status) {
    unsigned total = (unsigned)plan->count * run->options->rounds, number = 0;
    for (unsigned round = 0; round < run->options->rounds; round++)
        for (size_t i = 0; i < plan->count; i++) {
            number++;
            if (needs_round(&set->results[plan->cases[i].result], round) &&
                !run_planned(run, &plan->cases[i], number, total, set, status))
                return false;
        }
    return true;
}

/* Results of one experiment are adjacent in the set. */
static bool conclude_experiments(struct run_stage *run, const struct plan *plan,
                                 struct result_set *set, struct status *status) {
    for (size_t i = 0, next; i < plan->count; i = next) {
        const struct experiment *experiment = plan->cases[i].experiment;
        for (next = i; next < plan->count && plan->cases[next].experiment == experiment;)
            next++;
        if (experiment->conclude &&
            !experiment->conclude(experiment, &run->stage, &set->results[plan->cases[i].result],
                                  next - i, set, status))
            return status_context(status, "%s", experiment->name);
    }
    return true;
}

static bool run_plan(struct run_stage *run, struct result_set *set, struct status *status) {
    struct plan plan = {0};
    bool ok = true;
    for (unsigned i = 0; ok && run->options->experiments[i]; i++)
        ok = plan_experiment(run, run->options->experiments[i], &plan, set, status);
    ok = ok && run_rounds(run, &plan, set, status) &&
         (run->options->only || conclude_experiments(run, &plan, set, status));
    memory_free(plan.cases);
    return ok;
}

/* ---- A device --------------------------------------------------------------------------- */

static bool append_file(struct output *output, const char *path, struct status *status) {
    struct input input;
    if (!input_open(&input, path, status))
        return false;
    bool ok = true;
    while (ok && !input.at_end) {
        ok = input_more(&input, PIECE, status);
        output_write(output, input.data, input.length);
        input_consume(&input, input.length);
    }
    input_close(&input);
    return ok;
}

/* A trace is active but paused except for the traced calls of each case. */
static bool run_recorded(struct run_stage *run, struct result_set *set, struct status *status) {
    ridge_device *device = run->stage.device;
    char *path;
    int fd;
    if (!temporary_file(&path, &fd, status))
        return false;
    close(fd);
    bool ok =
        (ridge_trace_begin(device, path) && ridge_trace_pause(device)) || run_tensor_failed(status);
    if (ok) {
        roofs_into_trace(device, &run->stage.roofs);
        ok = run_plan(run, set, status);
        bool ended = ridge_trace_end(device);
        if (ok && !ended)
            ok = run_tensor_failed(status);
    }
    if (ok && run->options->trace)
        ok = append_file(run->options->trace, path, status);
    temporary_remove(path);
    return ok;
}

static bool note_roofs(struct result_set *set, const struct roofs *roofs, struct status *status) {
    if (!GROW(set->roofs, &set->roofs_capacity, set->roofs_count + 1, status))
        return false;
    set->roofs[set->roofs_count++] = *roofs;
    return true;
}

static bool start_peer(struct run_stage *run, struct result_set *set, struct status *status) {
    const char *framework = run->options->peer;
    if (!framework)
        return true;
    report_progress(run->options, 0, 0, "starting the peer");
    run->peer = peer_start(framework, run->stage.info.name, status);
    if (!run->peer)
        return false;
    peer_watch(run->peer, run->options->stop);
    snprintf(set->peer, sizeof set->peer, "%s", peer_description(run->peer));
    return true;
}

bool stage_open(struct stage *stage, const char *name, const struct bench_options *options,
                struct status *status) {
    *stage = (struct stage){.device = ridge_device_open(name), .options = *options};
    if (!stage->device)
        return run_tensor_failed(status);
    ridge_device_describe(stage->device, &stage->info);
    stage->is_gpu = stage->device->device->capabilities.is_gpu;
    return true;
}

/* Reports impossible plans before the roofs are measured, which takes longer. */
static bool check_plans(struct run_stage *run, struct status *status) {
    struct result_set nothing = {0};
    struct plan plan = {0};
    bool ok = true;
    for (unsigned i = 0; ok && run->options->experiments[i]; i++)
        ok = plan_experiment(run, run->options->experiments[i], &plan, &nothing, status);
    memory_free(plan.cases);
    result_set_finish(&nothing);
    return ok;
}

static bool run_device(const struct run_options *options, const char *name, struct result_set *set,
                       struct status *status) {
    struct run_stage run = {.options = options};
    struct stage *stage = &run.stage;
    if (!stage_open(stage, name, &options->bench, status))
        return false;
    run.health = health_open(device_nvidia_uuid(stage->device->device));
    bool ok = check_plans(&run, status) && start_peer(&run, set, status) &&
              roofs_get(stage->device, options->quick_roofs, options->refresh_roofs,
                        report_roof_progress, (void *)options, &stage->roofs, status) &&
              note_roofs(set, &stage->roofs, status) && run_recorded(&run, set, status);
    peer_stop(run.peer);
    health_close(run.health);
    ridge_device_close(stage->device);
    return ok;
}

static void describe_machine(struct result_set *set) {
    struct utsname system;
    struct device_capabilities processor;
    struct status ignored = {0};
    set->started_at = (int64_t)time(NULL);
    if (uname(&system) != 0 || !device_cpu.probe(0, &processor, &ignored))
        return;
    snprintf(set->machine, sizeof set->machine, "%.80s, %.20s %.20s", processor.description,
             system.sysname, system.machine);
}

/* A missing device is reported before the others are measured. */
static bool try_devices(const struct run_options *options, struct status *status) {
    for (unsigned i = 1; options->devices[0] && options->devices[i]; i++) {
        ridge_device *device = ridge_device_open(options->devices[i]);
        if (!device)
            return run_tensor_failed(status);
        ridge_device_close(device);
    }
    return true;
}

bool run_experiments(const struct run_options *options, struct result_set *set,
                     struct status *status) {
    *set = (struct result_set){0};
    describe_machine(set);
    if (!try_devices(options, status))
        return false;
    for (unsigned i = 0; options->devices[i]; i++)
        if (!run_device(options, options->devices[i], set, status))
            return false;
    return true;
}
