/* A limit comes from the best of its sources that there is: measured on the device, stated by its
 * maker, or seen in this trace (limits_seen.c). Meta rows of one device follow each other behind
 * the one with its name, so that in a trace of several recordings the roofs of one machine's
 * device 0 are not taken for those of another's.
 */
#include "analysis/limits.h"

#include <string.h>

#include "analysis/limits_seen.h"
#include "base/array.h"
#include "base/decimal.h"
#include "base/memory.h"
#include "trace/writer.h"

static const struct {
    const char *key, *words;
} infos[DEVICE_LIMIT_COUNT] = {
#define DEVICE_LIMIT_ROW(ID, key, words) {#key, words},
    DEVICE_LIMITS(DEVICE_LIMIT_ROW)
#undef DEVICE_LIMIT_ROW
};

const char *device_limit_key(unsigned limit) {
    return limit < DEVICE_LIMIT_COUNT ? infos[limit].key : "?";
}

const char *device_limit_words(unsigned limit) {
    return limit < DEVICE_LIMIT_COUNT ? infos[limit].words : "?";
}

void limits_offer(struct limits *limits, enum device_limit limit, double value,
                  enum limit_source source) {
    if (value > 0 && value < DEVICE_LIMIT_MOST && source > limits->source[limit]) {
        limits->of[limit] = value;
        limits->source[limit] = source;
    }
}

/* ---- Measured, as the trace has it ---- */

/* "roof.LABEL.KEY", where a label may hold dots and a key does not. */
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
            if (text_is(key, infos[limit].key) && read_value(value, &number))
                take_measured(trace, label, text_equal(label, named) ? name : (struct text){0},
                              limit, number, by_device);
    }
}

/* ---- Stated ---- */

/* What a multiprocessor does in a cycle, operations (a multiply-add is two), as the vendor's
 * programming guide and architecture papers say: without sparsity, with sums in f32. */
static const struct cycle {
    uint32_t major, minor;
    unsigned f32, matrix_f32, matrix_f16, matrix_bf16;
} cycles[] = {
    {5, 0, 256, 0, 0, 0},           {6, 0, 128, 0, 0, 0},          {6, 1, 256, 0, 0, 0},
    {7, 0, 128, 0, 1024, 0},        {7, 5, 128, 0, 1024, 0},       {8, 0, 128, 1024, 2048, 2048},
    {8, 6, 256, 512, 1024, 1024},   {8, 9, 256, 512, 1024, 1024},  {9, 0, 256, 2048, 4096, 4096},
    {10, 0, 256, 4096, 8192, 8192}, {12, 0, 256, 512, 1024, 1024},
};

/* The last one of the same major that is not newer. */
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
    }
    if (!limits_add_seen(model, limits, status)) {
        memory_free(limits);
        return false;
    }
    *by_device = limits;
    return true;
}
