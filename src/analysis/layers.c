/* Steps with equal sequences of kernel names are summed; the others differ in more than time. The
 * repetition with the most time of one of them counts if it has a third of the kernel time and more
 * than one kernel: equal neighbors are a loop over tiles as often as layers. cycle.h is for whole
 * runs: it does not find three repetitions in a short step. */
#include "analysis/layers.h"

#include <string.h>

#include "base/memory.h"

enum {
    REPETITIONS_MIN = 3,
    PERIOD_MIN = 2,
    PERIOD_MAX = 1024,
    STEP_KERNELS_MAX = 1 << 15,
    SHARE_MIN = 3 /* a third */
};

/* The kernels of the selected steps, ordered by step and start. */
struct sequence {
    uint32_t *names;
    int64_t *durations;
    size_t *first; /* by step, and the end of the last */
};

static bool counts(const struct model *model, const struct selection *selection, size_t activity) {
    return model->trace->activity.kind[activity] == ACTIVITY_KERNEL &&
           selection_contains(selection, model->trace->activity.start[activity]);
}

static bool read_sequence(const struct model *model, const struct steps *steps, uint32_t device,
                          const struct selection *selection, struct sequence *sequence,
                          struct status *status) {
    size_t from = model->device_first[device], end = model->device_first[device + 1];
    size_t *next = memory_allocate(steps->count + 1, sizeof *next, status);
    sequence->first = memory_allocate(steps->count + 1, sizeof *sequence->first, status);
    sequence->names = memory_allocate(end - from, sizeof *sequence->names, status);
    sequence->durations = memory_allocate(end - from, sizeof *sequence->durations, status);
    bool ok = next && sequence->first && sequence->names && sequence->durations;
    for (size_t i = from; i < end && ok; i++) {
        size_t step = counts(model, selection, i) ? steps_of_activity(model, steps, i) : SIZE_MAX;
        if (step != SIZE_MAX)
            sequence->first[step + 1]++;
    }
    for (size_t i = 0; i < steps->count && ok; i++) {
        sequence->first[i + 1] += sequence->first[i];
        next[i] = sequence->first[i];
    }
    for (size_t i = from; i < end && ok; i++) {
        size_t step = counts(model, selection, i) ? steps_of_activity(model, steps, i) : SIZE_MAX;
        if (step == SIZE_MAX)
            continue;
        sequence->names[next[step]] = model->trace->activity.name[i];
        sequence->durations[next[step]++] = model->trace->activity.duration[i];
    }
    memory_free(next);
    return ok;
}

static size_t length_of(const struct sequence *sequence, size_t step) {
    return sequence->first[step + 1] - sequence->first[step];
}

static bool is_equal(const struct sequence *sequence, size_t a, size_t b) {
    return length_of(sequence, a) == length_of(sequence, b) &&
           memcmp(sequence->names + sequence->first[a], sequence->names + sequence->first[b],
                  length_of(sequence, a) * sizeof *sequence->names) == 0;
}

/* The first step with the most common sequence: by majority vote, then counted. SIZE_MAX: no
 * sequence is that of half of the steps. */
static size_t common_step(const struct sequence *sequence, size_t steps, size_t *equal) {
    size_t candidate = SIZE_MAX, votes = 0, working = 0;
    for (size_t i = 0; i < steps; i++) {
        if (length_of(sequence, i) == 0)
            continue;
        working++;
        if (votes == 0)
            candidate = i;
        votes += votes == 0 || is_equal(sequence, i, candidate) ? 1 : (size_t)-1;
    }
    *equal = 0;
    for (size_t i = 0; i < steps && candidate != SIZE_MAX; i++)
        *equal += is_equal(sequence, i, candidate);
    return 2 * *equal >= working ? candidate : SIZE_MAX;
}

/* Kernels first .. first + count * period of a step. */
struct repetition {
    size_t first, count, period;
};

/* The longest time in which names repeat after `period`; 0 if no three repetitions do. */
static int64_t longest(const uint32_t *names, const int64_t *until, size_t length, size_t period,
                       struct repetition *found) {
    int64_t best = 0;
    for (size_t i = 0, first = 0; i + period <= length; i++) {
        if (i + period < length && names[i] == names[i + period])
            continue;
        size_t count = (i + period - first) / period; /* names[first .. i + period) repeat */
        int64_t time = until[first + count * period] - until[first];
        if (count >= REPETITIONS_MIN && time > best) {
            best = time;
            *found = (struct repetition){first, count, period};
        }
        first = i + 1;
    }
    return best;
}

/* Of equal times the shortest period wins: two layers are no layer. */
static bool find_repetition(const uint32_t *names, const int64_t *durations, size_t length,
                            struct repetition *repetition, struct status *status) {
    int64_t *until = memory_allocate(length + 1, sizeof *until, status), best = 0;
    *repetition = (struct repetition){0};
    if (!until)
        return false;
    for (size_t i = 0; i < length; i++)
        until[i + 1] = until[i] + durations[i];
    for (size_t period = PERIOD_MIN;
         period <= PERIOD_MAX && period * REPETITIONS_MIN <= length && length <= STEP_KERNELS_MAX;
         period++) {
        struct repetition found;
        int64_t time = longest(names, until, length, period, &found);
        if (time > best) {
            best = time;
            *repetition = found;
        }
    }
    if (SHARE_MIN * best < until[length])
        repetition->count = 0;
    memory_free(until);
    return true;
}

static void add_step(const struct sequence *sequence, size_t step,
                     const struct repetition *repetition, struct layers *layers) {
    const int64_t *durations = sequence->durations + sequence->first[step];
    size_t end = repetition->first + repetition->count * repetition->period;
    for (size_t i = 0; i < length_of(sequence, step); i++) {
        layers->total += durations[i];
        if (i < repetition->first) {
            layers->before += durations[i];
        } else if (i >= end) {
            layers->after += durations[i];
        } else {
            layers->kernels[(i - repetition->first) % layers->period].total += durations[i];
            layers->repetitions[(i - repetition->first) / layers->period] += durations[i];
        }
    }
}

static bool sum(const struct sequence *sequence, size_t steps, size_t like,
                const struct repetition *repetition, struct layers *layers, struct status *status) {
    const uint32_t *names = sequence->names + sequence->first[like];
    layers->period = repetition->period;
    layers->count = repetition->count;
    layers->kernels_before = repetition->first;
    layers->kernels_after =
        length_of(sequence, like) - repetition->first - layers->count * layers->period;
    layers->kernels = memory_allocate(layers->period, sizeof *layers->kernels, status);
    layers->repetitions = memory_allocate(layers->count, sizeof *layers->repetitions, status);
    if (!layers->kernels || !layers->repetitions)
        return false;
    for (size_t i = 0; i < layers->period; i++)
        layers->kernels[i].name = names[repetition->first + i];
    for (size_t i = 0; i < steps; i++)
        if (is_equal(sequence, i, like))
            add_step(sequence, i, repetition, layers);
    return true;
}

static bool find(const struct sequence *sequence, size_t steps, struct layers *layers,
                 struct status *status) {
    struct repetition repetition;
    size_t like = common_step(sequence, steps, &layers->steps);
    if (like == SIZE_MAX)
        return true;
    size_t first = sequence->first[like];
    return find_repetition(sequence->names + first, sequence->durations + first,
                           length_of(sequence, like), &repetition, status) &&
           (repetition.count == 0 || sum(sequence, steps, like, &repetition, layers, status));
}

bool layers_find(const struct model *model, const struct steps *steps, uint32_t device,
                 const struct selection *selection, struct layers *layers, struct status *status) {
    struct sequence sequence = {0};
    *layers = (struct layers){0};
    if (steps->count == 0 ||
        (model->mixed_clocks && model->trace->device_session[device] != steps->session))
        return true;
    bool ok = read_sequence(model, steps, device, selection, &sequence, status) &&
              find(&sequence, steps->count, layers, status);
    memory_free(sequence.names);
    memory_free(sequence.durations);
    memory_free(sequence.first);
    return ok;
}

void layers_finish(struct layers *layers) {
    memory_free(layers->kernels);
    memory_free(layers->repetitions);
    *layers = (struct layers){0};
}
