/* Finding steps is guessing what the program's loop is, so each method demands strong evidence: a
 * name that only profilers use, a range that repeats and fills the run, or a sequence of activity
 * names that repeats exactly.
 *
 * A periodic sequence is the run's loop if it has a good part of the device's work. Its iterations
 * begin where the device idles most. Layers and parameters repeat as well, inside an iteration:
 * where the device pauses after a constant number of repetitions, those form one iteration. Without
 * such pauses each repetition is one. A few other rows in or behind an iteration, such as those of
 * logging, do not end the loop.
 */
#include "analysis/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cycle.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"
#include "trace/writer.h"

const char *steps_source_name(enum steps_source source) {
    static const char *const names[] = {"none", "profiler steps", "repeated ranges",
                                        "the iterations of a loop",
                                        "repeating activities: iterations or layers"};
    return names[source];
}

static bool add_step(struct steps *steps, size_t *capacity, struct step step,
                     struct status *status) {
    if (!GROW(steps->list, capacity, steps->count + 1, status))
        return false;
    steps->list[steps->count++] = step;
    return true;
}

static struct step step_of_range(const struct model *model, size_t row) {
    return (struct step){model->trace->range.start[row], model_range_end(model, row),
                         model->trace->range.name[row]};
}

/* ---- profiler steps ---- */

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
    steps->session = trace->thread_session[best];
    return true;
}

/* ---- repeated ranges ---- */

/* "iteration 12" and "iteration 13" are the same loop: a run of digits counts as one character. */
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

/* The thread's annotations at one depth; 0: not nested. */
struct level {
    uint32_t *rows, *patterns;
    size_t count, rows_capacity, patterns_capacity;
};

/* XLA annotates its own work. */
static bool is_of_library(struct text name) {
    return text_starts(name, "Xla") || text_starts(name, "Thunk:");
}

/* `own_only`: without the annotations of libraries. */
static bool collect_level(const struct model *model, size_t thread, unsigned depth, bool own_only,
                          struct level *level, struct status *status) {
    enum { OPEN_MAX = 16 };
    const struct trace *trace = model->trace;
    int64_t open_end[OPEN_MAX];
    unsigned open = 0;
    level->count = 0;
    for (size_t i = model->thread_ranges[thread]; i < model->thread_ranges[thread + 1]; i++) {
        if (trace->range.category[i] != RANGE_ANNOTATION ||
            (own_only && is_of_library(trace_text(trace, trace->range.name[i]))))
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
        if (!add_step(steps, &capacity, step, status))
            return false;
    }
    steps->source = STEPS_RANGES;
    return true;
}

/* Half of the run's time or, as a program may take long to start, of its kernel time. */
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
            ok = collect_level(model, thread, depth, steps->loops.steps != 0, &level, status) &&
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

/* ---- the program's loop ---- */

/* An iteration at the edge of the recording that has fewer calls than its neighbor, and not the
 * same calls as any other iteration. */
static bool is_partial(const struct loop_turns *turns, size_t edge, size_t neighbor) {
    const struct loop_turn *turn = &turns->list[edge];
    for (size_t i = 0; i < turns->count; i++)
        if (i != edge && turns->list[i].calls == turn->calls && turns->list[i].hash == turn->hash)
            return false;
    return turn->calls < turns->list[neighbor].calls;
}

/* Where the recording is a part of the run, its first and last iteration may be parts as well. */
static void find_partial_turns(const struct model *model, const struct loop_turns *turns,
                               struct steps *steps) {
    const struct trace *trace = model->trace;
    steps->partial_first = steps->partial_last = false;
    if (turns->count < 2)
        return;
    steps->partial_first =
        text_is(trace_meta(trace, META_STARTS_LATE), "yes") && is_partial(turns, 0, 1);
    steps->partial_last = text_is(trace_meta(trace, META_ENDS_EARLY), "yes") &&
                          !turns->ends_outside &&
                          is_partial(turns, turns->count - 1, turns->count - 2);
    if (turns->count == 2 && steps->partial_first && steps->partial_last)
        steps->partial_first = false;
}

static bool add_turns(const struct model *model, struct steps *steps, struct status *status) {
    struct loop_turns turns;
    size_t capacity = 0;
    if (!steps->loops.steps)
        return true;
    bool ok = loops_turns(model, &steps->loops, steps->loops.steps - 1, &turns, status);
    find_partial_turns(model, &turns, steps);
    size_t end = turns.count - steps->partial_last;
    for (size_t i = steps->partial_first; i < end && ok; i++)
        ok =
            add_step(steps, &capacity,
                     (struct step){.start = turns.list[i].start, .end = turns.list[i].end}, status);
    if (turns.count) {
        steps->source = STEPS_LOOP;
        steps->loops.list[steps->loops.steps - 1].turns = steps->count;
        steps->session = model->trace->thread_session[turns.thread];
    }
    memory_free(turns.list);
    return ok;
}

/* ---- periodic activities ---- */

/* The activities of the device with most of them. */
struct sequence {
    const struct model *model;
    uint32_t device;
    size_t base, count;
    const uint32_t *names;
    int64_t *work; /* kernel time; of all activities if there are no kernels */
};

static bool has_kernel(const struct model *model, size_t first, size_t end) {
    for (size_t i = first; i < end; i++)
        if (model->trace->activity.kind[i] == ACTIVITY_KERNEL)
            return true;
    return false;
}

static bool read_sequence(const struct model *model, struct sequence *sequence,
                          struct status *status) {
    const struct trace *trace = model->trace;
    uint32_t device = 0;
    for (uint32_t d = 1; d < trace->device.count; d++)
        if (model->device_first[d + 1] - model->device_first[d] >
            model->device_first[device + 1] - model->device_first[device])
            device = d;
    *sequence = (struct sequence){.model = model, .device = device};
    if (device == 0)
        return true;
    size_t base = model->device_first[device], end = model->device_first[device + 1];
    sequence->base = base;
    sequence->count = end - base;
    sequence->names = trace->activity.name + base;
    sequence->work = memory_allocate(end - base, sizeof *sequence->work, status);
    if (!sequence->work)
        return false;
    bool kernels = has_kernel(model, base, end);
    for (size_t i = base; i < end; i++)
        if (!kernels || trace->activity.kind[i] == ACTIVITY_KERNEL)
            sequence->work[i - base] = trace->activity.duration[i];
    return true;
}

/* Idle time of the device before a row other than the first. */
static int64_t idle_before(const struct sequence *sequence, size_t row) {
    const struct model *model = sequence->model;
    row += sequence->base;
    return model->trace->activity.start[row] - model_activity_end(model, row - 1);
}

/* Steps begin at the phase with most idle time before it: between iterations. */
static size_t best_phase(const struct sequence *sequence, const struct cycle *cycle) {
    size_t best = 0;
    int64_t best_idle = -1;
    for (size_t phase = 0; phase < cycle->period; phase++) {
        int64_t idle = 0;
        for (size_t i = cycle->first + phase; i < cycle->end; i += cycle->period)
            if (i > cycle->first)
                idle += idle_before(sequence, i);
        if (idle > best_idle) {
            best_idle = idle;
            best = phase;
        }
    }
    return best;
}

/* A periodic sequence is the run's loop if it has an eighth of the work, since autotuning at the
 * start may have more. Few rows may repeat by chance: they must have a third of the work. */
static bool is_loop(const struct sequence *sequence, const struct cycle *cycle) {
    enum { ITERATIONS_MIN = 4, ROWS_MIN = 8, ROWS_MANY = 32, WORK_DIVISOR = 8 };
    size_t rows = cycle->end - cycle->first;
    double inside = 0, all = 0;
    if (cycle->period == 0 || rows < ROWS_MIN || rows / cycle->period < ITERATIONS_MIN)
        return false;
    for (size_t i = 0; i < sequence->count; i++) {
        all += (double)sequence->work[i];
        inside += i >= cycle->first && i < cycle->end ? (double)sequence->work[i] : 0;
    }
    /* repeating copies among kernels that do not repeat are no loop */
    if (inside <= 0 && all > 0)
        return false;
    if (rows < ROWS_MANY && 3 * rows < sequence->count)
        return 3 * inside >= all;
    return WORK_DIVISOR * inside >= all;
}

/* ---- iterations of several repetitions ---- */

struct pause_list {
    size_t *repetitions; /* the repetitions before which the device paused, in order */
    size_t count, capacity;
};

/* A pause is idle time in which two more repetitions would have fit. */
static bool find_pauses(const struct sequence *sequence, const struct cycle *cycle, size_t start,
                        struct pause_list *pauses, struct status *status) {
    size_t repetitions = (cycle->end - start) / cycle->period;
    const int64_t *starts = sequence->model->trace->activity.start + sequence->base;
    int64_t *times = memory_allocate(repetitions, sizeof *times, status);
    if (!times)
        return false;
    for (size_t i = 0; i + 1 < repetitions; i++)
        times[i] = starts[start + (i + 1) * cycle->period] - starts[start + i * cycle->period];
    int64_t median =
        repetitions > 1 ? sort_select(times, repetitions - 1, (repetitions - 1) / 2) : 0;
    memory_free(times);
    for (size_t i = 1; i < repetitions; i++) {
        if (idle_before(sequence, start + i * cycle->period) / 2 <= median)
            continue;
        if (!GROW(pauses->repetitions, &pauses->capacity, pauses->count + 1, status))
            return false;
        pauses->repetitions[pauses->count++] = i;
    }
    return true;
}

static bool median_distance(const struct pause_list *pauses, size_t *distance,
                            struct status *status) {
    *distance = 1;
    if (pauses->count < 2)
        return true;
    int64_t *apart = memory_allocate(pauses->count - 1, sizeof *apart, status);
    if (!apart)
        return false;
    for (size_t i = 1; i < pauses->count; i++)
        apart[i - 1] = (int64_t)(pauses->repetitions[i] - pauses->repetitions[i - 1]);
    *distance = (size_t)sort_select(apart, pauses->count - 1, (pauses->count - 1) / 2);
    memory_free(apart);
    return true;
}

/* Whether the pauses come every `distance` repetitions: nine in ten of the expected ones, and few
 * others. */
static bool pauses_are_regular(const struct pause_list *pauses, size_t distance, size_t repetitions,
                               struct status *status, bool *regular) {
    *regular = false;
    size_t *seen = memory_allocate(distance, sizeof *seen, status), best = 0;
    if (!seen)
        return false;
    for (size_t i = 0; i < pauses->count; i++)
        seen[pauses->repetitions[i] % distance]++;
    for (size_t i = 1; i < distance; i++)
        best = seen[i] > seen[best] ? i : best;
    size_t due = (repetitions - best + distance - 1) / distance - (best == 0);
    *regular = 10 * seen[best] >= 9 * due && 4 * seen[best] >= 3 * pauses->count;
    memory_free(seen);
    return true;
}

/* Multiplies the cycle's period if the pauses come after a constant number of repetitions. */
static bool join_repetitions(const struct sequence *sequence, struct cycle *cycle,
                             struct status *status) {
    enum { ITERATIONS_MIN = 4 };
    struct pause_list pauses = {0};
    size_t start = cycle->first + best_phase(sequence, cycle), distance = 1;
    size_t repetitions = (cycle->end - start) / cycle->period;
    bool regular = false;
    bool ok = find_pauses(sequence, cycle, start, &pauses, status) &&
              median_distance(&pauses, &distance, status);
    if (ok && distance > 1 && repetitions / distance >= ITERATIONS_MIN)
        ok = pauses_are_regular(&pauses, distance, repetitions, status, &regular);
    if (ok && regular)
        cycle->period *= distance;
    memory_free(pauses.repetitions);
    return ok;
}

/* ---- interrupted loops ---- */

/* Logging, reading back a value: a few rows in or after an iteration, fewer than its own. */
static size_t interruption_max(size_t period) {
    enum { ROWS_FEW = 64 };
    return period - 1 < ROWS_FEW ? period - 1 : ROWS_FEW;
}

static bool is_iteration(const uint32_t *names, size_t row, const uint32_t *pattern,
                         size_t period) {
    return memcmp(names + row, pattern, period * sizeof *names) == 0;
}

/* Whether the rows are an iteration with `more` additional rows inside. */
static bool is_interrupted_iteration(const uint32_t *names, size_t row, const uint32_t *pattern,
                                     size_t period, size_t more) {
    size_t begin = 0, rest = 0;
    while (begin < period && names[row + begin] == pattern[begin])
        begin++;
    while (rest < period && names[row + more + period - 1 - rest] == pattern[period - 1 - rest])
        rest++;
    return begin + rest >= period;
}

/* The number of additional rows of the iteration at `row` if another iteration follows, else
 * SIZE_MAX. */
static size_t interruption_of(const struct sequence *sequence, const uint32_t *pattern,
                              size_t period, size_t row) {
    const uint32_t *names = sequence->names;
    for (size_t more = 0, max = interruption_max(period);
         more <= max && row + 2 * period + more <= sequence->count; more++)
        if (is_iteration(names, row + period + more, pattern, period) &&
            is_interrupted_iteration(names, row, pattern, period, more))
            return more;
    return SIZE_MAX;
}

/* Iterations before the one at a row, the last first. */
struct earlier {
    size_t *rows;
    size_t count, capacity;
};

static bool find_earlier(const struct sequence *sequence, const uint32_t *pattern, size_t period,
                         size_t row, struct earlier *earlier, struct status *status) {
    size_t more = 0, max = interruption_max(period);
    while (more <= max && row >= period + more) {
        if (!is_interrupted_iteration(sequence->names, row - period - more, pattern, period,
                                      more)) {
            more++;
            continue;
        }
        row -= period + more;
        more = 0;
        if (!GROW(earlier->rows, &earlier->capacity, earlier->count + 1, status))
            return false;
        earlier->rows[earlier->count++] = row;
    }
    return true;
}

/* The iterations from the one at `row` on. */
static bool add_later(const struct sequence *sequence, const uint32_t *pattern, size_t period,
                      size_t row, struct steps *steps, size_t *capacity, struct status *status) {
    const struct model *model = sequence->model;
    const int64_t *starts = model->trace->activity.start + sequence->base;
    for (bool last = false; !last;) {
        size_t more = interruption_of(sequence, pattern, period, row);
        last = more == SIZE_MAX &&
               interruption_of(sequence, pattern, period, row + period) == SIZE_MAX;
        size_t next = row + period + (more == SIZE_MAX ? 0 : more);
        struct step step = {.start = starts[row]};
        step.end = next < sequence->count ? starts[next]
                                          : model_activity_end(model, sequence->base + next - 1);
        if (!add_step(steps, capacity, step, status))
            return false;
        row = next;
    }
    return true;
}

static bool add_iterations(const struct sequence *sequence, const struct cycle *cycle,
                           struct steps *steps, struct status *status) {
    const struct model *model = sequence->model;
    const int64_t *starts = model->trace->activity.start + sequence->base;
    size_t period = cycle->period, capacity = 0;
    size_t row = cycle->first + best_phase(sequence, cycle);
    const uint32_t *pattern = sequence->names + row;
    struct earlier earlier = {0};
    bool ok = find_earlier(sequence, pattern, period, row, &earlier, status);
    for (size_t i = earlier.count; i > 0 && ok; i--) {
        size_t next = i > 1 ? earlier.rows[i - 2] : row;
        struct step step = {.start = starts[earlier.rows[i - 1]], .end = starts[next]};
        ok = add_step(steps, &capacity, step, status);
    }
    memory_free(earlier.rows);
    if (!ok || !add_later(sequence, pattern, period, row, steps, &capacity, status))
        return false;
    steps->source = STEPS_PERIODIC;
    steps->session = model->trace->device_session[sequence->device];
    steps->period = period;
    steps->device = sequence->device;
    return true;
}

static bool find_periodic_steps(const struct model *model, struct steps *steps,
                                struct status *status) {
    struct sequence sequence;
    struct cycle cycle = {0};
    if (!read_sequence(model, &sequence, status))
        return false;
    if (!sequence.device)
        return true;
    bool ok = cycle_find(sequence.names, sequence.work, sequence.count, &cycle, status);
    if (ok && is_loop(&sequence, &cycle))
        ok = join_repetitions(&sequence, &cycle, status) &&
             add_iterations(&sequence, &cycle, steps, status);
    memory_free(sequence.work);
    return ok;
}

/* ---- warm-up and durations ---- */

/* A step is regular if it is no longer than the median of the second half plus three robust
 * standard deviations or 5 %. Warm-up ends at the first regular step. */
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

static bool summarize_steps(struct steps *steps, struct status *status) {
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

bool steps_find(const struct model *model, const char *loop, struct steps *steps,
                struct status *status) {
    memset(steps, 0, sizeof *steps);
    bool ok = loops_find(model, loop, &steps->loops, status) &&
              (!loop || add_turns(model, steps, status)) &&
              (steps->count || find_profiler_steps(model, steps, status)) &&
              (steps->count || find_repeated_ranges(model, steps, status)) &&
              (steps->count || add_turns(model, steps, status)) &&
              (steps->count || model->no_timeline || find_periodic_steps(model, steps, status)) &&
              find_warm_up(steps, status) && summarize_steps(steps, status);
    if (!ok)
        steps_finish(steps);
    return ok;
}

void steps_finish(struct steps *steps) {
    memory_free(steps->list);
    loops_finish(&steps->loops);
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

size_t steps_of_activity(const struct model *model, const struct steps *steps, size_t activity) {
    const struct trace *trace = model->trace;
    int64_t issued = trace->activity.start[activity];
    if (steps->source != STEPS_PERIODIC) {
        if (model->launch[activity] == NO_ROW)
            return SIZE_MAX;
        issued = trace->call.start[model->launch[activity]];
    }
    return steps_at(steps, issued);
}

/* The step at a time. `hint` is the previous answer, which usually still holds. */
static size_t step_at_hint(const struct steps *steps, int64_t time, size_t hint) {
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
        return false; /* its times are not comparable with those of the steps */
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
        int64_t issued = trace->activity.start[i];
        if (steps->source != STEPS_PERIODIC) {
            if (model->launch[i] == NO_ROW)
                continue;
            issued = trace->call.start[model->launch[i]];
        }
        size_t step = step_at_hint(steps, issued, hint);
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
