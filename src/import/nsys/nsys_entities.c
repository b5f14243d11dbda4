/* Processes, threads, devices and queues of a report. Reports list every process of the machine, so
 * rows are written when an event first needs them; only devices are written as listed.
 *
 * A process numbers its devices itself (CUDA_VISIBLE_DEVICES). That number is the device's label as
 * long as it means the same GPU in all processes; where TARGET_INFO_CUDA_DEVICE shows that it does
 * not, the label is the GPU's id. */
#include "import/nsys/nsys.h"

#include <stdio.h>

enum { THREAD_BITS = 24 };

struct gpu {
    int64_t id;
    int64_t cuda_device; /* cuDevice of the export; -1: none */
    uint32_t device;     /* row in the trace */
    struct row_device row;
};

struct thread_name {
    int64_t text_id; /* of StringIds */
    uint32_t string; /* or a string of the trace */
    int64_t priority;
};

struct queue_key {
    uint64_t process, device;
    int64_t context, stream;
};

struct nsys_entities {
    struct map process_names, process_pids; /* by globalPid */
    struct map processes, threads;          /* by globalPid, globalTid -> row in the trace */
    struct map thread_names;                /* by globalTid -> index of `names` */
    struct thread_name *names;
    size_t name_count, name_capacity;
    uint32_t host;

    struct gpu *gpus;
    size_t gpu_count, gpu_capacity;
    struct map gpu_by_id;       /* TARGET_INFO_GPU.id -> index of `gpus` */
    struct map gpu_by_number;   /* CUDA's number -> index of `gpus` */
    struct map gpu_of_process;  /* (pid, CUDA's number) -> index of `gpus` */
    struct map number_by_gpu;   /* index of `gpus` -> CUDA's number */
    bool by_gpu;                /* CUDA's numbers differ between processes, so labels are GPU ids */
    struct map context_devices; /* (pid, context) -> CUDA's number */
    struct map unlisted;        /* number, or (pid, number) when by_gpu -> row in the trace */

    struct intern queue_keys;
    uint32_t *queues; /* by id of queue_keys */
    size_t queue_capacity;
    struct queue_key last_key;
    uint32_t last_queue;
};

static int64_t process_part(int64_t global) {
    return (int64_t)((uint64_t)global >> THREAD_BITS << THREAD_BITS);
}

static uint64_t pid_of(int64_t global) {
    return (uint64_t)global >> THREAD_BITS & 0xFFFFFF;
}

static uint64_t process_number_key(uint64_t pid, int64_t number) {
    return (pid & 0xFFFFFF) << 32 | (uint32_t)number;
}

static bool load_processes(struct nsys *nsys, struct status *status) {
    struct nsys_entities *entities = nsys->entities;
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "PROCESSES", "globalPid pid name", NULL, status);
    while (sqlite_rows_next(&rows, status)) {
        uint64_t global = (uint64_t)process_part(sqlite_rows_integer(&rows, 0, 0));
        uint32_t name;
        rows.failed = !sqlite_strings_column(&nsys->strings, &rows, 2, &name, status) ||
                      !map_set(&entities->process_names, global, name, status) ||
                      (sqlite_rows_is_integer(&rows, 1) &&
                       !map_set(&entities->process_pids, global,
                                (uint64_t)sqlite_rows_integer(&rows, 1, 0), status));
    }
    return sqlite_rows_close(&rows);
}

static bool name_thread(struct nsys_entities *entities, int64_t global, struct thread_name name,
                        struct status *status) {
    const uint64_t *known = map_find(&entities->thread_names, (uint64_t)global);
    if (known) {
        if (name.priority < entities->names[*known].priority)
            entities->names[*known] = name;
        return true;
    }
    if (!GROW(entities->names, &entities->name_capacity, entities->name_count + 1, status) ||
        !map_set(&entities->thread_names, (uint64_t)global, entities->name_count, status))
        return false;
    entities->names[entities->name_count++] = name;
    return true;
}

/* The lowest priority wins: names that the program itself set. */
static bool load_thread_names(struct nsys *nsys, struct status *status) {
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "ThreadNames", "globalTid nameId priority", NULL,
                     status);
    while (sqlite_rows_next(&rows, status)) {
        struct thread_name name = {.text_id = sqlite_rows_integer(&rows, 1, -1),
                                   .priority = sqlite_rows_integer(&rows, 2, 100)};
        rows.failed = !name_thread(nsys->entities, sqlite_rows_integer(&rows, 0, 0), name, status);
    }
    return sqlite_rows_close(&rows);
}

static bool load_nvtx_thread_names(struct nsys *nsys, struct status *status) {
    struct sqlite_rows rows;
    if (!sqlite_source_has_column(&nsys->source, "NVTX_EVENTS", "eventType"))
        return true;
    sqlite_rows_open(&rows, &nsys->source, "NVTX_EVENTS", "globalTid text textId", "eventType = 39",
                     status);
    while (sqlite_rows_next(&rows, status)) {
        struct thread_name name = {.text_id = sqlite_rows_integer(&rows, 2, -1), .priority = 1};
        if (sqlite_rows_text(&rows, 1).length > 0)
            name.string = trace_writer_string(nsys->writer, sqlite_rows_text(&rows, 1));
        rows.failed = !name_thread(nsys->entities, sqlite_rows_integer(&rows, 0, 0), name, status);
    }
    return sqlite_rows_close(&rows);
}

static bool load_host(struct nsys *nsys, struct status *status) {
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "TARGET_INFO_SYSTEM_ENV", "name value", NULL, status);
    while (sqlite_rows_next(&rows, status)) {
        struct text value = sqlite_rows_text(&rows, 1);
        if (nsys->entities->host || !text_is(sqlite_rows_text(&rows, 0), "Hostname") ||
            value.length == 0)
            continue;
        nsys->entities->host = trace_writer_string(nsys->writer, value);
        trace_writer_meta(nsys->writer, META_HOST, value);
    }
    return sqlite_rows_close(&rows);
}

static uint64_t size_or_zero(const struct sqlite_rows *rows, unsigned column) {
    int64_t value = sqlite_rows_integer(rows, column, 0);
    return value > 0 ? (uint64_t)value : 0;
}

/* A UUID of zeros means that there is none. */
static uint32_t uuid_string(struct nsys *nsys, struct text uuid) {
    for (size_t i = 0; i < uuid.length; i++)
        if (uuid.data[i] != '0' && uuid.data[i] != '-')
            return trace_writer_string(nsys->writer, uuid);
    return 0;
}

#define GPU_COLUMNS                                                                                \
    "id name totalMemory memoryBandwidth clockRate smCount uuid cuDevice threadsPerWarp "          \
    "maxWarpsPerSm maxRegistersPerSm maxShmemPerSm computeMajor computeMinor"
enum {
    GPU_ID,
    GPU_NAME,
    GPU_MEMORY,
    GPU_BANDWIDTH,
    GPU_CLOCK,
    GPU_SM_COUNT,
    GPU_UUID,
    GPU_CUDA_DEVICE,
    GPU_WARP_SIZE,
    GPU_WARPS_PER_SM,
    GPU_REGISTERS_PER_SM,
    GPU_SHARED_PER_SM,
    GPU_COMPUTE_MAJOR,
    GPU_COMPUTE_MINOR,
};

static bool load_gpus(struct nsys *nsys, struct status *status) {
    struct nsys_entities *entities = nsys->entities;
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "TARGET_INFO_GPU", GPU_COLUMNS, NULL, status);
    while (sqlite_rows_next(&rows, status)) {
        struct gpu gpu = {
            .id = sqlite_rows_integer(&rows, GPU_ID, rows.row - 1),
            .cuda_device = sqlite_rows_integer(&rows, GPU_CUDA_DEVICE, -1),
            .row = {.name = trace_writer_string(nsys->writer, sqlite_rows_text(&rows, GPU_NAME)),
                    .vendor = trace_writer_string(nsys->writer, TEXT("NVIDIA")),
                    .uuid = uuid_string(nsys, sqlite_rows_text(&rows, GPU_UUID)),
                    .memory_bytes = size_or_zero(&rows, GPU_MEMORY),
                    .bandwidth = size_or_zero(&rows, GPU_BANDWIDTH),
                    .clock_hz = size_or_zero(&rows, GPU_CLOCK),
                    .multiprocessors = sqlite_rows_u32(&rows, GPU_SM_COUNT),
                    .warp_size = sqlite_rows_u32(&rows, GPU_WARP_SIZE),
                    .registers_per_multiprocessor = sqlite_rows_u32(&rows, GPU_REGISTERS_PER_SM),
                    .shared_per_multiprocessor = sqlite_rows_u32(&rows, GPU_SHARED_PER_SM),
                    .compute_major = sqlite_rows_u32(&rows, GPU_COMPUTE_MAJOR),
                    .compute_minor = sqlite_rows_u32(&rows, GPU_COMPUTE_MINOR),
                    .listed = 1},
        };
        uint64_t threads = (uint64_t)gpu.row.warp_size * sqlite_rows_u32(&rows, GPU_WARPS_PER_SM);
        gpu.row.threads_per_multiprocessor = threads <= UINT32_MAX ? (uint32_t)threads : 0;
        if (map_find(&entities->gpu_by_id, (uint64_t)gpu.id))
            continue;
        rows.failed =
            !GROW(entities->gpus, &entities->gpu_capacity, entities->gpu_count + 1, status) ||
            !map_set(&entities->gpu_by_id, (uint64_t)gpu.id, entities->gpu_count, status);
        if (!rows.failed)
            entities->gpus[entities->gpu_count++] = gpu;
    }
    return sqlite_rows_close(&rows);
}

/* Records that CUDA's `number` is this GPU. A second meaning of either sets by_gpu. */
static bool match_number(struct nsys_entities *entities, int64_t number, uint64_t gpu,
                         struct status *status) {
    const uint64_t *other_gpu = map_find(&entities->gpu_by_number, (uint64_t)number);
    const uint64_t *other_number = map_find(&entities->number_by_gpu, gpu);
    if ((other_gpu && *other_gpu != gpu) || (other_number && *other_number != (uint64_t)number))
        entities->by_gpu = true;
    return (other_gpu || map_set(&entities->gpu_by_number, (uint64_t)number, gpu, status)) &&
           (other_number || map_set(&entities->number_by_gpu, gpu, (uint64_t)number, status));
}

static bool load_cuda_devices(struct nsys *nsys, struct status *status) {
    enum { GPU, CUDA_ID, PID };
    struct nsys_entities *entities = nsys->entities;
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "TARGET_INFO_CUDA_DEVICE", "gpuId cudaId pid", NULL,
                     status);
    while (sqlite_rows_next(&rows, status)) {
        const uint64_t *gpu =
            map_find(&entities->gpu_by_id, (uint64_t)sqlite_rows_integer(&rows, GPU, -1));
        int64_t number = sqlite_rows_integer(&rows, CUDA_ID, -1);
        uint64_t pid = (uint64_t)sqlite_rows_integer(&rows, PID, 0);
        if (!gpu || number < 0)
            continue;
        rows.failed =
            !match_number(entities, number, *gpu, status) ||
            !map_set(&entities->gpu_of_process, process_number_key(pid, number), *gpu, status);
    }
    return sqlite_rows_close(&rows);
}

static bool load_contexts(struct nsys *nsys, struct status *status) {
    enum { PID, CONTEXT, DEVICE };
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "TARGET_INFO_CUDA_CONTEXT_INFO",
                     "processId contextId deviceId", NULL, status);
    while (sqlite_rows_next(&rows, status)) {
        uint64_t pid = (uint64_t)sqlite_rows_integer(&rows, PID, 0);
        if (sqlite_rows_is_integer(&rows, CONTEXT) && sqlite_rows_is_integer(&rows, DEVICE))
            rows.failed = !map_set(&nsys->entities->context_devices,
                                   process_number_key(pid, sqlite_rows_integer(&rows, CONTEXT, 0)),
                                   (uint64_t)sqlite_rows_integer(&rows, DEVICE, 0), status);
    }
    return sqlite_rows_close(&rows);
}

/* Without TARGET_INFO_CUDA_DEVICE, CUDA's numbers are the cuDevice column if it is distinct, else
 * the GPU ids. */
static bool number_gpus(struct nsys_entities *entities, struct status *status) {
    if (entities->number_by_gpu.count > 0 || entities->number_by_gpu.has_zero)
        return true;
    struct map seen = {0};
    bool distinct = true, ok = true;
    for (size_t i = 0; i < entities->gpu_count && ok; i++) {
        int64_t number = entities->gpus[i].cuda_device;
        distinct = distinct && number >= 0 && !map_find(&seen, (uint64_t)number);
        ok = map_set(&seen, (uint64_t)number, 1, status);
    }
    for (size_t i = 0; i < entities->gpu_count && ok; i++) {
        const struct gpu *gpu = &entities->gpus[i];
        ok = match_number(entities, distinct ? gpu->cuda_device : gpu->id, i, status);
    }
    map_finish(&seen);
    return ok;
}

static uint32_t write_device(struct nsys *nsys, struct row_device row, const char *format,
                             int64_t number) {
    char label[40];
    snprintf(label, sizeof label, format, (long long)number);
    row.label = trace_writer_string(nsys->writer, text_of(label));
    row.index = number >= 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
    return trace_write_device(nsys->writer, &row);
}

static void write_gpus(struct nsys *nsys) {
    struct nsys_entities *entities = nsys->entities;
    for (size_t i = 0; i < entities->gpu_count; i++) {
        struct gpu *gpu = &entities->gpus[i];
        const uint64_t *number = map_find(&entities->number_by_gpu, i);
        bool taken = map_find(&entities->gpu_by_number, (uint64_t)gpu->id) != NULL;
        if (entities->by_gpu)
            gpu->device = write_device(nsys, gpu->row, "%lld", gpu->id);
        else if (number)
            gpu->device = write_device(nsys, gpu->row, "%lld", (int64_t)*number);
        else
            gpu->device = write_device(nsys, gpu->row, taken ? "gpu %lld" : "%lld", gpu->id);
    }
}

bool nsys_entities_load(struct nsys *nsys, struct status *status) {
    nsys->entities = memory_allocate(1, sizeof *nsys->entities, status);
    if (!nsys->entities || !load_host(nsys, status) || !load_processes(nsys, status) ||
        !load_thread_names(nsys, status) || !load_nvtx_thread_names(nsys, status) ||
        !load_contexts(nsys, status) || !load_gpus(nsys, status) ||
        !load_cuda_devices(nsys, status) || !number_gpus(nsys->entities, status))
        return false;
    write_gpus(nsys);
    return true;
}

void nsys_entities_finish(struct nsys *nsys) {
    struct nsys_entities *entities = nsys->entities;
    if (!entities)
        return;
    map_finish(&entities->process_names);
    map_finish(&entities->process_pids);
    map_finish(&entities->processes);
    map_finish(&entities->threads);
    map_finish(&entities->thread_names);
    memory_free(entities->names);
    memory_free(entities->gpus);
    map_finish(&entities->gpu_by_id);
    map_finish(&entities->gpu_by_number);
    map_finish(&entities->gpu_of_process);
    map_finish(&entities->number_by_gpu);
    map_finish(&entities->context_devices);
    map_finish(&entities->unlisted);
    intern_finish(&entities->queue_keys);
    memory_free(entities->queues);
    memory_free(entities);
    nsys->entities = NULL;
}

bool nsys_process(struct nsys *nsys, int64_t global, uint32_t *process, struct status *status) {
    struct nsys_entities *entities = nsys->entities;
    uint64_t key = (uint64_t)process_part(global);
    const uint64_t *known = map_find(&entities->processes, key);
    *process = known ? (uint32_t)*known : 0;
    if (known || key == 0)
        return true;
    const uint64_t *name = map_find(&entities->process_names, key);
    const uint64_t *pid = map_find(&entities->process_pids, key);
    *process =
        trace_write_process(nsys->writer, &(struct row_process){.pid = pid ? *pid : pid_of(global),
                                                                .name = name ? (uint32_t)*name : 0,
                                                                .host = entities->host});
    return map_set(&entities->processes, key, *process, status);
}

bool nsys_thread(struct nsys *nsys, int64_t global, uint32_t *thread, struct status *status) {
    struct nsys_entities *entities = nsys->entities;
    const uint64_t *known = map_find(&entities->threads, (uint64_t)global);
    *thread = known ? (uint32_t)*known : 0;
    if (known || global == 0)
        return true;
    const uint64_t *place = map_find(&entities->thread_names, (uint64_t)global);
    struct row_thread row = {.tid = global & ((1 << THREAD_BITS) - 1)};
    if (place) {
        const struct thread_name *name = &entities->names[*place];
        row.name = name->string;
        if (!row.name && !sqlite_strings_get(&nsys->strings, name->text_id, &row.name, status))
            return false;
    }
    if (!nsys_process(nsys, global, &row.process, status))
        return false;
    *thread = trace_write_thread(nsys->writer, &row);
    return map_set(&entities->threads, (uint64_t)global, *thread, status);
}

uint32_t nsys_gpu_device(const struct nsys *nsys, int64_t gpu) {
    const uint64_t *place = map_find(&nsys->entities->gpu_by_id, (uint64_t)gpu);
    return place ? nsys->entities->gpus[*place].device : 0;
}

bool nsys_device(struct nsys *nsys, int64_t global, int64_t device, uint32_t *id,
                 struct status *status) {
    struct nsys_entities *entities = nsys->entities;
    uint64_t key = entities->by_gpu ? process_number_key(pid_of(global), device) : (uint64_t)device;
    const uint64_t *gpu = entities->by_gpu ? map_find(&entities->gpu_of_process, key)
                                           : map_find(&entities->gpu_by_number, key);
    const uint64_t *known = gpu ? NULL : map_find(&entities->unlisted, key);
    if (gpu || known) {
        *id = gpu ? entities->gpus[*gpu].device : (uint32_t)*known;
        return true;
    }
    char format[40] = "%lld";
    if (entities->by_gpu)
        snprintf(format, sizeof format, "pid %u device %%lld", (unsigned)pid_of(global));
    struct row_device row = {.vendor = trace_writer_string(nsys->writer, TEXT("NVIDIA"))};
    *id = write_device(nsys, row, format, device);
    return map_set(&entities->unlisted, key, *id, status);
}

int64_t nsys_context_device(const struct nsys *nsys, int64_t global, int64_t context,
                            int64_t fallback) {
    const uint64_t *device =
        map_find(&nsys->entities->context_devices, process_number_key(pid_of(global), context));
    return device ? (int64_t)*device : fallback;
}

bool nsys_queue(struct nsys *nsys, int64_t global, int64_t device, int64_t context, int64_t stream,
                uint32_t *queue, struct status *status) {
    struct nsys_entities *entities = nsys->entities;
    struct queue_key key = {(uint64_t)process_part(global), (uint64_t)device, context, stream};
    if (entities->last_queue && memcmp(&key, &entities->last_key, sizeof key) == 0) {
        *queue = entities->last_queue;
        return true;
    }
    uint32_t place;
    size_t before = entities->queue_keys.count;
    if (!intern_add(&entities->queue_keys, (struct text){(const char *)&key, sizeof key}, &place,
                    status))
        return false;
    if (!GROW(entities->queues, &entities->queue_capacity, (size_t)place + 1, status))
        return false;
    if (entities->queue_keys.count > before) {
        struct row_queue row = {.context = (uint64_t)context, .stream = stream};
        if (!nsys_device(nsys, global, device, &row.device, status) ||
            !nsys_process(nsys, global, &row.process, status) ||
            !map_set(&entities->context_devices, process_number_key(pid_of(global), context),
                     (uint64_t)device, status))
            return false;
        entities->queues[place] = trace_write_queue(nsys->writer, &row);
    }
    *queue = entities->queues[place];
    entities->last_key = key;
    entities->last_queue = *queue;
    return true;
}
