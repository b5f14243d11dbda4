/* Rates are the best of the large copies. Latencies are what a tenth of the calls or launches were
 * as quick as: the very quickest may be an error of the clock, and the usual ones contain waiting.
 */
#include "analysis/limits_seen.h"

#include "base/memory.h"
#include "base/sort.h"

enum {
    LARGE_COPY = 1 << 20, /* bytes from which on a copy's own latency is no great part of it */
    BEYOND_CACHES = 64 << 20,
    FEWEST = 8, /* values from which on a tenth of them says something */
};

/* Latencies of one device, gathered limit by limit. */
struct gathered {
    int64_t *values;
    size_t count;
};

static void offer_tenth(struct gathered *gathered, enum device_limit limit, struct limits *limits) {
    if (gathered->count >= FEWEST)
        limits_offer(limits, limit,
                     (double)sort_select(gathered->values, gathered->count, gathered->count / 10),
                     LIMIT_SEEN);
    gathered->count = 0;
}

static void gather(struct gathered *gathered, int64_t value) {
    if (value > 0)
        gathered->values[gathered->count++] = value;
}

static bool replays_graph(const struct model *model, uint32_t call) {
    return text_find(trace_text(model->trace, model->trace->call.name[call]), "GraphLaunch") >= 0;
}

static void raise_rate(struct limits *seen, enum device_limit limit, double rate) {
    if (rate > seen->of[limit])
        seen->of[limit] = rate;
}

/* The rate of one copy, under the limit that it speaks of. */
static void see_copy(const struct columns_activity *activity, size_t row, struct limits *seen) {
    uint64_t bytes = activity->bytes[row];
    if (bytes == BYTES_UNKNOWN || bytes < LARGE_COPY || activity->duration[row] <= 0)
        return;
    double rate = (double)bytes / (double)activity->duration[row] * 1e9;
    uint8_t from = activity->from_memory[row], to = activity->to_memory[row];
    if (activity->direction[row] == COPY_HTOD && from == MEMORY_PINNED)
        raise_rate(seen, DEVICE_LIMIT_TO_DEVICE_PINNED, rate);
    else if (activity->direction[row] == COPY_HTOD && from == MEMORY_PAGEABLE)
        raise_rate(seen, DEVICE_LIMIT_TO_DEVICE_PAGEABLE, rate);
    else if (activity->direction[row] == COPY_DTOH && to == MEMORY_PINNED)
        raise_rate(seen, DEVICE_LIMIT_TO_HOST_PINNED, rate);
    else if (activity->direction[row] == COPY_DTOH && to == MEMORY_PAGEABLE)
        raise_rate(seen, DEVICE_LIMIT_TO_HOST_PAGEABLE, rate);
    else if (activity->direction[row] == COPY_DTOD && bytes >= BEYOND_CACHES)
        raise_rate(seen, DEVICE_LIMIT_MEMORY, 2 * rate); /* read and written */
}

static void see_copies(const struct model *model, uint32_t device, struct limits *limits) {
    const struct columns_activity *activity = &model->trace->activity;
    struct limits seen = {0};
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++)
        if (activity->kind[i] == ACTIVITY_COPY)
            see_copy(activity, i, &seen);
    for (unsigned limit = 0; limit < DEVICE_LIMIT_COUNT; limit++)
        limits_offer(limits, limit, seen.of[limit], LIMIT_SEEN);
}

/* How long launching calls took; those of graphs, each of which launches many kernels, apart. */
static void see_launch_calls(const struct model *model, uint32_t device, bool of_graphs,
                             struct gathered *gathered, struct limits *limits) {
    const struct trace *trace = model->trace;
    uint32_t last = NO_ROW;
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
        uint32_t call = model->launch[i];
        if (trace->activity.kind[i] != ACTIVITY_KERNEL || call == NO_ROW || call == last ||
            trace->call.class[call] != CALL_LAUNCH || replays_graph(model, call) != of_graphs)
            continue;
        last = call;
        gather(gathered, trace->call.duration[call]);
    }
    offer_tenth(gathered, of_graphs ? DEVICE_LIMIT_GRAPH_REPLAY : DEVICE_LIMIT_LAUNCH_CALL, limits);
}

/* From the call to the start, where the device had nothing else to do. */
static void see_idle_starts(const struct model *model, uint32_t device, struct gathered *gathered,
                            struct limits *limits) {
    const struct trace *trace = model->trace;
    int64_t busy_until = INT64_MIN;
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
        uint32_t call = model->launch[i];
        if (trace->activity.kind[i] == ACTIVITY_KERNEL && call != NO_ROW &&
            busy_until <= trace->call.start[call])
            gather(gathered, trace->activity.start[i] - trace->call.start[call]);
        if (model_activity_end(model, i) > busy_until)
            busy_until = model_activity_end(model, i);
    }
    offer_tenth(gathered, DEVICE_LIMIT_LAUNCH_TO_START, limits);
}

/* From one kernel's start to the next one's in a queue: the shortest are as good as empty. Those of
 * one graph follow each other more quickly. */
static void see_periods(const struct model *model, uint32_t device, bool in_graphs,
                        uint32_t *last_in_queue, struct gathered *gathered, struct limits *limits) {
    const struct trace *trace = model->trace;
    size_t first = model->device_first[device];
    for (size_t i = first; i < model->device_first[device + 1]; i++)
        last_in_queue[trace->activity.queue[i]] = NO_ROW;
    for (size_t i = first; i < model->device_first[device + 1]; i++) {
        uint32_t *last = &last_in_queue[trace->activity.queue[i]];
        bool kernel = trace->activity.kind[i] == ACTIVITY_KERNEL;
        if (kernel && *last != NO_ROW) {
            uint32_t call = model->launch[i];
            bool same = call != NO_ROW && call == model->launch[first + *last];
            if (same == in_graphs)
                gather(gathered, trace->activity.start[i] - trace->activity.start[first + *last]);
        }
        *last = kernel ? (uint32_t)(i - first) : NO_ROW;
    }
    offer_tenth(gathered, in_graphs ? DEVICE_LIMIT_GRAPH_KERNEL : DEVICE_LIMIT_LAUNCH, limits);
}

/* A synchronising call does not say of which device: all devices get what was seen. */
static void see_synchronisations(const struct model *model, struct gathered *gathered,
                                 struct limits *by_device) {
    const struct trace *trace = model->trace;
    struct limits seen = {0};
    for (size_t i = 0; i < trace->call.count; i++)
        if (trace->call.class[i] == CALL_SYNC)
            gather(gathered, trace->call.duration[i]);
    offer_tenth(gathered, DEVICE_LIMIT_SYNCHRONIZE, &seen);
    for (uint32_t id = 1; id < trace->device.count; id++)
        limits_offer(&by_device[id], DEVICE_LIMIT_SYNCHRONIZE, seen.of[DEVICE_LIMIT_SYNCHRONIZE],
                     LIMIT_SEEN);
}

bool limits_add_seen(const struct model *model, struct limits *by_device, struct status *status) {
    const struct trace *trace = model->trace;
    size_t most =
        trace->activity.count > trace->call.count ? trace->activity.count : trace->call.count;
    struct gathered gathered = {.values = memory_allocate(most, sizeof(int64_t), status)};
    uint32_t *last_in_queue = memory_allocate(trace->queue.count, sizeof *last_in_queue, status);
    bool ok = gathered.values && last_in_queue;
    for (uint32_t id = 1; id < trace->device.count && ok; id++) {
        if (model->device_first[id] == model->device_first[id + 1])
            continue;
        see_copies(model, id, &by_device[id]);
        see_launch_calls(model, id, false, &gathered, &by_device[id]);
        see_launch_calls(model, id, true, &gathered, &by_device[id]);
        see_idle_starts(model, id, &gathered, &by_device[id]);
        see_periods(model, id, false, last_in_queue, &gathered, &by_device[id]);
        see_periods(model, id, true, last_in_queue, &gathered, &by_device[id]);
    }
    if (ok)
        see_synchronisations(model, &gathered, by_device);
    memory_free(gathered.values);
    memory_free(last_in_queue);
    return ok;
}
