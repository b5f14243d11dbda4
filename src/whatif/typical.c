/* Typical latencies: from a launch call to the start on an idle queue, between activities of a
 * queue, from the end of an activity to the return of the call that waited for it. Medians of this
 * trace; where it has none, what was measured on the device. */
#include "analysis/copies.h"
#include "base/memory.h"
#include "base/sort.h"
#include "whatif/graph.h"

/* Samples of one quantity; the storage is reused for the next. */
struct values {
    int64_t *list;
    size_t count;
};

static void values_add(struct values *values, int64_t value) {
    values->list[values->count++] = value;
}

/* The median and half the interquartile range. False when there are no values. */
static bool values_summarize(struct values *values, int64_t *median, int64_t *spread) {
    size_t count = values->count;
    values->count = 0;
    if (count == 0)
        return false;
    *median = sort_select(values->list, count, count / 2);
    if (spread)
        *spread = (sort_select(values->list, count, count * 3 / 4) -
                   sort_select(values->list, count, count / 4)) /
                  2;
    return true;
}

/* The first activity of its call, on an empty queue and with no other dependency. */
static bool was_launched_idle(const struct replay *replay, size_t i) {
    uint32_t call = replay->launch[i], previous = replay->previous[i];
    if (call == NO_ROW || replay->from_start[i] ||
        replay->depends.first[i] < replay->depends.first[i + 1])
        return false;
    return previous == NO_ROW || (activity_end(replay, previous) <= replay->call_start[call] &&
                                  replay->launch[previous] != call);
}

/* An activity that was queued before the previous one started. */
static bool was_queued(const struct replay *replay, size_t i) {
    uint32_t call = replay->launch[i], previous = replay->previous[i];
    return previous != NO_ROW && call != NO_ROW && !replay->from_start[i] &&
           replay->depends.first[i] == replay->depends.first[i + 1] &&
           replay->call_end[call] <= replay->start[previous] &&
           replay->start[i] >= activity_end(replay, previous);
}

static void use_limits(const struct limits *limits, struct typical *typical) {
    double launch = limits->of[DEVICE_LIMIT_LAUNCH_TO_START] - limits->of[DEVICE_LIMIT_LAUNCH_CALL];
    if (limits->of[DEVICE_LIMIT_LAUNCH_TO_START] > 0 && launch > 0 && launch < 1e9)
        typical->launch = (int64_t)launch;
}

static void find_lags(const struct replay *replay, uint32_t device, struct values *values) {
    struct typical *typical = &replay->typical[device];
    const struct model *model = replay->source.model;
    size_t first = model->device_first[device], end = model->device_first[device + 1];
    if (replay->source.limits)
        use_limits(&replay->source.limits[device], typical);
    for (size_t i = first; i < end; i++)
        if (was_launched_idle(replay, i))
            values_add(values, replay->start[i] - replay->call_end[replay->launch[i]]);
    values_summarize(values, &typical->launch, &typical->launch_spread);
    for (size_t i = first; i < end; i++)
        if (was_queued(replay, i))
            values_add(values, replay->start[i] - activity_end(replay, replay->previous[i]));
    if (!values_summarize(values, &typical->queue, &typical->queue_spread)) {
        /* nothing was ever queued: the smallest observed or possible gap */
        int64_t min = INT64_MAX;
        for (size_t i = first; i < end; i++)
            if (replay->previous[i] != NO_ROW &&
                replay->start[i] >= activity_end(replay, replay->previous[i]))
                min = MIN(min, replay->start[i] - activity_end(replay, replay->previous[i]));
        double limit =
            replay->source.limits ? replay->source.limits[device].of[DEVICE_LIMIT_GRAPH_KERNEL] : 0;
        typical->queue = min == INT64_MAX ? 0 : MIN(min, MAX(typical->launch, 0));
        if (limit > 0 && limit < 1e9)
            typical->queue = MIN(typical->queue, (int64_t)limit);
        typical->queue_spread = typical->queue / 2;
    }
    for (size_t i = first; i < end; i++)
        for (uint32_t k = replay->depends.first[i]; k < replay->depends.first[i + 1]; k++)
            if (replay->depends.activity[k] != NO_ROW)
                values_add(values,
                           replay->start[i] - activity_end(replay, replay->depends.activity[k]));
    values_summarize(values, &typical->depend, &typical->depend_spread);
}

/* Floors: the first percentile of kernels, the median of copies of at most a page. */
static void find_floors(const struct replay *replay, uint32_t device, struct values *values) {
    enum { PAGE = 4096 };
    struct typical *typical = &replay->typical[device];
    const struct trace *trace = replay->trace;
    const struct model *model = replay->source.model;
    size_t first = model->device_first[device], end = model->device_first[device + 1];
    for (size_t i = first; i < end; i++)
        if (trace->activity.kind[i] == ACTIVITY_KERNEL)
            values_add(values, replay->duration[i]);
    if (values->count)
        typical->shortest_kernel = sort_select(values->list, values->count, values->count / 100);
    values->count = 0;
    for (unsigned direction = 0; direction < COPY_DIRECTIONS; direction++) {
        for (size_t i = first; i < end; i++)
            if (trace->activity.kind[i] == ACTIVITY_COPY &&
                trace->activity.direction[i] == direction && trace->activity.bytes[i] <= PAGE)
                values_add(values, replay->duration[i]);
        values_summarize(values, &typical->copy_latency[direction], NULL);
    }
}

/* The best observed rates of copies large enough to be bandwidth-bound. */
static void find_rates(const struct replay *replay, uint32_t device) {
    const struct columns_activity *activity = &replay->trace->activity;
    const struct model *model = replay->source.model;
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
        if (activity->kind[i] != ACTIVITY_COPY || activity->direction[i] >= COPY_DIRECTIONS ||
            activity->bytes[i] == BYTES_UNKNOWN || activity->bytes[i] < COPY_SMALL_BYTES ||
            replay->duration[i] <= 0)
            continue;
        double *best = replay->typical[device].copy_rate[activity->direction[i]];
        double rate = (double)activity->bytes[i] / (double)replay->duration[i] * 1e9;
        bool pinned =
            activity->from_memory[i] == MEMORY_PINNED || activity->to_memory[i] == MEMORY_PINNED;
        best[pinned] = rate > best[pinned] ? rate : best[pinned];
    }
}

static bool is_plain_call(const struct replay *replay, size_t call, unsigned class) {
    return is_outer(replay, call) && replay->class[call] == class && !replay->blocks[call] &&
           !replay->waited[call];
}

static void find_calls(struct replay *replay, struct values *values) {
    for (size_t i = 0; i < replay->calls; i++)
        if (is_plain_call(replay, i, CALL_LAUNCH))
            values_add(values, replay->call_end[i] - replay->call_start[i]);
    values_summarize(values, &replay->launch_call, NULL);
    for (size_t i = 0; i < replay->calls; i++)
        if (is_plain_call(replay, i, CALL_COPY))
            values_add(values, replay->call_end[i] - replay->call_start[i]);
    if (!values_summarize(values, &replay->copy_call, NULL))
        replay->copy_call = replay->launch_call;
    uint32_t previous = NO_ROW;
    for (size_t i = 0; i < replay->calls; i++) {
        if (!is_outer(replay, i))
            continue;
        if (previous != NO_ROW &&
            replay->trace->call.thread[previous] == replay->trace->call.thread[i] &&
            is_plain_call(replay, i, CALL_LAUNCH))
            values_add(values, replay->call_start[i] - replay->call_end[previous]);
        previous = (uint32_t)i;
    }
    values_summarize(values, &replay->host_time_typical, NULL);
}

/* From the end of the awaited activity to the return of the synchronization. */
static void find_sync(struct replay *replay, struct values *values) {
    for (size_t i = 0; i < replay->calls; i++) {
        int64_t end = NEVER;
        if (!is_outer(replay, i))
            continue;
        for (uint32_t k = replay->awaits.first[i]; k < replay->awaits.first[i + 1]; k++)
            if (replay->awaits.activity[k] != NO_ROW)
                end = MAX(end, activity_end(replay, replay->awaits.activity[k]));
        replay->waited[i] = end > replay->call_start[i];
        if (replay->waited[i] && replay->class[i] == CALL_SYNC)
            values_add(values, replay->call_end[i] - end);
    }
    values_summarize(values, &replay->sync_lag, &replay->sync_lag_spread);
}

bool replay_find_typical(struct replay *replay, struct status *status) {
    size_t count_max = MAX(replay->calls, replay->activities) + replay->depends.count;
    struct values values = {.list = memory_allocate(count_max, sizeof *values.list, status)};
    if (!values.list)
        return false;
    find_sync(replay, &values);
    for (uint32_t device = 1; device < replay->devices; device++) {
        find_lags(replay, device, &values);
        find_floors(replay, device, &values);
        find_rates(replay, device);
    }
    find_calls(replay, &values);
    memory_free(values.list);
    return true;
}

/* ---- call durations by name ---- */

static bool is_counted(const struct replay *replay, size_t call, bool plain) {
    return !plain || (is_outer(replay, call) && !replay->waited[call]);
}

int64_t *call_durations(const struct replay *replay, double share, bool plain, int64_t none,
                        struct status *status) {
    const struct columns_call *call = &replay->trace->call;
    size_t names = replay->trace->strings.count;
    int64_t *picked = memory_allocate(names, sizeof *picked, status);
    int64_t *list = memory_allocate(replay->calls, sizeof *list, status);
    size_t *end = memory_allocate(names + 1, sizeof *end, status);
    bool ok = picked && list && end;
    for (size_t i = 0; i < replay->calls && ok; i++)
        end[call->name[i] + 1] += is_counted(replay, i, plain);
    for (size_t name = 0; name < names && ok; name++)
        end[name + 1] += end[name];
    for (size_t i = 0; i < replay->calls && ok; i++) /* end[name] is where its next one goes */
        if (is_counted(replay, i, plain))
            list[end[call->name[i]]++] = call->duration[i];
    for (size_t name = 0, first = 0; name < names && ok; first = end[name++]) {
        size_t count = end[name] - first;
        picked[name] =
            count ? sort_select(list + first, count, (size_t)((double)count * share)) : none;
    }
    memory_free(list);
    memory_free(end);
    if (!ok) {
        memory_free(picked);
        return NULL;
    }
    return picked;
}
