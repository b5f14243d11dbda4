/* Each view but the last is an activity with its device's label, its stream and the call that
 * launched it. LEFT JOINs keep activities without those. */
#include "query/views.h"

#include "base/array.h"

#define ACTIVITY_FROM                                                                              \
    "activity a LEFT JOIN queue q ON q.id = a.queue LEFT JOIN device d ON d.id = q.device"

#define WHEN_AND_WHERE                                                                             \
    {"start", "a.start", "INTEGER", "nanoseconds on the trace's clock"},                           \
        {"duration", "a.duration", "INTEGER", "nanoseconds"},                                      \
        {"end", "a.\"end\"", "INTEGER", "start + duration"},                                       \
        {"device", "d.label", "TEXT", "device.label"},                                             \
        {"stream", "q.stream", "INTEGER", "queue.stream"}, {                                       \
        "queue", "a.queue", "INTEGER", "queue.id"                                                  \
    }

static const struct view_column kernel_columns[] = {
    {"id", "a.id", "INTEGER", "activity.id"},
    {"name", "a.name", "TEXT", "full name"},
    WHEN_AND_WHERE,
    {"launch", "a.launch", "INTEGER", "call.id of the call that launched it"},
    {"correlation", "a.correlation", "INTEGER", "equals the launching call's"},
    {"grid_x", "a.grid_x", "INTEGER", "thread blocks, x"},
    {"grid_y", "a.grid_y", "INTEGER", "thread blocks, y"},
    {"grid_z", "a.grid_z", "INTEGER", "thread blocks, z"},
    {"block_x", "a.block_x", "INTEGER", "threads per block, x"},
    {"block_y", "a.block_y", "INTEGER", "threads per block, y"},
    {"block_z", "a.block_z", "INTEGER", "threads per block, z"},
    {"registers", "a.registers", "INTEGER", "registers per thread"},
    {"shared_memory", "a.shared_static + a.shared_dynamic", "INTEGER", "bytes per block"},
    {"bytes", "a.bytes", "INTEGER", "read and written; NULL = unknown"},
    {"flops", "a.flops", "INTEGER", "floating-point operations; NULL = unknown"},
    {"graph", "a.graph", "INTEGER", "graph that launched it"},
    {"detail", "a.detail", "TEXT", "JSON object with source-specific fields"},
};

static const struct view_column copy_columns[] = {
    {"id", "a.id", "INTEGER", "activity.id"},
    {"name", "a.name", "TEXT", "full name"},
    WHEN_AND_WHERE,
    {"direction", "a.direction", "TEXT", "HtoD, DtoH, DtoD, HtoH, PtoP or unknown"},
    {"bytes", "a.bytes", "INTEGER", "moved; NULL = unknown"},
    {"gb_per_s", "CAST(a.bytes AS REAL) / nullif(a.duration, 0)", "REAL", "10^9 bytes per second"},
    {"from_memory", "a.from_memory", "TEXT", "pageable, pinned, device, array, managed or unknown"},
    {"to_memory", "a.to_memory", "TEXT", "as from_memory, at the other end"},
    {"launch", "a.launch", "INTEGER", "call.id of the call that issued it"},
    {"call_name", "c.name", "TEXT", "API function that issued it"},
    {"correlation", "a.correlation", "INTEGER", "equals the call's"},
};

static const struct view_column launch_columns[] = {
    {"kernel", "a.id", "INTEGER", "activity.id of the kernel"},
    {"name", "a.name", "TEXT", "the kernel's full name"},
    WHEN_AND_WHERE,
    {"call", "a.launch", "INTEGER", "call.id of the launching call; NULL = not recorded"},
    {"call_name", "c.name", "TEXT", "API function"},
    {"call_start", "c.start", "INTEGER", "start of the call"},
    {"call_duration", "c.duration", "INTEGER", "duration of the call"},
    {"thread", "c.thread", "INTEGER", "thread.id of the caller"},
    {"delay", "a.start - c.start", "INTEGER", "from the call's start to the kernel's start"},
};

static const struct view_column line_columns[] = {
    {"call", "c.id", "INTEGER", "call.id"},
    {"name", "c.name", "TEXT", "API function"},
    {"class", "c.class", "TEXT", "launch, copy, sync, alloc, compile or other"},
    {"start", "c.start", "INTEGER", "nanoseconds on the trace's clock"},
    {"duration", "c.duration", "INTEGER", "nanoseconds"},
    {"device_time", "(SELECT sum(a.duration) FROM activity a WHERE a.launch = c.id)", "INTEGER",
     "nanoseconds of what it launched; NULL = nothing"},
    {"thread", "c.thread", "INTEGER", "thread.id of the caller"},
    {"file", "s.file", "TEXT", "source file of the calling frame"},
    {"line", "s.line", "INTEGER", "line in that file"},
    {"function", "s.function", "TEXT", "function of the calling frame"},
    {"source", "s.source", "TEXT", "text of the line"},
    {"stack", "c.stack", "INTEGER", "stack.id of the calling frame"},
};

const struct view_info query_views[VIEW_COUNT] = {
    {"kernel", "activities that are kernels, with device and stream",
     ACTIVITY_FROM " WHERE a.kind = 'kernel'", ARRAY_COUNT(kernel_columns), kernel_columns},
    {"copy", "activities that are copies, with device, stream, call and rate",
     ACTIVITY_FROM " LEFT JOIN call c ON c.id = a.launch WHERE a.kind = 'copy'",
     ARRAY_COUNT(copy_columns), copy_columns},
    {"launch", "kernels beside the calls that launched them",
     ACTIVITY_FROM " LEFT JOIN call c ON c.id = a.launch WHERE a.kind = 'kernel'",
     ARRAY_COUNT(launch_columns), launch_columns},
    {"line", "calls beside the lines that made them", "call c JOIN stack s ON s.id = c.stack",
     ARRAY_COUNT(line_columns), line_columns},
};
