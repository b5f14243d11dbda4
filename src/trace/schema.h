/* The event model: the tables of a trace and their columns.
 *
 * This is the only place that lists them. The row structs of writers, the column arrays of readers,
 * the encoding on disk, the tables of `ridge query` and the SQLite and CSV exports are derived from
 * these lists. Columns are numbered by position: append only; never insert, remove or retype, so
 * that old and new versions can read each other's traces. docs/trace-format.md is the
 * specification.
 *
 * Column types:
 *   TIME     int64, nanoseconds on the trace's timebase
 *   I64 U64 U32 U8 F64
 *   STRING   id of an interned text, 0 = ""
 *   PROCESS THREAD DEVICE QUEUE STACK   id of a row of that table, 0 = none
 */
#ifndef RIDGE_TRACE_SCHEMA_H
#define RIDGE_TRACE_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

#define META_COLUMNS(X) X(key, STRING) X(value, STRING)

/* rank, local_rank, world_size: decimal, as the launcher of a distributed job assigned them; "" =
 * unknown */
#define PROCESS_COLUMNS(X)                                                                         \
    X(pid, U64)                                                                                    \
    X(name, STRING)                                                                                \
    X(host, STRING)                                                                                \
    X(rank, STRING)                                                                                \
    X(local_rank, STRING)                                                                          \
    X(world_size, STRING)

#define THREAD_COLUMNS(X) X(process, PROCESS) X(tid, I64) X(name, STRING)

/* label: the source's name of the device ("0", "M1"); 0 in other columns: unknown */
#define DEVICE_COLUMNS(X)                                                                          \
    X(index, U32)                                                                                  \
    X(label, STRING)                                                                               \
    X(name, STRING)                                                                                \
    X(vendor, STRING)                                                                              \
    X(uuid, STRING)                                                                                \
    X(memory_bytes, U64)                                                                           \
    X(multiprocessors, U32)                                                                        \
    X(clock_hz, U64)                                                                               \
    X(bandwidth, U64) /* bytes per second, stated by the vendor */                                 \
    X(compute_major, U32)                                                                          \
    X(compute_minor, U32)                                                                          \
    X(warp_size, U32)                                                                              \
    X(threads_per_multiprocessor, U32)                                                             \
    X(registers_per_multiprocessor, U32)                                                           \
    X(shared_per_multiprocessor, U32)                                                              \
    X(listed, U8) /* 1: listed by the source, even if it was idle */                               \
    X(blocks_per_multiprocessor, U32)                                                              \
    X(shared_reserved_per_block, U32) /* bytes of shared memory kept by the driver */

/* A stream, command queue or channel. process: 0 = unknown. */
#define QUEUE_COLUMNS(X)                                                                           \
    X(device, DEVICE) X(process, PROCESS) X(context, U64) X(stream, I64) X(name, STRING)

/* A node of the tree of stacks: a frame and the stack of its caller. 0 and "": unknown. */
#define STACK_COLUMNS(X)                                                                           \
    X(parent, STACK)                                                                               \
    X(function, STRING)                                                                            \
    X(module, STRING)                                                                              \
    X(file, STRING)                                                                                \
    X(line, U32)                                                                                   \
    X(offset, U32)        /* of the instruction from the start of the function, in bytes */        \
    X(function_line, U32) /* where the function begins in the file */                              \
    X(statement, U32)     /* first line of the statement that the line belongs to */               \
    X(source, STRING)     /* text of the line */                                                   \
    X(loops, STRING)      /* of the function around the line, outermost first: "LINE TEXT" each,   \
                             separated by newlines */

/* Work on a device. */
#define ACTIVITY_COLUMNS(X)                                                                        \
    X(start, TIME)                                                                                 \
    X(duration, I64)                                                                               \
    X(queue, QUEUE)                                                                                \
    X(kind, U8) /* enum activity_kind */                                                           \
    X(name, STRING)                                                                                \
    X(correlation, U64) /* 0 = none; that of the launching call */                                 \
    X(grid_x, U32)                                                                                 \
    X(grid_y, U32)                                                                                 \
    X(grid_z, U32)                                                                                 \
    X(block_x, U32)                                                                                \
    X(block_y, U32)                                                                                \
    X(block_z, U32)                                                                                \
    X(registers, U32)                                                                              \
    X(shared_static, U32)                                                                          \
    X(shared_dynamic, U32)                                                                         \
    X(bytes, U64)       /* copies and sets: moved; kernels: read and written; or BYTES_UNKNOWN */  \
    X(direction, U8)    /* enum copy_direction */                                                  \
    X(from_memory, U8)  /* enum memory_kind */                                                     \
    X(to_memory, U8)    /* enum memory_kind */                                                     \
    X(flops, U64)       /* 0 = unknown */                                                          \
    X(graph, U32)       /* 0 = not launched by a graph, or unknown */                              \
    X(detail, STRING)   /* a JSON object with source-specific data (NCCL arguments) */             \
    X(captured_by, U64) /* correlation of the call that captured it into the graph; 0 = unknown */

/* A driver or runtime API call on the host. */
#define CALL_COLUMNS(X)                                                                            \
    X(start, TIME)                                                                                 \
    X(duration, I64)                                                                               \
    X(thread, THREAD)                                                                              \
    X(name, STRING)                                                                                \
    X(class, U8) /* enum call_class */                                                             \
    X(correlation, U64)                                                                            \
    X(result, I64) /* return value of the API; 0 = success */                                      \
    X(detail, STRING)                                                                              \
    X(stack, STACK) /* of the caller */

/* A named interval of a thread or, if queue is set, of a queue. */
#define RANGE_COLUMNS(X)                                                                           \
    X(start, TIME)                                                                                 \
    X(duration, I64)                                                                               \
    X(thread, THREAD)                                                                              \
    X(queue, QUEUE)                                                                                \
    X(name, STRING)                                                                                \
    X(category, U8)   /* enum range_category */                                                    \
    X(domain, STRING) /* NVTX domain, signpost subsystem, Chrome category */                       \
    X(detail, STRING) /* a JSON object, such as input shapes */                                    \
    X(sequence, U64)  /* of an operator or its gradient: 1 + PyTorch's number; 0 = none */

/* A point in time on a thread. */
#define MARK_COLUMNS(X)                                                                            \
    X(time, TIME) X(thread, THREAD) X(name, STRING) X(domain, STRING) X(detail, STRING)

/* A synchronization: a thread waits for a device, or a queue for another. */
#define WAIT_COLUMNS(X)                                                                            \
    X(start, TIME)                                                                                 \
    X(duration, I64)                                                                               \
    X(queue, QUEUE)                                                                                \
    X(kind, U8) /* enum wait_kind */                                                               \
    X(correlation, U64)                                                                            \
    X(awaited, QUEUE) /* the queue that is waited for */                                           \
    X(event, U64)                                                                                  \
    X(record_correlation, U64) /* of the call that recorded the event */

/* An allocation or release. device 0 = host memory. */
#define MEMORY_COLUMNS(X)                                                                          \
    X(time, TIME)                                                                                  \
    X(thread, THREAD)                                                                              \
    X(device, DEVICE)                                                                              \
    X(operation, U8) /* enum memory_operation */                                                   \
    X(bytes, U64)                                                                                  \
    X(address, U64)                                                                                \
    X(allocated, U64) /* running total after it, 0 = unknown */                                    \
    X(reserved, U64)                                                                               \
    X(stack, STACK) /* of the caller */

#define SAMPLE_COLUMNS(X)                                                                          \
    X(time, TIME)                                                                                  \
    X(thread, THREAD) X(stack, STACK) X(weight, I64) /* nanoseconds represented by it */

#define COUNTER_COLUMNS(X) X(time, TIME) X(device, DEVICE) X(name, STRING) X(value, F64)

/* A scheduler state of a thread. */
#define STATE_COLUMNS(X)                                                                           \
    X(start, TIME)                                                                                 \
    X(duration, I64)                                                                               \
    X(thread, THREAD)                                                                              \
    X(state, U8)      /* enum thread_state */                                                      \
    X(processor, U32) /* number of the CPU it ran on; for other states, of the CPU it left */      \
    X(blocked_on, U8) /* enum blocked_on; of blocked threads */                                    \
    X(call, STRING)   /* the system call in which it blocked; "" = unknown */                      \
    X(stack, STACK)   /* at the moment it blocked */

/* CPU time of a thread since it started, read from time to time; negative = unknown. The time in
 * which it was ready includes the time from a wakeup until it ran, which its states may count as
 * blocked. */
#define USAGE_COLUMNS(X) X(time, TIME) X(thread, THREAD) X(user, I64) X(kernel, I64) X(ready, I64)

/* A sampled allocation of the heap, or its release. */
#define ALLOCATION_COLUMNS(X)                                                                      \
    X(time, TIME)                                                                                  \
    X(thread, THREAD)                                                                              \
    X(operation, U8) /* enum memory_operation */                                                   \
    X(bytes, U64)    /* that the sample stands for */                                              \
    X(address, U64)  /* joins it with its release, within a process; 0 = its release is not known  \
                      */                                                                           \
    X(stack, STACK)

/* A hardware counter of one launch of a kernel. The rows of a launch follow each other. Launches
 * are numbered in the order in which they ran. They may be those of another run of the program:
 * kernel, grid and block join them with activities, and the time is that of the trace's start. */
#define METRIC_COLUMNS(X)                                                                          \
    X(time, TIME)                                                                                  \
    X(launch, U64)                                                                                 \
    X(device, DEVICE)                                                                              \
    X(kernel, STRING)                                                                              \
    X(grid_x, U32)                                                                                 \
    X(grid_y, U32)                                                                                 \
    X(grid_z, U32)                                                                                 \
    X(block_x, U32)                                                                                \
    X(block_y, U32)                                                                                \
    X(block_z, U32)                                                                                \
    X(name, STRING) /* the source's name of the counter: "dram__bytes_read.sum" */                 \
    X(unit, STRING) /* without a prefix: "byte", "ns", "%" */                                      \
    X(value, F64)                                                                                  \
    X(file, STRING) /* of an instruction: its source file, or METRIC_NO_FILE; "": of the kernel */ \
    X(line, U32)                                                                                   \
    X(function, STRING) /* of an instruction */                                                    \
    X(offset, U32)      /* of an instruction from the start of the function, in bytes */

/* T(table, TABLE, fourcc): entities first, then events. */
#define TRACE_TABLES(T)                                                                            \
    T(meta, META, "META")                                                                          \
    T(process, PROCESS, "PROC")                                                                    \
    T(thread, THREAD, "THRD")                                                                      \
    T(device, DEVICE, "DEVI")                                                                      \
    T(queue, QUEUE, "QUEU")                                                                        \
    T(stack, STACK, "STAK")                                                                        \
    T(activity, ACTIVITY, "ACTI")                                                                  \
    T(call, CALL, "CALL")                                                                          \
    T(range, RANGE, "RANG")                                                                        \
    T(mark, MARK, "MARK")                                                                          \
    T(wait, WAIT, "WAIT")                                                                          \
    T(memory, MEMORY, "MEMO")                                                                      \
    T(sample, SAMPLE, "SAMP")                                                                      \
    T(counter, COUNTER, "COUN")                                                                    \
    T(state, STATE, "STAT")                                                                        \
    T(usage, USAGE, "USAG")                                                                        \
    T(allocation, ALLOCATION, "ALLO")                                                              \
    T(metric, METRIC, "METR")

enum activity_kind { ACTIVITY_KERNEL, ACTIVITY_COPY, ACTIVITY_SET, ACTIVITY_KINDS };
enum copy_direction {
    COPY_UNKNOWN,
    COPY_HTOD,
    COPY_DTOH,
    COPY_DTOD,
    COPY_HTOH,
    COPY_PTOP,
    COPY_DIRECTIONS
};
enum memory_kind {
    MEMORY_UNKNOWN,
    MEMORY_PAGEABLE,
    MEMORY_PINNED,
    MEMORY_DEVICE,
    MEMORY_ARRAY,
    MEMORY_MANAGED,
    MEMORY_KINDS
};
enum call_class {
    CALL_OTHER,
    CALL_LAUNCH,
    CALL_COPY,
    CALL_SYNC,
    CALL_ALLOC,
    CALL_COMPILE,
    CALL_CLASSES
};
enum range_category {
    RANGE_OTHER,
    RANGE_OP,         /* a framework's operator: aten::mm */
    RANGE_ANNOTATION, /* the user's own: record_function, NVTX, signpost, ridge_range */
    RANGE_PYTHON,     /* a Python function */
    RANGE_DEVICE,     /* an annotation projected onto a queue; never counts as work */
    RANGE_DRIVER,     /* driver work for this process */
    RANGE_OVERHEAD,   /* profiler overhead */
    RANGE_CATEGORIES
};
/* The name of an overhead range, on a thread of the paused process, during which nothing of it was
 * recorded. Excluded from all results. */
#define RANGE_PAUSED "ridge: paused"
/* Counters of states: nominal 0, fair 1, serious 2, critical 3; and minimum 1, medium 2,
 * maximum 3. */
#define COUNTER_THERMAL_STATE "thermal state"
#define COUNTER_PERFORMANCE_STATE "GPU performance state"
/* In a stack: the module of Python functions, and an unnamed function. */
#define STACK_PYTHON "[python]"
/* The innermost Python frame while the interpreter collects garbage; it has no file. */
#define STACK_COLLECTOR "garbage collection"
#define STACK_UNKNOWN "[unknown]"
/* The file of an instruction of a kernel without line information. */
#define METRIC_NO_FILE "[sass]"
enum wait_kind {
    WAIT_UNKNOWN,
    WAIT_EVENT,
    WAIT_STREAM_EVENT,
    WAIT_STREAM,
    WAIT_CONTEXT,
    WAIT_KINDS
};
enum memory_operation { MEMORY_ALLOC, MEMORY_FREE, MEMORY_OPERATIONS };
enum thread_state {
    STATE_RUNNING, /* on a CPU */
    STATE_READY,   /* runnable, but without a CPU */
    STATE_BLOCKED, /* waiting */
    STATE_KINDS
};
enum blocked_on {
    BLOCKED_UNKNOWN,
    BLOCKED_DISK,   /* files, page cache, swap */
    BLOCKED_PIPE,   /* pipe, socket, terminal: another process or machine */
    BLOCKED_POLL,   /* any of several: poll, select, epoll */
    BLOCKED_LOCK,   /* futex: a mutex, a condition variable, a join */
    BLOCKED_SLEEP,  /* a timer */
    BLOCKED_CHILD,  /* the end of another process */
    BLOCKED_DEVICE, /* a driver of an accelerator */
    BLOCKED_OTHER,
    BLOCKED_KINDS
};

#define BYTES_UNKNOWN UINT64_MAX

/* Larger times and durations (73 years; Unix time until 2043) are damage. Sums and differences of
 * an end and a start then always fit. */
#define TRACE_TIME_LIMIT (((int64_t)1 << 61) - 1)

enum column_type {
    COLUMN_TIME,
    COLUMN_I64,
    COLUMN_U64,
    COLUMN_U32,
    COLUMN_U8,
    COLUMN_F64,
    COLUMN_STRING,
    COLUMN_PROCESS,
    COLUMN_THREAD,
    COLUMN_DEVICE,
    COLUMN_QUEUE,
    COLUMN_STACK,
};

#define COLUMN_CTYPE_TIME int64_t
#define COLUMN_CTYPE_I64 int64_t
#define COLUMN_CTYPE_U64 uint64_t
#define COLUMN_CTYPE_U32 uint32_t
#define COLUMN_CTYPE_U8 uint8_t
#define COLUMN_CTYPE_F64 double
#define COLUMN_CTYPE_STRING uint32_t
#define COLUMN_CTYPE_PROCESS uint32_t
#define COLUMN_CTYPE_THREAD uint32_t
#define COLUMN_CTYPE_DEVICE uint32_t
#define COLUMN_CTYPE_QUEUE uint32_t
#define COLUMN_CTYPE_STACK uint32_t

#define SCHEMA_TABLE_ENUM(table, TABLE, fourcc) TABLE_##TABLE,
enum trace_table { TRACE_TABLES(SCHEMA_TABLE_ENUM) TABLE_COUNT };

#define SCHEMA_FIELD(name, type) COLUMN_CTYPE_##type name;
#define SCHEMA_POINTER(name, type) COLUMN_CTYPE_##type *name;

/* struct row_activity: one row, filled by a writer. struct columns_activity: all rows, as loaded by
 * a reader; columns not loaded are NULL. */
#define SCHEMA_STRUCTS(table, TABLE, fourcc)                                                       \
    struct row_##table {                                                                           \
        TABLE##_COLUMNS(SCHEMA_FIELD)                                                              \
    };                                                                                             \
    struct columns_##table {                                                                       \
        size_t count;                                                                              \
        TABLE##_COLUMNS(SCHEMA_POINTER)                                                            \
    };
TRACE_TABLES(SCHEMA_STRUCTS)

struct column_info {
    const char *name;
    enum column_type type;
    size_t size;           /* bytes of one value */
    size_t row_offset;     /* in struct row_TABLE */
    size_t pointer_offset; /* in struct columns_TABLE */
};

struct table_info {
    const char *name;
    uint32_t fourcc;
    unsigned column_count;
    const struct column_info *columns;
};

enum { TABLE_COLUMNS_MAX = 32 };
extern const struct table_info trace_tables[TABLE_COUNT];

/* Names of the enumerators above, as printed and queried; "?" when out of range. */
const char *activity_kind_name(unsigned kind);
const char *copy_direction_name(unsigned direction); /* HtoD, DtoH, ... */
const char *memory_kind_name(unsigned kind);
const char *call_class_name(unsigned class);
const char *range_category_name(unsigned category);
const char *wait_kind_name(unsigned kind);
const char *memory_operation_name(unsigned operation);
const char *thread_state_name(unsigned state);
const char *blocked_on_name(unsigned blocked_on);

/* The function that names a column's values; NULL when it has no enumerators. */
typedef const char *column_namer(unsigned value);
column_namer *column_names(enum trace_table table, unsigned column);
/* The number of values of such a column; 0 for other columns. */
unsigned column_values(enum trace_table table, unsigned column);

#endif
