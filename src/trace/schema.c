/* The tables of schema.h as data. */
#include "trace/schema.h"

#include <string.h>

#include "base/array.h"

#define FOURCC(text)                                                                               \
    ((uint32_t)(text)[0] | (uint32_t)(text)[1] << 8 | (uint32_t)(text)[2] << 16 |                  \
     (uint32_t)(text)[3] << 24)

/* A column list has only names and types; the table is added here. */
#define COLUMN(table, column, type)                                                                \
    {#column, COLUMN_##type, sizeof(COLUMN_CTYPE_##type), offsetof(struct row_##table, column),    \
     offsetof(struct columns_##table, column)},
#define META_COLUMN(column, type) COLUMN(meta, column, type)
#define PROCESS_COLUMN(column, type) COLUMN(process, column, type)
#define THREAD_COLUMN(column, type) COLUMN(thread, column, type)
#define DEVICE_COLUMN(column, type) COLUMN(device, column, type)
#define QUEUE_COLUMN(column, type) COLUMN(queue, column, type)
#define STACK_COLUMN(column, type) COLUMN(stack, column, type)
#define ACTIVITY_COLUMN(column, type) COLUMN(activity, column, type)
#define CALL_COLUMN(column, type) COLUMN(call, column, type)
#define RANGE_COLUMN(column, type) COLUMN(range, column, type)
#define MARK_COLUMN(column, type) COLUMN(mark, column, type)
#define WAIT_COLUMN(column, type) COLUMN(wait, column, type)
#define MEMORY_COLUMN(column, type) COLUMN(memory, column, type)
#define SAMPLE_COLUMN(column, type) COLUMN(sample, column, type)
#define COUNTER_COLUMN(column, type) COLUMN(counter, column, type)
#define STATE_COLUMN(column, type) COLUMN(state, column, type)
#define USAGE_COLUMN(column, type) COLUMN(usage, column, type)
#define ALLOCATION_COLUMN(column, type) COLUMN(allocation, column, type)
#define METRIC_COLUMN(column, type) COLUMN(metric, column, type)

#define TABLE_COLUMN_LIST(table, TABLE, fourcc)                                                    \
    static const struct column_info columns_of_##table[] = {TABLE##_COLUMNS(TABLE##_COLUMN)};      \
    _Static_assert(sizeof columns_of_##table / sizeof columns_of_##table[0] <= TABLE_COLUMNS_MAX,  \
                   "raise TABLE_COLUMNS_MAX");
TRACE_TABLES(TABLE_COLUMN_LIST)

#define TABLE_ENTRY(table, TABLE, fourcc)                                                          \
    {#table, FOURCC(fourcc), sizeof columns_of_##table / sizeof columns_of_##table[0],             \
     columns_of_##table},
const struct table_info trace_tables[TABLE_COUNT] = {TRACE_TABLES(TABLE_ENTRY)};

#define NAME_FUNCTION(function, count, ...)                                                        \
    const char *function(unsigned value) {                                                         \
        static const char *const names[count] = {__VA_ARGS__};                                     \
        return value < count ? names[value] : "?";                                                 \
    }
NAME_FUNCTION(activity_kind_name, ACTIVITY_KINDS, "kernel", "copy", "set")
NAME_FUNCTION(copy_direction_name, COPY_DIRECTIONS, "unknown", "HtoD", "DtoH", "DtoD", "HtoH",
              "PtoP")
NAME_FUNCTION(memory_kind_name, MEMORY_KINDS, "unknown", "pageable", "pinned", "device", "array",
              "managed")
NAME_FUNCTION(call_class_name, CALL_CLASSES, "other", "launch", "copy", "sync", "alloc", "compile")
NAME_FUNCTION(range_category_name, RANGE_CATEGORIES, "other", "op", "annotation", "python",
              "device", "driver", "overhead")
NAME_FUNCTION(wait_kind_name, WAIT_KINDS, "unknown", "event", "stream-wait", "stream", "context")
NAME_FUNCTION(memory_operation_name, MEMORY_OPERATIONS, "alloc", "free")
NAME_FUNCTION(thread_state_name, STATE_KINDS, "running", "ready", "blocked")
NAME_FUNCTION(blocked_on_name, BLOCKED_KINDS, "unknown", "disk", "pipe", "poll", "lock", "sleep",
              "child", "device", "other")

column_namer *column_names(enum trace_table table, unsigned column) {
    static const struct {
        enum trace_table table;
        const char *column;
        column_namer *names;
    } enumerators[] = {
        {TABLE_ACTIVITY, "kind", activity_kind_name},
        {TABLE_ACTIVITY, "direction", copy_direction_name},
        {TABLE_ACTIVITY, "from_memory", memory_kind_name},
        {TABLE_ACTIVITY, "to_memory", memory_kind_name},
        {TABLE_CALL, "class", call_class_name},
        {TABLE_RANGE, "category", range_category_name},
        {TABLE_WAIT, "kind", wait_kind_name},
        {TABLE_MEMORY, "operation", memory_operation_name},
        {TABLE_ALLOCATION, "operation", memory_operation_name},
        {TABLE_STATE, "state", thread_state_name},
        {TABLE_STATE, "blocked_on", blocked_on_name},
    };
    for (size_t i = 0; i < ARRAY_COUNT(enumerators); i++)
        if (enumerators[i].table == table &&
            strcmp(enumerators[i].column, trace_tables[table].columns[column].name) == 0)
            return enumerators[i].names;
    return NULL;
}

unsigned column_values(enum trace_table table, unsigned column) {
    column_namer *names = column_names(table, column);
    unsigned count = 0;
    while (names && count < 256 && strcmp(names(count), "?") != 0)
        count++;
    return count;
}
