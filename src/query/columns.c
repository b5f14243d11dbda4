/* Documentation of the schema's columns, one row each. A test checks that none is missing. */
#include "query/columns.h"

#include <string.h>

#include "base/array.h"

struct column_doc {
    const char *table, *column, *meaning;
    enum shown_absent absent;
};

static const char *const table_meanings[TABLE_COUNT] = {
    [TABLE_META] = "metadata of the recording",
    [TABLE_PROCESS] = "processes that were recorded",
    [TABLE_THREAD] = "host threads",
    [TABLE_DEVICE] = "GPUs and other accelerators",
    [TABLE_QUEUE] = "streams and command queues of a device",
    [TABLE_STACK] = "call stacks, as a tree of frames",
    [TABLE_ACTIVITY] = "work on a device: kernels, copies, sets",
    [TABLE_CALL] = "calls of a driver or runtime API on the host",
    [TABLE_RANGE] = "named spans: operators, annotations, Python functions",
    [TABLE_MARK] = "named points in time",
    [TABLE_WAIT] = "synchronizations recorded by the driver",
    [TABLE_MEMORY] = "allocations and releases",
    [TABLE_SAMPLE] = "CPU samples of threads",
    [TABLE_COUNTER] = "values over time: clocks, power, temperature, hardware counters",
    [TABLE_STATE] = "thread states: running, ready, blocked",
    [TABLE_USAGE] = "CPU time of threads so far, read from time to time",
    [TABLE_ALLOCATION] = "sampled allocations of the heap, and their releases",
    [TABLE_METRIC] = "hardware counters of kernel launches",
};

static const struct column_doc column_docs[] = {
    {"meta", "key", "name of the entry", ABSENT_NEVER},
    {"meta", "value", "its value", ABSENT_NEVER},

    {"process", "pid", "process id", ABSENT_NEVER},
    {"process", "name", "program or label", ABSENT_NEVER},
    {"process", "host", "host name", ABSENT_NEVER},
    {"process", "rank", "rank in a distributed job, as text", ABSENT_NEVER},
    {"process", "local_rank", "rank on its host", ABSENT_NEVER},
    {"process", "world_size", "number of ranks", ABSENT_NEVER},

    {"thread", "process", "process.id", ABSENT_ZERO},
    {"thread", "tid", "thread id", ABSENT_NEVER},
    {"thread", "name", "its name", ABSENT_NEVER},

    {"device", "index", "the device's number (quote it in SQL: \"index\")", ABSENT_NEVER},
    {"device", "label", "name in the source", ABSENT_NEVER},
    {"device", "name", "model", ABSENT_NEVER},
    {"device", "vendor", "manufacturer", ABSENT_NEVER},
    {"device", "uuid", "unique id", ABSENT_NEVER},
    {"device", "memory_bytes", "memory size", ABSENT_ZERO},
    {"device", "multiprocessors", "SMs, compute units or cores", ABSENT_ZERO},
    {"device", "clock_hz", "maximum clock", ABSENT_ZERO},
    {"device", "bandwidth", "memory bytes per second, as stated by the vendor", ABSENT_ZERO},
    {"device", "compute_major", "compute capability, major", ABSENT_ZERO},
    {"device", "compute_minor", "compute capability, minor", ABSENT_NEVER},
    {"device", "warp_size", "threads per warp", ABSENT_ZERO},
    {"device", "threads_per_multiprocessor", "maximum resident threads", ABSENT_ZERO},
    {"device", "registers_per_multiprocessor", "32-bit registers", ABSENT_ZERO},
    {"device", "shared_per_multiprocessor", "bytes of shared memory", ABSENT_ZERO},
    {"device", "listed", "1: listed by the source, even if unused", ABSENT_NEVER},
    {"device", "blocks_per_multiprocessor", "maximum resident thread blocks", ABSENT_ZERO},
    {"device", "shared_reserved_per_block",
     "bytes of shared memory per block that the driver reserves", ABSENT_ZERO},

    {"queue", "device", "device.id", ABSENT_ZERO},
    {"queue", "process", "process.id, where known", ABSENT_ZERO},
    {"queue", "context", "driver context", ABSENT_NEVER},
    {"queue", "stream", "stream number", ABSENT_NEVER},
    {"queue", "name", "its name", ABSENT_NEVER},

    {"stack", "parent", "stack.id of the caller", ABSENT_ZERO},
    {"stack", "function", "function of this frame", ABSENT_NEVER},
    {"stack", "module", "library, or [python]", ABSENT_NEVER},
    {"stack", "file", "source file", ABSENT_ZERO},
    {"stack", "line", "line in that file", ABSENT_ZERO},
    {"stack", "offset", "of the instruction in the function, in bytes", ABSENT_NEVER},
    {"stack", "function_line", "line where the function begins", ABSENT_ZERO},
    {"stack", "statement", "first line of the statement that the line belongs to", ABSENT_ZERO},
    {"stack", "source", "text of the line", ABSENT_ZERO},
    {"stack", "loops", "loops of the function around the line, outermost first", ABSENT_ZERO},

    {"activity", "start", "nanoseconds on the trace's clock", ABSENT_NEVER},
    {"activity", "duration", "nanoseconds", ABSENT_NEVER},
    {"activity", "queue", "queue.id", ABSENT_ZERO},
    {"activity", "kind", "kernel, copy or set", ABSENT_NEVER},
    {"activity", "name", "full name", ABSENT_NEVER},
    {"activity", "correlation", "equals the launching call's, within a process", ABSENT_ZERO},
    {"activity", "grid_x", "thread blocks, x", ABSENT_NEVER},
    {"activity", "grid_y", "thread blocks, y", ABSENT_NEVER},
    {"activity", "grid_z", "thread blocks, z", ABSENT_NEVER},
    {"activity", "block_x", "threads per block, x", ABSENT_NEVER},
    {"activity", "block_y", "threads per block, y", ABSENT_NEVER},
    {"activity", "block_z", "threads per block, z", ABSENT_NEVER},
    {"activity", "registers", "registers per thread", ABSENT_NEVER},
    {"activity", "shared_static", "static shared memory per block, bytes", ABSENT_NEVER},
    {"activity", "shared_dynamic", "dynamic shared memory per block, bytes", ABSENT_NEVER},
    {"activity", "bytes", "copies, sets: moved; kernels: read and written; NULL = unknown",
     ABSENT_ALL_ONES},
    {"activity", "direction", "of a copy: HtoD, DtoH, DtoD, HtoH, PtoP or unknown", ABSENT_NEVER},
    {"activity", "from_memory", "pageable, pinned, device, array, managed or unknown",
     ABSENT_NEVER},
    {"activity", "to_memory", "as from_memory, at the other end", ABSENT_NEVER},
    {"activity", "flops", "floating-point operations; NULL = unknown", ABSENT_ZERO},
    {"activity", "graph", "graph that launched it", ABSENT_ZERO},
    {"activity", "detail", "JSON object with source-specific fields", ABSENT_ZERO},
    {"activity", "captured_by",
     "correlation of the call that captured it into the graph (--graph node)", ABSENT_ZERO},

    {"call", "start", "nanoseconds on the trace's clock", ABSENT_NEVER},
    {"call", "duration", "nanoseconds", ABSENT_NEVER},
    {"call", "thread", "thread.id of the caller", ABSENT_ZERO},
    {"call", "name", "API function", ABSENT_NEVER},
    {"call", "class", "launch, copy, sync, alloc, compile or other", ABSENT_NEVER},
    {"call", "correlation", "equals that of the activity it launched", ABSENT_ZERO},
    {"call", "result", "return value; 0 = success", ABSENT_NEVER},
    {"call", "detail", "JSON object with source-specific fields", ABSENT_ZERO},
    {"call", "stack", "stack.id of the calling frame", ABSENT_ZERO},

    {"range", "start", "nanoseconds on the trace's clock", ABSENT_NEVER},
    {"range", "duration", "nanoseconds", ABSENT_NEVER},
    {"range", "thread", "thread.id", ABSENT_ZERO},
    {"range", "queue", "queue.id, of ranges on a device's queue", ABSENT_ZERO},
    {"range", "name", "its name", ABSENT_NEVER},
    {"range", "category", "op, annotation, python, device, driver, overhead or other",
     ABSENT_NEVER},
    {"range", "domain", "NVTX domain, signpost subsystem or Chrome category", ABSENT_NEVER},
    {"range", "detail", "JSON object, such as input shapes", ABSENT_ZERO},
    {"range", "sequence", "equal for an operator and its gradient, within a process", ABSENT_ZERO},

    {"mark", "time", "nanoseconds on the trace's clock", ABSENT_NEVER},
    {"mark", "thread", "thread.id", ABSENT_ZERO},
    {"mark", "name", "its name", ABSENT_NEVER},
    {"mark", "domain", "NVTX domain, signpost subsystem or Chrome category", ABSENT_NEVER},
    {"mark", "detail", "JSON object with source-specific fields", ABSENT_ZERO},

    {"wait", "start", "nanoseconds on the trace's clock", ABSENT_NEVER},
    {"wait", "duration", "nanoseconds", ABSENT_NEVER},
    {"wait", "queue", "queue.id of the waiting queue", ABSENT_ZERO},
    {"wait", "kind", "event, stream-wait, stream, context or unknown", ABSENT_NEVER},
    {"wait", "correlation", "equals the waiting call's", ABSENT_ZERO},
    {"wait", "awaited", "queue.id of the queue that is waited for", ABSENT_ZERO},
    {"wait", "event", "event that is waited for", ABSENT_NEVER},
    {"wait", "record_correlation", "of the call that recorded the event", ABSENT_ZERO},

    {"memory", "time", "nanoseconds on the trace's clock", ABSENT_NEVER},
    {"memory", "thread", "thread.id", ABSENT_ZERO},
    {"memory", "device", "device.id; NULL = host memory", ABSENT_ZERO},
    {"memory", "operation", "alloc or free", ABSENT_NEVER},
    {"memory", "bytes", "size", ABSENT_ALL_ONES},
    {"memory", "address", "address", ABSENT_NEVER},
    {"memory", "allocated", "bytes allocated afterwards, where known", ABSENT_ZERO},
    {"memory", "reserved", "bytes reserved by the allocator afterwards, where known", ABSENT_ZERO},
    {"memory", "stack", "stack.id of the caller's innermost frame, where known", ABSENT_ZERO},

    {"sample", "time", "nanoseconds on the trace's clock", ABSENT_NEVER},
    {"sample", "thread", "thread.id", ABSENT_ZERO},
    {"sample", "stack", "stack.id of the innermost frame", ABSENT_ZERO},
    {"sample", "weight", "nanoseconds that the sample represents", ABSENT_NEVER},

    {"counter", "time", "nanoseconds on the trace's clock", ABSENT_NEVER},
    {"counter", "device", "device.id", ABSENT_ZERO},
    {"counter", "name", "what is counted", ABSENT_NEVER},
    {"counter", "value", "its value from this time on", ABSENT_NEVER},

    {"state", "start", "nanoseconds on the trace's clock", ABSENT_NEVER},
    {"state", "duration", "nanoseconds", ABSENT_NEVER},
    {"state", "thread", "thread.id", ABSENT_ZERO},
    {"state", "state", "running, ready (waiting for a CPU) or blocked", ABSENT_NEVER},
    {"state", "processor", "CPU that it ran on, or last ran on", ABSENT_NEVER},
    {"state", "blocked_on", "disk, pipe, poll, lock, sleep, child, device, other or unknown",
     ABSENT_NEVER},
    {"state", "call", "system call in which it blocked, where known", ABSENT_ZERO},
    {"state", "stack", "stack.id at the moment it blocked, where known", ABSENT_ZERO},

    {"usage", "time", "nanoseconds on the trace's clock", ABSENT_NEVER},
    {"usage", "thread", "thread.id", ABSENT_ZERO},
    {"usage", "user", "nanoseconds in user mode since it started; -1 = unknown", ABSENT_NEVER},
    {"usage", "kernel", "nanoseconds in the kernel since it started; -1 = unknown", ABSENT_NEVER},
    {"usage", "ready", "nanoseconds ready without a CPU since it started; -1 = unknown",
     ABSENT_NEVER},

    {"allocation", "time", "nanoseconds on the trace's clock", ABSENT_NEVER},
    {"allocation", "thread", "thread.id", ABSENT_ZERO},
    {"allocation", "operation", "alloc or free", ABSENT_NEVER},
    {"allocation", "bytes", "bytes that the sample stands for", ABSENT_NEVER},
    {"allocation", "address", "joins an allocation with its release, within a process",
     ABSENT_ZERO},
    {"allocation", "stack", "stack.id of the innermost frame, where known", ABSENT_ZERO},

    {"metric", "time", "start of the launch, or of the trace if another run was measured",
     ABSENT_NEVER},
    {"metric", "launch", "number of the launch, in the order in which launches ran", ABSENT_NEVER},
    {"metric", "device", "device.id", ABSENT_ZERO},
    {"metric", "kernel", "name of the kernel", ABSENT_NEVER},
    {"metric", "grid_x", "blocks per grid", ABSENT_ZERO},
    {"metric", "grid_y", "blocks per grid", ABSENT_ZERO},
    {"metric", "grid_z", "blocks per grid", ABSENT_ZERO},
    {"metric", "block_x", "threads per block", ABSENT_ZERO},
    {"metric", "block_y", "threads per block", ABSENT_ZERO},
    {"metric", "block_z", "threads per block", ABSENT_ZERO},
    {"metric", "name", "the counter, as the source names it", ABSENT_NEVER},
    {"metric", "unit", "without a prefix: byte, ns, %", ABSENT_NEVER},
    {"metric", "value", "its value", ABSENT_NEVER},
    {"metric", "file", "source file of an instruction, or [sass]; empty: the whole kernel",
     ABSENT_NEVER},
    {"metric", "line", "its line", ABSENT_ZERO},
    {"metric", "function", "its function", ABSENT_NEVER},
    {"metric", "offset", "its offset in the function, in bytes", ABSENT_NEVER},
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
    for (size_t i = 0; i < ARRAY_COUNT(column_docs); i++)
        if (strcmp(column_docs[i].table, shown->name) == 0 &&
            strcmp(column_docs[i].column, name) == 0) {
            column->meaning = column_docs[i].meaning;
            column->absent = column_docs[i].absent;
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
        add_computed(shown, "session", SHOWN_SESSION, "number of the recording");
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
