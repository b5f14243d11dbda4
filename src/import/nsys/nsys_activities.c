/* API calls and device work: runtime and driver calls, kernels, copies, memsets, whole graphs,
 * waits, memory and GPU metrics. Calls and activities keep the source's correlation id, which is
 * unique within a process. Rows are read in the order of their tables. */
#include "base/array.h"
#include "import/nsys/nsys.h"

#include <stdio.h>

enum { EVENT_CLASS_RUNTIME = 0, EVENT_CLASS_DRIVER = 1 };

/* CUDA writes all ones where it has no value. */
static bool is_number(int64_t value) {
    return value >= 0 && value != UINT32_MAX;
}

static uint64_t correlation_of(const struct sqlite_rows *rows, unsigned column) {
    int64_t value = sqlite_rows_integer(rows, column, 0);
    return value > 0 ? (uint64_t)value : 0;
}

static uint64_t bytes_of(const struct sqlite_rows *rows, unsigned column) {
    int64_t value = sqlite_rows_integer(rows, column, -1);
    return value >= 0 ? (uint64_t)value : BYTES_UNKNOWN;
}

/* Process and correlation id in one key; false when there is none or it does not fit. */
static bool call_key(uint32_t process, uint64_t correlation, uint64_t *key) {
    *key = (uint64_t)process << 32 | correlation;
    return correlation > 0 && correlation <= UINT32_MAX;
}

static enum wait_kind wait_of_call(struct text name) {
    static const struct {
        const char *part;
        enum wait_kind kind;
    } parts[] = {
        {"StreamWaitEvent", WAIT_STREAM_EVENT},
        {"EventSynchronize", WAIT_EVENT},
        {"EventQuery", WAIT_EVENT},
        {"StreamSynchronize", WAIT_STREAM},
        {"StreamQuery", WAIT_STREAM},
        {"DeviceSynchronize", WAIT_CONTEXT},
        {"CtxSynchronize", WAIT_CONTEXT},
        {"ThreadSynchronize", WAIT_CONTEXT},
    };
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
        if (text_find(name, parts[i].part) >= 0)
            return parts[i].kind;
    return WAIT_UNKNOWN;
}

/* Removes the version: "cudaLaunchKernel_v7000" is cudaLaunchKernel of CUDA 7. */
static struct text without_version(struct text name) {
    size_t length = name.length;
    while (length > 0 && name.data[length - 1] >= '0' && name.data[length - 1] <= '9')
        length--;
    if (length < name.length && length > 2 && memcmp(name.data + length - 2, "_v", 2) == 0)
        name.length = length - 2;
    return name;
}

struct call_name {
    uint32_t string;
    uint8_t class, wait;
};

static struct call_name classify_call(struct nsys *nsys, struct text text) {
    struct text name = without_version(text);
    return (struct call_name){.string = trace_writer_string(nsys->writer, name),
                              .class = (uint8_t)import_call_class(name),
                              .wait = (uint8_t)wait_of_call(name)};
}

#define RUNTIME_COLUMNS "start end eventClass globalTid correlationId nameId name returnValue"
enum {
    RUNTIME_CLASS = 2,
    RUNTIME_THREAD,
    RUNTIME_CORRELATION,
    RUNTIME_NAME_ID,
    RUNTIME_NAME,
    RUNTIME_RESULT,
};

/* Names repeat, so each is classified once; `classified` maps StringIds.id to the packed result. */
static bool name_call(struct nsys *nsys, const struct sqlite_rows *rows, struct map *classified,
                      struct call_name *name, struct status *status) {
    if (!sqlite_rows_is_integer(rows, RUNTIME_NAME_ID)) {
        *name = classify_call(nsys, sqlite_rows_text(rows, RUNTIME_NAME));
        return true;
    }
    uint64_t id = (uint64_t)sqlite_rows_integer(rows, RUNTIME_NAME_ID, 0);
    const uint64_t *known = map_find(classified, id);
    if (known) {
        *name = (struct call_name){.string = (uint32_t)*known,
                                   .class = (uint8_t)(*known >> 32),
                                   .wait = (uint8_t)(*known >> 40)};
        return true;
    }
    struct text text;
    if (!sqlite_strings_text(&nsys->strings, (int64_t)id, &text, status))
        return false;
    *name = classify_call(nsys, text);
    return map_set(classified, id,
                   name->string | (uint64_t)name->class << 32 | (uint64_t)name->wait << 40, status);
}

static bool read_call(struct nsys *nsys, struct sqlite_rows *rows, struct map *classified,
                      struct map *sync_calls, struct status *status) {
    struct row_call row = {0};
    struct call_name name;
    int64_t global = sqlite_rows_integer(rows, RUNTIME_THREAD, 0);
    int64_t class = sqlite_rows_integer(rows, RUNTIME_CLASS, EVENT_CLASS_RUNTIME);
    if (class != EVENT_CLASS_RUNTIME && class != EVENT_CLASS_DRIVER)
        return true; /* other rows carry a backtrace and repeat a call */
    if (!nsys_span(nsys, rows, &row.start, &row.duration, status))
        return !rows->failed;
    if (!name_call(nsys, rows, classified, &name, status) ||
        !nsys_thread(nsys, global, &row.thread, status))
        return false;
    row.name = name.string;
    row.class = name.class;
    row.correlation = correlation_of(rows, RUNTIME_CORRELATION);
    row.result = sqlite_rows_integer(rows, RUNTIME_RESULT, 0);
    trace_write_call(nsys->writer, &row);

    uint32_t process;
    uint64_t key;
    return name.wait == WAIT_UNKNOWN || (nsys_process(nsys, global, &process, status) &&
                                         (!call_key(process, row.correlation, &key) ||
                                          map_set(sync_calls, key, name.wait, status)));
}

bool nsys_calls(struct nsys *nsys, struct map *sync_calls, struct status *status) {
    struct sqlite_rows rows;
    struct map classified = {0};
    sqlite_rows_open(&rows, &nsys->source, "CUPTI_ACTIVITY_KIND_RUNTIME", RUNTIME_COLUMNS, NULL,
                     status);
    while (nsys_next(nsys, &rows, status))
        if (!read_call(nsys, &rows, &classified, sync_calls, status))
            rows.failed = true;
    map_finish(&classified);
    return sqlite_rows_close(&rows);
}

/* Tables of activities and waits are selected with these columns first. */
#define COMMON_COLUMNS "start end deviceId contextId streamId correlationId globalPid "
enum {
    COMMON_DEVICE = 2,
    COMMON_CONTEXT,
    COMMON_STREAM,
    COMMON_CORRELATION,
    COMMON_PROCESS,
    AFTER_COMMON,
};

static bool read_common(struct nsys *nsys, struct sqlite_rows *rows, struct row_activity *row,
                        struct status *status) {
    if (!nsys_span(nsys, rows, &row->start, &row->duration, status))
        return false;
    row->correlation = correlation_of(rows, COMMON_CORRELATION);
    if (!nsys_queue(nsys, sqlite_rows_integer(rows, COMMON_PROCESS, 0),
                    sqlite_rows_integer(rows, COMMON_DEVICE, 0),
                    sqlite_rows_integer(rows, COMMON_CONTEXT, 0),
                    sqlite_rows_integer(rows, COMMON_STREAM, 0), &row->queue, status))
        rows->failed = true;
    return !rows->failed;
}

/* The graph of a node, or the upper half of the node's id, which is its graph. */
static uint32_t graph_of(const struct sqlite_rows *rows, unsigned graph, unsigned node) {
    uint64_t id = (uint64_t)sqlite_rows_integer(rows, node, 0);
    if (sqlite_rows_u32(rows, graph) > 0)
        return sqlite_rows_u32(rows, graph);
    return id >> 32 ? (uint32_t)(id >> 32) : (uint32_t)id;
}

#define KERNEL_COLUMNS                                                                             \
    COMMON_COLUMNS "demangledName shortName mangledName gridX gridY gridZ blockX blockY blockZ "   \
                   "registersPerThread staticSharedMemory dynamicSharedMemory graphId graphNodeId"
enum {
    KERNEL_DEMANGLED_NAME = AFTER_COMMON,
    KERNEL_SHORT_NAME,
    KERNEL_MANGLED_NAME,
    KERNEL_GRID_X,
    KERNEL_GRID_Y,
    KERNEL_GRID_Z,
    KERNEL_BLOCK_X,
    KERNEL_BLOCK_Y,
    KERNEL_BLOCK_Z,
    KERNEL_REGISTERS,
    KERNEL_SHARED_STATIC,
    KERNEL_SHARED_DYNAMIC,
    KERNEL_GRAPH,
    KERNEL_GRAPH_NODE,
};

static bool name_kernel(struct nsys *nsys, struct sqlite_rows *rows, uint32_t *name,
                        struct status *status) {
    *name = 0;
    for (unsigned column = KERNEL_DEMANGLED_NAME; column <= KERNEL_MANGLED_NAME && *name == 0;
         column++)
        if (!sqlite_strings_column(&nsys->strings, rows, column, name, status))
            return false;
    if (*name == 0)
        *name = trace_writer_string(nsys->writer, TEXT("(kernel without a name)"));
    return true;
}

static bool read_kernels(struct nsys *nsys, struct status *status) {
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "CUPTI_ACTIVITY_KIND_KERNEL", KERNEL_COLUMNS, NULL,
                     status);
    while (nsys_next(nsys, &rows, status)) {
        struct row_activity row = {.kind = ACTIVITY_KERNEL};
        if (!read_common(nsys, &rows, &row, status))
            continue;
        if (!name_kernel(nsys, &rows, &row.name, status)) {
            rows.failed = true;
            continue;
        }
        row.grid_x = sqlite_rows_u32(&rows, KERNEL_GRID_X);
        row.grid_y = sqlite_rows_u32(&rows, KERNEL_GRID_Y);
        row.grid_z = sqlite_rows_u32(&rows, KERNEL_GRID_Z);
        row.block_x = sqlite_rows_u32(&rows, KERNEL_BLOCK_X);
        row.block_y = sqlite_rows_u32(&rows, KERNEL_BLOCK_Y);
        row.block_z = sqlite_rows_u32(&rows, KERNEL_BLOCK_Z);
        row.registers = sqlite_rows_u32(&rows, KERNEL_REGISTERS);
        row.shared_static = sqlite_rows_u32(&rows, KERNEL_SHARED_STATIC);
        row.shared_dynamic = sqlite_rows_u32(&rows, KERNEL_SHARED_DYNAMIC);
        row.graph = graph_of(&rows, KERNEL_GRAPH, KERNEL_GRAPH_NODE);
        row.bytes = BYTES_UNKNOWN;
        trace_write_activity(nsys->writer, &row);
    }
    return sqlite_rows_close(&rows);
}

/* Launches of whole graphs, recorded without their kernels. */
static bool read_graphs(struct nsys *nsys, struct status *status) {
    enum { GRAPH_ID = AFTER_COMMON, GRAPH_EXEC_ID };
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                     COMMON_COLUMNS "graphId graphExecId", NULL, status);
    while (nsys_next(nsys, &rows, status)) {
        struct row_activity row = {.kind = ACTIVITY_KERNEL, .bytes = BYTES_UNKNOWN};
        if (!read_common(nsys, &rows, &row, status))
            continue;
        char name[40];
        row.graph = sqlite_rows_u32(&rows, GRAPH_ID) ? sqlite_rows_u32(&rows, GRAPH_ID)
                                                     : sqlite_rows_u32(&rows, GRAPH_EXEC_ID);
        snprintf(name, sizeof name, "CUDA graph %u", row.graph);
        row.name = trace_writer_string(nsys->writer, text_of(name));
        trace_write_activity(nsys->writer, &row);
    }
    return sqlite_rows_close(&rows);
}

static enum memory_kind memory_kind_of(int64_t kind) {
    static const uint8_t kinds[] = {MEMORY_PAGEABLE, MEMORY_PINNED, MEMORY_DEVICE, MEMORY_ARRAY,
                                    MEMORY_MANAGED,  MEMORY_DEVICE, MEMORY_MANAGED};
    return kind >= 0 && kind < (int64_t)sizeof kinds ? kinds[kind] : MEMORY_UNKNOWN;
}

static enum copy_direction direction_of(int64_t kind) {
    static const uint8_t directions[] = {
        COPY_UNKNOWN, COPY_HTOD, COPY_DTOH, COPY_HTOD, COPY_DTOH, COPY_DTOD, COPY_DTOD,
        COPY_DTOD,    COPY_DTOD, COPY_HTOH, COPY_PTOP, COPY_HTOD, COPY_DTOH, COPY_DTOD,
    };
    return kind >= 0 && kind < (int64_t)sizeof directions ? directions[kind] : COPY_UNKNOWN;
}

static const char *memory_words(enum memory_kind kind) {
    static const char *const words[MEMORY_KINDS] = {"Unknown", "Pageable", "Pinned",
                                                    "Device",  "Array",    "Managed"};
    return words[kind];
}

static uint32_t copy_name(struct nsys *nsys, const struct row_activity *row) {
    char name[64];
    snprintf(name, sizeof name, "Memcpy %s (%s -> %s)",
             row->direction == COPY_UNKNOWN ? "unknown" : copy_direction_name(row->direction),
             memory_words(row->from_memory), memory_words(row->to_memory));
    return trace_writer_string(nsys->writer, text_of(name));
}

static bool read_copies(struct nsys *nsys, struct status *status) {
    enum { BYTES = AFTER_COMMON, COPY_KIND, SOURCE_KIND, TARGET_KIND, GRAPH, GRAPH_NODE };
    struct sqlite_rows rows;
    uint32_t names[COPY_DIRECTIONS][MEMORY_KINDS][MEMORY_KINDS] = {0};
    sqlite_rows_open(&rows, &nsys->source, "CUPTI_ACTIVITY_KIND_MEMCPY",
                     COMMON_COLUMNS "bytes copyKind srcKind dstKind graphId graphNodeId", NULL,
                     status);
    while (nsys_next(nsys, &rows, status)) {
        struct row_activity row = {.kind = ACTIVITY_COPY};
        if (!read_common(nsys, &rows, &row, status))
            continue;
        row.bytes = bytes_of(&rows, BYTES);
        row.direction = direction_of(sqlite_rows_integer(&rows, COPY_KIND, 0));
        row.from_memory = memory_kind_of(sqlite_rows_integer(&rows, SOURCE_KIND, -1));
        row.to_memory = memory_kind_of(sqlite_rows_integer(&rows, TARGET_KIND, -1));
        row.graph = graph_of(&rows, GRAPH, GRAPH_NODE);
        uint32_t *name = &names[row.direction][row.from_memory][row.to_memory];
        if (*name == 0)
            *name = copy_name(nsys, &row);
        row.name = *name;
        trace_write_activity(nsys->writer, &row);
    }
    return sqlite_rows_close(&rows);
}

static bool read_sets(struct nsys *nsys, struct status *status) {
    enum { BYTES = AFTER_COMMON, MEMORY_KIND, GRAPH, GRAPH_NODE };
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "CUPTI_ACTIVITY_KIND_MEMSET",
                     COMMON_COLUMNS "bytes memKind graphId graphNodeId", NULL, status);
    while (nsys_next(nsys, &rows, status)) {
        struct row_activity row = {.kind = ACTIVITY_SET};
        char name[40];
        if (!read_common(nsys, &rows, &row, status))
            continue;
        row.bytes = bytes_of(&rows, BYTES);
        row.to_memory = memory_kind_of(sqlite_rows_integer(&rows, MEMORY_KIND, -1));
        row.graph = graph_of(&rows, GRAPH, GRAPH_NODE);
        snprintf(name, sizeof name, "Memset (%s)", memory_words(row.to_memory));
        row.name = trace_writer_string(nsys->writer, text_of(name));
        trace_write_activity(nsys->writer, &row);
    }
    return sqlite_rows_close(&rows);
}

bool nsys_activities(struct nsys *nsys, struct status *status) {
    return read_kernels(nsys, status) && read_graphs(nsys, status) && read_copies(nsys, status) &&
           read_sets(nsys, status);
}

static bool host_side_queue(struct nsys *nsys, int64_t global, int64_t device, int64_t context,
                            int64_t stream, uint32_t *queue, struct status *status) {
    device = nsys_context_device(nsys, global, context, device);
    return nsys_queue(nsys, global, device, context, stream, queue, status);
}

/* The record of an event, for those that wait for it. */
struct event_record {
    uint64_t correlation;
    uint32_t queue;
};

struct event_records {
    struct intern keys; /* {process, event, sync id} */
    struct event_record *records;
    size_t capacity;
};

struct event_key {
    uint64_t process;
    int64_t event, sync;
};

/* eventSyncId makes a record unique; without it, records of one event are ambiguous. */
static bool load_event_records(struct nsys *nsys, struct event_records *events,
                               struct status *status) {
    enum { DEVICE, CONTEXT, STREAM, CORRELATION, PROCESS, EVENT, EVENT_SYNC };
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
                     "deviceId contextId streamId correlationId globalPid eventId eventSyncId",
                     NULL, status);
    while (sqlite_rows_has(&rows, EVENT_SYNC) && nsys_next(nsys, &rows, status)) {
        struct event_record record = {.correlation = correlation_of(&rows, CORRELATION)};
        struct event_key key = {.event = sqlite_rows_integer(&rows, EVENT, -1),
                                .sync = sqlite_rows_integer(&rows, EVENT_SYNC, -1)};
        int64_t global = sqlite_rows_integer(&rows, PROCESS, 0);
        uint32_t process, place;
        if (!is_number(key.event) || !is_number(key.sync))
            continue;
        if (!nsys_process(nsys, global, &process, status) ||
            !host_side_queue(nsys, global, sqlite_rows_integer(&rows, DEVICE, 0),
                             sqlite_rows_integer(&rows, CONTEXT, 0),
                             sqlite_rows_integer(&rows, STREAM, 0), &record.queue, status)) {
            rows.failed = true;
            continue;
        }
        key.process = process;
        rows.failed = !intern_add(&events->keys, (struct text){(const char *)&key, sizeof key},
                                  &place, status) ||
                      !GROW(events->records, &events->capacity, (size_t)place + 1, status);
        if (!rows.failed)
            events->records[place] = record;
    }
    return sqlite_rows_close(&rows);
}

static bool read_wait(struct nsys *nsys, struct sqlite_rows *rows, const struct map *sync_calls,
                      const struct event_records *events, struct status *status) {
    enum { SYNC_TYPE = AFTER_COMMON, EVENT, EVENT_SYNC };
    static const uint8_t kinds[] = {WAIT_UNKNOWN, WAIT_EVENT, WAIT_STREAM_EVENT, WAIT_STREAM,
                                    WAIT_CONTEXT};
    struct row_wait row = {.correlation = correlation_of(rows, COMMON_CORRELATION)};
    int64_t global = sqlite_rows_integer(rows, COMMON_PROCESS, 0),
            stream = sqlite_rows_integer(rows, COMMON_STREAM, -1);
    int64_t type = sqlite_rows_integer(rows, SYNC_TYPE, 0),
            event = sqlite_rows_integer(rows, EVENT, -1);
    uint32_t process;
    uint64_t key;
    if (!nsys_span(nsys, rows, &row.start, &row.duration, status))
        return !rows->failed;
    if (!nsys_process(nsys, global, &process, status) ||
        (is_number(stream) &&
         !host_side_queue(nsys, global, sqlite_rows_integer(rows, COMMON_DEVICE, 0),
                          sqlite_rows_integer(rows, COMMON_CONTEXT, 0), stream, &row.queue,
                          status)))
        return false;
    /* Some versions number the types differently, so the call takes precedence. */
    const uint64_t *call =
        call_key(process, row.correlation, &key) ? map_find(sync_calls, key) : NULL;
    row.kind = type >= 0 && type < (int64_t)sizeof kinds ? kinds[type] : WAIT_UNKNOWN;
    if (call)
        row.kind = (uint8_t)*call;
    row.event = is_number(event) ? (uint64_t)event : 0;
    struct event_key wanted = {process, event, sqlite_rows_integer(rows, EVENT_SYNC, -1)};
    uint32_t place =
        intern_find(&events->keys, (struct text){(const char *)&wanted, sizeof wanted});
    if (place != UINT32_MAX) {
        row.awaited = events->records[place].queue;
        row.record_correlation = events->records[place].correlation;
    }
    trace_write_wait(nsys->writer, &row);
    return true;
}

bool nsys_waits(struct nsys *nsys, const struct map *sync_calls, struct status *status) {
    struct sqlite_rows rows;
    struct event_records events = {0};
    bool ok = load_event_records(nsys, &events, status);
    if (ok) {
        sqlite_rows_open(&rows, &nsys->source, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                         COMMON_COLUMNS "syncType eventId eventSyncId", NULL, status);
        while (nsys_next(nsys, &rows, status))
            if (!read_wait(nsys, &rows, sync_calls, &events, status))
                rows.failed = true;
        ok = sqlite_rows_close(&rows);
    }
    intern_finish(&events.keys);
    memory_free(events.records);
    return ok;
}

bool nsys_memory(struct nsys *nsys, struct status *status) {
    enum { TIME, PROCESS, DEVICE, ADDRESS, BYTES, MEMORY_KIND, OPERATION };
    enum { OPERATION_FREE = 1, KIND_DEVICE = 2 };
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "CUDA_GPU_MEMORY_USAGE_EVENTS",
                     "start globalPid deviceId address bytes memKind memoryOperationType", NULL,
                     status);
    while (nsys_next(nsys, &rows, status)) {
        struct row_memory row = {0};
        if (!sqlite_rows_time(&rows, nsys->options, nsys->writer, &row.time, status))
            continue;
        enum memory_kind kind =
            memory_kind_of(sqlite_rows_integer(&rows, MEMORY_KIND, KIND_DEVICE));
        bool on_host = kind == MEMORY_PAGEABLE || kind == MEMORY_PINNED;
        row.address = (uint64_t)sqlite_rows_integer(&rows, ADDRESS, 0);
        int64_t bytes = sqlite_rows_integer(&rows, BYTES, 0);
        row.bytes = bytes > 0 ? (uint64_t)bytes : 0;
        row.operation =
            sqlite_rows_integer(&rows, OPERATION, 0) == OPERATION_FREE ? MEMORY_FREE : MEMORY_ALLOC;
        rows.failed =
            !on_host && !nsys_device(nsys, sqlite_rows_integer(&rows, PROCESS, 0),
                                     sqlite_rows_integer(&rows, DEVICE, 0), &row.device, status);
        if (!rows.failed)
            trace_write_memory(nsys->writer, &row);
    }
    return sqlite_rows_close(&rows);
}

/* ---- GPU metrics ---- */

struct metric_key {
    int64_t type, metric;
};

struct metrics {
    struct intern keys;
    uint32_t *names; /* by id of keys */
    size_t capacity;
};

static bool load_metrics(struct nsys *nsys, struct metrics *metrics, struct status *status) {
    enum { TYPE, METRIC, NAME };
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "TARGET_INFO_GPU_METRICS", "typeId metricId metricName",
                     NULL, status);
    while (sqlite_rows_next(&rows, status)) {
        struct metric_key key = {sqlite_rows_integer(&rows, TYPE, 0),
                                 sqlite_rows_integer(&rows, METRIC, 0)};
        uint32_t place, name;
        rows.failed = !sqlite_strings_column(&nsys->strings, &rows, NAME, &name, status) ||
                      !intern_add(&metrics->keys, (struct text){(const char *)&key, sizeof key},
                                  &place, status) ||
                      !GROW(metrics->names, &metrics->capacity, (size_t)place + 1, status);
        if (!rows.failed)
            metrics->names[place] = name;
    }
    return sqlite_rows_close(&rows);
}

static uint32_t metric_name(struct nsys *nsys, const struct metrics *metrics,
                            struct metric_key key) {
    uint32_t place = intern_find(&metrics->keys, (struct text){(const char *)&key, sizeof key});
    if (place != UINT32_MAX && metrics->names[place])
        return metrics->names[place];
    char name[40];
    snprintf(name, sizeof name, "metric %lld", (long long)key.metric);
    return trace_writer_string(nsys->writer, text_of(name));
}

/* The low byte of the type is the GPU's id. */
bool nsys_counters(struct nsys *nsys, struct status *status) {
    enum { TIME, TYPE, METRIC, VALUE };
    struct sqlite_rows rows;
    struct metrics metrics = {0};
    bool ok = load_metrics(nsys, &metrics, status);
    if (ok) {
        sqlite_rows_open(&rows, &nsys->source, "GPU_METRICS", "timestamp typeId metricId value",
                         NULL, status);
        while (nsys_next(nsys, &rows, status)) {
            struct metric_key key = {sqlite_rows_integer(&rows, TYPE, 0),
                                     sqlite_rows_integer(&rows, METRIC, 0)};
            struct row_counter row = {.value = sqlite_rows_number(&rows, VALUE)};
            if (!sqlite_rows_time(&rows, nsys->options, nsys->writer, &row.time, status))
                continue;
            row.name = metric_name(nsys, &metrics, key);
            row.device = nsys_gpu_device(nsys, key.type & 0xFF);
            trace_write_counter(nsys->writer, &row);
        }
        ok = sqlite_rows_close(&rows);
    }
    intern_finish(&metrics.keys);
    memory_free(metrics.names);
    return ok;
}
