/* What if the device had run at its full clock? The clock that was sampled while a kernel ran,
 * against the highest one sampled or stated. */
#include <stdio.h>
#include <stdlib.h>

#include "base/format.h"
#include "base/map.h"
#include "base/memory.h"
#include "whatif/names.h"
#include "whatif/run.h"

#define FULL_SHARE 0.99 /* of the full clock: not lowered */
#define CLEARLY 0.95    /* of the mean: faster than kernels are by chance */

struct reading {
    int64_t time;
    double value;
};

static int by_time(const void *a, const void *b) {
    const struct reading *x = a, *y = b;
    return x->time < y->time ? -1 : x->time > y->time;
}

/* Readings of the device's clock in order of time. */
static bool collect(const struct replay *replay, uint32_t device, struct reading **readings,
                    size_t *count, struct status *status) {
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

/* The clock while an activity ran, as a share of the full one; activities come in order of time. */
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

struct kind {
    int64_t least, sum;
    uint64_t count;
    bool at_full; /* the least is of the full clock */
};

struct kinds {
    struct map index;
    struct kind *list;
    size_t count, capacity;
};

static struct kind *kind_of(struct kinds *kinds, uint64_t key, struct status *status) {
    const uint64_t *known = map_find(&kinds->index, key);
    if (known)
        return &kinds->list[*known];
    if (!GROW(kinds->list, &kinds->capacity, kinds->count + 1, status) ||
        !map_set(&kinds->index, key, kinds->count, status))
        return NULL;
    kinds->list[kinds->count] = (struct kind){.least = INT64_MAX};
    return &kinds->list[kinds->count++];
}

/* How long the kernels of each name and size take at best. At the full clock that is all that can
 * be had, since what they wait for beside the clock (memory above all) is in it. */
static bool find_kinds(const struct replay *replay, uint32_t device, struct clock clock,
                       struct kinds *kinds, struct status *status) {
    const struct model *model = replay->source.model;
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
        if (replay->trace->activity.kind[i] != ACTIVITY_KERNEL)
            continue;
        struct kind *kind = kind_of(kinds, kernel_key(replay, i), status);
        if (!kind)
            return false;
        bool full = clock_share(&clock, replay->trace->activity.start[i]) >= FULL_SHARE;
        if (full && !kind->at_full) {
            kind->at_full = true;
            kind->least = replay->duration[i];
        } else if (full || !kind->at_full) {
            kind->least = MIN(kind->least, replay->duration[i]);
        }
        kind->sum += replay->duration[i];
        kind->count++;
    }
    return true;
}

/* The clock is read seldom beside how fast it changes: kernels that were clearly faster at some
 * time are taken to have had the full clock then. */
static bool is_best_known(const struct kind *kind) {
    return kind->at_full || (kind->count > 1 && (double)kind->least * (double)kind->count <
                                                    CLEARLY * (double)kind->sum);
}

/* No less than at its best, nor than its roof where that is known. */
static int64_t time_at_full_clock(const struct run *run, size_t row, double share,
                                  const struct kind *kind) {
    const struct work *work = run->replay->source.work;
    if (!(share >= 0 && share <= 1)) /* clocks that cannot be: 0, negative or no number */
        return run->duration[row];
    int64_t time = (int64_t)((double)run->duration[row] * share);
    if (is_best_known(kind))
        time = MAX(time, kind->least);
    if (work && work->roof_ns)
        time = MAX(time, (int64_t)work->roof_ns[row]);
    return MIN(time, run->duration[row]);
}

static bool speed_up(struct run *run, uint32_t device, struct clock clock, uint64_t *touched,
                     struct status *status) {
    const struct replay *replay = run->replay;
    const struct model *model = replay->source.model;
    struct kinds kinds = {.count = 0};
    bool ok = find_kinds(replay, device, clock, &kinds, status);
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1] && ok; i++) {
        double share = clock_share(&clock, replay->trace->activity.start[i]);
        if (replay->trace->activity.kind[i] != ACTIVITY_KERNEL || share >= FULL_SHARE)
            continue;
        const uint64_t *kind = map_find(&kinds.index, kernel_key(replay, i));
        run->duration[i] = time_at_full_clock(run, i, share, &kinds.list[*kind]);
        ++*touched;
    }
    map_finish(&kinds.index);
    memory_free(kinds.list);
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
             collect(replay, device, &readings, &count, status);
        if (ok && count && replay->trace->counter.value) {
            double full = 0, stated = (double)replay->trace->device.clock_hz[device];
            for (size_t i = 0; i < count; i++)
                full = readings[i].value > full ? readings[i].value : full;
            /* readings are MHz where they are below a million */
            stated = full < 1e6 ? stated / 1e6 : stated;
            known = true;
            struct clock clock = {readings, count, 0, stated > full ? stated : full};
            ok = speed_up(run, device, clock, &touched, status);
        }
        memory_free(readings);
    }
    if (!ok)
        return false;
    run->touched += touched;
    outcome->applicable = touched > 0;
    if (!touched) {
        snprintf(outcome->why_not, OUTCOME_TEXT, "%s",
                 known ? "the clock was at its highest while kernels ran"
                       : "the device's clock was not recorded");
        return true;
    }
    snprintf(outcome->what, OUTCOME_TEXT, "%s at the full clock",
             format_plural(touched, "kernel runs", "kernels run", count_text));
    snprintf(outcome->assumes, OUTCOME_TEXT,
             "kernels slow down as the clock does; those that wait "
             "for memory do so less");
    run->doubt += 0.15;
    return true;
}
