/* What if copies used pinned memory, or were fewer and larger? */
#include <stdio.h>

#include "analysis/copies.h"
#include "base/format.h"
#include "whatif/run.h"

/* The rate of a full-width bus of this device generation in one direction; 0: unknown. About 80 %
 * of the nominal rate is achievable. */
static double bus_rate(const struct replay *replay, uint32_t device) {
    static const double arrives = 0.8, third = 15.75e9; /* PCI Express 3.0 x16, bytes per second */
    switch (replay->trace->device.compute_major[device]) {
    case 6:
    case 7:
        return arrives * third;
    case 8:
        return arrives * 2 * third;
    case 9:
    case 10:
    case 12:
        return arrives * 4 * third;
    default:
        return 0;
    }
}

double copy_rate(const struct replay *replay, uint32_t device, unsigned direction, bool pinned,
                 bool *measured) {
    const struct limits *limits = replay->source.limits;
    enum device_limit limit =
        direction == COPY_DTOH
            ? (pinned ? DEVICE_LIMIT_TO_HOST_PINNED : DEVICE_LIMIT_TO_HOST_PAGEABLE)
            : (pinned ? DEVICE_LIMIT_TO_DEVICE_PINNED : DEVICE_LIMIT_TO_DEVICE_PAGEABLE);
    *measured = limits && limits[device].of[limit] > 0 &&
                limits[device].source[limit] == LIMIT_MEASURED &&
                (direction == COPY_HTOD || direction == COPY_DTOH);
    if (*measured)
        return limits[device].of[limit];
    double seen = replay->typical[device].copy_rate[direction][pinned];
    bool by_bus = pinned && (direction == COPY_HTOD || direction == COPY_DTOH);
    return seen > 0 || !by_bus ? seen : bus_rate(replay, device);
}

static int64_t time_to_move(const struct replay *replay, uint32_t activity, double bytes,
                            double rate) {
    const struct typical *typical = &replay->typical[activity_device(replay, activity)];
    double moving = bytes / rate * 1e9;
    return typical->copy_latency[replay->trace->activity.direction[activity]] +
           (moving < 1e15 ? (int64_t)moving : (int64_t)1e15);
}

/* A call that is synchronous by its name stays so. */
static void unblock_call(struct run *run, uint32_t call) {
    const struct replay *replay = run->replay;
    run->call_cost[call] = MIN(run->call_cost[call], replay->copy_call);
    if (call_is_asynchronous(call_name(replay, call)))
        run->call_removed[call] = 1;
}

static bool awaits_activity(const struct replay *replay, uint32_t call, uint32_t activity) {
    for (uint32_t k = replay->awaits.first[call]; k < replay->awaits.first[call + 1]; k++)
        if (replay->awaits.activity[k] == activity)
            return true;
    return false;
}

/* A framework's blocking copy is an asynchronous call followed by a wait for the queue. */
void drop_wait_for_copy(struct run *run, uint32_t activity) {
    const struct replay *replay = run->replay;
    uint32_t call = replay->launch[activity];
    if (call == NO_ROW)
        return;
    for (uint32_t i = call + 1; i < replay->calls; i++) {
        if (replay->trace->call.thread[i] != replay->trace->call.thread[call])
            return;
        if (!is_outer(replay, i) || replay->class[i] == CALL_OTHER)
            continue;
        if (replay->class[i] == CALL_SYNC && awaits_activity(replay, i, activity))
            run_drop_operation(run, i);
        return;
    }
}

bool pin_copy(struct run *run, uint32_t activity) {
    const struct replay *replay = run->replay;
    const struct trace *trace = replay->trace;
    bool measured;
    double rate = copy_rate(replay, activity_device(replay, activity),
                            trace->activity.direction[activity], true, &measured);
    if (rate <= 0 || trace->activity.bytes[activity] == BYTES_UNKNOWN)
        return false;
    run->duration[activity] =
        MIN(run->duration[activity],
            time_to_move(replay, activity, (double)trace->activity.bytes[activity], rate));
    if (replay->launch[activity] != NO_ROW)
        unblock_call(run, replay->launch[activity]);
    drop_wait_for_copy(run, activity);
    run->touched++;
    return true;
}

/* Measured, or observed in this trace. */
static bool is_rate_known(const struct replay *replay, uint32_t activity) {
    uint32_t device = activity_device(replay, activity);
    unsigned direction = replay->trace->activity.direction[activity];
    bool measured;
    copy_rate(replay, device, direction, true, &measured);
    return measured || replay->typical[device].copy_rate[direction][1] > 0;
}

bool change_pinned(struct run *run, const struct change *change, struct outcome *outcome,
                   struct status *status) {
    const struct replay *replay = run->replay;
    char count[FORMAT_PLURAL_SIZE], size[FORMAT_SIZE];
    uint64_t pageable = 0, pinned = 0, bytes = 0;
    bool known = true; /* the rate of pinned copies */
    (void)change;
    if (!run_edit_calls(run, status) || !run_edit_activities(run, status))
        return false;
    for (uint32_t i = 0; i < replay->activities; i++) {
        if (!is_pageable(replay, i) || run_activity_removed(run, i) ||
            (replay->launch[i] != NO_ROW && !in_loop(replay, replay->call_step[replay->launch[i]])))
            continue;
        pageable++;
        known &= is_rate_known(replay, i);
        if (pin_copy(run, i)) {
            pinned++;
            bytes += replay->trace->activity.bytes[i];
        }
    }
    outcome->applicable = pinned > 0;
    if (!pinned) {
        snprintf(outcome->why_not, OUTCOME_TEXT, "%s",
                 pageable
                     ? "the rate of pinned copies is unknown; run 'ridge peaks' on that machine"
                     : "the loop has no copies from or to pageable memory");
        return true;
    }
    snprintf(outcome->what, OUTCOME_TEXT, "%s (%s) %s pinned memory",
             format_plural(pinned, "copy", "copies", count), format_bytes(bytes, size),
             pinned == 1 ? "uses" : "use");
    snprintf(outcome->assumes, OUTCOME_TEXT,
             "the data is already in pinned memory, and the host does not need it immediately%s",
             known ? "" : "; the bus runs at the full rate of this device generation");
    run->assumption_error += known ? 0.1 : 0.2;
    return true;
}

/* ---- merging small copies ---- */

static bool is_small(const struct replay *replay, size_t activity) {
    uint64_t bytes = replay->trace->activity.bytes[activity];
    unsigned direction = replay->trace->activity.direction[activity];
    return is_copy(replay, activity) && bytes != BYTES_UNKNOWN && bytes <= COPY_SMALL_BYTES &&
           (direction == COPY_HTOD || direction == COPY_DTOH);
}

/* Whether only waits for copies lie between the calls that launched two copies; merged, they need
 * one wait. */
static bool nothing_between(const struct replay *replay, uint32_t a, uint32_t b) {
    enum { FAR = 64 };
    uint32_t from = replay->launch[a], until = replay->launch[b];
    if (from == NO_ROW || until == NO_ROW || until < from || until - from > FAR ||
        replay->trace->call.thread[from] != replay->trace->call.thread[until] ||
        !same_step(replay, from, until))
        return false;
    for (uint32_t i = from + 1; i < until; i++)
        if (is_outer(replay, i) && replay->class[i] != CALL_SYNC && replay->class[i] != CALL_OTHER)
            return false;
    return true;
}

static bool can_merge(const struct run *run, uint32_t a, uint32_t b) {
    const struct replay *replay = run->replay;
    const struct columns_activity *activity = &replay->trace->activity;
    return is_small(replay, a) && is_small(replay, b) &&
           activity->direction[a] == activity->direction[b] &&
           activity->from_memory[a] == activity->from_memory[b] &&
           activity->to_memory[a] == activity->to_memory[b] && !run_activity_removed(run, b) &&
           nothing_between(replay, a, b) && in_loop(replay, replay->call_step[replay->launch[b]]);
}

/* The later copy merges into the first: its call and the waits up to it are removed. */
static void merge_copy(struct run *run, uint32_t before, uint32_t row) {
    const struct replay *replay = run->replay;
    for (uint32_t i = replay->launch[before] + 1; i <= replay->launch[row]; i++)
        if (is_outer(replay, i))
            run_drop_call(run, i, true);
    run_drop_activity(run, row);
}

static void resize_copy(struct run *run, uint32_t first, uint64_t bytes) {
    const struct replay *replay = run->replay;
    bool measured, pinned = !is_pageable(replay, first);
    double rate = copy_rate(replay, activity_device(replay, first),
                            replay->trace->activity.direction[first], pinned, &measured);
    double own = (double)replay->trace->activity.bytes[first];
    if (rate > 0)
        run->duration[first] =
            MAX(run->duration[first], time_to_move(replay, first, (double)bytes, rate));
    else if (own > 0) /* without a known rate it grows with its bytes */
        run->duration[first] +=
            (int64_t)((double)run->duration[first] / COPY_SMALL_BYTES * ((double)bytes - own));
}

bool change_batch_copies(struct run *run, const struct change *change, struct outcome *outcome,
                         struct status *status) {
    const struct replay *replay = run->replay;
    char a[FORMAT_SIZE], b[FORMAT_SIZE];
    uint64_t copies = 0, rows = 0;
    (void)change;
    if (!run_edit_calls(run, status) || !run_edit_activities(run, status))
        return false;
    for (uint32_t device = 1; device < replay->devices; device++) {
        const struct model *model = replay->source.model;
        uint32_t first = NO_ROW, before = NO_ROW; /* of the current run of copies */
        uint64_t bytes = 0;
        for (size_t i = model->device_first[device]; i <= model->device_first[device + 1]; i++) {
            uint32_t row = i < model->device_first[device + 1] ? (uint32_t)i : NO_ROW;
            if (row != NO_ROW && first != NO_ROW && replay->previous[row] == before &&
                can_merge(run, before, row)) {
                rows += first == before;
                copies += first == before ? 2 : 1;
                bytes += replay->trace->activity.bytes[row];
                merge_copy(run, before, row);
                before = row;
                continue;
            }
            if (first != NO_ROW && first != before)
                resize_copy(run, first, bytes);
            bool begins = row != NO_ROW && is_small(replay, row) && !run_activity_removed(run, row);
            first = before = begins ? row : NO_ROW;
            bytes = begins ? replay->trace->activity.bytes[row] : 0;
        }
    }
    outcome->applicable = rows > 0;
    if (!rows) {
        snprintf(outcome->why_not, OUTCOME_TEXT,
                 "there are no consecutive small copies in one direction");
        return true;
    }
    snprintf(outcome->what, OUTCOME_TEXT, "%s small copies become %s", format_count(copies, a),
             format_count(rows, b));
    snprintf(outcome->assumes, OUTCOME_TEXT,
             "the data can be contiguous on both sides at no extra cost");
    run->assumption_error += 0.15;
    return true;
}
