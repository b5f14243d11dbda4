/* What if each step processed several times as much? The host pays for a step as before, and there
 * are fewer steps, so its cost per item shrinks by the factor. A kernel whose grid does not fill
 * the device takes no longer until it does; beyond that kernels and copies grow with their work.
 * All steps are replayed with the cost of one item's share. */
#include <math.h>
#include <stdio.h>

#include "base/format.h"
#include "base/memory.h"
#include "whatif/run.h"

/* Resident blocks of the device, as limited by threads; 0: unknown. */
static double device_blocks(const struct replay *replay, size_t activity) {
    uint32_t device = activity_device(replay, activity);
    uint32_t units = replay->trace->device.multiprocessors[device];
    uint32_t threads = replay->trace->device.threads_per_multiprocessor[device];
    uint64_t blocks = replay->grid_blocks[activity];
    if (units == 0 || blocks == 0)
        return 0;
    double each = (double)grid_threads(replay, activity) / (double)blocks;
    double resident = threads && each > 0 ? floor(threads / each) : 1;
    return units * (resident < 1 ? 1 : resident > 32 ? 32 : resident);
}

static double growth_of_kernel(const struct replay *replay, size_t activity, double factor) {
    double room = device_blocks(replay, activity);
    double blocks = (double)replay->grid_blocks[activity];
    return room > 0 ? ceil(blocks * factor / room) / ceil(blocks / room) : factor;
}

static int64_t grown(const struct run *run, size_t activity, double factor) {
    const struct replay *replay = run->replay;
    double duration = (double)run->duration[activity], fixed = 0;
    if (replay->trace->activity.kind[activity] == ACTIVITY_KERNEL) {
        factor = growth_of_kernel(replay, activity, factor);
    } else {
        unsigned direction = replay->trace->activity.direction[activity];
        fixed = (double)replay->typical[activity_device(replay, activity)].copy_latency[direction];
        fixed = fixed > duration ? duration : fixed;
    }
    double result = fixed + (duration - fixed) * factor;
    return result < 1e17 ? (int64_t)result : (int64_t)1e17;
}

bool change_batch(struct run *run, const struct change *change, struct outcome *outcome,
                  struct status *status) {
    const struct replay *replay = run->replay;
    const struct steps *steps = replay->source.steps;
    uint32_t factor = change->factor >= 2 && change->factor <= 1e6 ? (uint32_t)change->factor : 0;
    if (factor == 0 || steps->count - steps->warm_up < factor) {
        snprintf(outcome->why_not, OUTCOME_TEXT, "%s",
                 factor == 0         ? "the factor must be a whole number of at least 2"
                 : steps->count == 0 ? "no steps were found"
                                     : "the run has fewer steps than the factor");
        return true;
    }
    size_t activities = replay->activities, kept = 0;
    if (!run_edit_calls(run, status) || !run_edit_activities(run, status) ||
        !RUN_WRITABLE(run, launch_lag, activities, status) ||
        !RUN_WRITABLE(run, queue_lag, activities, status))
        return false;
    for (uint32_t i = 0; i < replay->calls; i++) {
        uint32_t step = replay->call_step[i];
        if (!is_outer(replay, i) || step == NO_STEP || !in_loop(replay, step))
            continue;
        run->call_cost[i] /= factor;
        if (run_call_before(replay, i) != NO_ROW)
            run->host_time[i] /= factor;
    }
    for (uint32_t i = 0; i < activities; i++) {
        uint32_t step =
            replay->launch[i] == NO_ROW ? NO_STEP : replay->call_step[replay->launch[i]];
        if (step == NO_STEP || !in_loop(replay, step))
            continue;
        run->duration[i] = grown(run, i, factor) / factor;
        run->launch_lag[i] /= factor;
        run->queue_lag[i] /= factor;
        run->touched++;
        kept++;
    }
    outcome->applicable = kept > 0;
    if (!kept) {
        snprintf(outcome->why_not, OUTCOME_TEXT, "no launches were recorded inside the steps");
        return true;
    }
    char a[FORMAT_SIZE], b[FORMAT_SIZE];
    uint64_t before = steps->count - steps->warm_up;
    snprintf(outcome->what, OUTCOME_TEXT, "%s steps become %s, each %u times as large",
             format_count(before, a), format_count((before + factor - 1) / factor, b), factor);
    snprintf(outcome->assumes, OUTCOME_TEXT,
             "memory suffices, and throughput matters rather than the latency of a step");
    run->assumption_error += 0.2;
    return true;
}
