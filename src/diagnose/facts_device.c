/* Copies by size and memory, kernels by what their names, grids, occupancy and roofs say. */
#include "diagnose/facts_device.h"

#include "base/memory.h"

enum copy_class copy_class_of(const struct trace *trace, size_t activity) {
    uint64_t bytes = trace->activity.bytes[activity];
    if (bytes <= SCALAR_BYTES)
        return COPIES_SCALAR;
    if (bytes < COPY_SMALL_BYTES)
        return COPIES_SMALL;
    bool pageable = trace->activity.from_memory[activity] == MEMORY_PAGEABLE ||
                    trace->activity.to_memory[activity] == MEMORY_PAGEABLE;
    return pageable ? COPIES_PAGEABLE : COPIES_PINNED;
}

static void add_copy(const struct trace *trace, size_t row, struct copy_facts *copies) {
    uint64_t bytes = trace->activity.bytes[row];
    copies->count++;
    copies->bytes += bytes == BYTES_UNKNOWN ? 0 : bytes;
    copies->time += trace->activity.duration[row];
    if (trace->activity.duration[row] >= copies->longest) {
        copies->longest = trace->activity.duration[row];
        copies->activity = (uint32_t)row;
    }
}

static void count_copy(const struct trace *trace, size_t row, struct facts *facts) {
    unsigned direction = trace->activity.direction[row];
    if (direction != COPY_HTOD && direction != COPY_DTOH)
        return;
    enum copy_class class = copy_class_of(trace, row);
    add_copy(trace, row, &facts->copies[class]);
    add_copy(trace, row, &facts->directed[class][direction]);
}

/* One kernel at a time, beside sums by name that tell which kernel has most of something. */
enum name_sum { OF_SMALL_GRID, OF_TAIL, OF_OCCUPANCY, NAME_SUMS };
struct kernel_walk {
    const struct diagnose_source *source;
    struct facts *facts;
    int64_t *by_name[NAME_SUMS]; /* by string id */
    int64_t *class_time;         /* by string id */
    uint8_t *class;              /* by string id; KERNEL_CLASSES: not asked yet */
};

static enum kernel_class class_of(struct kernel_walk *walk, uint32_t name) {
    if (walk->class[name] == KERNEL_CLASSES)
        walk->class[name] = (uint8_t)kernel_class(trace_text(walk->source->model->trace, name));
    return walk->class[name];
}

/* A grid of fewer blocks than the device has multiprocessors leaves the rest idle; a kernel that
 * lasts about as long as launching one is small because there is little to do. */
static void look_at_grid(struct kernel_walk *walk, size_t row, uint64_t blocks) {
    struct kernel_facts *kernels = &walk->facts->kernels;
    const struct trace *trace = walk->source->model->trace;
    int64_t duration = trace->activity.duration[row];
    uint64_t processors = walk->facts->multiprocessors;
    int64_t floor = walk->facts->launch_cost > 2000 ? walk->facts->launch_cost : 2000;
    if (processors == 0 || blocks == 0 || duration < 5 * floor)
        return;
    if (2 * blocks < processors) {
        int64_t better = (int64_t)((double)duration * (double)blocks / (double)processors);
        int64_t *sum = &walk->by_name[OF_SMALL_GRID][trace->activity.name[row]];
        *sum += duration;
        kernels->small_grid_time += duration;
        kernels->small_grid_saved += duration - (better > floor ? better : floor);
        if (*sum > walk->by_name[OF_SMALL_GRID][kernels->small_grid_name] ||
            kernels->small_grid_name == trace->activity.name[row]) {
            kernels->small_grid_name = trace->activity.name[row];
            kernels->small_grid_blocks = blocks;
        }
    }
}

/* Blocks run in waves of as many as fit; the last one may be of a few. */
static void look_at_tail(struct kernel_walk *walk, size_t row, uint64_t blocks) {
    const struct trace *trace = walk->source->model->trace;
    const struct occupancy *occupancy = walk->source->occupancy;
    struct kernel_facts *kernels = &walk->facts->kernels;
    uint32_t device = model_activity_device(walk->source->model, row);
    uint64_t threads = (uint64_t)trace->activity.block_x[row] * trace->activity.block_y[row] *
                       trace->activity.block_z[row];
    uint32_t resident = trace->device.threads_per_multiprocessor[device];
    if (!occupancy || !occupancy->share || occupancy->share[row] <= 0 || threads == 0 ||
        resident == 0 || walk->facts->multiprocessors == 0)
        return;
    double each = (double)resident * (double)occupancy->share[row] / (double)threads;
    double at_once =
        (each < 1 ? 1 : (double)(uint64_t)(each + 0.01)) * (double)walk->facts->multiprocessors;
    double waves = (double)blocks / at_once;
    if (waves <= 1 || waves > 4)
        return;
    double whole = (double)(uint64_t)waves + (waves > (double)(uint64_t)waves);
    int64_t saved = (int64_t)((double)trace->activity.duration[row] * (1 - waves / whole));
    int64_t *sum = &walk->by_name[OF_TAIL][trace->activity.name[row]];
    *sum += saved;
    kernels->tail_time += trace->activity.duration[row];
    kernels->tail_saved += saved;
    if (*sum > walk->by_name[OF_TAIL][kernels->tail_name])
        kernels->tail_name = trace->activity.name[row];
}

static void look_at_occupancy(struct kernel_walk *walk, size_t row, enum kernel_class class) {
    const struct trace *trace = walk->source->model->trace;
    const struct occupancy *occupancy = walk->source->occupancy;
    struct kernel_facts *kernels = &walk->facts->kernels;
    /* products keep their tiles in registers and run at a low occupancy by design */
    if (!occupancy || !occupancy->share || occupancy->share[row] <= 0 ||
        occupancy->share[row] >= OCCUPANCY_TARGET || class == KERNEL_MATRIX ||
        class == KERNEL_MATRIX_F32)
        return;
    int64_t *sum = &walk->by_name[OF_OCCUPANCY][trace->activity.name[row]];
    *sum += trace->activity.duration[row];
    kernels->low_occupancy_time += trace->activity.duration[row];
    if (*sum > walk->by_name[OF_OCCUPANCY][kernels->low_occupancy_name])
        kernels->low_occupancy_name = trace->activity.name[row];
}

static void look_at_roof(struct kernel_walk *walk, size_t row) {
    const struct work *work = walk->source->work;
    struct kernel_facts *kernels = &walk->facts->kernels;
    int64_t duration = walk->source->model->trace->activity.duration[row];
    if (!work || !work->roof_ns || work->roof_ns[row] <= 0)
        return;
    int64_t roof = (int64_t)work->roof_ns[row];
    roof = roof < duration ? roof : duration;
    unsigned bound = work->bound && work->bound[row] < KERNEL_BOUNDS ? work->bound[row] : 0;
    kernels->known_time += duration;
    kernels->known_roof += roof;
    kernels->bound_time[bound] += duration;
    kernels->bound_roof[bound] += roof;
}

/* A product of few rows reads its matrix once and is bound by memory, whatever its name says. Where
 * its work is known it has few operations for each byte; else short ones and those on few blocks,
 * or of which nothing is known, may be such. */
static void look_at_product(struct kernel_walk *walk, size_t row, enum kernel_class class,
                            uint64_t blocks) {
    enum {
        PLAINLY_LARGE_NS = 50000,
        UNLESS_KNOWN = 108,
        FLOPS_A_BYTE = 100,
        F32_FLOPS_A_BYTE = 10
    };
    struct kernel_facts *kernels = &walk->facts->kernels;
    const struct work *work = walk->source->work;
    int64_t duration = walk->source->model->trace->activity.duration[row];
    uint64_t processors =
        walk->facts->multiprocessors ? walk->facts->multiprocessors : UNLESS_KNOWN;
    if (duration < PLAINLY_LARGE_NS || blocks < processors / 2)
        kernels->thin_matrix_time += duration;
    if (work && work->flops && work->bytes && work->flops[row] > 0 && work->bytes[row] > 0) {
        double least = class == KERNEL_MATRIX_F32 ? F32_FLOPS_A_BYTE : FLOPS_A_BYTE;
        kernels->known_matrix_time += duration;
        if (work->flops[row] < least * work->bytes[row])
            kernels->known_thin_time += duration;
    }
}

static void count_kernel(struct kernel_walk *walk, size_t row) {
    const struct trace *trace = walk->source->model->trace;
    struct kernel_facts *kernels = &walk->facts->kernels;
    uint32_t name = trace->activity.name[row];
    int64_t duration = trace->activity.duration[row];
    enum kernel_class class = class_of(walk, name);
    uint64_t blocks = (uint64_t)trace->activity.grid_x[row] * trace->activity.grid_y[row] *
                      trace->activity.grid_z[row];
    kernels->count++;
    kernels->all += duration;
    kernels->time[class] += duration;
    walk->class_time[name] += duration;
    if (walk->class_time[name] > walk->class_time[kernels->top_of_class[class]] ||
        kernels->top_of_class[class] == 0)
        kernels->top_of_class[class] = name;
    if (duration < walk->facts->launch_cost) {
        kernels->short_count++;
        kernels->short_time += duration;
    }
    if (class == KERNEL_MATRIX || class == KERNEL_MATRIX_F32)
        look_at_product(walk, row, class, blocks);
    if (class != KERNEL_COLLECTIVE) {
        look_at_grid(walk, row, blocks);
        look_at_tail(walk, row, blocks);
        look_at_occupancy(walk, row, class);
    }
    look_at_roof(walk, row);
}

static bool walk_begin(struct kernel_walk *walk, struct status *status) {
    size_t names = walk->source->model->trace->strings.count + 1;
    for (unsigned i = 0; i < NAME_SUMS; i++)
        if (!(walk->by_name[i] = memory_allocate(names, sizeof(int64_t), status)))
            return false;
    walk->class_time = memory_allocate(names, sizeof(int64_t), status);
    walk->class = memory_allocate(names, 1, status);
    if (!walk->class_time || !walk->class)
        return false;
    memset(walk->class, KERNEL_CLASSES, names);
    return true;
}

static void walk_finish(struct kernel_walk *walk) {
    for (unsigned i = 0; i < NAME_SUMS; i++)
        memory_free(walk->by_name[i]);
    memory_free(walk->class_time);
    memory_free(walk->class);
}

/* Idle time that comes in gaps of about what launching costs, and not in a few long ones. */
static int64_t find_short_idle(const struct diagnose_source *source, const struct facts *facts,
                               const struct diagnose_device *device) {
    enum { LAUNCHES = 40, UNLESS_KNOWN = 100000 };
    const struct trace *trace = source->model->trace;
    int64_t most = facts->launch_call ? LAUNCHES * facts->launch_call : UNLESS_KNOWN;
    int64_t idle = 0, reached = INT64_MAX;
    for (size_t i = source->model->device_first[device->id];
         i < source->model->device_first[device->id + 1]; i++) {
        int64_t start = trace->activity.start[i], end = model_activity_end(source->model, i);
        if (!selection_contains(device->selection, start))
            continue;
        if (start > reached && start - reached <= most)
            idle += start - reached;
        if (reached == INT64_MAX || end > reached)
            reached = end;
    }
    return idle;
}

bool facts_find_kernels(const struct diagnose_source *source, struct facts *facts,
                        struct status *status) {
    const struct model *model = source->model;
    const struct trace *trace = model->trace;
    struct kernel_walk walk = {.source = source, .facts = facts};
    bool ok = walk_begin(&walk, status);
    for (size_t d = 0; ok && d < source->device_count; d++) {
        const struct diagnose_device *device = &source->devices[d];
        facts->short_idle += find_short_idle(source, facts, device);
        for (size_t i = model->device_first[device->id]; i < model->device_first[device->id + 1];
             i++) {
            if (!selection_contains(device->selection, trace->activity.start[i]))
                continue;
            if (trace->activity.kind[i] == ACTIVITY_KERNEL)
                count_kernel(&walk, i);
            else if (trace->activity.kind[i] == ACTIVITY_COPY)
                count_copy(trace, i, facts);
        }
    }
    walk_finish(&walk);
    return ok;
}
