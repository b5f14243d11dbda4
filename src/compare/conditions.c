/* Are the two traces comparable? What differs besides the program's code: the device, its clock and
 * who else used it, versions, shapes, the recording tool and its cost, what was lost. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "base/min_max.h"
#include "compare/diff_parts.h"
#include "whatif/names.h"

#define READ_EVERY 300000000 /* ns; a reading may be that late */
#define SAME_OVERHEAD 0.01   /* of the program's CPU time */
#define SAME_BLOCKS 0.05
#define SAME_CLOCK 0.015 /* relative; boost clocks move by a step of 15 MHz all the time */

__attribute__((format(printf, 3, 4))) static void add(struct diff *diff, const char *key,
                                                      const char *format, ...) {
    if (diff->condition_count == CONDITIONS_MAX)
        return;
    struct condition *condition = &diff->conditions[diff->condition_count++];
    va_list arguments;
    condition->key = key;
    va_start(arguments, format);
    vsnprintf(condition->words, sizeof condition->words, format, arguments);
    va_end(arguments);
}

static void name_device(const struct side *side, char name[DEVICE_NAME_SIZE]) {
    const struct trace *trace = side->report->model.trace;
    struct text known = trace_text(trace, trace->device.name[side->device->id]),
                vendor = trace_text(trace, trace->device.vendor[side->device->id]);
    bool named = known.length > 0;
    struct text shown = named ? known : vendor;
    snprintf(name, DEVICE_NAME_SIZE, "%s%.*s", named || !vendor.length ? "" : "a device of ",
             (int)MIN(shown.length, 80), shown.data);
}

static void compare_devices(struct diff *diff) {
    for (unsigned at = BEFORE; at < SIDES; at++)
        name_device(&diff->sides[at], diff->device[at]);
    diff->other_device = *diff->device[BEFORE] && *diff->device[AFTER] &&
                         strcmp(diff->device[BEFORE], diff->device[AFTER]) != 0;
    if (diff->other_device)
        add(diff, "device", "Different devices: %s before, %s after.", diff->device[BEFORE],
            diff->device[AFTER]);
    size_t devices[SIDES] = {diff->sides[BEFORE].report->device_count,
                             diff->sides[AFTER].report->device_count};
    if (devices[BEFORE] != devices[AFTER])
        add(diff, "devices",
            "%zu devices worked before and %zu after; the one with most work is compared "
            "(--device selects another).",
            devices[BEFORE], devices[AFTER]);
    else if (devices[BEFORE] > 1)
        add(diff, "devices",
            "%zu devices worked; the one with most work is compared (--device selects another).",
            devices[BEFORE]);
}

/* ---- clocks ---- */

/* Readings are written when they change: each holds until the next. Over the units, the mean clock,
 * all throttle reasons, and the most processes. */
struct counter_walk {
    const struct side *side;
    int64_t first, last; /* of the units */
    int64_t held_from;
    double held, weighted, time, earliest;
    unsigned reasons;
    double processes;
};

static void hold(struct counter_walk *walk, int64_t until) {
    int64_t from = MAX(walk->held_from, walk->first), to = MIN(until, walk->last);
    if (walk->held <= 0 || to <= from)
        return;
    walk->weighted += walk->held * (double)(to - from);
    walk->time += (double)(to - from);
}

static void read_clock(struct counter_walk *walk, int64_t time, double value) {
    if (time < walk->held_from)
        return;
    hold(walk, time);
    walk->earliest = walk->earliest > 0 ? walk->earliest : value;
    walk->held = value;
    walk->held_from = time;
}

static void read_state(struct counter_walk *walk, struct text name, int64_t time, double value) {
    if (value <= 0 || value >= 4096)
        return;
    if (text_is(name, "throttle reasons") && time <= walk->last)
        walk->reasons |= (unsigned)value;
    else if (text_is(name, "compute processes") && time <= walk->last + READ_EVERY)
        walk->processes = time <= walk->first ? value : fmax(walk->processes, value);
}

static bool walk_counters(const struct side *side, struct counter_walk *walk,
                          struct status *status) {
    struct trace *trace = side->report->model.trace;
    *walk = (struct counter_walk){.side = side,
                                  .first = side->units[0].start,
                                  .last = side->units[side->unit_count - 1].end,
                                  .held_from = INT64_MIN};
    if (!trace_load(trace, TABLE_COUNTER, "time device name value", status))
        return false;
    struct clock_counter counter = names_clock_counter(trace, side->device->id);
    for (size_t i = 0; i < trace->counter.count; i++) {
        int64_t time = trace->counter.time[i];
        if (counter.name && is_clock_reading(trace, &counter, i))
            read_clock(walk, time, trace->counter.value[i]);
        else if (trace->counter.device[i] == side->device->id)
            read_state(walk, trace_text(trace, trace->counter.name[i]), time,
                       trace->counter.value[i]);
    }
    hold(walk, INT64_MAX);
    return true;
}

static void compare_clocks(struct diff *diff, const unsigned reasons[SIDES]) {
    double before = diff->clock[BEFORE], after = diff->clock[AFTER];
    if (before > 0 && after > 0 && fabs(after / before - 1) > SAME_CLOCK)
        add(diff, "clock", "The device ran at %.2f GHz before and at %.2f GHz after.", before / 1e3,
            after / 1e3);
    enum { THERMAL = 0x20 | 0x40, SLOWDOWN = 0x8 | 0x80 };
    for (unsigned at = BEFORE; at < SIDES; at++)
        if (reasons[at] & (THERMAL | SLOWDOWN))
            add(diff, "throttling", "The device was throttled %s: %s.",
                at == BEFORE ? "before" : "after",
                reasons[at] & THERMAL ? "thermal slowdown" : "hardware slowdown");
}

static bool compare_counters(struct diff *diff, struct status *status) {
    unsigned reasons[SIDES];
    for (unsigned at = BEFORE; at < SIDES; at++) {
        struct counter_walk walk;
        if (!walk_counters(&diff->sides[at], &walk, status))
            return false;
        diff->clock[at] = walk.time > 0 ? walk.weighted / walk.time : walk.earliest;
        diff->processes[at] = walk.processes;
        reasons[at] = walk.reasons;
    }
    compare_clocks(diff, reasons);
    double before = diff->processes[BEFORE], after = diff->processes[AFTER];
    if (before > 0 && after > 0 && before != after)
        add(diff, "processes", "%.0f compute process%s had the device open before, %.0f after.",
            before, before > 1 ? "es" : "", after);
    return true;
}

/* ---- tools and versions ---- */

static void compare_meta(struct diff *diff, const char *key, const char *what) {
    struct text before = trace_meta(diff->sides[BEFORE].report->model.trace, key),
                after = trace_meta(diff->sides[AFTER].report->model.trace, key);
    if (before.length && after.length && !text_equal(before, after))
        add(diff, what, "Another %s: %.*s before, %.*s after.", what, (int)MIN(before.length, 80),
            before.data, (int)MIN(after.length, 80), after.data);
}

static void compare_tools(struct diff *diff) {
    static const char *const keys[][2] = {{"source.tool", "recording tool"},
                                          {"driver.version", "driver"},
                                          {"kineto.cuda_driver_version", "driver"},
                                          {"kineto.cuda_runtime_version", "CUDA runtime"},
                                          {"pytorch.version", "PyTorch"},
                                          {"jaxlib.version", "JAX"},
                                          {"tensorflow.version", "TensorFlow"},
                                          {"triton.version", "Triton"},
                                          {"cupy.version", "CuPy"},
                                          {"cuda.graphs", "recording of CUDA graphs"}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        compare_meta(diff, keys[i][0], keys[i][1]);
    bool samples[SIDES];
    for (unsigned at = BEFORE; at < SIDES; at++)
        samples[at] = diff->sides[at].report->samples.count > 0;
    if (samples[BEFORE] != samples[AFTER])
        add(diff, "sampling",
            "CPU samples were recorded only %s: sampling slows host code down a little.",
            samples[AFTER] ? "after" : "before");
}

/* ---- the recording's own cost ---- */

/* Share of the program's CPU time that recording it took; negative: not recorded. */
static double overhead_of(const struct side *side) {
    const struct trace *trace = side->report->model.trace;
    double cost = (double)trace_meta_sum(trace, "probe.cost_ns"),
           all = (double)trace_meta_sum(trace, "target.cpu_ns");
    return trace_meta(trace, "probe.cost_ns").length && all > 0 ? cost / all : -1;
}

static void compare_overhead(struct diff *diff) {
    double before = overhead_of(&diff->sides[BEFORE]), after = overhead_of(&diff->sides[AFTER]);
    char share[2][FORMAT_SIZE];
    if (before >= 0 && after >= 0 && fabs(after - before) > SAME_OVERHEAD)
        add(diff, "overhead", "Recording took %s of the program's CPU time before and %s after.",
            format_percent(before, share[0]), format_percent(after, share[1]));
    else if ((before < 0) != (after < 0))
        add(diff, "overhead",
            "Recording took %s of the program's CPU time %s; %s it is not recorded, and host times "
            "include it.",
            format_percent(fmax(before, after), share[0]), before < 0 ? "after" : "before",
            before < 0 ? "before" : "after");
}

/* ---- shapes ---- */

/* How two lists of dimensions, "[[4096,2048],[2048]]", differ. */
struct shape_change {
    bool alike;             /* they have as many dimensions */
    bool one;               /* one pair of values explains all that differs */
    bool leading;           /* all of it in first dimensions */
    uint64_t before, after; /* the first pair */
};

static uint64_t next_number(struct text text, size_t *at) {
    uint64_t value = 0;
    for (; *at < text.length && text.data[*at] >= '0' && text.data[*at] <= '9'; ++*at)
        value = value * 10 + (uint64_t)(text.data[*at] - '0');
    return value;
}

static bool is_digit_at(struct text text, size_t at) {
    return text.data[at] >= '0' && text.data[at] <= '9';
}

static struct shape_change change_of_shapes(struct text before, struct text after) {
    struct shape_change change = {.alike = true, .one = true, .leading = true};
    size_t i = 0, k = 0;
    while (i < before.length && k < after.length) {
        if (!is_digit_at(before, i) || !is_digit_at(after, k)) {
            if (before.data[i++] != after.data[k++]) {
                change.alike = false;
                return change;
            }
            continue;
        }
        bool first = i > 0 && before.data[i - 1] == '[';
        uint64_t x = next_number(before, &i), y = next_number(after, &k);
        if (x == y)
            continue;
        if (change.before == 0 && change.after == 0) {
            change.before = x;
            change.after = y;
        }
        change.one &= change.before == x && change.after == y;
        change.leading &= first;
    }
    change.alike = i == before.length && k == after.length;
    return change;
}

static bool has_other_blocks(const struct diff_row *row) {
    return row->blocks[BEFORE] > 0 && row->blocks[AFTER] > 0 &&
           fabs(row->blocks[AFTER] / row->blocks[BEFORE] - 1) > SAME_BLOCKS;
}

/* The operators' inputs where they are recorded; else the thread blocks of the same kernels. */
static void compare_shapes(struct diff *diff) {
    struct shape_change all = {.alike = true, .one = true, .leading = true};
    size_t kernels = 0, changed = 0, blocks = 0;
    for (size_t i = 0; i < diff->row_count; i++) {
        const struct diff_row *row = &diff->rows[i];
        if (row->part != PART_BUSY || (row->kind != ROW_BOTH && row->place.length == 0))
            continue;
        kernels++;
        blocks += row->kind == ROW_BOTH && !diff->other_device && has_other_blocks(row);
        if (row->shapes[BEFORE].length == 0 || row->shapes[AFTER].length == 0 ||
            text_equal(row->shapes[BEFORE], row->shapes[AFTER]))
            continue;
        struct shape_change one = change_of_shapes(row->shapes[BEFORE], row->shapes[AFTER]);
        all.one &= one.alike && one.one &&
                   (changed == 0 || (one.before == all.before && one.after == all.after));
        all.leading &= one.leading;
        all.before = changed ? all.before : one.before;
        all.after = changed ? all.after : one.after;
        changed++;
    }
    if (changed && all.one)
        add(diff, "shapes", "Other shapes: %s of the inputs is %llu before and %llu after.",
            all.leading ? "the first dimension (the batch)" : "a dimension",
            (unsigned long long)all.before, (unsigned long long)all.after);
    else if (changed)
        add(diff, "shapes", "Other shapes: the inputs of %zu of %zu kernels differ.", changed,
            kernels);
    else if (blocks)
        add(diff, "shapes",
            "Other shapes: the number of thread blocks differs for %zu of %zu kernels.", blocks,
            kernels);
}

static void compare_quality(struct diff *diff) {
    for (unsigned at = BEFORE; at < SIDES; at++) {
        const struct data_quality *quality = &diff->sides[at].report->quality;
        const char *side = at == BEFORE ? "before" : "after";
        char count[FORMAT_SIZE];
        if (quality->dropped)
            add(diff, "lost", "%s events were lost %s.", format_count(quality->dropped, count),
                side);
        if (quality->no_calls)
            add(diff, "calls", "No API calls were recorded %s: causes of idle time are unknown.",
                side);
    }
}

static void compare_units(struct diff *diff) {
    const struct side *before = &diff->sides[BEFORE], *after = &diff->sides[AFTER];
    if (strcmp(before->unit, after->unit) != 0)
        add(diff, "units",
            "One %s before is compared with one %s after: select the same part of both with "
            "--steps, --range or --window.",
            before->unit, after->unit);
    else if (!diff->same_units)
        add(diff, "units",
            "Steps are not marked, and what repeats is not the same on both sides: the whole runs "
            "are compared, as if both did the same number of iterations. Mark the steps "
            "with ranges or with torch.profiler's step().");
}

bool conditions_find(struct diff *diff, struct status *status) {
    compare_devices(diff);
    if (!compare_counters(diff, status))
        return false;
    compare_tools(diff);
    compare_overhead(diff);
    compare_shapes(diff);
    compare_units(diff);
    compare_quality(diff);
    return true;
}
