/* Collected samples, and the time that they stand for. */
#include "import/profile.h"

#include <stdlib.h>

#include "base/memory.h"

uint32_t profile_frame(struct profile *profile, uint32_t parent, struct text function,
                       struct text module, struct text file, uint32_t line, struct status *status) {
    struct trace_writer *writer = profile->entities.writer;
    struct row_stack row = {
        .parent = parent,
        .function = trace_writer_string(writer, function.length ? function : TEXT(STACK_UNKNOWN)),
        .module = trace_writer_string(writer, module),
        .file = trace_writer_string(writer, file),
        .line = line,
    };
    return entity_frame(&profile->entities, &row, status);
}

bool profile_add(struct profile *profile, const struct profile_sample *sample,
                 struct status *status) {
    if (!GROW(profile->samples, &profile->capacity, profile->count + 1, status))
        return false;
    profile->samples[profile->count++] = *sample;
    return true;
}

static void write_sample(struct profile *profile, const struct profile_sample *sample,
                         int64_t weight) {
    trace_write_sample(profile->entities.writer, &(struct row_sample){.time = sample->time,
                                                                      .thread = sample->thread,
                                                                      .stack = sample->stack,
                                                                      .weight = weight});
}

void profile_write(struct profile *profile) {
    for (size_t i = 0; i < profile->count; i++)
        write_sample(profile, &profile->samples[i], profile->samples[i].period);
}

static int by_thread_and_time(const void *a, const void *b) {
    const struct profile_sample *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->time > y->time) - (x->time < y->time);
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t median(int64_t *values, size_t count) {
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

/* Both medians need an array of all samples, one after the other. */
static void find_medians(struct profile *profile, int64_t *values, int64_t *interval,
                         int64_t *period) {
    const struct profile_sample *samples = profile->samples;
    size_t count = 0;
    for (size_t i = 1; i < profile->count; i++)
        if (samples[i].thread == samples[i - 1].thread && samples[i].time > samples[i - 1].time)
            values[count++] = samples[i].time - samples[i - 1].time;
    *interval = median(values, count);
    count = 0;
    for (size_t i = 0; i < profile->count; i++)
        if (samples[i].period > 0)
            values[count++] = samples[i].period;
    *period = median(values, count);
}

int64_t profile_write_scaled(struct profile *profile, struct status *status) {
    int64_t interval, period;
    int64_t *values = memory_allocate(profile->count + 1, sizeof *values, status);
    if (!values)
        return 0;
    if (profile->count)
        qsort(profile->samples, profile->count, sizeof *profile->samples, by_thread_and_time);
    find_medians(profile, values, &interval, &period);
    memory_free(values);
    for (size_t i = 0; i < profile->count; i++) {
        const struct profile_sample *sample = &profile->samples[i];
        double scale =
            sample->period > 0 && period > 0 ? (double)sample->period / (double)period : 1;
        double weight = (double)interval * scale;
        write_sample(profile, sample,
                     weight < (double)TRACE_TIME_LIMIT ? (int64_t)weight : TRACE_TIME_LIMIT);
    }
    return interval;
}

void profile_finish(struct profile *profile) {
    memory_free(profile->samples);
    entities_release(&profile->entities);
}
