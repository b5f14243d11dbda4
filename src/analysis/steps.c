/* Finding steps is guessing what the program's loop is, so each way of guessing demands strong
 * evidence: a name that only profilers give, a range that repeats and fills the run, or a sequence
 * of activity names that repeats exactly. */
#include "analysis/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cycle.h"
#include "analysis/steps_periods.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"

const char *steps_source_name(enum steps_source source) {
    static const char *const names[] = {"none", "profiler steps", "repeated ranges",
                                        "repeating activities: turns of a loop, or layers"};
    return names[source];
}

bool steps_add(struct steps *steps, size_t *capacity, struct step step, struct status *status) {
    if (!GROW(steps->list, capacity, steps->count + 1, status))
        return false;
    steps->list[steps->count++] = step;
    return true;
}

static struct step step_of_range(const struct model *model, size_t row) {
    return (struct step){model->trace->range.start[row], model_range_end(model, row),
                         model->trace->range.name[row]};
}

/* ---- steps that a profiler marked ---- */

static bool is_profiler_step(const struct model *model, size_t row) {
    const struct trace *trace = model->trace;
    return trace->range.category[row] != RANGE_DEVICE && trace->range.thread[row] != 0 &&
           text_starts(trace_text(trace, trace->range.name[row]), "ProfilerStep");
}

static bool find_profiler_steps(const struct model *model, struct steps *steps,
                                struct status *status) {
    const struct trace *trace = model->trace;
    size_t capacity = 0, best = 0, best_count = 0;
    for (size_t thread = 1; thread < trace->thread.count; thread++) {
        size_t count = 0;
        for (size_t i = model->thread_ranges[thread]; i < model->thread_ranges[thread + 1]; i++)
            count += is_profiler_step(model, i);
        if (count > best_count) {
            best = thread;
            best_count = count;
        }
    }
    if (best_count == 0)
        return true;
    for (size_t i = model->thread_ranges[best]; i < model->thread_ranges[best + 1]; i++)
        if (is_profiler_step(model, i) &&
            !steps_add(steps, &capacity, step_of_range(model, i), status))
            return false;
    steps->source = STEPS_PROFILER;
    steps->session = trace->thread_session[best];
    return true;
}

/* ---- ranges that repeat ---- */

/* "iteration 12" and "iteration 13" are the same loop: runs of digits count as one letter. */
static uint32_t pattern_of(struct text name) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < name.length; i++) {
        char c = name.data[i];
        if (c >= '0' && c <= '9') {
            if (i > 0 && name.data[i - 1] >= '0' && name.data[i - 1] <= '9')
                continue;
            c = '#';
        }
        hash = (hash ^ (unsigned char)c) * 0x100000001B3u;
    }
    return (uint32_t)(hash ^ hash >> 32);
}

/* The thread's annotations at one depth: 0 for those inside no other, and so on. */
struct level {
    uint32_t *rows, *patterns;
    size_t count, rows_capacity, patterns_capacity;
};

static bool collect_level(const struct model *model, size_t thread, unsigned depth,
                          struct level *level, struct status *status) {
    enum { OPEN_MAX = 16 };
    const struct trace *trace = model->trace;
    int64_t open_end[OPEN_MAX];
    unsigned open = 0;
    level->count = 0;
    for (size_t i = model->thread_ranges[thread]; i < model->thread_ranges[thread + 1]; i++) {
        if (trace->range.category[i] != RANGE_ANNOTATION)
            continue;
        while (open > 0 && open_end[open - 1] <= trace->range.start[i])
            open--;
        if (open == depth) {
            if (!GROW(level->rows, &level->rows_capacity, level->count + 1, status) ||
                !GROW(level->patterns, &level->patterns_capacity, level->count + 1, status))
                return false;
            level->rows[level->count] = (uint32_t)i;
            level->patterns[level->count++] = pattern_of(trace_text(trace, trace->range.name[i]));
        }
        if (open < OPEN_MAX)
            open_end[open++] = model_range_end(model, i);
    }
    return true;
}

/* A step lasts from the start of its first range to the start of the next step's. */
static bool add_range_steps(const struct model *model, const struct level *level,
                            const struct cycle *cycle, struct steps *steps, struct status *status) {
    size_t capacity = 0;
    for (size_t i = cycle->first; i + cycle->period <= cycle->end; i += cycle->period) {
        struct step step = step_of_range(model, level->rows[i]);
        size_t next = i + cycle->period;
        step.end = next < level->count ? model->trace->range.start[level->rows[next]]
                                       : model_range_end(model, level->rows[next - 1]);
        if (!steps_add(steps, &capacity, step, status))
            return false;
    }
    steps->source = STEPS_RANGES;
    return true;
}

/* Half of the run's time, or, as a program may take long to start, half of its kernels'. */
static bool covers_half(const struct model *model, const struct level *level,
                        const struct cycle *cycle) {
    const struct trace *trace = model->trace;
    int64_t start = trace->range.start[level->rows[cycle->first]];
    int64_t end = model_range_end(model, level->rows[cycle->end - 1]);
    double inside = 0, all = 0;
    if (end - start >= (model->last - model->first) / 2)
        return true;
    for (size_t i = 0; i < trace->activity.count; i++) {
        if (trace->activity.kind[i] != ACTIVITY_KERNEL)
            continue;
        int64_t at = trace->activity.start[i];
        all += (double)trace->activity.duration[i];
        if (at >= start && at < end)
            inside += (double)trace->activity.duration[i];
    }
    return inside > 0 && 2 * inside >= all;
}

static bool find_repeated_ranges(const struct model *model, struct steps *steps,
                                 struct status *status) {
    enum { DEPTHS = 4 };
    struct level level = {0};
    bool ok = true;
    for (unsigned depth = 0; depth < DEPTHS && steps->count == 0 && ok; depth++)
        for (size_t thread = 1; thread < model->trace->thread.count && steps->count == 0 && ok;
             thread++) {
            struct cycle cycle = {0};
            ok = collect_level(model, thread, depth, &level, status) &&
                 cycle_find(level.patterns, NULL, level.count, &cycle, status);
            if (ok && cycle.period && covers_half(model, &level, &cycle)) {
                steps->session = model->trace->thread_session[thread];
                ok = add_range_steps(model, &level, &cycle, steps, status);
            }
        }
    memory_free(level.rows);
    memory_free(level.patterns);
    return ok;
}

/* ---- warm-up and figures ---- */

/* A step is even when it lasts no longer than the usual step of the second half does, give or take
 * three robust standard deviations or 5 %. Warm-up ends at the first even step. */
static bool find_warm_up(struct steps *steps, struct status *status) {
    steps->settled = true;
    if (steps->count < 4)
        return true;
    size_t half = steps->count / 2, rest = steps->count - half;
    int64_t *durations = memory_allocate(rest, sizeof *durations, status);
    if (!durations)
        return false;
    for (size_t i = 0; i < rest; i++)
        durations[i] = steps->list[half + i].end - steps->list[half + i].start;
    int64_t median = sort_select(durations, rest, rest / 2);
    for (size_t i = 0; i < rest; i++)
        durations[i] = llabs(steps->list[half + i].end - steps->list[half + i].start - median);
    double spread = 3 * 1.4826 * (double)sort_select(durations, rest, rest / 2);
    memory_free(durations);
    double limit =
        (double)median + (spread > 0.05 * (double)median ? spread : 0.05 * (double)median);
    size_t warm_up = 0;
    while (warm_up < half &&
           (double)(steps->list[warm_up].end - steps->list[warm_up].start) > limit)
        warm_up++;
    steps->settled = warm_up < half;
    steps->warm_up = steps->settled ? warm_up : 0;
    return true;
}

static bool summarise(struct steps *steps, struct status *status) {
    size_t count = steps->count - steps->warm_up;
    if (count == 0)
        return true;
    int64_t *durations = memory_allocate(count, sizeof *durations, status);
    if (!durations)
        return false;
    double squares = 0;
    steps->min = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct step *step = &steps->list[steps->warm_up + i];
        durations[i] = step->end - step->start;
        steps->total += durations[i];
        steps->min = durations[i] < steps->min ? durations[i] : steps->min;
        steps->max = durations[i] > steps->max ? durations[i] : steps->max;
    }
    steps->mean = (double)steps->total / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += ((double)durations[i] - steps->mean) * ((double)durations[i] - steps->mean);
    steps->variation = steps->mean > 0 ? sqrt(squares / (double)count) / steps->mean : 0;
    steps->median = sort_select(durations, count, count / 2);
    memory_free(durations);
    return true;
}

bool steps_find(const struct model *model, struct steps *steps, struct status *status) {
    memset(steps, 0, sizeof *steps);
    bool ok = find_profiler_steps(model, steps, status) &&
              (steps->count || find_repeated_ranges(model, steps, status)) &&
              (steps->count || steps_find_periods(model, steps, status)) &&
              find_warm_up(steps, status) && summarise(steps, status);
    if (!ok)
        steps_finish(steps);
    return ok;
}

void steps_finish(struct steps *steps) {
    memory_free(steps->list);
    memset(steps, 0, sizeof *steps);
}

/* ---- windows ---- */

size_t steps_at(const struct steps *steps, int64_t time) {
    size_t low = 0;
    PARTITION_POINT(low, steps->count, i, steps->list[i].start <= time);
    if (low == 0 || time >= steps->list[low - 1].end)
        return SIZE_MAX;
    return low - 1;
}

/* The same in which an activity was issued. `hint` is the last answer: mostly it is still right. */
static size_t step_of(const struct steps *steps, int64_t time, size_t hint) {
    if (hint < steps->count && time >= steps->list[hint].start && time < steps->list[hint].end &&
        (hint + 1 == steps->count || time < steps->list[hint + 1].start))
        return hint;
    return steps_at(steps, time);
}

bool steps_window(const struct model *model, const struct steps *steps, uint32_t device,
                  size_t first, size_t last, struct window *window) {
    const struct trace *trace = model->trace;
    int64_t start = INT64_MAX, end = INT64_MIN, next = INT64_MAX;
    size_t hint = SIZE_MAX;
    if (model->mixed_clocks && trace->device_session[device] != steps->session)
        return false; /* no time of that recording compares with the steps' */
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
        int64_t issued = trace->activity.start[i];
        if (steps->source != STEPS_PERIODIC) {
            if (model->launch[i] == NO_ROW)
                continue;
            issued = trace->call.start[model->launch[i]];
        }
        size_t step = step_of(steps, issued, hint);
        hint = step;
        if (step == SIZE_MAX || step < first)
            continue;
        if (step > last) {
            if (trace->activity.start[i] < next)
                next = trace->activity.start[i];
            continue;
        }
        if (trace->activity.start[i] < start)
            start = trace->activity.start[i];
        if (model_activity_end(model, i) > end)
            end = model_activity_end(model, i);
    }
    if (start == INT64_MAX)
        return false;
    *window = (struct window){start, next > start && next != INT64_MAX ? next : end};
    return window->end > window->start;
}
