/* What if kernels were faster: by a factor, at their roof, or running concurrently? */
#include <stdio.h>

#include "base/format.h"
#include "base/memory.h"
#include "whatif/names.h"
#include "whatif/run.h"

static bool is_kernel(const struct replay *replay, size_t activity, const struct change *change) {
    return replay->trace->activity.kind[activity] == ACTIVITY_KERNEL &&
           (change->device == 0 || change->device == activity_device(replay, activity));
}

/* By string: 1 = a kernel name that the pattern matches. */
static uint8_t *match_names(const struct replay *replay, struct text pattern,
                            struct status *status) {
    const struct trace *trace = replay->trace;
    uint8_t *known = memory_allocate(trace->strings.count, 1, status);
    for (size_t i = 0; i < replay->activities && known; i++) {
        uint8_t *name = &known[trace->activity.name[i]];
        if (*name == 0 && trace->activity.kind[i] == ACTIVITY_KERNEL)
            *name = name_matches(activity_name(replay, i), pattern) ? 2 : 1;
    }
    for (size_t i = 0; i < trace->strings.count && known; i++)
        known[i] = known[i] == 2;
    return known;
}

bool explain_no_kernel(const struct run *run, const char *what, struct text pattern,
                       const char *none, struct outcome *outcome, struct status *status) {
    const struct trace *trace = run->replay->trace;
    int64_t *weight = memory_allocate(trace->strings.count, sizeof *weight, status);
    if (!weight)
        return false;
    for (size_t i = 0; i < run->replay->activities; i++)
        if (trace->activity.kind[i] == ACTIVITY_KERNEL)
            weight[trace->activity.name[i]] += MAX(run->replay->duration[i], 1);
    if (pattern.length == 0 || name_is_present(trace, pattern, weight) ||
        !explain_no_match(outcome, trace, what, pattern, weight))
        snprintf(outcome->why_not, OUTCOME_TEXT, "%s", none);
    memory_free(weight);
    return true;
}

/* Shortened kernels, and those of them in the timed part. */
struct shortened {
    uint64_t all, inside;
    int64_t saved;
};

static void shorten(struct run *run, size_t activity, int64_t duration,
                    struct shortened *shortened) {
    const struct replay *replay = run->replay;
    int64_t saved = run->duration[activity] - duration, whole = replay->duration[activity];
    int64_t start = replay->start[activity];
    int64_t inside =
        inside_device_part(replay, activity_device(replay, activity), start, start + whole);
    run->duration[activity] = duration;
    shortened->all++;
    shortened->inside += inside > 0 || whole == 0;
    shortened->saved +=
        inside == whole ? saved : (int64_t)((double)saved * ((double)inside / (double)whole));
}

static void describe_shortened(const struct shortened *shortened, const char *where,
                               struct outcome *outcome) {
    char count[FORMAT_PLURAL_SIZE], time[FORMAT_SIZE];
    int64_t saved = shortened->saved;
    snprintf(outcome->what, OUTCOME_TEXT, "%s%s %s %s %s%s",
             format_plural(shortened->inside, "kernel", "kernels", count), where,
             shortened->inside == 1 ? "takes" : "take",
             format_duration(saved < 0 ? -saved : saved, time), saved < 0 ? "more" : "less",
             shortened->inside == 1 ? "" : " in total");
}

bool change_faster(struct run *run, const struct change *change, struct outcome *outcome,
                   struct status *status) {
    const struct replay *replay = run->replay;
    struct shortened shortened = {0};
    if (!(change->factor > 0)) {
        snprintf(outcome->why_not, OUTCOME_TEXT, "the factor must be above 0");
        return true;
    }
    if (text_is(change->pattern, "host"))
        return host_faster(run, change, outcome, status);
    uint8_t *matches = match_names(replay, change->pattern, status);
    if (!matches || !run_edit_activities(run, status)) {
        memory_free(matches);
        return false;
    }
    for (size_t i = 0; i < replay->activities; i++)
        if (is_kernel(replay, i, change) && matches[replay->trace->activity.name[i]]) {
            shorten(run, i, (int64_t)((double)run->duration[i] / change->factor), &shortened);
        }
    memory_free(matches);
    if (shortened.all == 0)
        return host_faster(run, change, outcome, status);
    run->touched += shortened.all;
    outcome->applicable = true;
    describe_shortened(&shortened, "", outcome);
    run->assumption_error += 0.06;
    return true;
}

bool change_at_roof(struct run *run, const struct change *change, struct outcome *outcome,
                    struct status *status) {
    const struct replay *replay = run->replay;
    const struct work *work = replay->source.work;
    struct shortened shortened = {0};
    if (!work || !work->roof_ns) {
        snprintf(outcome->why_not, OUTCOME_TEXT,
                 "the work of the kernels is unknown; record shapes and run 'ridge peaks'");
        return true;
    }
    uint8_t *matches = match_names(replay, change->pattern, status);
    if (!matches || !run_edit_activities(run, status)) {
        memory_free(matches);
        return false;
    }
    for (size_t i = 0; i < replay->activities; i++)
        if (is_kernel(replay, i, change) && work->roof_ns[i] > 0 &&
            matches[replay->trace->activity.name[i]] &&
            (double)work->roof_ns[i] < (double)run->duration[i]) {
            shorten(run, i, (int64_t)work->roof_ns[i], &shortened);
        }
    memory_free(matches);
    run->touched += shortened.all;
    outcome->applicable = shortened.all > 0;
    if (!shortened.all)
        return explain_no_kernel(run, "kernel", change->pattern,
                                 change->pattern.length
                                     ? "no kernel of that name is known to be slower than its roof"
                                     : "no kernel is known to be slower than its roof",
                                 outcome, status);
    describe_shortened(&shortened, shortened.inside == 1 ? " at its roof" : " at their roof",
                       outcome);
    snprintf(outcome->assumes, OUTCOME_TEXT,
             "kernels reach their roof, which few do: this is a bound");
    run->assumption_error += 0.1;
    return true;
}

/* ---- concurrent kernels ---- */

/* A kernel whose grid fills at most half of the device. */
static bool leaves_room(const struct replay *replay, size_t activity) {
    uint32_t units = replay->trace->device.multiprocessors[activity_device(replay, activity)];
    uint64_t blocks = replay->grid_blocks[activity];
    return replay->trace->activity.kind[activity] == ACTIVITY_KERNEL && blocks > 0 &&
           blocks * 2 <= units;
}

/* Whether a and b, consecutive in a queue, can run concurrently. */
static bool is_pair(const struct run *run, uint32_t a, uint32_t b) {
    const struct replay *replay = run->replay;
    return leaves_room(replay, a) && leaves_room(replay, b) && replay->launch[a] != NO_ROW &&
           replay->launch[b] != NO_ROW && replay->launch[a] != replay->launch[b] &&
           !replay->from_start[b] && in_loop(replay, replay->call_step[replay->launch[a]]) &&
           !run_activity_removed(run, a) && !run_activity_removed(run, b);
}

bool change_queues(struct run *run, const struct change *change, struct outcome *outcome,
                   struct status *status) {
    const struct replay *replay = run->replay;
    size_t activities = replay->activities;
    char count[FORMAT_PLURAL_SIZE];
    (void)change;
    if (!RUN_WRITABLE(run, previous, activities, status))
        return false;
    bool first = run->extra_dependency == NULL;
    if (!RUN_MAKE_ONCE(run, extra_dependency, activities, status) ||
        !RUN_MAKE_ONCE(run, extra_lag, activities, status))
        return false;
    for (size_t i = 0; i < activities && first; i++)
        run->extra_dependency[i] = NO_ROW;
    uint8_t *second = memory_allocate(activities, 1, status);
    if (!second)
        return false;
    uint64_t pairs = 0;
    for (uint32_t i = 0; i < activities; i++) {
        uint32_t before = replay->previous[i];
        if (before == NO_ROW)
            continue;
        if (second[before]) { /* it waits for both of the pair */
            run->extra_dependency[i] = replay->previous[before];
            run->extra_lag[i] = run->queue_lag[i];
        } else if (is_pair(run, before, i)) {
            run->previous[i] = run->previous[before];
            second[i] = 1;
            pairs++;
        }
    }
    memory_free(second);
    run->touched += 2 * pairs;
    outcome->applicable = pairs > 0;
    if (!pairs) {
        snprintf(outcome->why_not, OUTCOME_TEXT,
                 "no two consecutive kernels each leave half of the device free");
        return true;
    }
    snprintf(outcome->what, OUTCOME_TEXT, "%s with small grids %s concurrently",
             format_plural(pairs, "pair of kernels", "pairs of kernels", count),
             pairs == 1 ? "runs" : "run");
    snprintf(outcome->assumes, OUTCOME_TEXT,
             "consecutive kernels do not need each other's results, which a trace cannot show");
    run->assumption_error += 0.5;
    return true;
}
