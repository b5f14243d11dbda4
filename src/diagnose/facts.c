/* One pass over the host's calls (what each wait is for, what precedes a compilation) and one over
 * the device's activities (copies by size and memory; kernels by name, grid, occupancy and roof).
 */
#include "base/array.h"
#include "diagnose/facts.h"

#include <math.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "base/sort.h"
#include "trace/writer.h"
#include "whatif/names.h"

/* ---- framework ---- */

static bool any_name_has(const struct trace *trace, const uint32_t *names, size_t count,
                         const char *part) {
    size_t checked = count < 4096 ? count : 4096;
    for (size_t i = 0; i < checked; i++)
        if (text_find(trace_text(trace, names[i]), part) >= 0)
            return true;
    return false;
}

/* By its command line, the names of its processes and threads, and its sampled libraries. */
static bool is_torch_process(const struct diagnose_source *source) {
    const struct trace *trace = source->model->trace;
    const struct samples *samples = source->samples;
    if (text_find(trace_meta(trace, META_COMMAND), "torch") >= 0 ||
        any_name_has(trace, trace->process.name, trace->process.count, "torch") ||
        any_name_has(trace, trace->thread.name, trace->thread.count, "pt_main") ||
        any_name_has(trace, trace->thread.name, trace->thread.count, "pt_autograd"))
        return true;
    for (size_t i = 0; samples && i < samples->function_count; i++)
        if (text_find(samples->functions[i].module_text, "libtorch") >= 0 ||
            text_find(samples->functions[i].module_text, "libc10") >= 0)
            return true;
    return false;
}

static enum framework find_framework(const struct diagnose_source *source) {
    const struct trace *trace = source->model->trace;
    struct text format = trace_meta(trace, META_SOURCE_FORMAT);
    if (text_find(format, "xctrace") >= 0)
        return FRAMEWORK_METAL;
    if (text_find(format, "xplane") >= 0 ||
        any_name_has(trace, trace->activity.name, trace->activity.count, "_fusion"))
        return FRAMEWORK_JAX;
    if (any_name_has(trace, trace->range.name, trace->range.count, "aten::") ||
        any_name_has(trace, trace->activity.name, trace->activity.count, "at::native") ||
        any_name_has(trace, trace->activity.name, trace->activity.count, "2at6native") ||
        any_name_has(trace, trace->activity.name, trace->activity.count, "triton_") ||
        is_torch_process(source))
        return FRAMEWORK_TORCH;
    if (any_name_has(trace, trace->call.name, trace->call.count, "hip"))
        return FRAMEWORK_ROCM;
    if (any_name_has(trace, trace->call.name, trace->call.count, "clEnqueue"))
        return FRAMEWORK_OPENCL;
    if (any_name_has(trace, trace->call.name, trace->call.count, "vkQueueSubmit"))
        return FRAMEWORK_VULKAN;
    return any_name_has(trace, trace->call.name, trace->call.count, "ridge_") ? FRAMEWORK_RIDGE
                                                                              : FRAMEWORK_CUDA;
}

/* ---- copies ---- */

/* A copy up to this size reads a value; a larger one moves data. */
enum { SCALAR_BYTES = 256 };

static enum copy_class copy_class_of(const struct trace *trace, size_t activity) {
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

/* ---- host calls ---- */

/* The judged part on the host: from the first launch of its activities to its end. */
static void find_host_interval(const struct diagnose_source *source, struct facts *facts) {
    const struct model *model = source->model;
    const struct trace *trace = model->trace;
    facts->host_start = INT64_MAX;
    facts->host_end = INT64_MIN;
    for (size_t d = 0; d < source->device_count; d++) {
        const struct selection *selection = source->devices[d].selection;
        uint32_t id = source->devices[d].id;
        if (selection->count == 0)
            continue;
        int64_t first = selection->windows[0].start;
        int64_t last = selection->windows[selection->count - 1].end;
        if (last > facts->host_end)
            facts->host_end = last;
        if (first < facts->host_start)
            facts->host_start = first;
        for (size_t i = model->device_first[id]; i < model->device_first[id + 1]; i++) {
            if (trace->activity.start[i] < first)
                continue;
            if (model->launch[i] != NO_ROW &&
                trace->call.start[model->launch[i]] < facts->host_start)
                facts->host_start = trace->call.start[model->launch[i]];
            break; /* activities are sorted by start */
        }
    }
    const struct selection *part = source->host_part;
    if (source->device_count == 0 && part && part->count) {
        facts->host_start = part->windows[0].start;
        facts->host_end = part->windows[part->count - 1].end;
    } else if (source->device_count == 0 || !source->narrowed) {
        facts->host_start = model->first;
        facts->host_end = model->last;
    }
}

/* By call: the copy it launched, or NO_ROW. */
static uint32_t *find_copies_of_calls(const struct model *model, struct status *status) {
    const struct trace *trace = model->trace;
    uint32_t *copy = memory_allocate(trace->call.count + 1, sizeof *copy, status);
    if (!copy)
        return NULL;
    for (size_t i = 0; i < trace->call.count; i++)
        copy[i] = NO_ROW;
    for (size_t i = 0; i < trace->activity.count; i++)
        if (trace->activity.kind[i] == ACTIVITY_COPY && model->launch[i] != NO_ROW)
            copy[model->launch[i]] = (uint32_t)i;
    return copy;
}

static void add_sync(struct facts *facts, enum sync_purpose purpose, uint32_t call, int64_t time) {
    struct sync_facts *syncs = &facts->syncs[purpose];
    syncs->count++;
    syncs->time += time;
    if (time >= syncs->longest) {
        syncs->longest = time;
        syncs->call = call;
    }
}

/* State of the pass over the calls of one thread. */
struct call_walk {
    const struct diagnose_source *source;
    struct facts *facts;
    const uint32_t *copy_of_call;
    int64_t *time_of_name; /* of compile and allocation calls, by string id */
    int64_t *launch_times;
    size_t launches;

    uint32_t previous_copy; /* activity of the preceding copy call, or NO_ROW */
    bool previous_waited;   /* that call already counted as a wait */
    int64_t previous_end;
    bool seen;
};

/* The copy of a call, or of a call nested in it, which the correlation id may belong to. */
static uint32_t copy_of(const struct call_walk *walk, size_t call, size_t end) {
    const struct model *model = walk->source->model;
    if (walk->copy_of_call[call] != NO_ROW)
        return walk->copy_of_call[call];
    for (size_t i = call + 1; i < end && model->call_nested[i]; i++)
        if (walk->copy_of_call[i] != NO_ROW)
            return walk->copy_of_call[i];
    return NO_ROW;
}

/* Time of the call before the device is done with what precedes the copy. */
static int64_t time_before_copy(const struct model *model, size_t call, uint32_t copy) {
    uint32_t device = model_activity_device(model, copy);
    if (copy <= model->device_first[device])
        return 0;
    int64_t done = model_activity_end(model, copy - 1);
    return MAX(MIN(done, model->trace->activity.start[copy]) - model->trace->call.start[call], 0);
}

static void walk_sync(struct call_walk *walk, size_t call, int64_t duration) {
    const struct trace *trace = walk->source->model->trace;
    uint32_t copy = walk->previous_copy;
    enum sync_purpose purpose = SYNC_PLAIN;
    if (copy != NO_ROW) {
        enum copy_class class = copy_class_of(trace, copy);
        bool to_host = trace->activity.direction[copy] == COPY_DTOH;
        purpose = class == COPIES_SCALAR && to_host ? SYNC_SCALAR : SYNC_COPY;
        walk->facts->copies[class].call_time +=
            MAX(duration - time_before_copy(walk->source->model, call, copy), 0);
    }
    if (purpose == SYNC_SCALAR && walk->previous_waited) /* one wait, two calls */
        walk->facts->syncs[SYNC_SCALAR].time += duration;
    else
        add_sync(walk->facts, purpose, (uint32_t)call, duration);
}

/* A copy call that returns after the copy waits like a synchronizing call. If it brings a value,
 * the program reads that value. */
static bool waits_for_value(const struct call_walk *walk, size_t call, uint32_t copy) {
    const struct model *model = walk->source->model;
    return model->trace->activity.direction[copy] == COPY_DTOH &&
           copy_class_of(model->trace, copy) == COPIES_SCALAR &&
           model_call_end(model, call) >= model_activity_end(model, copy);
}

static void walk_copy(struct call_walk *walk, size_t call, uint32_t copy, int64_t duration) {
    struct facts *facts = walk->facts;
    const struct model *model = walk->source->model;
    facts->copies[copy_class_of(model->trace, copy)].call_time +=
        MAX(duration - time_before_copy(model, call, copy), 0);
    walk->previous_waited = waits_for_value(walk, call, copy);
    if (walk->previous_waited)
        add_sync(facts, SYNC_SCALAR, (uint32_t)call, duration);
}

static void walk_call(struct call_walk *walk, size_t call, size_t end) {
    const struct trace *trace = walk->source->model->trace;
    struct facts *facts = walk->facts;
    unsigned class = trace->call.class[call];
    int64_t start = trace->call.start[call], duration = trace->call.duration[call];
    int64_t host_time = walk->seen && start > walk->previous_end ? start - walk->previous_end : 0;
    uint32_t copy = NO_ROW;
    facts->calls[class]++;
    facts->call_time[class] += duration;
    unsigned quarter = 0;
    while (quarter < QUARTERS - 1 && start >= facts->quarter_end[quarter])
        quarter++;
    facts->quarter_calls[class][quarter]++;
    facts->quarter_time[class][quarter] += duration;
    if (duration > facts->call_longest[class])
        facts->call_longest[class] = duration;
    switch (class) {
    case CALL_SYNC:
        walk_sync(walk, call, duration);
        break;
    case CALL_COPY:
        copy = copy_of(walk, call, end);
        if (copy != NO_ROW)
            walk_copy(walk, call, copy, duration);
        break;
    case CALL_COMPILE:
        facts->compile_calls++;
        facts->host_time_before_compile += host_time;
        walk->time_of_name[trace->call.name[call]] += duration;
        break;
    case CALL_ALLOC:
        if (text_find(trace_text(trace, trace->call.name[call]), "Free") >= 0)
            facts->frees++;
        else
            facts->allocations++;
        facts->failed_allocations += trace->call.result[call] == 2; /* out of memory */
        walk->time_of_name[trace->call.name[call]] += duration;
        break;
    case CALL_LAUNCH:
        if (walk->source->model->call_loads[call]) {
            facts->loading_launches++;
            facts->loading_time += duration;
        }
        walk->launch_times[walk->launches++] = duration;
        break;
    default:
        break;
    }
    if (class != CALL_OTHER || host_time > duration)
        walk->previous_copy = copy;
    walk->previous_end = start + duration;
    walk->seen = true;
}

static void name_longest_calls(struct call_walk *walk, const struct trace *trace) {
    int64_t compile = 0, alloc = 0;
    for (size_t i = 0; i < trace->call.count; i++) {
        uint32_t name = trace->call.name[i];
        int64_t time = walk->time_of_name[name];
        if (trace->call.class[i] == CALL_COMPILE && time > compile) {
            compile = time;
            walk->facts->compile_name = name;
        } else if (trace->call.class[i] == CALL_ALLOC && time > alloc) {
            alloc = time;
            walk->facts->alloc_name = name;
        }
    }
}

/* By process: whether it launches on the judged device; all processes if that is not known. */
static bool *find_feeding_processes(const struct diagnose_source *source, struct status *status) {
    const struct trace *trace = source->model->trace;
    bool known = false, *feeds = memory_allocate(trace->process.count, sizeof *feeds, status);
    for (size_t i = 1; feeds && source->device_count && i < trace->queue.count; i++)
        if (trace->queue.device[i] == source->devices[0].id && trace->queue.process[i])
            feeds[trace->queue.process[i]] = known = true;
    for (size_t i = 0; feeds && !known && i < trace->process.count; i++)
        feeds[i] = true;
    return feeds;
}

static bool walk_host(const struct diagnose_source *source, struct facts *facts,
                      struct status *status) {
    const struct model *model = source->model;
    const struct trace *trace = model->trace;
    uint32_t *copies = find_copies_of_calls(model, status);
    struct call_walk walk = {.source = source, .facts = facts, .copy_of_call = copies};
    walk.time_of_name = memory_allocate(trace->strings.count + 1, sizeof(int64_t), status);
    walk.launch_times = memory_allocate(trace->call.count + 1, sizeof(int64_t), status);
    bool *feeds = find_feeding_processes(source, status);
    bool ok = copies && walk.time_of_name && walk.launch_times && feeds;
    for (size_t thread = 1; ok && thread < trace->thread.count; thread++) {
        size_t end = model->thread_calls[thread + 1];
        if (end == model->thread_calls[thread] || !feeds[trace->thread.process[thread]])
            continue;
        walk.seen = false;
        walk.previous_copy = NO_ROW;
        for (size_t i = model->thread_calls[thread]; i < end; i++)
            if (!model->call_nested[i] && trace->call.start[i] >= facts->host_start &&
                trace->call.start[i] < facts->host_end)
                walk_call(&walk, i, end);
    }
    if (ok) {
        name_longest_calls(&walk, trace);
        if (walk.launches)
            facts->launch_call_time =
                sort_select(walk.launch_times, walk.launches, walk.launches / 2);
    }
    memory_free(copies);
    memory_free(walk.time_of_name);
    memory_free(walk.launch_times);
    memory_free(feeds);
    return ok;
}

/* Outermost ranges that compile. */
static bool find_compile_ranges(const struct model *model, struct facts *facts,
                                struct status *status) {
    const struct trace *trace = model->trace;
    struct name_trait compiles;
    if (!name_trait_begin(&compiles, trace, name_is_compilation, status))
        return false;
    for (size_t thread = 1; thread < trace->thread.count; thread++) {
        int64_t until = INT64_MIN;
        for (size_t i = model->thread_ranges[thread]; i < model->thread_ranges[thread + 1]; i++) {
            int64_t start = trace->range.start[i];
            if (start < until || start < facts->host_start || start >= facts->host_end ||
                trace->range.category[i] == RANGE_DEVICE ||
                !name_has_trait(&compiles, trace->range.name[i]))
                continue;
            until = model_range_end(model, i);
            facts->compile_ranges += until - start;
            facts->compile_range = trace->range.name[i];
        }
    }
    name_trait_finish(&compiles);
    return true;
}

static void sum_accounts(const struct diagnose_source *source, struct facts *facts) {
    for (size_t d = 0; d < source->device_count; d++) {
        const struct diagnose_device *device = &source->devices[d];
        facts->window += device->account->window;
        facts->busy += device->account->busy;
        facts->exposed_copy += device->account->exposed_copy;
        facts->exposed_communication += device->account->exposed_communication;
        facts->kernel_union += device->account->kernel_union;
        facts->idle += device->account->idle;
        facts->graph_kernels += device->launches->graph_kernels;
        for (unsigned cause = 0; cause < CAUSE_COUNT; cause++)
            facts->cause[cause] += device->gaps->cause_time[cause];
    }
    if (source->device_count)
        facts->multiprocessors =
            source->model->trace->device.multiprocessors[source->devices[0].id];
}

static int64_t kernel_time(const struct trace *trace, size_t activity) {
    return trace->activity.kind[activity] == ACTIVITY_KERNEL ? trace->activity.duration[activity]
                                                             : 0;
}

/* Without kernels, everything is in the first quarter. */
static void find_quarters(const struct diagnose_source *source, struct facts *facts) {
    const struct model *model = source->model;
    for (unsigned quarter = 0; quarter < QUARTERS - 1; quarter++)
        facts->quarter_end[quarter] = INT64_MAX;
    if (source->device_count == 0)
        return;
    size_t first = model->device_first[source->devices[0].id];
    size_t end = model->device_first[source->devices[0].id + 1];
    double whole = 0, done = 0;
    for (size_t i = first; i < end; i++)
        whole += (double)kernel_time(model->trace, i);
    unsigned quarter = 0;
    for (size_t i = first; i < end && quarter < QUARTERS - 1; i++) {
        done += (double)kernel_time(model->trace, i);
        while (quarter < QUARTERS - 1 && whole > 0 && done >= whole * (quarter + 1) / QUARTERS)
            facts->quarter_end[quarter++] = model_activity_end(model, i);
    }
}

/* Time from one launch to the next: measured, otherwise the median launch call. */
static void find_launch_cost(const struct diagnose_source *source, struct facts *facts) {
    double measured = 0;
    const struct limits *limits =
        source->limits && source->device_count ? &source->limits[source->devices[0].id] : NULL;
    /* a limit seen in the trace is only the distance between its kernels */
    if (limits && limits->source[DEVICE_LIMIT_LAUNCH] >= LIMIT_STATED)
        measured = limits->of[DEVICE_LIMIT_LAUNCH];
    facts->launch_cost = measured > 0 ? (int64_t)measured : facts->launch_call_time;
}

/* A function of CUDA, HIP, OpenCL or Vulkan: a known prefix and a capital letter. */
static bool is_gpu_api(struct text name) {
    static const char *const prefixes[] = {"cuda", "cu", "hip", "cl", "vk", "nvrtc", "hiprtc"};
    for (size_t i = 0; i < ARRAY_COUNT(prefixes); i++) {
        size_t length = strlen(prefixes[i]);
        if (name.length > length && text_starts(name, prefixes[i]) && name.data[length] >= 'A' &&
            name.data[length] <= 'Z')
            return true;
    }
    return false;
}

/* XLA's host event around the launches of one execution: "jit_step:XLA GPU module". */
static bool is_xla_module(struct text name) {
    return text_find(name, ":XLA GPU module") >= 0;
}

/* Calls of class sync and other may belong to runtimes without a GPU; they count only if their name
 * is one of a GPU API. All other classes exist only for GPUs. */
static bool count_recorded(const struct model *model, struct recorded *recorded,
                           struct status *status) {
    const struct trace *trace = model->trace;
    struct name_trait gpu_api, modules;
    if (!name_trait_begin(&gpu_api, trace, is_gpu_api, status))
        return false;
    if (!name_trait_begin(&modules, trace, is_xla_module, status)) {
        name_trait_finish(&gpu_api);
        return false;
    }
    recorded->activities = trace->activity.count;
    for (size_t i = 0; i < trace->activity.count; i++)
        recorded->kernels += trace->activity.kind[i] == ACTIVITY_KERNEL;
    for (size_t i = 0; i < trace->call.count; i++) {
        unsigned class = trace->call.class[i];
        bool waits = class == CALL_SYNC || class == CALL_OTHER;
        if (!model->call_nested[i] && (!waits || name_has_trait(&gpu_api, trace->call.name[i]))) {
            recorded->calls[class]++;
            recorded->all_calls++;
        }
    }
    for (size_t i = 0; i < trace->range.count; i++)
        recorded->operators += trace->range.category[i] == RANGE_OP;
    for (size_t i = 0; i < trace->range.count; i++)
        recorded->modules += trace->range.category[i] != RANGE_DEVICE &&
                             name_has_trait(&modules, trace->range.name[i]);
    name_trait_finish(&modules);
    name_trait_finish(&gpu_api);
    return true;
}

/* ---- kernels ---- */

/* State of the pass over kernels, with sums by name that find the largest kernel of each kind. */
enum name_sum { OF_SMALL_GRID, OF_SMALL_BLOCKS, OF_TAIL, OF_OCCUPANCY, NAME_SUMS };
struct kernel_walk {
    const struct diagnose_source *source;
    struct facts *facts;
    int64_t *by_name[NAME_SUMS]; /* by string id */
    int64_t *class_time;         /* by string id */
    uint8_t *class;              /* by string id; KERNEL_CLASS_COUNT: not known yet */
};

static enum kernel_class cached_kernel_class(struct kernel_walk *walk, uint32_t name) {
    if (walk->class[name] == KERNEL_CLASS_COUNT)
        walk->class[name] = (uint8_t)kernel_class(trace_text(walk->source->model->trace, name));
    return walk->class[name];
}

/* A grid with fewer blocks than the device has multiprocessors leaves some of them idle. Kernels
 * about as short as a launch are ignored: they have too little work for more blocks. */
static void check_grid(struct kernel_walk *walk, size_t row, uint64_t blocks) {
    struct kernel_facts *kernels = &walk->facts->kernels;
    const struct trace *trace = walk->source->model->trace;
    int64_t duration = trace->activity.duration[row];
    uint64_t multiprocessors = walk->facts->multiprocessors;
    int64_t floor = walk->facts->launch_cost > 2000 ? walk->facts->launch_cost : 2000;
    if (multiprocessors == 0 || blocks == 0 || duration < 5 * floor)
        return;
    if (2 * blocks < multiprocessors) {
        int64_t better = (int64_t)((double)duration * (double)blocks / (double)multiprocessors);
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

static uint64_t threads_of(const struct trace *trace, size_t row) {
    return (uint64_t)trace->activity.block_x[row] * trace->activity.block_y[row] *
           trace->activity.block_z[row];
}

/* A multiprocessor of NVIDIA holds at most 32 blocks. If they have fewer than 64 threads, it is not
 * full; if each ends after a few microseconds, starting blocks takes most of the time. With blocks
 * of 256 threads, their number and so that time fall in proportion. */
static void check_blocks(struct kernel_walk *walk, size_t row, uint64_t blocks) {
    enum { RESIDENT = 32, SMALL = 64, USUAL = 256, WAVES = 4, SHORT_NS = 10000 };
    struct kernel_facts *kernels = &walk->facts->kernels;
    const struct trace *trace = walk->source->model->trace;
    uint32_t device = model_activity_device(walk->source->model, row);
    uint64_t threads = threads_of(trace, row), at_once = RESIDENT * walk->facts->multiprocessors;
    double duration = (double)trace->activity.duration[row];
    if (trace->device.compute_major[device] == 0 || threads == 0 || threads >= SMALL ||
        at_once == 0 || blocks < WAVES * at_once ||
        duration * (double)at_once / (double)blocks > SHORT_NS)
        return;
    int64_t *sum = &walk->by_name[OF_SMALL_BLOCKS][trace->activity.name[row]];
    *sum += trace->activity.duration[row];
    kernels->small_block_time += trace->activity.duration[row];
    kernels->small_block_saved += (int64_t)(duration * (1 - (double)threads / USUAL));
    if (*sum >= walk->by_name[OF_SMALL_BLOCKS][kernels->small_block_name]) {
        kernels->small_block_name = trace->activity.name[row];
        kernels->small_block_threads = threads;
    }
}

/* Blocks run in waves of as many as fit; the last wave may be partly filled. */
static void check_tail(struct kernel_walk *walk, size_t row, uint64_t blocks) {
    const struct trace *trace = walk->source->model->trace;
    const struct occupancy *occupancy = walk->source->occupancy;
    struct kernel_facts *kernels = &walk->facts->kernels;
    uint32_t device = model_activity_device(walk->source->model, row);
    uint64_t threads = threads_of(trace, row);
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

static void check_occupancy(struct kernel_walk *walk, size_t row, enum kernel_class class) {
    const struct trace *trace = walk->source->model->trace;
    const struct occupancy *occupancy = walk->source->occupancy;
    struct kernel_facts *kernels = &walk->facts->kernels;
    /* matrix products keep tiles in registers and have a low occupancy by design */
    if (!occupancy || !occupancy->share || occupancy->share[row] <= 0 ||
        occupancy->share[row] >= OCCUPANCY_TARGET || class == KERNEL_MATMUL ||
        class == KERNEL_MATMUL_F32)
        return;
    int64_t *sum = &walk->by_name[OF_OCCUPANCY][trace->activity.name[row]];
    *sum += trace->activity.duration[row];
    kernels->low_occupancy_time += trace->activity.duration[row];
    if (*sum > walk->by_name[OF_OCCUPANCY][kernels->low_occupancy_name])
        kernels->low_occupancy_name = trace->activity.name[row];
}

static void check_roof(struct kernel_walk *walk, size_t row) {
    const struct work *work = walk->source->work;
    struct kernel_facts *kernels = &walk->facts->kernels;
    int64_t duration = walk->source->model->trace->activity.duration[row];
    if (!work || !work->roof_ns || work->roof_ns[row] <= 0)
        return;
    int64_t roof = (int64_t)work->roof_ns[row];
    roof = roof < duration ? roof : duration;
    unsigned bound = work->bound && work->bound[row] < KERNEL_BOUNDS ? work->bound[row] : 0;
    kernels->known_time += duration;
    kernels->known_roof_time += roof;
    kernels->bound_time[bound] += duration;
    kernels->bound_roof_time[bound] += roof;
}

/* A matrix product of few rows is memory-bound: it reads each weight once. If its work is known, it
 * has few operations per byte; otherwise short products, those with few blocks and those with an
 * unknown grid may be such. */
static void check_matmul(struct kernel_walk *walk, size_t row, enum kernel_class class,
                         uint64_t blocks) {
    enum { LARGE_NS = 50000, UNLESS_KNOWN = 108, FLOPS_PER_BYTE = 100, F32_FLOPS_PER_BYTE = 10 };
    struct kernel_facts *kernels = &walk->facts->kernels;
    const struct work *work = walk->source->work;
    int64_t duration = walk->source->model->trace->activity.duration[row];
    uint64_t multiprocessors =
        walk->facts->multiprocessors ? walk->facts->multiprocessors : UNLESS_KNOWN;
    if (duration < LARGE_NS || blocks < multiprocessors / 2)
        kernels->skinny_matmul_time += duration;
    if (work && work->flops && work->bytes && work->flops[row] > 0 && work->bytes[row] > 0) {
        double min_intensity = class == KERNEL_MATMUL_F32 ? F32_FLOPS_PER_BYTE : FLOPS_PER_BYTE;
        kernels->known_matmul_time += duration;
        if (work->flops[row] < min_intensity * work->bytes[row])
            kernels->known_skinny_time += duration;
    }
}

static void count_kernel(struct kernel_walk *walk, size_t row) {
    const struct trace *trace = walk->source->model->trace;
    struct kernel_facts *kernels = &walk->facts->kernels;
    uint32_t name = trace->activity.name[row];
    int64_t duration = trace->activity.duration[row];
    enum kernel_class class = cached_kernel_class(walk, name);
    uint64_t blocks = (uint64_t)trace->activity.grid_x[row] * trace->activity.grid_y[row] *
                      trace->activity.grid_z[row];
    kernels->count++;
    kernels->total_time += duration;
    kernels->time[class] += duration;
    walk->class_time[name] += duration;
    if (walk->class_time[name] > walk->class_time[kernels->class_top_name[class]] ||
        kernels->class_top_name[class] == 0)
        kernels->class_top_name[class] = name;
    if (duration < walk->facts->launch_cost) {
        kernels->short_count++;
        kernels->short_time += duration;
    }
    if (class == KERNEL_MATMUL || class == KERNEL_MATMUL_F32)
        check_matmul(walk, row, class, blocks);
    if (class != KERNEL_COLLECTIVE) {
        check_grid(walk, row, blocks);
        check_blocks(walk, row, blocks);
        check_tail(walk, row, blocks);
        check_occupancy(walk, row, class);
    }
    check_roof(walk, row);
}

static bool kernel_walk_begin(struct kernel_walk *walk, struct status *status) {
    size_t names = walk->source->model->trace->strings.count + 1;
    for (unsigned i = 0; i < NAME_SUMS; i++)
        if (!(walk->by_name[i] = memory_allocate(names, sizeof(int64_t), status)))
            return false;
    walk->class_time = memory_allocate(names, sizeof(int64_t), status);
    walk->class = memory_allocate(names, 1, status);
    if (!walk->class_time || !walk->class)
        return false;
    memset(walk->class, KERNEL_CLASS_COUNT, names);
    return true;
}

static void kernel_walk_finish(struct kernel_walk *walk) {
    for (unsigned i = 0; i < NAME_SUMS; i++)
        memory_free(walk->by_name[i]);
    memory_free(walk->class_time);
    memory_free(walk->class);
}

/* Idle time in gaps comparable to the launch cost, as opposed to a few long gaps. */
static int64_t find_short_idle(const struct diagnose_source *source, const struct facts *facts,
                               const struct diagnose_device *device) {
    enum { LAUNCHES = 40, UNLESS_KNOWN = 100000 };
    const struct trace *trace = source->model->trace;
    int64_t max_gap = facts->launch_call_time ? LAUNCHES * facts->launch_call_time : UNLESS_KNOWN;
    int64_t idle = 0, reached = INT64_MAX;
    for (size_t i = source->model->device_first[device->id];
         i < source->model->device_first[device->id + 1]; i++) {
        int64_t start = trace->activity.start[i], end = model_activity_end(source->model, i);
        if (!selection_contains(device->selection, start))
            continue;
        if (start > reached && start - reached <= max_gap)
            idle += start - reached;
        if (reached == INT64_MAX || end > reached)
            reached = end;
    }
    return idle;
}

static bool walk_device(const struct diagnose_source *source, struct facts *facts,
                        struct status *status) {
    const struct model *model = source->model;
    const struct trace *trace = model->trace;
    struct kernel_walk walk = {.source = source, .facts = facts};
    bool ok = kernel_walk_begin(&walk, status);
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
    kernel_walk_finish(&walk);
    return ok;
}

/* ---- kernels that slow down ---- */

/* Time of kernels of one name and grid, taken to be the same work, in equal bins of the judged
 * part. The first quarter shows the speed that the device can reach. */
enum { BINS = 24 };
struct pace {
    int64_t time[BINS];
    uint32_t count[BINS];
};
struct paces {
    struct map index; /* of list, by name and grid */
    struct pace *list;
    size_t count, capacity;
};

static bool add_to_pace(const struct trace *trace, struct paces *paces, size_t row, unsigned bin,
                        struct status *status) {
    uint64_t key = trace->activity.name[row];
    key = key * 0x9E3779B97F4A7C15u + trace->activity.grid_x[row];
    key = key * 0x9E3779B97F4A7C15u + trace->activity.grid_y[row];
    key = key * 0x9E3779B97F4A7C15u + trace->activity.grid_z[row];
    uint64_t *place = map_find(&paces->index, key);
    size_t at = place ? (size_t)*place : paces->count;
    if (!place) {
        if (!memory_grow((void **)&paces->list, &paces->capacity, paces->count + 1,
                         sizeof *paces->list, status) ||
            !map_set(&paces->index, key, paces->count, status))
            return false;
        paces->list[paces->count++] = (struct pace){0};
    }
    paces->list[at].time[bin] += trace->activity.duration[row];
    paces->list[at].count[bin]++;
    return true;
}

/* Mean duration in bins first..end; 0: too few kernels. */
static double mean_of(const struct pace *pace, unsigned first, unsigned end) {
    int64_t time = 0;
    uint64_t count = 0;
    for (unsigned bin = first; bin < end; bin++) {
        time += pace->time[bin];
        count += pace->count[bin];
    }
    return count >= 2 ? (double)time / (double)count : 0;
}

static double quarter_mean(const struct pace *pace, unsigned quarter) {
    enum { WIDTH = BINS / QUARTERS };
    return mean_of(pace, quarter * WIDTH, (quarter + 1) * WIDTH);
}

/* The Mann-Kendall test for a trend: the standard score of the number of pairs of bins that are
 * slower later, less those that are faster. Random durations, however spread, give about 0. */
static double trend_score(const struct pace *pace) {
    double mean[BINS], pairs = 0;
    size_t count = 0;
    for (unsigned bin = 0; bin < BINS; bin++)
        if (pace->count[bin])
            mean[count++] = (double)pace->time[bin] / (double)pace->count[bin];
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            pairs += (mean[k] > mean[i]) - (mean[k] < mean[i]);
    double n = (double)count, variance = n * (n - 1) * (2 * n + 5) / 18;
    return count >= 8 && pairs > 0 ? (pairs - 1) / sqrt(variance) : 0;
}

/* One in 200 random sequences has such a score. */
#define TREND_SCORE 2.58

/* Whether every bin of the last quarter is slower than every bin of the first, as after a sudden
 * change of the clock: one in 924 random sequences of full bins is. */
static bool quarters_are_apart(const struct pace *pace) {
    enum { WIDTH = BINS / QUARTERS };
    double slowest = 0, fastest = INFINITY;
    for (unsigned i = 0; i < WIDTH; i++) {
        unsigned last = BINS - 1 - i;
        if (pace->count[i] == 0 || pace->count[last] == 0)
            return false;
        slowest = fmax(slowest, (double)pace->time[i] / (double)pace->count[i]);
        fastest = fmin(fastest, (double)pace->time[last] / (double)pace->count[last]);
    }
    return fastest > slowest;
}

static bool slows_down(const struct pace *pace) {
    for (unsigned quarter = 0; quarter < QUARTERS; quarter++)
        if (quarter_mean(pace, quarter) <= 0)
            return false;
    return quarter_mean(pace, QUARTERS - 1) >= 1.05 * quarter_mean(pace, 0) &&
           (trend_score(pace) > TREND_SCORE || quarters_are_apart(pace));
}

/* Whether the kernel keeps its speed in all quarters. */
static bool is_steady(const struct pace *pace) {
    double first = quarter_mean(pace, 0);
    for (unsigned quarter = 0; quarter < QUARTERS; quarter++) {
        double mean = quarter_mean(pace, quarter);
        if (mean <= 0 || fabs(mean - first) > 0.05 * first)
            return false;
    }
    return true;
}

/* A lower clock slows all kernels down, those that wait for memory less. Kernels that take half as
 * long again beside others that keep their speed have more work. */
#define CLOCK_RATIO_MAX 1.5
#define STEADY_SHARE_MIN 0.05

static struct drift sum_paces(const struct paces *paces) {
    struct drift drift = {0};
    double whole = 0, slowed = 0, before = 0, after = 0, lost = 0, steady = 0;
    for (size_t i = 0; i < paces->count; i++) {
        const struct pace *pace = &paces->list[i];
        double best = quarter_mean(pace, 0), time = 0;
        for (unsigned bin = 0; bin < BINS; bin++)
            time += (double)pace->time[bin];
        whole += time;
        steady += is_steady(pace) ? time : 0;
        if (!slows_down(pace))
            continue;
        slowed += time;
        for (unsigned bin = 0; bin < BINS; bin++) {
            double expected = best * (double)pace->count[bin];
            if (bin >= BINS - BINS / QUARTERS) {
                before += expected;
                after += (double)pace->time[bin];
            }
            lost += (double)pace->time[bin] > expected ? (double)pace->time[bin] - expected : 0;
        }
    }
    if (before > 0 && after > CLOCK_RATIO_MAX * before && steady > STEADY_SHARE_MIN * whole)
        return drift;
    if (whole > 0 && before > 0) {
        drift.part = slowed / whole;
        drift.ratio = after / before;
        drift.lost = (int64_t)lost;
    }
    return drift;
}

/* Collectives wait for other devices, so their duration varies. */
static bool is_collective(struct text name) {
    return kernel_class(name) == KERNEL_COLLECTIVE;
}

bool drift_find(const struct diagnose_source *source, struct drift *drift, struct status *status) {
    const struct trace *trace = source->model->trace;
    struct paces paces = {0};
    struct name_trait collective;
    *drift = (struct drift){0};
    if (source->device_count == 0)
        return true;
    if (!name_trait_begin(&collective, trace, is_collective, status))
        return false;
    bool ok = true;
    const struct diagnose_device *device = &source->devices[0];
    int64_t first = device->selection->windows[0].start;
    int64_t last = device->selection->windows[device->selection->count - 1].end;
    size_t end = source->model->device_first[device->id + 1];
    for (size_t i = source->model->device_first[device->id]; i < end && ok; i++) {
        int64_t start = trace->activity.start[i];
        if (trace->activity.kind[i] != ACTIVITY_KERNEL || start < first || start >= last ||
            name_has_trait(&collective, trace->activity.name[i]))
            continue;
        unsigned bin = (unsigned)((double)(start - first) / (double)(last - first) * BINS);
        ok = add_to_pace(trace, &paces, i, bin < BINS ? bin : BINS - 1, status);
    }
    if (ok)
        *drift = sum_paces(&paces);
    name_trait_finish(&collective);
    memory_free(paces.list);
    map_finish(&paces.index);
    return ok;
}

/* ---- all facts ---- */

/* Frees columns that only the facts need: predictions need much memory. */
static void unload_columns(struct trace *trace) {
    static const char *const grids[] = {"grid_x",  "grid_y",  "grid_z",
                                        "block_x", "block_y", "block_z"};
    for (size_t i = 0; i < ARRAY_COUNT(grids); i++)
        trace_unload(trace, TABLE_ACTIVITY, grids[i]);
    trace_unload(trace, TABLE_CALL, "result");
}

bool facts_find(const struct diagnose_source *source, struct facts *facts, struct status *status) {
    struct trace *trace = source->model->trace;
    memset(facts, 0, sizeof *facts);
    if (!trace_load(trace, TABLE_ACTIVITY, "grid_x grid_y grid_z block_x block_y block_z",
                    status) ||
        !trace_load(trace, TABLE_CALL, "result", status) ||
        !trace_load(trace, TABLE_COUNTER, "time device name value", status))
        return false;
    facts->framework = find_framework(source);
    find_host_interval(source, facts);
    sum_accounts(source, facts);
    find_quarters(source, facts);
    if (!count_recorded(source->model, &facts->recorded, status) ||
        !walk_host(source, facts, status) || !find_compile_ranges(source->model, facts, status))
        return false;
    find_launch_cost(source, facts);
    if (!walk_device(source, facts, status) || !drift_find(source, &facts->drift, status))
        return false;
    unload_columns(trace);
    return true;
}
