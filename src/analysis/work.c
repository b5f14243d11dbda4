/* A kernel's operator is the innermost range around its launching call, if that is an operator.
 * Where the innermost range is a Python function or an annotation, an outer operator called that
 * code, and the code is not the operator's own arithmetic. Shapes repeat from step to step, so the
 * work of every distinct operator (name and inputs) is computed once.
 *
 * The roof is the longer of the times that memory and arithmetic need for the work. A kernel near
 * it is bound by it. Otherwise the kernel is latency-bound if it is hardly longer than an empty
 * kernel or if its blocks leave much of the device idle; its work need not be known for that. A
 * kernel far from its roof that evaluates functions, or whose operations are unknown, does more
 * than is counted: its bound is unknown. The rest is bound by whichever time is longer.
 */
#include "analysis/work.h"

#include <string.h>

#include "analysis/kernel_class.h"
#include "analysis/operator_work.h"
#include "base/array.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/min_max.h"

/* The kernels launched by one range itself. */
struct launched {
    uint32_t work; /* index in `works`; 0: unknown */
    uint32_t kernels, products;
    bool matrix_f32; /* by the name of one of the kernels */
    double time;
};

struct work_builder {
    const struct model *model;
    struct kernel_traits *traits; /* by string */
    uint32_t *operator_of;        /* by call: row of its operator, or NO_ROW */
    struct launched *ranges;
    struct operator_work *works; /* [0]: unknown */
    size_t work_count, work_capacity;
    struct map known; /* name and detail of a range: index in works */
};

/* ---- Which operator ---- */

static void find_operators(const struct host *host, uint32_t *operator_of) {
    const struct model *model = host->model;
    const struct trace *trace = model->trace;
    for (size_t thread = 0; thread < trace->thread.count; thread++) {
        size_t change = host->thread_first[thread], last = host->thread_first[thread + 1];
        for (size_t i = model->thread_calls[thread]; i < model->thread_calls[thread + 1]; i++) {
            operator_of[i] = NO_ROW;
            while (change < last && host->change_time[change] <= trace->call.start[i])
                change++;
            if (change == host->thread_first[thread])
                continue;
            uint32_t range = host->change_range[change - 1];
            if (range != NO_ROW && trace->range.category[range] == RANGE_OP)
                operator_of[i] = range;
        }
    }
}

static uint32_t operator_of(const struct work_builder *work_builder, size_t activity) {
    uint32_t call = work_builder->model->launch[activity];
    return call == NO_ROW ? NO_ROW : work_builder->operator_of[call];
}

/* ---- Work of an operator ---- */

static enum element_type type_in_name(const struct kernel_traits *traits) {
    return traits->bf16  ? ELEMENT_BF16
           : traits->f16 ? ELEMENT_F16
           : traits->f32 ? ELEMENT_F32
                         : ELEMENT_NONE;
}

/* Where only shapes were recorded, the type is that in the kernel's name. */
static struct operator_work read_operator(struct text name, struct text detail,
                                          enum element_type type) {
    struct arguments arguments;
    if (!arguments_read(detail, &arguments) || (arguments.untyped && type == ELEMENT_NONE))
        return (struct operator_work){0};
    if (arguments.untyped)
        arguments_assume(&arguments, type);
    return operator_work(name, &arguments);
}

static bool understand(struct work_builder *work_builder, uint32_t range, enum element_type type,
                       uint32_t *place, struct status *status) {
    enum { TYPE_BITS = 2, NAMES_MAX = 1 << 30 };
    const struct trace *trace = work_builder->model->trace;
    uint32_t name = trace->range.name[range], detail = trace->range.detail[range];
    uint64_t key = ((uint64_t)name << 32 | detail) << TYPE_BITS | type;
    const uint64_t *known = map_find(&work_builder->known, key);
    struct operator_work work = {0};
    if (known) {
        *place = (uint32_t)*known;
        return true;
    }
    if (detail && name < NAMES_MAX)
        work = read_operator(trace_text(trace, name), trace_text(trace, detail), type);
    *place = 0;
    if (work.kind != OPERATOR_UNKNOWN) {
        if (!GROW(work_builder->works, &work_builder->work_capacity, work_builder->work_count + 1,
                  status))
            return false;
        *place = (uint32_t)work_builder->work_count;
        work_builder->works[work_builder->work_count++] = work;
    }
    return map_set(&work_builder->known, key, *place, status);
}

static bool gather(struct work_builder *work_builder, struct status *status) {
    const struct trace *trace = work_builder->model->trace;
    for (size_t i = 0; i < trace->activity.count; i++) {
        uint32_t range = operator_of(work_builder, i);
        if (trace->activity.kind[i] != ACTIVITY_KERNEL || range == NO_ROW)
            continue;
        struct launched *launched = &work_builder->ranges[range];
        const struct kernel_traits *traits =
            kernel_traits(trace, trace->activity.name[i], work_builder->traits);
        if (launched->kernels++ == 0 &&
            !understand(work_builder, range, type_in_name(traits), &launched->work, status))
            return false;
        launched->time += (double)trace->activity.duration[i];
        launched->products += traits->multiplies;
        launched->matrix_f32 |= traits->matrix_f32;
        if (work_builder->works[launched->work].kind == OPERATOR_CONVOLUTION &&
            traits->fewer_multiplications)
            launched->work = 0; /* it does less than the plain sum of products */
    }
    return true;
}

/* ---- Work of a kernel ---- */

/* The kernel's share of its operator's work: all of it if this kernel does the product, else its
 * share of the time. */
static double share(const struct work_builder *work_builder, const struct launched *launched,
                    const struct kernel_traits *traits, int64_t duration) {
    if (work_builder->works[launched->work].kind == OPERATOR_PRODUCT && launched->products == 1)
        return traits->multiplies ? 1 : 0;
    if (launched->time <= 0)
        return 1.0 / launched->kernels;
    return (double)duration / launched->time;
}

/* The units for matrix products of a type. Those for f32 (tf32) are used if the kernel's name has
 * them. DEVICE_LIMIT_COUNT: unknown type. */
static enum device_limit matrix_unit(enum element_type type, bool matrix_f32) {
    switch (type) {
    case ELEMENT_F16:
        return DEVICE_LIMIT_MATRIX_F16;
    case ELEMENT_BF16:
        return DEVICE_LIMIT_MATRIX_BF16;
    case ELEMENT_F32:
        return matrix_f32 ? DEVICE_LIMIT_MATRIX_F32 : DEVICE_LIMIT_F32;
    case ELEMENT_F64:
        return DEVICE_LIMIT_MATRIX_F64;
    default:
        return DEVICE_LIMIT_COUNT;
    }
}

static void give(const struct work_builder *work_builder, const struct launched *launched,
                 size_t row, struct work *work) {
    const struct trace *trace = work_builder->model->trace;
    const struct operator_work *of_operator = &work_builder->works[launched->work];
    const struct kernel_traits *traits =
        kernel_traits(trace, trace->activity.name[row], work_builder->traits);
    double part = share(work_builder, launched, traits, trace->activity.duration[row]);
    double bytes = of_operator->bytes;
    enum device_limit unit = DEVICE_LIMIT_F32;
    if (of_operator->kind != OPERATOR_STREAMING)
        unit = matrix_unit(of_operator->type, launched->matrix_f32);
    if (of_operator->elements > 0) /* the kernel name has the type */
        bytes = of_operator->elements * traits->size;
    if (unit == DEVICE_LIMIT_COUNT || part <= 0 || (bytes <= 0 && of_operator->flops <= 0))
        return;
    work->bytes[row] = bytes * part;
    work->flops[row] = of_operator->flops * part;
    work->arithmetic[row] = (uint8_t)unit;
    work->source[row] = WORK_OPERATOR;
}

static void assign(const struct work_builder *work_builder, struct work *work) {
    const struct trace *trace = work_builder->model->trace;
    for (size_t i = 0; i < trace->activity.count; i++) {
        uint32_t range = operator_of(work_builder, i);
        if (trace->activity.kind[i] != ACTIVITY_KERNEL || work->source[i] || range == NO_ROW)
            continue;
        const struct launched *launched = &work_builder->ranges[range];
        if (launched->work)
            give(work_builder, launched, i, work);
    }
}

/* Shapes of operators are in the details of their ranges. */
static bool has_details(const struct columns_range *range) {
    for (size_t i = 0; i < range->count; i++)
        if (range->detail[i])
            return true;
    return false;
}

static bool from_operators(const struct model *model, const struct host *host,
                           struct kernel_traits *traits, struct work *work, struct status *status) {
    struct trace *trace = model->trace;
    struct work_builder work_builder = {.model = model, .traits = traits};
    bool ok = trace_load(trace, TABLE_RANGE, "detail", status);
    if (ok && !has_details(&trace->range))
        return true;
    work_builder.operator_of =
        memory_allocate(trace->call.count, sizeof *work_builder.operator_of, status);
    work_builder.ranges = memory_allocate(trace->range.count, sizeof *work_builder.ranges, status);
    ok = ok && work_builder.operator_of && work_builder.ranges &&
         GROW(work_builder.works, &work_builder.work_capacity, 1, status);
    if (ok) {
        work_builder.works[work_builder.work_count++] = (struct operator_work){0};
        find_operators(host, work_builder.operator_of);
        ok = gather(&work_builder, status);
    }
    if (ok)
        assign(&work_builder, work);
    memory_free(work_builder.operator_of);
    memory_free(work_builder.ranges);
    memory_free(work_builder.works);
    map_finish(&work_builder.known);
    return ok;
}

/* ---- Work recorded in the trace ---- */

/* Ridge's runtime records a kernel's work and names it after its types. */
static enum device_limit unit_of_name(const struct kernel_traits *traits) {
    if (!traits->multiplies)
        return DEVICE_LIMIT_F32;
    enum element_type type = type_in_name(traits);
    return matrix_unit(type == ELEMENT_NONE ? ELEMENT_F32 : type, traits->matrix_f32);
}

static bool from_trace(const struct model *model, struct kernel_traits *traits, struct work *work,
                       struct status *status) {
    struct trace *trace = model->trace;
    enum work_source source =
        text_is(trace_meta(trace, "vulkan.work"), "estimated") ? WORK_SHADER : WORK_TRACE;
    if (!trace_load(trace, TABLE_ACTIVITY, "flops", status))
        return false;
    for (size_t i = 0; i < trace->activity.count; i++) {
        uint64_t bytes = trace->activity.bytes[i], flops = trace->activity.flops[i];
        if (trace->activity.kind[i] != ACTIVITY_KERNEL || bytes == BYTES_UNKNOWN ||
            (bytes == 0 && flops == 0))
            continue;
        work->bytes[i] = (double)bytes;
        work->flops[i] = (double)flops;
        work->source[i] = (uint8_t)source;
        work->arithmetic[i] =
            source == WORK_SHADER
                ? DEVICE_LIMIT_F32
                : (uint8_t)unit_of_name(kernel_traits(trace, trace->activity.name[i], traits));
    }
    return true;
}

/* ---- Work from the launch geometry ---- */

enum { GEOMETRY_BLOCKS_MIN = 8 }; /* from which the last, partial block is negligible */

/* All but the last block are full: a lower bound. */
static double elements_of_launch(const struct columns_activity *activity, size_t row,
                                 unsigned per_thread) {
    double blocks = (double)activity->grid_x[row] * activity->grid_y[row] * activity->grid_z[row];
    double threads =
        (double)activity->block_x[row] * activity->block_y[row] * activity->block_z[row];
    return blocks < GEOMETRY_BLOCKS_MIN ? 0 : (blocks - 1) * threads * per_thread;
}

static bool from_geometry(const struct model *model, struct kernel_traits *traits,
                          struct work *work, struct status *status) {
    struct trace *trace = model->trace;
    if (!trace_load(trace, TABLE_ACTIVITY, "grid_x grid_y grid_z block_x block_y block_z", status))
        return false;
    for (size_t i = 0; i < trace->activity.count; i++) {
        if (trace->activity.kind[i] != ACTIVITY_KERNEL || work->source[i])
            continue;
        const struct kernel_traits *kernel = kernel_traits(trace, trace->activity.name[i], traits);
        double elements =
            kernel->per_thread ? elements_of_launch(&trace->activity, i, kernel->per_thread) : 0;
        double bytes = elements * kernel->arrays * kernel->size;
        if (bytes <= 0)
            continue;
        work->bytes[i] = bytes;
        work->flops[i] = elements;
        work->arithmetic[i] = DEVICE_LIMIT_F32;
        work->source[i] = WORK_GEOMETRY;
    }
    return true;
}

/* ---- Work counted by the hardware ---- */

/* The units that did most of the counted operations. */
static enum device_limit counted_unit(const struct kernel_figures *figures, double flops,
                                      const struct kernel_traits *traits) {
    double part;
    if (kernel_figure(figures, KERNEL_TENSOR_FLOPS_FIGURE, &part) && part > flops / 2)
        return traits->multiplies ? unit_of_name(traits) : DEVICE_LIMIT_MATRIX_F16;
    if (kernel_figure(figures, KERNEL_F64_FLOPS_FIGURE, &part) && part > flops / 2)
        return DEVICE_LIMIT_F64;
    return DEVICE_LIMIT_F32;
}

/* Measured bytes replace those of a model. Operations do so as well; where they were not counted,
 * the model's stay. Counted bytes are those of the device's memory, not of its caches. */
static void from_counters(const struct model *model, const struct kernel_counters *counters,
                          struct kernel_traits *traits, struct work *work) {
    const struct trace *trace = model->trace;
    for (size_t i = 0; i < trace->activity.count && counters && counters->launch_of; i++) {
        double bytes, flops;
        if (counters->launch_of[i] == NO_ROW)
            continue;
        const struct kernel_figures *figures = &counters->launches[counters->launch_of[i]].figures;
        bool counts_flops = kernel_figures_flops(figures, &flops);
        /* one roof alone would make every product memory-bound */
        if (!kernel_figure(figures, KERNEL_DRAM_BYTES_FIGURE, &bytes) ||
            (!counts_flops && work->source[i] == WORK_UNKNOWN))
            continue;
        if (counts_flops) {
            work->flops[i] = flops;
            work->arithmetic[i] = (uint8_t)counted_unit(
                figures, flops, kernel_traits(trace, trace->activity.name[i], traits));
        }
        work->bytes[i] = bytes;
        work->source[i] = WORK_COUNTED;
    }
}

static bool begin(const struct model *model, struct work *work, struct status *status) {
    size_t count = model->trace->activity.count;
    work->bytes = memory_allocate(count, sizeof *work->bytes, status);
    work->flops = memory_allocate(count, sizeof *work->flops, status);
    work->source = memory_allocate(count, sizeof *work->source, status);
    work->arithmetic = memory_allocate(count, sizeof *work->arithmetic, status);
    work->roof_ns = memory_allocate(count, sizeof *work->roof_ns, status);
    work->bound = memory_allocate(count, sizeof *work->bound, status);
    return work->bytes && work->flops && work->source && work->arithmetic && work->roof_ns &&
           work->bound;
}

/* ---- Roofs ---- */

#define NEAR_ROOF 0.5 /* of the time: the kernel is bound by the roof */
#define FAR_FROM_ROOF 0.1
#define BUSY_MIN 0.6  /* of a unit's peak: it limits the kernel */
#define BALANCE_MIN 4 /* operations per byte: every device can do more */
enum {
    LATENCY_FACTOR = 3,      /* times an empty kernel: nothing but launch latency */
    SHORT_FACTOR = 10,       /* times an empty kernel: short */
    FILLED_QUARTERS_MIN = 3, /* quarters of the multiprocessors that need a block */
};

const char *kernel_bound_name(unsigned bound) {
    static const char *const names[KERNEL_BOUNDS] = {"unknown", "memory", "compute", "latency"};
    return bound < KERNEL_BOUNDS ? names[bound] : "?";
}

struct device {
    const struct limits *limits;
    double empty_ns; /* about the time of an empty kernel; 0: unknown */
    uint32_t multiprocessors;
};

/* A further kernel of a graph is nearly empty. If that was not measured: the shortest kernel,
 * unless a launch call is shorter, as then no kernel was nearly empty. */
static double empty_kernel_ns(const struct model *model, uint32_t id, const struct limits *limits) {
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

/* Data that fits into the cache may be there, unless it was counted in memory. */
static double memory_ns(const struct limits *limits, double bytes, bool counted) {
    double memory = limits->of[DEVICE_LIMIT_MEMORY], cache = limits->of[DEVICE_LIMIT_CACHE];
    bool fits = !counted && bytes <= limits->of[DEVICE_LIMIT_CACHE_BYTES];
    return time_at(bytes, fits && cache > memory ? cache : memory);
}

/* Without matrix units the ordinary ones do it. */
static double arithmetic_rate(const struct limits *limits, unsigned unit) {
    static const struct {
        enum device_limit matrix, ordinary;
    } units[] = {{DEVICE_LIMIT_MATRIX_F16, DEVICE_LIMIT_F16},
                 {DEVICE_LIMIT_MATRIX_BF16, DEVICE_LIMIT_BF16},
                 {DEVICE_LIMIT_MATRIX_F32, DEVICE_LIMIT_F32},
                 {DEVICE_LIMIT_MATRIX_F64, DEVICE_LIMIT_F64}};
    double rate = limits->of[unit];
    for (size_t i = 0; i < ARRAY_COUNT(units) && rate <= 0; i++)
        if (units[i].matrix == unit)
            rate = limits->of[units[i].ordinary];
    return rate;
}

/* Both roofs are needed, unless the work has so few operations per byte that memory is the limit of
 * any device. */
static bool has_both_roofs(const struct limits *limits, double bytes, double flops, double rate) {
    bool memory = bytes <= 0 || limits->of[DEVICE_LIMIT_MEMORY] > 0;
    return memory && (flops <= BALANCE_MIN * bytes || rate > 0);
}

static bool leaves_device_empty(const struct columns_activity *activity, size_t row,
                                uint32_t multiprocessors) {
    double blocks = (double)activity->grid_x[row] * activity->grid_y[row] * activity->grid_z[row];
    return blocks > 0 && blocks * 4 < (double)multiprocessors * FILLED_QUARTERS_MIN;
}

/* Counters of both kinds of units give the roof itself: the time in which the busiest unit does the
 * same work at its peak. A kernel that keeps none busy is bound by neither. */
static bool bound_by_counters(const struct kernel_counters *counters, size_t row, int64_t duration,
                              struct work *work) {
    double compute, memory, measured;
    if (!counters || !counters->launch_of || counters->launch_of[row] == NO_ROW)
        return false;
    const struct kernel_figures *figures = &counters->launches[counters->launch_of[row]].figures;
    if (!kernel_figure(figures, KERNEL_SM_FIGURE, &compute) ||
        !kernel_figure(figures, KERNEL_MEMORY_FIGURE, &memory) ||
        !kernel_figure(figures, KERNEL_DURATION_FIGURE, &measured))
        return false;
    double busiest = MAX(compute, memory), roof = measured * MIN(busiest, 1.0);
    work->roof_ns[row] = (float)MIN(roof, (double)duration);
    work->bound[row] = (uint8_t)(busiest < BUSY_MIN ? BOUND_UNKNOWN
                                 : compute > memory ? BOUND_COMPUTE
                                                    : BOUND_MEMORY);
    return true;
}

static void classify_bound(const struct device *device, const struct columns_activity *activity,
                           size_t row, bool functions, struct work *work) {
    double duration = (double)activity->duration[row];
    double rate = arithmetic_rate(device->limits, work->arithmetic[row]);
    double memory = memory_ns(device->limits, work->bytes[row], work->source[row] == WORK_COUNTED);
    double compute = time_at(work->flops[row], rate);
    double roof = memory > compute ? memory : compute;
    if (!has_both_roofs(device->limits, work->bytes[row], work->flops[row], rate))
        roof = 0;
    unsigned kind = roof <= 0 ? BOUND_UNKNOWN : compute > memory ? BOUND_COMPUTE : BOUND_MEMORY;
    bool is_short = duration <= SHORT_FACTOR * device->empty_ns;
    if (duration <= 0)
        return;
    work->roof_ns[row] = (float)(roof < duration ? roof : duration);
    work->bound[row] = (uint8_t)kind;
    bool uncounted = work->source[row] == WORK_SHADER && work->flops[row] <= 0;
    if ((functions || uncounted) && roof < NEAR_ROOF * duration) {
        work->bound[row] = BOUND_UNKNOWN;
        work->roof_ns[row] = 0;
    }
    if (roof < NEAR_ROOF * duration &&
        (duration <= LATENCY_FACTOR * device->empty_ns ||
         leaves_device_empty(activity, row, device->multiprocessors) ||
         (roof > 0 && roof < FAR_FROM_ROOF * duration && is_short)))
        work->bound[row] = BOUND_LATENCY;
}

static bool work_find_roofs(const struct model *model, const struct limits *limits,
                            const struct kernel_counters *counters, struct kernel_traits *traits,
                            struct work *work, struct status *status) {
    struct trace *trace = model->trace;
    if (!trace_load(trace, TABLE_ACTIVITY, "grid_x grid_y grid_z", status))
        return false;
    for (uint32_t id = 1; id < trace->device.count; id++) {
        struct device device = {
            .limits = &limits[id],
            .empty_ns = empty_kernel_ns(model, id, &limits[id]),
            .multiprocessors = trace->device.multiprocessors[id],
        };
        for (size_t i = model->device_first[id]; i < model->device_first[id + 1]; i++) {
            if (trace->activity.kind[i] != ACTIVITY_KERNEL)
                continue;
            const struct kernel_traits *kernel =
                kernel_traits(trace, trace->activity.name[i], traits);
            if (!kernel->communicates &&
                !bound_by_counters(counters, i, trace->activity.duration[i], work))
                classify_bound(&device, &trace->activity, i, kernel->functions, work);
        }
    }
    return true;
}

bool work_find(const struct model *model, const struct host *host, const struct limits *limits,
               const struct kernel_counters *counters, struct work *work, struct status *status) {
    memset(work, 0, sizeof *work);
    if (model->trace->activity.count == 0)
        return true;
    struct kernel_traits *traits =
        memory_allocate(model->trace->strings.count, sizeof *traits, status);
    bool ok = traits && begin(model, work, status) && from_trace(model, traits, work, status) &&
              from_operators(model, host, traits, work, status) &&
              from_geometry(model, traits, work, status);
    if (ok)
        from_counters(model, counters, traits, work);
    ok = ok && work_find_roofs(model, limits, counters, traits, work, status);
    memory_free(traits);
    if (!ok)
        work_finish(work);
    return ok;
}

void work_finish(struct work *work) {
    memory_free(work->bytes);
    memory_free(work->flops);
    memory_free(work->source);
    memory_free(work->arithmetic);
    memory_free(work->roof_ns);
    memory_free(work->bound);
    memset(work, 0, sizeof *work);
}
