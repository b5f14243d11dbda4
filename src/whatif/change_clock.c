/* What if the device had run at its full clock? Compares the clock sampled while a kernel ran with
 * the highest one sampled or stated. */
#include <stdio.h>
#include <stdlib.h>

#include "base/format.h"
#include "base/map.h"
#include "base/memory.h"
#include "whatif/names.h"
#include "whatif/run.h"

#define FULL_SHARE 0.99     /* of the full clock: counts as full */
#define CLEARLY_FASTER 0.95 /* of the mean: beyond ordinary variation */

struct reading {
    int64_t time;
    double value;
};

static int by_time(const void *a, const void *b) {
    const struct reading *x = a, *y = b;
    return x->time < y->time ? -1 : x->time > y->time;
}

/* Readings of the device's clock in order of time. */
static bool collect_readings(const struct replay *replay, uint32_t device,
                             struct reading **readings, size_t *count, struct status *status) {
    const struct trace *trace = replay->trace;
    size_t capacity = 0;
    struct clock_counter clock = names_clock_counter(trace, device);
    for (size_t i = 0; clock.name && i < trace->counter.count; i++) {
        if (!is_clock_reading(trace, &clock, i))
            continue;
        if (!GROW(*readings, &capacity, *count + 1, status))
            return false;
        (*readings)[(*count)++] = (struct reading){trace->counter.time[i], trace->counter.value[i]};
    }
    if (*count)
        qsort(*readings, *count, sizeof **readings, by_time);
    return true;
}

/* The clock while an activity ran, relative to the full clock; activities come in order of time. */
struct clock {
    const struct reading *readings;
    size_t count, at;
    double full;
};

static double clock_share(struct clock *clock, int64_t time) {
    while (clock->at + 1 < clock->count && clock->readings[clock->at + 1].time <= time)
        clock->at++;
    return clock->readings[clock->at].value / clock->full;
}

/* Kernels of one name and size. */
static uint64_t kernel_key(const struct replay *replay, size_t row) {
    uint64_t key = replay->trace->activity.name[row];
    key = key * 0x9E3779B97F4A7C15u + replay->grid_blocks[row];
    return key * 0x9E3779B97F4A7C15u + grid_threads(replay, row);
}

struct kernel_group {
    int64_t min, sum;
    uint64_t count;
    bool at_full; /* `min` was measured at the full clock */
};

struct kernel_groups {
    struct map index;
    struct kernel_group *list;
    size_t count, capacity;
};

static struct kernel_group *group_of(struct kernel_groups *kernel_groups, uint64_t key,
                                     struct status *status) {
    const uint64_t *known = map_find(&kernel_groups->index, key);
    if (known)
        return &kernel_groups->list[*known];
    if (!GROW(kernel_groups->list, &kernel_groups->capacity, kernel_groups->count + 1, status) ||
        !map_set(&kernel_groups->index, key, kernel_groups->count, status))
        return NULL;
    kernel_groups->list[kernel_groups->count] = (struct kernel_group){.min = INT64_MAX};
    return &kernel_groups->list[kernel_groups->count++];
}

/* The shortest duration of the kernels of each name and size. At the full clock it is the floor,
 * since it includes what does not scale with the clock (memory above all). */
static bool find_groups(const struct replay *replay, uint32_t device, struct clock clock,
                        struct kernel_groups *kernel_groups, struct status *status) {
    const struct model *model = replay->source.model;
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
        if (replay->trace->activity.kind[i] != ACTIVITY_KERNEL)
            continue;
        struct kernel_group *kernel_group = group_of(kernel_groups, kernel_key(replay, i), status);
        if (!kernel_group)
            return false;
        bool full = clock_share(&clock, replay->trace->activity.start[i]) >= FULL_SHARE;
        if (full && !kernel_group->at_full) {
            kernel_group->at_full = true;
            kernel_group->min = replay->duration[i];
        } else if (full || !kernel_group->at_full) {
            kernel_group->min = MIN(kernel_group->min, replay->duration[i]);
        }
        kernel_group->sum += replay->duration[i];
        kernel_group->count++;
    }
    return true;
}

/* The clock is sampled more slowly than it changes: kernels that were clearly faster at some time
 * are assumed to have had the full clock then. */
static bool is_best_known(const struct kernel_group *kernel_group) {
    return kernel_group->at_full ||
           (kernel_group->count > 1 && (double)kernel_group->min * (double)kernel_group->count <
                                           CLEARLY_FASTER * (double)kernel_group->sum);
}

/* Not below its shortest duration, nor below its roof if that is known. */
static int64_t time_at_full_clock(const struct run *run, size_t row, double share,
                                  const struct kernel_group *kernel_group) {
    const struct work *work = run->replay->source.work;
    if (!(share >= 0 && share <= 1)) /* invalid clocks: 0, negative or NaN */
        return run->duration[row];
    int64_t time = (int64_t)((double)run->duration[row] * share);
    if (is_best_known(kernel_group))
        time = MAX(time, kernel_group->min);
    if (work && work->roof_ns)
        time = MAX(time, (int64_t)work->roof_ns[row]);
    return MIN(time, run->duration[row]);
}

static bool scale_durations(struct run *run, uint32_t device, struct clock clock, uint64_t *touched,
                            struct status *status) {
    const struct replay *replay = run->replay;
    const struct model *model = replay->source.model;
    struct kernel_groups kernel_groups = {.count = 0};
    bool ok = find_groups(replay, device, clock, &kernel_groups, status);
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1] && ok; i++) {
        double share = clock_share(&clock, replay->trace->activity.start[i]);
        if (replay->trace->activity.kind[i] != ACTIVITY_KERNEL || share >= FULL_SHARE)
            continue;
        const uint64_t *kernel_group = map_find(&kernel_groups.index, kernel_key(replay, i));
        run->duration[i] = time_at_full_clock(run, i, share, &kernel_groups.list[*kernel_group]);
        ++*touched;
    }
    map_finish(&kernel_groups.index);
    memory_free(kernel_groups.list);
    return ok;
}

bool change_full_clock(struct run *run, const struct change *change, struct outcome *outcome,
                       struct status *status) {
    const struct replay *replay = run->replay;
    char count_text[FORMAT_PLURAL_SIZE];
    uint64_t touched = 0;
    bool known = false, ok = run_edit_activities(run, status);
    for (uint32_t device = 1; device < replay->devices && ok; device++) {
        struct reading *readings = NULL;
        size_t count = 0;
        if (change->device && change->device != device)
            continue;
        ok = replay->trace->counter.value == NULL ||
             collect_readings(replay, device, &readings, &count, status);
        if (ok && count && replay->trace->counter.value) {
            double full = 0, stated = (double)replay->trace->device.clock_hz[device];
            for (size_t i = 0; i < count; i++)
                full = readings[i].value > full ? readings[i].value : full;
            /* readings below a million are in MHz */
            stated = full < 1e6 ? stated / 1e6 : stated;
            known = true;
            struct clock clock = {readings, count, 0, stated > full ? stated : full};
            ok = scale_durations(run, device, clock, &touched, status);
        }
        memory_free(readings);
    }
    if (!ok)
        return false;
    run->touched += touched;
    outcome->applicable = touched > 0;
    if (!touched) {
        snprintf(outcome->why_not, OUTCOME_TEXT, "%s",
                 known ? "kernels already ran at the full clock"
                       : "the device's clock was not recorded");
        return true;
    }
    snprintf(outcome->what, OUTCOME_TEXT, "%s at the full clock",
             format_plural(touched, "kernel runs", "kernels run", count_text));
    snprintf(outcome->assumes, OUTCOME_TEXT,
             "kernel time scales with the clock; memory-bound kernels gain less");
    run->assumption_error += 0.15;
    return true;
}
