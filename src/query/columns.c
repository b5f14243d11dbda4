/* The prose beside schema.h: one row for each column. A test holds that none is missing here. */
#include "query/columns.h"

#include <string.h>

#include "base/array.h"

struct column_notes {
    const char *table, *column, *meaning;
    enum shown_absent absent;
};

static const char *const table_meanings[TABLE_COUNT] = {
    [TABLE_META] = "what is known about the recording as a whole",
    [TABLE_PROCESS] = "processes that were recorded",
    [TABLE_THREAD] = "threads of the host",
    [TABLE_DEVICE] = "GPUs and other accelerators",
    [TABLE_QUEUE] = "streams and command queues of a device",
    [TABLE_STACK] = "call stacks, as a tree of frames",
    [TABLE_ACTIVITY] = "work on a device: kernels, copies, sets",
    [TABLE_CALL] = "calls of a driver or runtime API on the host",
    [TABLE_RANGE] = "named spans: operators, annotations, Python functions",
    [TABLE_MARK] = "named points in time",
    [TABLE_WAIT] = "synchronisations as the device's driver recorded them",
    [TABLE_MEMORY] = "allocations and releases",
    [TABLE_SAMPLE] = "samples of what threads were doing",
    [TABLE_COUNTER] = "values over time: clocks, power, temperature, hardware counters",
    [TABLE_STATE] = "when threads ran and when they waited",
};

static const struct column_notes notes[] = {
    {"meta", "key", "what it says", ABSENT_NEVER},
    {"meta", "value", "its value", ABSENT_NEVER},

    {"process", "pid", "the system's number for it", ABSENT_NEVER},
    {"process", "name", "program or label", ABSENT_NEVER},
    {"process", "host", "machine it ran on", ABSENT_NEVER},

    {"thread", "process", "process.id", ABSENT_ZERO},
    {"thread", "tid", "the system's number for it", ABSENT_NEVER},
    {"thread", "name", "its name", ABSENT_NEVER},

    {"device", "index", "the device's number (quote it in SQL: \"index\")", ABSENT_NEVER},
    {"device", "label", "what the source calls it", ABSENT_NEVER},
    {"device", "name", "model", ABSENT_NEVER},
    {"device", "vendor", "who made it", ABSENT_NEVER},
    {"device", "uuid", "unique id", ABSENT_NEVER},
    {"device", "memory_bytes", "memory size", ABSENT_ZERO},
    {"device", "multiprocessors", "SMs, compute units or cores", ABSENT_ZERO},
    {"device", "clock_hz", "highest clock", ABSENT_ZERO},
    {"device", "bandwidth", "memory bytes a second, as the vendor states it", ABSENT_ZERO},
    {"device", "compute_major", "compute capability, major", ABSENT_ZERO},
    {"device", "compute_minor", "compute capability, minor", ABSENT_NEVER},
    {"device", "warp_size", "threads that run in step", ABSENT_ZERO},
    {"device", "threads_per_multiprocessor", "most threads at once", ABSENT_ZERO},
    {"device", "registers_per_multiprocessor", "32-bit registers", ABSENT_ZERO},
    {"device", "shared_per_multiprocessor", "bytes of shared memory", ABSENT_ZERO},
    {"device", "listed", "1: the source lists it, whether or not it worked", ABSENT_NEVER},
    {"device", "blocks_per_multiprocessor", "most thread blocks at once", ABSENT_ZERO},
    {"device", "shared_reserved_per_block", "bytes of shared memory the driver keeps of each block",
     ABSENT_ZERO},

    {"queue", "device", "device.id", ABSENT_ZERO},
    {"queue", "process", "process.id, where the source tells", ABSENT_ZERO},
    {"queue", "context", "driver context", ABSENT_NEVER},
    {"queue", "stream", "stream number", ABSENT_NEVER},
    {"queue", "name", "its name", ABSENT_NEVER},

    {"stack", "parent", "stack.id of the caller", ABSENT_ZERO},
    {"stack", "function", "function of this frame", ABSENT_NEVER},
    {"stack", "module", "library or source file it is in", ABSENT_NEVER},

    {"activity", "start", "nanoseconds on the trace's clock", ABSENT_NEVER},
    {"activity", "duration", "nanoseconds", ABSENT_NEVER},
    {"activity", "queue", "queue.id", ABSENT_ZERO},
    {"activity", "kind", "kernel, copy or set", ABSENT_NEVER},
    {"activity", "name", "kernel's or copy's full name", ABSENT_NEVER},
    {"activity", "correlation", "equals the launching call's, within a process", ABSENT_ZERO},
    {"activity", "grid_x", "thread blocks, x", ABSENT_NEVER},
    {"activity", "grid_y", "thread blocks, y", ABSENT_NEVER},
    {"activity", "grid_z", "thread blocks, z", ABSENT_NEVER},
    {"activity", "block_x", "threads of a block, x", ABSENT_NEVER},
    {"activity", "block_y", "threads of a block, y", ABSENT_NEVER},
    {"activity", "block_z", "threads of a block, z", ABSENT_NEVER},
    {"activity", "registers", "registers a thread", ABSENT_NEVER},
    {"activity", "shared_static", "bytes of shared memory a block, fixed", ABSENT_NEVER},
    {"activity", "shared_dynamic", "bytes of shared memory a block, at launch", ABSENT_NEVER},
    {"activity", "bytes", "copies, sets: moved; kernels: read and written; NULL = not known",
     ABSENT_ALL_ONES},
    {"activity", "direction", "of a copy: HtoD, DtoH, DtoD, HtoH, PtoP or unknown", ABSENT_NEVER},
    {"activity", "from_memory", "pageable, pinned, device, array, managed or unknown",
     ABSENT_NEVER},
    {"activity", "to_memory", "as from_memory, at the other end", ABSENT_NEVER},
    {"activity", "flops", "floating point operations; NULL = not known", ABSENT_ZERO},
    {"activity", "graph", "graph that launched it", ABSENT_ZERO},
    {"activity", "detail", "JSON object with what only some sources know", ABSENT_ZERO},

    {"call", "start", "nanoseconds on the trace's clock", ABSENT_NEVER},
    {"call", "duration", "nanoseconds", ABSENT_NEVER},
    {"call", "thread", "thread.id of the caller", ABSENT_ZERO},
    {"call", "name", "API function", ABSENT_NEVER},
    {"call", "class", "launch, copy, sync, alloc, compile or other", ABSENT_NEVER},
    {"call", "correlation", "equals that of the work it launched", ABSENT_ZERO},
    {"call", "result", "what the API returned; 0 = success", ABSENT_NEVER},
    {"call", "detail", "JSON object with what only some sources know", ABSENT_ZERO},

    {"range", "start", "nanoseconds on the trace's clock", ABSENT_NEVER},
    {"range", "duration", "nanoseconds", ABSENT_NEVER},
    {"range", "thread", "thread.id", ABSENT_ZERO},
    {"range", "queue", "queue.id, of ranges on a device's queue", ABSENT_ZERO},
    {"range", "name", "its name", ABSENT_NEVER},
    {"range", "category", "op, annotation, python, device, driver, overhead or other",
     ABSENT_NEVER},
    {"range", "domain", "NVTX domain, signpost subsystem or Chrome category", ABSENT_NEVER},
    {"range", "detail", "JSON object, such as input shapes", ABSENT_ZERO},

    {"mark", "time", "nanoseconds on the trace's clock", ABSENT_NEVER},
    {"mark", "thread", "thread.id", ABSENT_ZERO},
    {"mark", "name", "its name", ABSENT_NEVER},
    {"mark", "domain", "NVTX domain, signpost subsystem or Chrome category", ABSENT_NEVER},
    {"mark", "detail", "JSON object with what only some sources know", ABSENT_ZERO},

    {"wait", "start", "nanoseconds on the trace's clock", ABSENT_NEVER},
    {"wait", "duration", "nanoseconds", ABSENT_NEVER},
    {"wait", "queue", "queue.id of the one that waits", ABSENT_ZERO},
    {"wait", "kind", "event, stream-wait, stream, context or unknown", ABSENT_NEVER},
    {"wait", "correlation", "equals the waiting call's", ABSENT_ZERO},
    {"wait", "awaited", "queue.id of the one whose work is awaited", ABSENT_ZERO},
    {"wait", "event", "event that is awaited", ABSENT_NEVER},
    {"wait", "record_correlation", "of the call that recorded the event", ABSENT_ZERO},

    {"memory", "time", "nanoseconds on the trace's clock", ABSENT_NEVER},
    {"memory", "thread", "thread.id", ABSENT_ZERO},
    {"memory", "device", "device.id; NULL = host memory", ABSENT_ZERO},
    {"memory", "operation", "alloc or free", ABSENT_NEVER},
    {"memory", "bytes", "size", ABSENT_ALL_ONES},
    {"memory", "address", "where", ABSENT_NEVER},
    {"memory", "allocated", "running total after it, where told", ABSENT_ZERO},
    {"memory", "reserved", "held by the allocator after it, where told", ABSENT_ZERO},

    {"sample", "time", "nanoseconds on the trace's clock", ABSENT_NEVER},
    {"sample", "thread", "thread.id", ABSENT_ZERO},
    {"sample", "stack", "stack.id of the innermost frame", ABSENT_ZERO},
    {"sample", "weight", "nanoseconds it stands for", ABSENT_NEVER},

    {"counter", "time", "nanoseconds on the trace's clock", ABSENT_NEVER},
    {"counter", "device", "device.id", ABSENT_ZERO},
    {"counter", "name", "what is counted", ABSENT_NEVER},
    {"counter", "value", "its value from this time on", ABSENT_NEVER},

    {"state", "start", "nanoseconds on the trace's clock", ABSENT_NEVER},
    {"state", "duration", "nanoseconds", ABSENT_NEVER},
    {"state", "thread", "thread.id", ABSENT_ZERO},
    {"state", "state", "running, ready (it had no processor) or blocked", ABSENT_NEVER},
    {"state", "processor", "that it ran on, or the one it left", ABSENT_NEVER},
};

static void add_computed(struct shown_table *shown, const char *name, enum shown_kind kind,
                         const char *meaning) {
    shown->columns[shown->column_count++] = (struct shown_column){
        .name = name,
        .meaning = meaning,
        .kind = kind,
        .absent = ABSENT_NEVER,
    };
}

static void add_stored(struct shown_table *shown, unsigned stored) {
    const char *name = trace_tables[shown->table].columns[stored].name;
    struct shown_column *column = &shown->columns[shown->column_count++];
    *column = (struct shown_column){
        .name = name,
        .kind = SHOWN_STORED,
        .stored = stored,
        .name_of = column_names(shown->table, stored),
    };
    for (size_t i = 0; i < ARRAY_COUNT(notes); i++)
        if (strcmp(notes[i].table, shown->name) == 0 && strcmp(notes[i].column, name) == 0) {
            column->meaning = notes[i].meaning;
            column->absent = notes[i].absent;
        }
}

void shown_table_init(struct shown_table *shown, enum trace_table table) {
    const struct table_info *info = &trace_tables[table];
    *shown = (struct shown_table){
        .table = table,
        .name = info->name,
        .meaning = table_meanings[table],
    };
    add_computed(shown, "id", SHOWN_ID, "row number");
    for (unsigned column = 0; column < info->column_count; column++) {
        const char *name = info->columns[column].name;
        add_stored(shown, column);
        if (strcmp(name, "duration") == 0)
            add_computed(shown, "end", SHOWN_END, "start + duration");
        else if (table == TABLE_ACTIVITY && strcmp(name, "correlation") == 0)
            add_computed(shown, "launch", SHOWN_LAUNCH, "call.id of the call that launched it");
    }
    if (table >= TABLE_PROCESS && table < TABLE_STACK)
        add_computed(shown, "session", SHOWN_SESSION, "number of the recording it came from");
}

const char *shown_column_type(const struct shown_table *shown, unsigned column) {
    const struct shown_column *about = &shown->columns[column];
    if (about->kind != SHOWN_STORED)
        return "INTEGER";
    enum column_type type = trace_tables[shown->table].columns[about->stored].type;
    if (type == COLUMN_STRING || about->name_of)
        return "TEXT";
    return type == COLUMN_F64 ? "REAL" : "INTEGER";
}
