/* Which activities repeat, and is that the loop of the run? A loop has a good part of the device's
 * work; its turns begin where the device idles most. Layers and parameters repeat as well, inside a
 * turn: where the device pauses before every so many of them, and always the same number, those are
 * a turn. Where nothing but the repetition is seen, each is taken for one. A few other rows in or
 * behind a turn, such as those of logging, do not end the loop. */
#include "analysis/steps_periods.h"

#include <string.h>

#include "analysis/cycle.h"
#include "base/memory.h"
#include "base/sort.h"

/* The rows of the device with most of them. */
struct sequence {
    const struct model *model;
    uint32_t device;
    size_t base, count;
    const uint32_t *names;
    int64_t *work; /* time of kernels; of all, where there are no kernels */
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

/* How long the device idled before a row, which is not the first. */
static int64_t idle_before(const struct sequence *sequence, size_t row) {
    const struct model *model = sequence->model;
    row += sequence->base;
    return model->trace->activity.start[row] - model_activity_end(model, row - 1);
}

/* Steps begin where the device idled most before the step: that is where the loop turns. */
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

/* What repeats is the run's loop when it has a part of its work, though choosing algorithms at the
 * start may have more. A few rows that repeat may be chance: they must be a third of all. */
static bool is_loop(const struct sequence *sequence, const struct cycle *cycle) {
    enum { TURNS_LEAST = 4, ROWS_LEAST = 8, ROWS_MANY = 32, PART_LEAST = 8 };
    size_t rows = cycle->end - cycle->first;
    double inside = 0, all = 0;
    if (cycle->period == 0 || rows < ROWS_LEAST || rows / cycle->period < TURNS_LEAST)
        return false;
    for (size_t i = 0; i < sequence->count; i++) {
        all += (double)sequence->work[i];
        inside += i >= cycle->first && i < cycle->end ? (double)sequence->work[i] : 0;
    }
    /* copies that repeat beside kernels that do not are no loop */
    if (inside <= 0 && all > 0)
        return false;
    if (rows < ROWS_MANY && 3 * rows < sequence->count)
        return 3 * inside >= all;
    return PART_LEAST * inside >= all;
}

/* ---- turns of several repetitions ---- */

struct pauses_seen {
    size_t *turns; /* the repetitions before which the device paused, in order */
    size_t count, capacity;
};

/* A pause is a time in which two more of them would have fit. */
static bool find_pauses(const struct sequence *sequence, const struct cycle *cycle, size_t start,
                        struct pauses_seen *pauses, struct status *status) {
    size_t turns = (cycle->end - start) / cycle->period;
    const int64_t *starts = sequence->model->trace->activity.start + sequence->base;
    int64_t *times = memory_allocate(turns, sizeof *times, status);
    if (!times)
        return false;
    for (size_t i = 0; i + 1 < turns; i++)
        times[i] = starts[start + (i + 1) * cycle->period] - starts[start + i * cycle->period];
    int64_t usual = turns > 1 ? sort_select(times, turns - 1, (turns - 1) / 2) : 0;
    memory_free(times);
    for (size_t i = 1; i < turns; i++) {
        if (idle_before(sequence, start + i * cycle->period) / 2 <= usual)
            continue;
        if (!GROW(pauses->turns, &pauses->capacity, pauses->count + 1, status))
            return false;
        pauses->turns[pauses->count++] = i;
    }
    return true;
}

static bool usual_distance(const struct pauses_seen *pauses, size_t *distance,
                           struct status *status) {
    *distance = 1;
    if (pauses->count < 2)
        return true;
    int64_t *apart = memory_allocate(pauses->count - 1, sizeof *apart, status);
    if (!apart)
        return false;
    for (size_t i = 1; i < pauses->count; i++)
        apart[i - 1] = (int64_t)(pauses->turns[i] - pauses->turns[i - 1]);
    *distance = (size_t)sort_select(apart, pauses->count - 1, (pauses->count - 1) / 2);
    memory_free(apart);
    return true;
}

/* Whether the pauses come every `distance` repetitions: nine in ten of those that should, and few
 * besides. */
static bool come_every(const struct pauses_seen *pauses, size_t distance, size_t turns,
                       struct status *status, bool *regular) {
    *regular = false;
    size_t *seen = memory_allocate(distance, sizeof *seen, status), best = 0;
    if (!seen)
        return false;
    for (size_t i = 0; i < pauses->count; i++)
        seen[pauses->turns[i] % distance]++;
    for (size_t i = 1; i < distance; i++)
        best = seen[i] > seen[best] ? i : best;
    size_t due = (turns - best + distance - 1) / distance - (best == 0);
    *regular = 10 * seen[best] >= 9 * due && 4 * seen[best] >= 3 * pauses->count;
    memory_free(seen);
    return true;
}

/* Makes the cycle's period that of the pauses where they come after always the same number of
 * repetitions. */
static bool join_turns(const struct sequence *sequence, struct cycle *cycle,
                       struct status *status) {
    enum { TURNS_LEAST = 4 };
    struct pauses_seen pauses = {0};
    size_t start = cycle->first + best_phase(sequence, cycle), distance = 1;
    size_t turns = (cycle->end - start) / cycle->period;
    bool regular = false;
    bool ok = find_pauses(sequence, cycle, start, &pauses, status) &&
              usual_distance(&pauses, &distance, status);
    if (ok && distance > 1 && turns / distance >= TURNS_LEAST)
        ok = come_every(&pauses, distance, turns, status, &regular);
    if (ok && regular)
        cycle->period *= distance;
    memory_free(pauses.turns);
    return ok;
}

/* ---- loops that something interrupts ---- */

/* Logging, a value that is looked at: a few rows in or behind a turn, fewer than a turn has. */
static size_t interruption_most(size_t period) {
    enum { ROWS_FEW = 64 };
    return period - 1 < ROWS_FEW ? period - 1 : ROWS_FEW;
}

static bool is_turn(const uint32_t *names, size_t row, const uint32_t *pattern, size_t period) {
    return memcmp(names + row, pattern, period * sizeof *names) == 0;
}

/* Whether the rows are a turn with `more` rows in the midst of it. */
static bool is_interrupted_turn(const uint32_t *names, size_t row, const uint32_t *pattern,
                                size_t period, size_t more) {
    size_t begin = 0, rest = 0;
    while (begin < period && names[row + begin] == pattern[begin])
        begin++;
    while (rest < period && names[row + more + period - 1 - rest] == pattern[period - 1 - rest])
        rest++;
    return begin + rest >= period;
}

/* How many rows of an interruption the turn at `row` has, where another turn is behind it; SIZE_MAX
 * when none is. */
static size_t interruption_of(const struct sequence *sequence, const uint32_t *pattern,
                              size_t period, size_t row) {
    const uint32_t *names = sequence->names;
    for (size_t more = 0, most = interruption_most(period);
         more <= most && row + 2 * period + more <= sequence->count; more++)
        if (is_turn(names, row + period + more, pattern, period) &&
            is_interrupted_turn(names, row, pattern, period, more))
            return more;
    return SIZE_MAX;
}

/* The first turn of the loop that the turn at `row` belongs to. */
static size_t first_turn(const struct sequence *sequence, const uint32_t *pattern, size_t period,
                         size_t row) {
    size_t first = row, more = 0, most = interruption_most(period);
    while (more <= most && first >= period + more) {
        if (is_interrupted_turn(sequence->names, first - period - more, pattern, period, more)) {
            first -= period + more;
            more = 0;
        } else {
            more++;
        }
    }
    return first;
}

static bool add_turns(const struct sequence *sequence, const struct cycle *cycle,
                      struct steps *steps, struct status *status) {
    const struct model *model = sequence->model;
    const int64_t *starts = model->trace->activity.start + sequence->base;
    size_t period = cycle->period, capacity = 0;
    size_t row = cycle->first + best_phase(sequence, cycle);
    const uint32_t *pattern = sequence->names + row;
    bool last = false;
    for (row = first_turn(sequence, pattern, period, row); !last;) {
        size_t more = interruption_of(sequence, pattern, period, row);
        last = more == SIZE_MAX &&
               interruption_of(sequence, pattern, period, row + period) == SIZE_MAX;
        size_t next = row + period + (more == SIZE_MAX ? 0 : more);
        struct step step = {.start = starts[row]};
        step.end = next < sequence->count ? starts[next]
                                          : model_activity_end(model, sequence->base + next - 1);
        if (!steps_add(steps, &capacity, step, status))
            return false;
        row = next;
    }
    steps->source = STEPS_PERIODIC;
    steps->session = model->trace->device_session[sequence->device];
    steps->period = period;
    steps->device = sequence->device;
    return true;
}

bool steps_find_periods(const struct model *model, struct steps *steps, struct status *status) {
    struct sequence sequence;
    struct cycle cycle = {0};
    if (!read_sequence(model, &sequence, status))
        return false;
    if (!sequence.device)
        return true;
    bool ok = cycle_find(sequence.names, sequence.work, sequence.count, &cycle, status);
    if (ok && is_loop(&sequence, &cycle))
        ok = join_turns(&sequence, &cycle, status) && add_turns(&sequence, &cycle, steps, status);
    memory_free(sequence.work);
    return ok;
}
