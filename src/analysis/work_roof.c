/* The roof is the longest of what memory and what arithmetic need for the work. A kernel that comes
 * near it is bound by it. One that does not is bound by latency when it is hardly longer than an
 * empty kernel, or when its blocks leave much of the device without any; a kernel may be that
 * without its work being known. One far from its roof that computes functions has more to do than
 * is counted, and what binds it is not known. Of the rest the roof's own kind is said.
 */
#include "analysis/work_roof.h"

#include "base/memory.h"

#define NEAR_ROOF 0.5 /* of the time: from here on the roof is what binds */
#define FAR_FROM_ROOF 0.1
enum {
    EMPTY_KERNELS = 3,        /* as long as so many: little but starting and ending */
    EMPTY_KERNELS_SHORT = 10, /* as long as so many: short */
    FILLED_OF_4 = 3,          /* multiprocessors of four that blocks must be there for */
};

const char *kernel_bound_name(unsigned bound) {
    static const char *const names[KERNEL_BOUNDS] = {"unknown", "memory", "compute", "latency"};
    return bound < KERNEL_BOUNDS ? names[bound] : "?";
}

struct device {
    const struct limits *limits;
    double empty_ns; /* about what an empty kernel takes; 0: not known */
    uint32_t multiprocessors;
};

/* Each further kernel of a graph is as good as empty. Where that was not measured: the shortest
 * kernel, unless launching one takes less, as then none of them was near to empty. */
static double empty_kernel(const struct model *model, uint32_t id, const struct limits *limits) {
    const struct columns_activity *activity = &model->trace->activity;
    double shortest = 0, call = limits->of[DEVICE_LIMIT_LAUNCH_CALL];
    if (limits->source[DEVICE_LIMIT_GRAPH_KERNEL] == LIMIT_MEASURED)
        return limits->of[DEVICE_LIMIT_GRAPH_KERNEL];
    for (size_t i = model->device_first[id]; i < model->device_first[id + 1]; i++)
        if (activity->kind[i] == ACTIVITY_KERNEL && activity->duration[i] > 0 &&
            (shortest == 0 || (double)activity->duration[i] < shortest))
            shortest = (double)activity->duration[i];
    return call > 0 && shortest > call ? call : call > 0 ? shortest : 0;
}

static double time_at(double amount, double rate) {
    return rate > 0 ? amount / rate * 1e9 : 0;
}

/* What fits into the cache may be there. */
static double memory_ns(const struct limits *limits, double bytes) {
    double memory = limits->of[DEVICE_LIMIT_MEMORY], cache = limits->of[DEVICE_LIMIT_CACHE];
    bool fits = bytes <= limits->of[DEVICE_LIMIT_CACHE_BYTES];
    return time_at(bytes, fits && cache > memory ? cache : memory);
}

/* Matrix units that were looked for and not found: the ordinary ones do it. */
static double arithmetic_rate(const struct limits *limits, unsigned unit) {
    double rate = limits->of[unit];
    if (rate <= 0 && unit == DEVICE_LIMIT_MATRIX_F16)
        rate = limits->of[DEVICE_LIMIT_F16];
    if (rate <= 0 && unit == DEVICE_LIMIT_MATRIX_BF16)
        rate = limits->of[DEVICE_LIMIT_BF16];
    return rate;
}

static bool leaves_device_empty(const struct columns_activity *activity, size_t row,
                                uint32_t multiprocessors) {
    double blocks = (double)activity->grid_x[row] * activity->grid_y[row] * activity->grid_z[row];
    return blocks > 0 && blocks * 4 < (double)multiprocessors * FILLED_OF_4;
}

static void judge(const struct device *device, const struct columns_activity *activity, size_t row,
                  bool functions, struct work *work) {
    double duration = (double)activity->duration[row];
    double memory = memory_ns(device->limits, work->bytes[row]);
    double compute =
        time_at(work->flops[row], arithmetic_rate(device->limits, work->arithmetic[row]));
    double roof = memory > compute ? memory : compute;
    unsigned kind = roof <= 0 ? BOUND_UNKNOWN : compute > memory ? BOUND_COMPUTE : BOUND_MEMORY;
    bool is_short = duration <= EMPTY_KERNELS_SHORT * device->empty_ns;
    if (duration <= 0)
        return;
    work->roof_ns[row] = (float)(roof < duration ? roof : duration);
    work->bound[row] = (uint8_t)kind;
    if (functions && roof < NEAR_ROOF * duration) {
        work->bound[row] = BOUND_UNKNOWN;
        work->roof_ns[row] = 0;
    }
    if (roof < NEAR_ROOF * duration &&
        (duration <= EMPTY_KERNELS * device->empty_ns ||
         leaves_device_empty(activity, row, device->multiprocessors) ||
         (roof > 0 && roof < FAR_FROM_ROOF * duration && is_short)))
        work->bound[row] = BOUND_LATENCY;
}

bool work_find_roofs(const struct model *model, const struct limits *limits,
                     struct kernel_traits *traits, struct work *work, struct status *status) {
    struct trace *trace = model->trace;
    if (!trace_load(trace, TABLE_ACTIVITY, "grid_x grid_y grid_z", status))
        return false;
    for (uint32_t id = 1; id < trace->device.count; id++) {
        struct device device = {
            .limits = &limits[id],
            .empty_ns = empty_kernel(model, id, &limits[id]),
            .multiprocessors = trace->device.multiprocessors[id],
        };
        for (size_t i = model->device_first[id]; i < model->device_first[id + 1]; i++) {
            if (trace->activity.kind[i] != ACTIVITY_KERNEL)
                continue;
            const struct kernel_traits *kernel =
                kernel_traits(trace, trace->activity.name[i], traits);
            if (!kernel->communicates)
                judge(&device, &trace->activity, i, kernel->functions, work);
        }
    }
    return true;
}
