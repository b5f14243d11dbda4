/* The rows of a launch: an activity and its metrics, on a device that the metrics describe. */
#include "base/memory.h"
#include "base/min_max.h"
#include "import/ncu/ncu.h"

bool ncu_launch_begin(struct ncu *ncu, struct status *status) {
    if (!ncu_launch_end(ncu, status))
        return false;
    struct ncu_launch *launch = &ncu->launch;
    *launch =
        (struct ncu_launch){.open = true, .metrics = launch->metrics, .capacity = launch->capacity};
    return true;
}

/* ---- The device, from its attributes ---- */

static uint32_t whole(double value) {
    return value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

static uint64_t whole64(double value) {
    return value > 0 && value < 1e18 ? (uint64_t)value : 0;
}

static void take_attribute(struct row_device *row, struct text name, double value) {
    if (text_is(name, "multiprocessor_count"))
        row->multiprocessors = whole(value);
    else if (text_is(name, "clock_rate"))
        row->clock_hz = whole64(value * 1e3);
    else if (text_is(name, "compute_capability_major"))
        row->compute_major = whole(value);
    else if (text_is(name, "compute_capability_minor"))
        row->compute_minor = whole(value);
    else if (text_is(name, "warp_size"))
        row->warp_size = whole(value);
    else if (text_is(name, "max_threads_per_multiprocessor"))
        row->threads_per_multiprocessor = whole(value);
    else if (text_is(name, "max_registers_per_multiprocessor"))
        row->registers_per_multiprocessor = whole(value);
    else if (text_is(name, "max_shared_memory_per_multiprocessor"))
        row->shared_per_multiprocessor = whole(value);
    else if (text_is(name, "max_blocks_per_multiprocessor"))
        row->blocks_per_multiprocessor = whole(value);
    else if (text_is(name, "reserved_shared_memory_per_block"))
        row->shared_reserved_per_block = whole(value);
    else if (text_is(name, "total_memory"))
        row->memory_bytes = whole64(value);
}

/* ---- The launch ---- */

/* The place of launch__grid_dim_x and its like; NULL for other metrics. */
static uint32_t *dimension(struct ncu_launch *launch, struct text name) {
    unsigned axis = name.length ? (unsigned char)name.data[name.length - 1] - (unsigned)'x' : 3;
    if (axis < 3 && name.length == 18 && text_starts(name, "launch__grid_dim_"))
        return &launch->grid[axis];
    if (axis < 3 && name.length == 19 && text_starts(name, "launch__block_dim_"))
        return &launch->block[axis];
    return NULL;
}

bool ncu_number(struct ncu *ncu, struct text name, struct text unit, double value,
                struct status *status) {
    struct ncu_launch *launch = &ncu->launch;
    enum { PREFIX = sizeof "device__attribute_" - 1 };
    uint32_t *size = dimension(launch, name);
    if (!launch->open)
        return true;
    if (text_starts(name, "device__attribute_")) {
        take_attribute(&launch->attributes, (struct text){name.data + PREFIX, name.length - PREFIX},
                       value);
        return true;
    }
    if (size)
        *size = whole(value);
    if (!GROW(launch->metrics, &launch->capacity, launch->count + 1, status))
        return false;
    launch->metrics[launch->count++] =
        (struct ncu_metric){.name = trace_writer_string(ncu->writer, name),
                            .unit = trace_writer_string(ncu->writer, unit),
                            .value = value};
    return true;
}

bool ncu_instruction_number(struct ncu *ncu, struct text name, const struct ncu_place *place,
                            double value, struct status *status) {
    struct ncu_launch *launch = &ncu->launch;
    if (!launch->open)
        return true;
    if (!GROW(launch->metrics, &launch->capacity, launch->count + 1, status))
        return false;
    launch->metrics[launch->count++] = (struct ncu_metric){
        .name = trace_writer_string(ncu->writer, name), .value = value, .place = *place};
    return true;
}

/* The value of a metric of the launch; 0 where it has none. */
static double value_of(struct ncu *ncu, struct text name) {
    uint32_t id = trace_writer_string(ncu->writer, name);
    for (size_t i = 0; i < ncu->launch.count; i++)
        if (ncu->launch.metrics[i].name == id && !ncu->launch.metrics[i].place.file)
            return ncu->launch.metrics[i].value;
    return 0;
}

static uint32_t find_queue(struct ncu *ncu, uint32_t *device, struct status *status) {
    struct ncu_launch *launch = &ncu->launch;
    struct row_device *row = &launch->attributes;
    row->vendor = trace_writer_string(ncu->writer, TEXT("NVIDIA"));
    *device = entity_device(&ncu->entities, MAX(launch->device, 0), row, status);
    uint32_t process = *device ? entity_process(&ncu->entities, launch->pid, TEXT(""), status) : 0;
    return process ? entity_queue(&ncu->entities, *device, process, launch->stream, status) : 0;
}

static void write_metrics(struct ncu *ncu, uint32_t device) {
    const struct ncu_launch *launch = &ncu->launch;
    struct row_metric row = {.time = ncu->time,
                             .launch = ncu->launches,
                             .device = device,
                             .kernel = launch->name,
                             .grid_x = launch->grid[0],
                             .grid_y = launch->grid[1],
                             .grid_z = launch->grid[2],
                             .block_x = launch->block[0],
                             .block_y = launch->block[1],
                             .block_z = launch->block[2]};
    for (size_t i = 0; i < launch->count; i++) {
        row.name = launch->metrics[i].name;
        row.unit = launch->metrics[i].unit;
        row.value = launch->metrics[i].value;
        row.file = launch->metrics[i].place.file;
        row.line = launch->metrics[i].place.line;
        row.function = launch->metrics[i].place.function;
        row.offset = launch->metrics[i].place.offset;
        trace_write_metric(ncu->writer, &row);
    }
}

bool ncu_launch_end(struct ncu *ncu, struct status *status) {
    struct ncu_launch *launch = &ncu->launch;
    if (!launch->open)
        return true;
    launch->open = false;
    if (ncu->options->counters_only) {
        ncu->time = ncu->options->counters_time;
        ncu->launches++;
        write_metrics(ncu, 0);
        return true;
    }
    uint32_t device, queue = find_queue(ncu, &device, status);
    if (!queue)
        return false;
    double duration = value_of(ncu, TEXT("gpu__time_duration.sum"));
    int64_t limit = TRACE_TIME_LIMIT - ncu->time;
    if (!(duration >= 0 && duration < (double)limit))
        duration = 0;
    ncu->launches++;
    ncu->without_duration += duration == 0;
    struct row_activity row = {
        .start = ncu->time,
        .duration = (int64_t)duration,
        .queue = queue,
        .kind = ACTIVITY_KERNEL,
        .name = launch->name,
        .grid_x = launch->grid[0],
        .grid_y = launch->grid[1],
        .grid_z = launch->grid[2],
        .block_x = launch->block[0],
        .block_y = launch->block[1],
        .block_z = launch->block[2],
        .registers = whole(value_of(ncu, TEXT("launch__registers_per_thread"))),
        .shared_static = whole(value_of(ncu, TEXT("launch__shared_mem_per_block_static"))),
        .shared_dynamic = whole(value_of(ncu, TEXT("launch__shared_mem_per_block_dynamic"))),
        .bytes = BYTES_UNKNOWN,
    };
    trace_write_activity(ncu->writer, &row);
    write_metrics(ncu, device);
    ncu->passes = MAX(ncu->passes, whole64(value_of(ncu, TEXT("profiler__replayer_passes"))));
    ncu->time += row.duration;
    return true;
}

void ncu_write_meta(struct ncu *ncu, struct text tool) {
    if (ncu->options->counters_only) {
        trace_writer_meta(ncu->writer, META_TIMELINE, TEXT("counters"));
        trace_writer_meta(ncu->writer, "counters.tool", tool);
        return;
    }
    trace_writer_meta(ncu->writer, META_SOURCE_FORMAT, TEXT("ncu"));
    trace_writer_meta(ncu->writer, META_SOURCE_TOOL, tool);
    trace_writer_meta(ncu->writer, META_CLOCK_BASE, TEXT("trace"));
    trace_writer_meta(ncu->writer, META_TIMELINE, TEXT("none"));
    trace_writer_meta_integer(ncu->writer, "source.events", (int64_t)ncu->launches);
    trace_writer_meta(ncu->writer, META_WARNING,
                      TEXT("ncu runs each kernel alone, several times, by default at base clocks "
                           "and with flushed caches: durations are not those of the program's own "
                           "run, and there is no timeline"));
    if (ncu->without_duration)
        trace_writer_meta(ncu->writer, META_WARNING,
                          TEXT("launches without gpu__time_duration.sum have no duration"));
}

void ncu_finish(struct ncu *ncu) {
    memory_free(ncu->launch.metrics);
    entities_release(&ncu->entities);
}
