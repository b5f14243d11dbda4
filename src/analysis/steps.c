/* Finding steps is guessing what the program's loop is, so each way of guessing demands strong
 * evidence: a name that only profilers give, a range that repeats and fills the run, or a sequence of
 * activity names that repeats exactly. */
#include "analysis/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/sort.h"

const char *steps_source_name(enum steps_source source) {
    static const char *const names[] = {"none", "profiler steps", "repeated range",
                                        "repeating activities"};
    return names[source];
}

static bool add_step(struct steps *steps, size_t *capacity, struct step step,
                     struct status *status) {
    if (!memory_grow((void **)&steps->list, capacity, steps->count + 1, sizeof *steps->list,
                     status))
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
            !add_step(steps, &capacity, step_of_range(model, i), status))
            return false;
    steps->source = STEPS_PROFILER;
    return true;
}

/* ---- a range that repeats ---- */

/* "iteration 12" and "iteration 13" are the same loop: runs of digits count as one letter. */
static uint64_t pattern_of(struct text name, uint64_t thread) {
    uint64_t hash = thread * 0x9E3779B97F4A7C15u + 0xCBF29CE484222325u;
    for (size_t i = 0; i < name.length; i++) {
        char c = name.data[i];
        if (c >= '0' && c <= '9') {
            if (i > 0 && name.data[i - 1] >= '0' && name.data[i - 1] <= '9')
                continue;
            c = '#';
        }
        hash = (hash ^ (unsigned char)c) * 0x100000001B3u;
    }
    return hash | 1;
}

struct loop {
    size_t count, first; /* first row */
    int64_t total, open_until;
    bool overlaps;
    uint64_t pattern;
    uint32_t thread;
};

static bool tally_loops(const struct model *model, struct loop **loops, size_t *loop_count,
                        struct status *status) {
    const struct trace *trace = model->trace;
    struct map by_pattern = {0};
    size_t capacity = 0;
    bool ok = true;
    for (size_t i = 0; i < trace->range.count && ok; i++) {
        if (trace->range.category[i] != RANGE_ANNOTATION || trace->range.thread[i] == 0)
            continue;
        uint64_t pattern =
            pattern_of(trace_text(trace, trace->range.name[i]), trace->range.thread[i]);
        uint64_t *known = map_find(&by_pattern, pattern);
        if (!known) {
            ok = memory_grow((void **)loops, &capacity, *loop_count + 1, sizeof **loops, status) &&
                 map_set(&by_pattern, pattern, *loop_count, status);
            if (!ok)
                break;
            (*loops)[(*loop_count)++] = (struct loop){.first = i,
                                                      .open_until = INT64_MIN,
                                                      .pattern = pattern,
                                                      .thread = trace->range.thread[i]};
        }
        struct loop *loop = &(*loops)[known ? *known : *loop_count - 1];
        loop->count++;
        loop->total += trace->range.duration[i];
        loop->overlaps |= trace->range.start[i] < loop->open_until;
        loop->open_until = model_range_end(model, i);
    }
    map_finish(&by_pattern);
    return ok;
}

static bool find_repeated_ranges(const struct model *model, struct steps *steps,
                                 struct status *status) {
    const struct trace *trace = model->trace;
    struct loop *loops = NULL;
    size_t loop_count = 0, capacity = 0;
    bool ok = tally_loops(model, &loops, &loop_count, status);
    const struct loop *best = NULL;
    int64_t span = model->last - model->first;
    for (size_t i = 0; i < loop_count && ok; i++) {
        const struct loop *loop = &loops[i];
        if (loop->count < 3 || loop->overlaps || loop->total < span / 2)
            continue;
        /* the loop that covers most; of equals the one with fewer, longer turns */
        if (!best || loop->total > best->total ||
            (loop->total == best->total && loop->count < best->count))
            best = loop;
    }
    if (best) {
        steps->source = STEPS_RANGES;
        for (size_t i = model->thread_ranges[best->thread];
             i < model->thread_ranges[best->thread + 1] && ok; i++)
            if (trace->range.category[i] == RANGE_ANNOTATION &&
                pattern_of(trace_text(trace, trace->range.name[i]), best->thread) == best->pattern)
                ok = add_step(steps, &capacity, step_of_range(model, i), status);
    }
    memory_free(loops);
    return ok;
}

/* ---- a sequence of activities that repeats ---- */

enum { PERIOD_ROWS_MAX = 3 << 20 };

/* The smallest period of the sequence names[0..count), by the failure function of Knuth, Morris and
 * Pratt: the sequence equals itself shifted by it. */
static bool smallest_period(const uint32_t *names, size_t count, size_t *period,
                            struct status *status) {
    uint32_t *fail = memory_allocate(count + 1, sizeof *fail, status);
    if (!fail)
        return false;
    for (size_t i = 1, k = 0; i < count; i++) {
        while (k > 0 && names[i] != names[k])
            k = fail[k];
        if (names[i] == names[k])
            k++;
        fail[i + 1] = (uint32_t)k;
    }
    *period = count - fail[count];
    memory_free(fail);
    return true;
}

/* Steps begin where the device idled most before the step: that is where the loop turns. */
static size_t best_phase(const struct model *model, size_t first, size_t end, size_t period) {
    size_t best = 0;
    int64_t best_idle = -1;
    for (size_t phase = 0; phase < period; phase++) {
        int64_t idle = 0;
        for (size_t i = first + phase; i < end; i += period)
            if (i > first)
                idle += model->trace->activity.start[i] - model_activity_end(model, i - 1);
        if (idle > best_idle) {
            best_idle = idle;
            best = phase;
        }
    }
    return best;
}

static bool find_period(const struct model *model, struct steps *steps, struct status *status) {
    const struct trace *trace = model->trace;
    uint32_t device = 0;
    for (uint32_t d = 1; d < trace->device.count; d++)
        if (model->device_first[d + 1] - model->device_first[d] >
            model->device_first[device + 1] - model->device_first[device])
            device = d;
    if (device == 0)
        return true;
    size_t first = model->device_first[device], end = model->device_first[device + 1];
    size_t rows = end - first, third = rows / 3, period = 0;
    const uint32_t *names = trace->activity.name;
    if (third < 2)
        return true;
    /* The middle is past the warm-up and before the end; then the loop is followed both ways. */
    size_t length = third < PERIOD_ROWS_MAX ? third : PERIOD_ROWS_MAX;
    if (!smallest_period(names + first + third, length, &period, status))
        return false;
    if (period * 2 > length)
        return true;
    size_t low = first + third, high = first + third + length;
    while (low > first && names[low - 1] == names[low - 1 + period])
        low--;
    while (high < end && names[high] == names[high - period])
        high++;
    if ((high - low) / period < 3)
        return true;
    size_t capacity = 0;
    size_t start = low + best_phase(model, low, high, period);
    for (; start + period <= high; start += period) {
        size_t next = start + period;
        struct step step = {.start = trace->activity.start[start]};
        step.end = next < end ? trace->activity.start[next] : model_activity_end(model, next - 1);
        if (!add_step(steps, &capacity, step, status))
            return false;
    }
    steps->source = STEPS_PERIODIC;
    steps->period = period;
    steps->device = device;
    return true;
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
    double limit = (double)median + (spread > 0.05 * (double)median ? spread : 0.05 * (double)median);
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
              (steps->count || find_period(model, steps, status)) &&
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

/* The number of the step in which an activity was issued, or SIZE_MAX. */
static size_t step_of(const struct steps *steps, int64_t time) {
    size_t low = 0, high = steps->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (steps->list[middle].start <= time)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || time >= steps->list[low - 1].end)
        return SIZE_MAX;
    return low - 1;
}

bool steps_window(const struct model *model, const struct steps *steps, uint32_t device,
                  size_t first, size_t last, struct window *window) {
    const struct trace *trace = model->trace;
    int64_t start = INT64_MAX, end = INT64_MIN, next = INT64_MAX;
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
        int64_t issued = trace->activity.start[i];
        if (steps->source != STEPS_PERIODIC) {
            if (model->launch[i] == NO_ROW)
                continue;
            issued = trace->call.start[model->launch[i]];
        }
        size_t step = step_of(steps, issued);
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
