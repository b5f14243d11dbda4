/* What did the devices do, and which calls told them to? Kernels, copies, sets and whole graphs
 * become activities, runtime and driver calls become calls; both keep the source's correlation id,
 * which is unique within a process. Rows are read in the order of their tables. */
#ifdef RIDGE_HAVE_SQLITE

#include "base/array.h"
#include "import/nsys/nsys.h"

#include <stdio.h>

enum { EVENT_CLASS_RUNTIME = 0, EVENT_CLASS_DRIVER = 1 };

/* Where CUDA has no value it writes all ones. */
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

/* Process and correlation in one key; false where they do not fit or say nothing. */
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

/* "cudaLaunchKernel_v7000" is cudaLaunchKernel of CUDA 7. */
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

static struct call_name judge_call(struct nsys *nsys, struct text text) {
    struct text name = without_version(text);
    return (struct call_name){.string = trace_writer_string(nsys->writer, name),
                              .class = (uint8_t)import_call_class(name),
                              .wait = (uint8_t)wait_of_call(name)};
}

/* Names repeat, so each is judged once; `judged` maps StringIds.id to the packed verdict. */
static bool name_call(struct nsys *nsys, const struct sqlite_rows *rows, unsigned column,
                      struct map *judged, struct call_name *name, struct status *status) {
    if (!sqlite_rows_is_integer(rows, column)) {
        *name = judge_call(nsys, sqlite_rows_text(rows, column + 1));
        return true;
    }
    uint64_t id = (uint64_t)sqlite_rows_integer(rows, column, 0);
    const uint64_t *known = map_find(judged, id);
    if (known) {
        *name = (struct call_name){.string = (uint32_t)*known,
                                   .class = (uint8_t)(*known >> 32),
                                   .wait = (uint8_t)(*known >> 40)};
        return true;
    }
    struct text text;
    if (!sqlite_strings_text(&nsys->strings, (int64_t)id, &text, status))
        return false;
    *name = judge_call(nsys, text);
    return map_set(judged, id,
                   name->string | (uint64_t)name->class << 32 | (uint64_t)name->wait << 40, status);
}

static bool one_call(struct nsys *nsys, struct sqlite_rows *rows, struct map *judged,
                     struct map *sync_calls, struct status *status) {
    struct row_call row = {0};
    struct call_name name;
    int64_t global = sqlite_rows_integer(rows, 3, 0);
    int64_t class = sqlite_rows_integer(rows, 2, EVENT_CLASS_RUNTIME);
    if (class != EVENT_CLASS_RUNTIME && class != EVENT_CLASS_DRIVER)
        return true; /* such as the rows that carry a backtrace and repeat a call */
    if (!nsys_span(nsys, rows, &row.start, &row.duration, status))
        return !rows->failed;
    if (!name_call(nsys, rows, 5, judged, &name, status) ||
        !nsys_thread(nsys, global, &row.thread, status))
        return false;
    row.name = name.string;
    row.class = name.class;
    row.correlation = correlation_of(rows, 4);
    row.result = sqlite_rows_integer(rows, 7, 0);
    trace_write_call(nsys->writer, &row);

    uint32_t process;
    uint64_t key;
    return name.wait == WAIT_UNKNOWN || (nsys_process(nsys, global, &process, status) &&
                                         (!call_key(process, row.correlation, &key) ||
                                          map_set(sync_calls, key, name.wait, status)));
}

bool nsys_calls(struct nsys *nsys, struct map *sync_calls, struct status *status) {
    struct sqlite_rows rows;
    struct map judged = {0};
    sqlite_rows_open(&rows, &nsys->source, "CUPTI_ACTIVITY_KIND_RUNTIME",
                     "start end eventClass globalTid correlationId nameId name returnValue", NULL,
                     status);
    while (nsys_next(nsys, &rows, status))
        if (!one_call(nsys, &rows, &judged, sync_calls, status))
            rows.failed = true;
    map_finish(&judged);
    return sqlite_rows_close(&rows);
}

/* Every activity table is selected with these first, so that one function reads them. */
#define PLACE_COLUMNS "start end deviceId contextId streamId correlationId globalPid "
enum { AFTER_PLACE = 7 };

static bool place_activity(struct nsys *nsys, struct sqlite_rows *rows, struct row_activity *row,
                           struct status *status) {
    if (!nsys_span(nsys, rows, &row->start, &row->duration, status))
        return false;
    row->correlation = correlation_of(rows, 5);
    if (!nsys_queue(nsys, sqlite_rows_integer(rows, 6, 0), sqlite_rows_integer(rows, 2, 0),
                    sqlite_rows_integer(rows, 3, 0), sqlite_rows_integer(rows, 4, 0), &row->queue,
                    status))
        rows->failed = true;
    return !rows->failed;
}

/* The graph of a node; a node's number has its graph's in the upper half. */
static uint32_t graph_of(const struct sqlite_rows *rows, unsigned graph, unsigned node) {
    uint64_t id = (uint64_t)sqlite_rows_integer(rows, node, 0);
    if (sqlite_rows_u32(rows, graph) > 0)
        return sqlite_rows_u32(rows, graph);
    return id >> 32 ? (uint32_t)(id >> 32) : (uint32_t)id;
}

static bool name_kernel(struct nsys *nsys, struct sqlite_rows *rows, uint32_t *name,
                        struct status *status) {
    *name = 0;
    for (unsigned column = AFTER_PLACE; column < AFTER_PLACE + 3 && *name == 0; column++)
        if (!sqlite_strings_column(&nsys->strings, rows, column, name, status))
            return false;
    if (*name == 0)
        *name = trace_writer_string(nsys->writer, TEXT("(kernel without a name)"));
    return true;
}

static bool read_kernels(struct nsys *nsys, struct status *status) {
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "CUPTI_ACTIVITY_KIND_KERNEL",
                     PLACE_COLUMNS
                     "demangledName shortName mangledName gridX gridY gridZ blockX blockY blockZ "
                     "registersPerThread staticSharedMemory dynamicSharedMemory graphId "
                     "graphNodeId",
                     NULL, status);
    while (nsys_next(nsys, &rows, status)) {
        struct row_activity row = {.kind = ACTIVITY_KERNEL};
        if (!place_activity(nsys, &rows, &row, status))
            continue;
        if (!name_kernel(nsys, &rows, &row.name, status)) {
            rows.failed = true;
            continue;
        }
        row.grid_x = sqlite_rows_u32(&rows, 10);
        row.grid_y = sqlite_rows_u32(&rows, 11);
        row.grid_z = sqlite_rows_u32(&rows, 12);
        row.block_x = sqlite_rows_u32(&rows, 13);
        row.block_y = sqlite_rows_u32(&rows, 14);
        row.block_z = sqlite_rows_u32(&rows, 15);
        row.registers = sqlite_rows_u32(&rows, 16);
        row.shared_static = sqlite_rows_u32(&rows, 17);
        row.shared_dynamic = sqlite_rows_u32(&rows, 18);
        row.graph = graph_of(&rows, 19, 20);
        row.bytes = BYTES_UNKNOWN;
        trace_write_activity(nsys->writer, &row);
    }
    return sqlite_rows_close(&rows);
}

/* One launch of a whole graph, whose kernels were not recorded. */
static bool read_graphs(struct nsys *nsys, struct status *status) {
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                     PLACE_COLUMNS "graphId graphExecId", NULL, status);
    while (nsys_next(nsys, &rows, status)) {
        struct row_activity row = {.kind = ACTIVITY_KERNEL, .bytes = BYTES_UNKNOWN};
        if (!place_activity(nsys, &rows, &row, status))
            continue;
        char name[40];
        row.graph =
            sqlite_rows_u32(&rows, 7) ? sqlite_rows_u32(&rows, 7) : sqlite_rows_u32(&rows, 8);
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
    struct sqlite_rows rows;
    uint32_t names[COPY_DIRECTIONS][MEMORY_KINDS][MEMORY_KINDS] = {0};
    sqlite_rows_open(&rows, &nsys->source, "CUPTI_ACTIVITY_KIND_MEMCPY",
                     PLACE_COLUMNS "bytes copyKind srcKind dstKind graphId graphNodeId", NULL,
                     status);
    while (nsys_next(nsys, &rows, status)) {
        struct row_activity row = {.kind = ACTIVITY_COPY};
        if (!place_activity(nsys, &rows, &row, status))
            continue;
        row.bytes = bytes_of(&rows, 7);
        row.direction = direction_of(sqlite_rows_integer(&rows, 8, 0));
        row.from_memory = memory_kind_of(sqlite_rows_integer(&rows, 9, -1));
        row.to_memory = memory_kind_of(sqlite_rows_integer(&rows, 10, -1));
        row.graph = graph_of(&rows, 11, 12);
        uint32_t *name = &names[row.direction][row.from_memory][row.to_memory];
        if (*name == 0)
            *name = copy_name(nsys, &row);
        row.name = *name;
        trace_write_activity(nsys->writer, &row);
    }
    return sqlite_rows_close(&rows);
}

static bool read_sets(struct nsys *nsys, struct status *status) {
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "CUPTI_ACTIVITY_KIND_MEMSET",
                     PLACE_COLUMNS "bytes memKind graphId graphNodeId", NULL, status);
    while (nsys_next(nsys, &rows, status)) {
        struct row_activity row = {.kind = ACTIVITY_SET};
        char name[40];
        if (!place_activity(nsys, &rows, &row, status))
            continue;
        row.bytes = bytes_of(&rows, 7);
        row.to_memory = memory_kind_of(sqlite_rows_integer(&rows, 8, -1));
        row.graph = graph_of(&rows, 9, 10);
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

/* The record that an event's waiters wait for. */
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

/* eventSyncId is what makes a record unique: without it an event's records cannot be told apart. */
static bool load_event_records(struct nsys *nsys, struct event_records *events,
                               struct status *status) {
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
                     "deviceId contextId streamId correlationId globalPid eventId eventSyncId",
                     NULL, status);
    while (sqlite_rows_has(&rows, 6) && nsys_next(nsys, &rows, status)) {
        struct event_record record = {.correlation = correlation_of(&rows, 3)};
        struct event_key key = {.event = sqlite_rows_integer(&rows, 5, -1),
                                .sync = sqlite_rows_integer(&rows, 6, -1)};
        int64_t global = sqlite_rows_integer(&rows, 4, 0);
        uint32_t process, place;
        if (!is_number(key.event) || !is_number(key.sync))
            continue;
        if (!nsys_process(nsys, global, &process, status) ||
            !host_side_queue(nsys, global, sqlite_rows_integer(&rows, 0, 0),
                             sqlite_rows_integer(&rows, 1, 0), sqlite_rows_integer(&rows, 2, 0),
                             &record.queue, status)) {
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

static bool one_wait(struct nsys *nsys, struct sqlite_rows *rows, const struct map *sync_calls,
                     const struct event_records *events, struct status *status) {
    static const uint8_t kinds[] = {WAIT_UNKNOWN, WAIT_EVENT, WAIT_STREAM_EVENT, WAIT_STREAM,
                                    WAIT_CONTEXT};
    struct row_wait row = {.correlation = correlation_of(rows, 5)};
    int64_t global = sqlite_rows_integer(rows, 6, 0), stream = sqlite_rows_integer(rows, 4, -1);
    int64_t type = sqlite_rows_integer(rows, 7, 0), event = sqlite_rows_integer(rows, 8, -1);
    uint32_t process;
    uint64_t key;
    if (!nsys_span(nsys, rows, &row.start, &row.duration, status))
        return !rows->failed;
    if (!nsys_process(nsys, global, &process, status) ||
        (is_number(stream) &&
         !host_side_queue(nsys, global, sqlite_rows_integer(rows, 2, 0),
                          sqlite_rows_integer(rows, 3, 0), stream, &row.queue, status)))
        return false;
    /* Some versions number the types differently: the call knows better. */
    const uint64_t *call =
        call_key(process, row.correlation, &key) ? map_find(sync_calls, key) : NULL;
    row.kind = type >= 0 && type < (int64_t)sizeof kinds ? kinds[type] : WAIT_UNKNOWN;
    if (call)
        row.kind = (uint8_t)*call;
    row.event = is_number(event) ? (uint64_t)event : 0;
    struct event_key wanted = {process, event, sqlite_rows_integer(rows, 9, -1)};
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
                         PLACE_COLUMNS "syncType eventId eventSyncId", NULL, status);
        while (nsys_next(nsys, &rows, status))
            if (!one_wait(nsys, &rows, sync_calls, &events, status))
                rows.failed = true;
        ok = sqlite_rows_close(&rows);
    }
    intern_finish(&events.keys);
    memory_free(events.records);
    return ok;
}

bool nsys_memory(struct nsys *nsys, struct status *status) {
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, "CUDA_GPU_MEMORY_USAGE_EVENTS",
                     "start globalPid deviceId address bytes memKind memoryOperationType", NULL,
                     status);
    while (nsys_next(nsys, &rows, status)) {
        struct row_memory row = {0};
        if (!sqlite_rows_time(&rows, nsys->options, nsys->writer, &row.time, status))
            continue;
        enum memory_kind kind = memory_kind_of(sqlite_rows_integer(&rows, 5, 2));
        bool on_host = kind == MEMORY_PAGEABLE || kind == MEMORY_PINNED;
        row.address = (uint64_t)sqlite_rows_integer(&rows, 3, 0);
        row.bytes =
            sqlite_rows_integer(&rows, 4, 0) > 0 ? (uint64_t)sqlite_rows_integer(&rows, 4, 0) : 0;
        row.operation = sqlite_rows_integer(&rows, 6, 0) == 1 ? MEMORY_FREE : MEMORY_ALLOC;
        rows.failed =
            !on_host && !nsys_device(nsys, sqlite_rows_integer(&rows, 1, 0),
                                     sqlite_rows_integer(&rows, 2, 0), &row.device, status);
        if (!rows.failed)
            trace_write_memory(nsys->writer, &row);
    }
    return sqlite_rows_close(&rows);
}

#else
typedef int nsys_activities_needs_sqlite;
#endif
