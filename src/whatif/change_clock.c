/* What if the device had run at its full clock? The clock that was sampled while a kernel ran,
 * against the highest one sampled or stated. */
#include <stdio.h>
#include <stdlib.h>

#include "base/format.h"
#include "base/memory.h"
#include "whatif/run.h"

/* The clock of the multiprocessors, not of memory. */
static bool is_clock(struct text name) {
    bool clock = text_find(name, "clock") >= 0 || text_find(name, "Clock") >= 0;
    return clock && text_find(name, "memory") < 0 && text_find(name, "Memory") < 0 &&
           text_find(name, "mem_") < 0;
}

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
    uint32_t name = 0;
    for (size_t i = 0; i < trace->counter.count; i++) {
        if (trace->counter.device[i] != device || !(trace->counter.value[i] > 0))
            continue;
        if (name == 0 && is_clock(trace_text(trace, trace->counter.name[i])))
            name = trace->counter.name[i];
        if (name == 0 || trace->counter.name[i] != name)
            continue;
        if (!memory_grow((void **)readings, &capacity, *count + 1, sizeof **readings, status))
            return false;
        (*readings)[(*count)++] = (struct reading){trace->counter.time[i], trace->counter.value[i]};
    }
    if (*count)
        qsort(*readings, *count, sizeof **readings, by_time);
    return true;
}

static uint64_t speed_up(struct run *run, uint32_t device, const struct reading *readings,
                         size_t count, double full) {
    const struct replay *replay = run->replay;
    const struct model *model = replay->source.model;
    const struct trace *trace = replay->trace;
    uint64_t touched = 0;
    size_t at = 0;
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
        while (at + 1 < count && readings[at + 1].time <= trace->activity.start[i])
            at++;
        double share = readings[at].value / full;
        if (trace->activity.kind[i] != ACTIVITY_KERNEL || share >= 0.99)
            continue;
        run->duration[i] = (int64_t)((double)run->duration[i] * share);
        touched++;
    }
    return touched;
}

bool change_full_clock(struct run *run, const struct change *change, struct outcome *outcome,
                       struct status *status) {
    const struct replay *replay = run->replay;
    char count_text[FORMAT_SIZE];
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
            touched += speed_up(run, device, readings, count, stated > full ? stated : full);
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
    snprintf(outcome->what, OUTCOME_TEXT, "%s kernels run at the full clock",
             format_count(touched, count_text));
    snprintf(outcome->assumes, OUTCOME_TEXT,
             "kernels slow down as the clock does; those that wait "
             "for memory do so less");
    run->doubt += 0.25;
    return true;
}
