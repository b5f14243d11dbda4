/* Rounds go round all cases of a device rather than repeating each: what the machine does over
 * minutes then spreads over all of them, and every round has its memory laid out anew. */
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
#include "bench/run_case.h"
#include "device/device.h"
#include "tensor/tensor.h"

enum { PIECE = 1 << 20 }; /* bytes of a file copied at a time */
#define MEMORY_SHARE 0.9  /* of a device's, that a case may need */

struct planned {
    const struct experiment *experiment;
    struct bench_case work;
    size_t result; /* its place in the set */
};

struct plan {
    struct planned *cases;
    size_t count, capacity;
};

static void tell(const struct run_options *options, unsigned number, unsigned total,
                 const char *what) {
    if (options->progress)
        options->progress(options->context, number, total, what);
}

static void tell_roof(void *context, const char *what) {
    tell(context, 0, 0, what);
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

/* What the user asked for must fit; what the experiment suggests may be left out. */
static bool fits(const struct run_stage *run, const struct bench_case *work, struct result *result,
                 struct status *status) {
    uint64_t memory = run->stage.info.memory_bytes;
    char needed[FORMAT_SIZE], there[FORMAT_SIZE];
    if (memory == 0 || (double)work->memory_bytes <= MEMORY_SHARE * (double)memory)
        return true;
    format_bytes(work->memory_bytes, needed);
    format_bytes(memory, there);
    if (run->options->bench.size_count > 0 || run->options->bench.batch_count > 0)
        return status_fail(status, STATUS_USAGE, "%s needs %s, and %s has %s: take a smaller size",
                           work->label, needed, run->stage.info.name, there);
    snprintf(result->problem, sizeof result->problem, "left out: it needs %s, and there are %s",
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
    bool ok = experiment->plan(&run->stage, &list, status);
    for (size_t i = 0; ok && i < list.count; i++)
        ok = plan_case(run, experiment, &list.cases[i], plan, set, status);
    memory_free(list.cases);
    return ok || status_context(status, "%s", experiment->name);
}

/* ---- Measuring -------------------------------------------------------------------------- */

static bool note_reference(struct result_set *set, struct status *status) {
    if (!GROW(set->reference, &set->reference_capacity, set->reference_count + 1, status))
        return false;
    set->reference[set->reference_count++] = compare_reference_loop();
    return true;
}

/* What a problem has no figures for is not tried again, and what an earlier run has measured is not
 * measured again. */
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
    tell(options, number, total, what);
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

/* Results of one experiment are neighbours in the set. */
static bool conclude(struct run_stage *run, const struct plan *plan, struct result_set *set,
                     struct status *status) {
    for (size_t i = 0, next; i < plan->count; i = next) {
        const struct experiment *experiment = plan->cases[i].experiment;
        for (next = i; next < plan->count && plan->cases[next].experiment == experiment;)
            next++;
        if (experiment->conclude &&
            !experiment->conclude(&run->stage, &set->results[plan->cases[i].result], next - i, set,
                                  status))
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
         (run->options->only || conclude(run, &plan, set, status));
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

/* The trace is on all the time and paused until a case's traced calls. */
static bool run_recorded(struct run_stage *run, struct result_set *set, struct status *status) {
    ridge_device *device = run->stage.device;
    char *path;
    int fd;
    if (!temporary_named_file(&path, &fd, status))
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
    tell(run->options, 0, 0, "starting the peer");
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

/* What cannot be is said before the roofs are measured, which takes longer. */
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
              roofs_get(stage->device, options->quick_roofs, options->refresh_roofs, tell_roof,
                        (void *)options, &stage->roofs, status) &&
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

/* One of several that is not there should not cost the time of those before it. */
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
