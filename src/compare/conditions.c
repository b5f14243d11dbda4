/* Are the two traces comparable? What differs besides the program: the device, its clock, the
 * driver, the recording tool, what was lost. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "base/min_max.h"
#include "compare/diff_parts.h"
#include "whatif/names.h"

#define SAME_CLOCK 0.015 /* relative; boost clocks move by a step of 15 MHz all the time */

__attribute__((format(printf, 4, 5))) static void add(struct diff *diff, const char *key,
                                                      bool decisive, const char *format, ...) {
    if (diff->condition_count == CONDITIONS_MAX)
        return;
    struct condition *condition = &diff->conditions[diff->condition_count++];
    va_list arguments;
    condition->key = key;
    condition->decisive = decisive;
    va_start(arguments, format);
    vsnprintf(condition->words, sizeof condition->words, format, arguments);
    va_end(arguments);
}

static struct text device_name(const struct side *side) {
    const struct trace *trace = side->report->model.trace;
    return trace_text(trace, trace->device.name[side->device->id]);
}

static void compare_devices(struct diff *diff) {
    struct text before = device_name(&diff->sides[BEFORE]),
                after = device_name(&diff->sides[AFTER]);
    if (!text_equal(before, after) && before.length && after.length)
        add(diff, "device", true, "Different devices: %.*s before, %.*s after.",
            (int)MIN(before.length, 100), before.data, (int)MIN(after.length, 100), after.data);
    size_t devices[SIDES] = {diff->sides[BEFORE].report->device_count,
                             diff->sides[AFTER].report->device_count};
    if (devices[BEFORE] != devices[AFTER])
        add(diff, "devices", false,
            "%zu devices worked before and %zu after; the one with most work is compared "
            "(--device selects another).",
            devices[BEFORE], devices[AFTER]);
    else if (devices[BEFORE] > 1)
        add(diff, "devices", false,
            "%zu devices worked; the one with most work is compared (--device selects another).",
            devices[BEFORE]);
}

/* ---- clocks ---- */

/* Readings are written when they change: each holds until the next. The mean over the units. */
struct clock_walk {
    const struct side *side;
    int64_t held_from;
    double held, weighted, time;
};

static void hold(struct clock_walk *walk, int64_t until) {
    const struct side *side = walk->side;
    int64_t first = side->units[0].start, last = side->units[side->unit_count - 1].end;
    int64_t from = MAX(walk->held_from, first), to = MIN(until, last);
    if (walk->held <= 0 || to <= from)
        return;
    walk->weighted += walk->held * (double)(to - from);
    walk->time += (double)(to - from);
}

static double mean_clock(const struct side *side, unsigned *reasons, struct status *status) {
    struct trace *trace = side->report->model.trace;
    *reasons = 0;
    if (!trace_load(trace, TABLE_COUNTER, "time device name value", status))
        return -1;
    struct clock_counter counter = names_clock_counter(trace, side->device->id);
    struct clock_walk walk = {.side = side, .held_from = INT64_MIN};
    double before_first = 0;
    for (size_t i = 0; i < trace->counter.count; i++) {
        int64_t time = trace->counter.time[i];
        if (counter.name && is_clock_reading(trace, &counter, i) && time >= walk.held_from) {
            hold(&walk, time);
            before_first = before_first > 0 ? before_first : trace->counter.value[i];
            walk.held = trace->counter.value[i];
            walk.held_from = time;
        } else if (time <= side->units[side->unit_count - 1].end && trace->counter.value[i] > 0 &&
                   trace->counter.value[i] < 4096 &&
                   text_is(trace_text(trace, trace->counter.name[i]), "throttle reasons")) {
            *reasons |= (unsigned)trace->counter.value[i];
        }
    }
    hold(&walk, INT64_MAX);
    return walk.time > 0 ? walk.weighted / walk.time : before_first;
}

static bool compare_clocks(struct diff *diff, struct status *status) {
    unsigned reasons[SIDES];
    for (unsigned at = BEFORE; at < SIDES; at++) {
        diff->clock[at] = mean_clock(&diff->sides[at], &reasons[at], status);
        if (diff->clock[at] < 0)
            return false;
    }
    double before = diff->clock[BEFORE], after = diff->clock[AFTER];
    if (before > 0 && after > 0 && fabs(after / before - 1) > SAME_CLOCK)
        add(diff, "clock", true, "The device ran at %.2f GHz before and at %.2f GHz after.",
            before / 1e3, after / 1e3);
    enum { THERMAL = 0x20 | 0x40, SLOWDOWN = 0x8 | 0x80 };
    for (unsigned at = BEFORE; at < SIDES; at++)
        if (reasons[at] & (THERMAL | SLOWDOWN))
            add(diff, "throttling", false, "The device was throttled %s: %s.",
                at == BEFORE ? "before" : "after",
                reasons[at] & THERMAL ? "thermal slowdown" : "hardware slowdown");
    return true;
}

/* ---- tools and versions ---- */

static void compare_meta(struct diff *diff, const char *key, const char *what) {
    struct text before = trace_meta(diff->sides[BEFORE].report->model.trace, key),
                after = trace_meta(diff->sides[AFTER].report->model.trace, key);
    if (before.length && after.length && !text_equal(before, after))
        add(diff, what, false, "Another %s: %.*s before, %.*s after.", what,
            (int)MIN(before.length, 80), before.data, (int)MIN(after.length, 80), after.data);
}

static void compare_tools(struct diff *diff) {
    static const char *const keys[][2] = {
        {"source.tool", "recording tool"},        {"driver.version", "driver"},
        {"kineto.cuda_driver_version", "driver"}, {"kineto.cuda_runtime_version", "CUDA runtime"},
        {"pytorch.version", "PyTorch"},           {"cuda.graphs", "recording of CUDA graphs"}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        compare_meta(diff, keys[i][0], keys[i][1]);
    bool samples[SIDES];
    for (unsigned at = BEFORE; at < SIDES; at++)
        samples[at] = diff->sides[at].report->samples.count > 0;
    if (samples[BEFORE] != samples[AFTER])
        add(diff, "sampling", false,
            "CPU samples were recorded only %s: sampling slows host code down a little.",
            samples[AFTER] ? "after" : "before");
}

static void compare_quality(struct diff *diff) {
    for (unsigned at = BEFORE; at < SIDES; at++) {
        const struct data_quality *quality = &diff->sides[at].report->quality;
        const char *side = at == BEFORE ? "before" : "after";
        char count[FORMAT_SIZE];
        if (quality->dropped)
            add(diff, "lost", false, "%s events were lost %s.",
                format_count(quality->dropped, count), side);
        if (quality->no_calls)
            add(diff, "calls", false,
                "No API calls were recorded %s: causes of idle time are unknown.", side);
    }
}

static void compare_units(struct diff *diff) {
    const struct side *before = &diff->sides[BEFORE], *after = &diff->sides[AFTER];
    if (strcmp(before->unit, after->unit) != 0)
        add(diff, "units", false,
            "One %s before is compared with one %s after: select the same part of both with "
            "--steps, --range or --window.",
            before->unit, after->unit);
    else if (!diff->same_units)
        add(diff, "units", false,
            "Steps are not marked, and what repeats is not the same on both sides: the whole runs "
            "are compared, as if both did the same number of iterations. NVTX ranges around the "
            "steps, or torch.profiler's step(), mark them.");
}

bool conditions_find(struct diff *diff, struct status *status) {
    compare_devices(diff);
    if (!compare_clocks(diff, status))
        return false;
    compare_tools(diff);
    compare_units(diff);
    compare_quality(diff);
    return true;
}
