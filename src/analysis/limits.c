/* A limit comes from the best source there is: measured on the device, stated by its driver,
 * published for devices of its name, or observed in this trace. Meta rows of one device follow the
 * row with its name, so that in a trace of several recordings the roofs of one machine's device 0
 * are not applied to another's.
 *
 * Observed rates are the best of the large copies: a lower bound. Observed latencies are the first
 * decile of the calls or launches: the minimum may be clock error, and the median contains waiting.
 */
#include "analysis/limits.h"

#include <stddef.h>
#include <string.h>

#include "base/array.h"
#include "base/decimal.h"
#include "base/memory.h"
#include "base/sort.h"
#include "trace/writer.h"

static const char *const keys[DEVICE_LIMIT_COUNT] = {
#define DEVICE_LIMIT_KEY(ID, key) #key,
    DEVICE_LIMITS(DEVICE_LIMIT_KEY)
#undef DEVICE_LIMIT_KEY
};

const char *device_limit_key(unsigned limit) {
    return limit < DEVICE_LIMIT_COUNT ? keys[limit] : "?";
}

void limits_offer(struct limits *limits, enum device_limit limit, double value,
                  enum limit_source source) {
    if (value > 0 && value < DEVICE_LIMIT_MAX && source > limits->source[limit]) {
        limits->of[limit] = value;
        limits->source[limit] = source;
    }
}

/* ---- Measured ---- */

/* "roof.LABEL.KEY"; the label may contain dots, the key does not. */
static bool split_key(struct text key, struct text *label, struct text *limit) {
    static const size_t prefix = sizeof META_ROOF - 1;
    if (!text_starts(key, META_ROOF))
        return false;
    size_t dot = key.length;
    while (dot > prefix && key.data[dot - 1] != '.')
        dot--;
    if (dot <= prefix)
        return false;
    *label = (struct text){key.data + prefix, dot - 1 - prefix};
    *limit = (struct text){key.data + dot, key.length - dot};
    return true;
}

static bool read_value(struct text text, double *value) {
    int64_t thousandths, whole;
    if (decimal_scaled(text, 3, &thousandths))
        *value = (double)thousandths / 1000;
    else if (decimal_scaled(text, 0, &whole))
        *value = (double)whole;
    else
        return false;
    return *value > 0;
}

static void take_measured(const struct trace *trace, struct text label, struct text name,
                          unsigned limit, double value, struct limits *by_device) {
    for (uint32_t id = 1; id < trace->device.count; id++)
        if (text_equal(trace_text(trace, trace->device.label[id]), label) &&
            (!name.length || text_equal(trace_text(trace, trace->device.name[id]), name)))
            limits_offer(&by_device[id], limit, value, LIMIT_MEASURED);
}

static void add_meta(const struct trace *trace, struct limits *by_device) {
    struct text named = {0}, name = {0}; /* the label whose device has this name */
    for (size_t i = 0; i < trace->meta.count; i++) {
        struct text label, key, value = trace_text(trace, trace->meta.value[i]);
        double number;
        if (!split_key(trace_text(trace, trace->meta.key[i]), &label, &key))
            continue;
        if (text_is(key, META_ROOF_NAME)) {
            named = label;
            name = value;
            continue;
        }
        for (unsigned limit = 0; limit < DEVICE_LIMIT_COUNT; limit++)
            if (text_is(key, keys[limit]) && read_value(value, &number))
                take_measured(trace, label, text_equal(label, named) ? name : (struct text){0},
                              limit, number, by_device);
    }
}

/* ---- Stated ---- */

/* Operations per cycle and multiprocessor (a multiply-add is two) from the vendor's programming
 * guide and architecture papers: without sparsity, accumulating in f32. */
static const struct cycle {
    uint32_t major, minor;
    unsigned f32, matrix_f32, matrix_f16, matrix_bf16;
} cycles[] = {
    {5, 0, 256, 0, 0, 0},           {6, 0, 128, 0, 0, 0},          {6, 1, 256, 0, 0, 0},
    {7, 0, 128, 0, 1024, 0},        {7, 5, 128, 0, 1024, 0},       {8, 0, 128, 1024, 2048, 2048},
    {8, 6, 256, 512, 1024, 1024},   {8, 9, 256, 512, 1024, 1024},  {9, 0, 256, 2048, 4096, 4096},
    {10, 0, 256, 4096, 8192, 8192}, {12, 0, 256, 512, 1024, 1024},
};

/* The newest entry of the same major version that is not newer. */
static const struct cycle *find_cycle(uint32_t major, uint32_t minor) {
    const struct cycle *best = NULL;
    for (size_t i = 0; i < ARRAY_COUNT(cycles); i++)
        if (cycles[i].major == major && cycles[i].minor <= minor)
            best = &cycles[i];
    return best;
}

double limits_stated_f32(uint32_t major, uint32_t minor, uint32_t multiprocessors,
                         uint64_t clock_hz) {
    const struct cycle *cycle = find_cycle(major, minor);
    return cycle ? (double)cycle->f32 * multiprocessors * (double)clock_hz : 0;
}

double limits_matrix_ratio(uint32_t major, uint32_t minor) {
    const struct cycle *cycle = find_cycle(major, minor);
    return cycle && cycle->f32 > 0 ? (double)cycle->matrix_f32 / (double)cycle->f32 : 0;
}

static void add_stated(const struct trace *trace, uint32_t id, struct limits *limits) {
    const struct columns_device *device = &trace->device;
    const struct cycle *cycle = find_cycle(device->compute_major[id], device->compute_minor[id]);
    double a_second = (double)device->multiprocessors[id] * (double)device->clock_hz[id];
    limits_offer(limits, DEVICE_LIMIT_MEMORY, (double)device->bandwidth[id], LIMIT_STATED);
    if (!cycle)
        return;
    limits_offer(limits, DEVICE_LIMIT_F32, cycle->f32 * a_second, LIMIT_STATED);
    limits_offer(limits, DEVICE_LIMIT_MATRIX_F32, cycle->matrix_f32 * a_second, LIMIT_STATED);
    limits_offer(limits, DEVICE_LIMIT_MATRIX_F16, cycle->matrix_f16 * a_second, LIMIT_STATED);
    limits_offer(limits, DEVICE_LIMIT_MATRIX_BF16, cycle->matrix_bf16 * a_second, LIMIT_STATED);
}

/* ---- Published ---- */

/* What kernels reach of a published peak: `ridge peaks` on an H200 against its data sheet (memory
 * 4.24 of 4.8 TB/s; f32 64.7 of 67, tf32 434 of 495, f16 798 and bf16 839 of 989 TFLOP/s; 55.1 of
 * 63 GB/s to the host). f64 and the narrow types were not measured and are taken to be alike. */
static const struct published_limit {
    enum device_limit limit;
    size_t member; /* of struct published */
    double unit, reached;
} published_limits[] = {
    {DEVICE_LIMIT_MEMORY, offsetof(struct published, memory), 1e9, 0.88},
    {DEVICE_LIMIT_F64, offsetof(struct published, f64), 1e12, 0.97},
    {DEVICE_LIMIT_F32, offsetof(struct published, f32), 1e12, 0.97},
    {DEVICE_LIMIT_MATRIX_F64, offsetof(struct published, matrix_f64), 1e12, 0.81},
    {DEVICE_LIMIT_MATRIX_F32, offsetof(struct published, matrix_f32), 1e12, 0.88},
    {DEVICE_LIMIT_MATRIX_F16, offsetof(struct published, matrix_f16), 1e12, 0.81},
    {DEVICE_LIMIT_MATRIX_BF16, offsetof(struct published, matrix_bf16), 1e12, 0.85},
    {DEVICE_LIMIT_MATRIX_F8, offsetof(struct published, matrix_f8), 1e12, 0.81},
    {DEVICE_LIMIT_MATRIX_I8, offsetof(struct published, matrix_i8), 1e12, 0.81},
    {DEVICE_LIMIT_CACHE_BYTES, offsetof(struct published, cache_mb), 1e6, 1},
    {DEVICE_LIMIT_TO_DEVICE_PINNED, offsetof(struct published, link), 1e9, 0.87},
    {DEVICE_LIMIT_TO_HOST_PINNED, offsetof(struct published, link), 1e9, 0.87},
};

static double published_value(const struct published *published,
                              const struct published_limit *row) {
    double value;
    memcpy(&value, (const char *)published + row->member, sizeof value);
    return value * row->unit;
}

double limits_published_peak(const struct limits *limits, enum device_limit limit) {
    for (size_t i = 0; i < ARRAY_COUNT(published_limits) && limits->published; i++)
        if (published_limits[i].limit == limit)
            return published_value(limits->published, &published_limits[i]);
    return 0;
}

/* A measured copy rate overrides the published link rate: the slot may have fewer lanes. */
static bool is_link(enum device_limit limit) {
    return limit == DEVICE_LIMIT_TO_DEVICE_PINNED || limit == DEVICE_LIMIT_TO_HOST_PINNED;
}

static void add_published(struct limits *limits) {
    for (size_t i = 0; i < ARRAY_COUNT(published_limits) && limits->published; i++) {
        const struct published_limit *row = &published_limits[i];
        if (!is_link(row->limit) || limits->source[row->limit] == LIMIT_UNKNOWN)
            limits_offer(limits, row->limit, published_value(limits->published, row) * row->reached,
                         LIMIT_PUBLISHED);
    }
}

/* Sources list the devices that a process could see, and number activities by machine: a device
 * without a name is like the others when all of its vendor are alike. */
static uint32_t like_device(const struct trace *trace, uint32_t id) {
    const struct columns_device *device = &trace->device;
    uint32_t like = id;
    for (uint32_t i = 1; i < device->count && trace_text(trace, device->name[id]).length == 0;
         i++) {
        if (!trace_text(trace, device->name[i]).length || device->vendor[i] != device->vendor[id])
            continue;
        if (like != id && (device->name[like] != device->name[i] ||
                           device->multiprocessors[like] != device->multiprocessors[i]))
            return id;
        like = i;
    }
    return like;
}

/* ---- Observed in the trace ---- */

enum {
    LARGE_COPY = 1 << 20, /* bytes from which latency is negligible */
    BEYOND_CACHES = 64 << 20,
    SAMPLES_MIN = 8, /* for a meaningful decile */
};

/* Latencies of one device, collected limit by limit. */
struct latencies {
    int64_t *values;
    size_t count;
};

static void offer_decile(struct latencies *latencies, enum device_limit limit,
                         struct limits *limits) {
    if (latencies->count >= SAMPLES_MIN)
        limits_offer(
            limits, limit,
            (double)sort_select(latencies->values, latencies->count, latencies->count / 10),
            LIMIT_OBSERVED);
    latencies->count = 0;
}

static void add_latency(struct latencies *latencies, int64_t value) {
    if (value > 0)
        latencies->values[latencies->count++] = value;
}

static bool replays_graph(const struct model *model, uint32_t call) {
    return text_find(trace_text(model->trace, model->trace->call.name[call]), "GraphLaunch") >= 0;
}

static void raise_rate(struct limits *observed, enum device_limit limit, double rate) {
    if (rate > observed->of[limit])
        observed->of[limit] = rate;
}

/* Raises the limit that a copy's direction and memory kinds stand for. */
static void observe_copy(const struct columns_activity *activity, size_t row,
                         struct limits *observed) {
    uint64_t bytes = activity->bytes[row];
    if (bytes == BYTES_UNKNOWN || bytes < LARGE_COPY || activity->duration[row] <= 0)
        return;
    double rate = (double)bytes / (double)activity->duration[row] * 1e9;
    uint8_t from = activity->from_memory[row], to = activity->to_memory[row];
    if (activity->direction[row] == COPY_HTOD && from == MEMORY_PINNED)
        raise_rate(observed, DEVICE_LIMIT_TO_DEVICE_PINNED, rate);
    else if (activity->direction[row] == COPY_HTOD && from == MEMORY_PAGEABLE)
        raise_rate(observed, DEVICE_LIMIT_TO_DEVICE_PAGEABLE, rate);
    else if (activity->direction[row] == COPY_DTOH && to == MEMORY_PINNED)
        raise_rate(observed, DEVICE_LIMIT_TO_HOST_PINNED, rate);
    else if (activity->direction[row] == COPY_DTOH && to == MEMORY_PAGEABLE)
        raise_rate(observed, DEVICE_LIMIT_TO_HOST_PAGEABLE, rate);
    else if (activity->direction[row] == COPY_DTOD && bytes >= BEYOND_CACHES)
        raise_rate(observed, DEVICE_LIMIT_MEMORY, 2 * rate); /* read and written */
}

static void observe_copies(const struct model *model, uint32_t device, struct limits *limits) {
    const struct columns_activity *activity = &model->trace->activity;
    struct limits observed = {0};
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++)
        if (activity->kind[i] == ACTIVITY_COPY)
            observe_copy(activity, i, &observed);
    for (unsigned limit = 0; limit < DEVICE_LIMIT_COUNT; limit++)
        limits_offer(limits, limit, observed.of[limit], LIMIT_OBSERVED);
}

/* Durations of launch calls. Graph launches, which launch many kernels, are separate. */
static void observe_launch_calls(const struct model *model, uint32_t device, bool of_graphs,
                                 struct latencies *latencies, struct limits *limits) {
    const struct trace *trace = model->trace;
    uint32_t last = NO_ROW;
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
        uint32_t call = model->launch[i];
        if (trace->activity.kind[i] != ACTIVITY_KERNEL || call == NO_ROW || call == last ||
            trace->call.class[call] != CALL_LAUNCH || replays_graph(model, call) != of_graphs)
            continue;
        last = call;
        add_latency(latencies, trace->call.duration[call]);
    }
    offer_decile(latencies, of_graphs ? DEVICE_LIMIT_GRAPH_REPLAY : DEVICE_LIMIT_LAUNCH_CALL,
                 limits);
}

/* From the call to the start on an idle device. */
static void observe_idle_starts(const struct model *model, uint32_t device,
                                struct latencies *latencies, struct limits *limits) {
    const struct trace *trace = model->trace;
    int64_t busy_until = INT64_MIN;
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
        uint32_t call = model->launch[i];
        if (trace->activity.kind[i] == ACTIVITY_KERNEL && call != NO_ROW &&
            busy_until <= trace->call.start[call])
            add_latency(latencies, trace->activity.start[i] - trace->call.start[call]);
        if (model_activity_end(model, i) > busy_until)
            busy_until = model_activity_end(model, i);
    }
    offer_decile(latencies, DEVICE_LIMIT_LAUNCH_TO_START, limits);
}

/* From one kernel's start to the next in a queue: the shortest are nearly empty kernels. Kernels of
 * one graph follow each other faster. */
static void observe_periods(const struct model *model, uint32_t device, bool in_graphs,
                            uint32_t *last_in_queue, struct latencies *latencies,
                            struct limits *limits) {
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
                add_latency(latencies,
                            trace->activity.start[i] - trace->activity.start[first + *last]);
        }
        *last = kernel ? (uint32_t)(i - first) : NO_ROW;
    }
    offer_decile(latencies, in_graphs ? DEVICE_LIMIT_GRAPH_KERNEL : DEVICE_LIMIT_LAUNCH, limits);
}

/* A synchronizing call does not name its device: the result applies to all. */
static void observe_synchronizations(const struct model *model, struct latencies *latencies,
                                     struct limits *by_device) {
    const struct trace *trace = model->trace;
    struct limits observed = {0};
    for (size_t i = 0; i < trace->call.count; i++)
        if (trace->call.class[i] == CALL_SYNC)
            add_latency(latencies, trace->call.duration[i]);
    offer_decile(latencies, DEVICE_LIMIT_SYNCHRONIZE, &observed);
    for (uint32_t id = 1; id < trace->device.count; id++)
        limits_offer(&by_device[id], DEVICE_LIMIT_SYNCHRONIZE,
                     observed.of[DEVICE_LIMIT_SYNCHRONIZE], LIMIT_OBSERVED);
}

static bool add_observed(const struct model *model, struct limits *by_device,
                         struct status *status) {
    const struct trace *trace = model->trace;
    size_t count_max =
        trace->activity.count > trace->call.count ? trace->activity.count : trace->call.count;
    struct latencies latencies = {.values = memory_allocate(count_max, sizeof(int64_t), status)};
    uint32_t *last_in_queue = memory_allocate(trace->queue.count, sizeof *last_in_queue, status);
    bool ok = latencies.values && last_in_queue;
    for (uint32_t id = 1; id < trace->device.count && ok; id++) {
        if (model->device_first[id] == model->device_first[id + 1])
            continue;
        observe_copies(model, id, &by_device[id]);
        observe_launch_calls(model, id, false, &latencies, &by_device[id]);
        observe_launch_calls(model, id, true, &latencies, &by_device[id]);
        observe_idle_starts(model, id, &latencies, &by_device[id]);
        observe_periods(model, id, false, last_in_queue, &latencies, &by_device[id]);
        observe_periods(model, id, true, last_in_queue, &latencies, &by_device[id]);
    }
    if (ok)
        observe_synchronizations(model, &latencies, by_device);
    memory_free(latencies.values);
    memory_free(last_in_queue);
    return ok;
}

bool limits_find(const struct model *model, const struct limits *given, struct limits **by_device,
                 struct status *status) {
    const struct trace *trace = model->trace;
    struct limits *limits = memory_allocate(trace->device.count, sizeof *limits, status);
    *by_device = NULL;
    if (!limits)
        return false;
    add_meta(trace, limits);
    for (uint32_t id = 1; id < trace->device.count; id++) {
        for (unsigned limit = 0; given && limit < DEVICE_LIMIT_COUNT; limit++)
            limits_offer(&limits[id], limit, given[id].of[limit], LIMIT_MEASURED);
        add_stated(trace, id, &limits[id]);
        uint32_t like = like_device(trace, id);
        limits[id].published = published_find(trace_text(trace, trace->device.name[like]),
                                              trace->device.multiprocessors[like]);
    }
    if (!add_observed(model, limits, status)) {
        memory_free(limits);
        return false;
    }
    for (uint32_t id = 1; id < trace->device.count; id++)
        add_published(&limits[id]);
    *by_device = limits;
    return true;
}
