/* What did the program allocate? Metal resources on the device, and the heap.
 *
 * The Allocations instrument has no table: its list of allocations is a view, whose rows carry
 * attributes instead of cells. It names the responsible function of each allocation and whether it
 * is still alive at the end, but not when it was freed. */
#include "import/xctrace/xctrace.h"

/* ---- Metal resources ---- */

enum {
    RESOURCE_TIME,
    RESOURCE_PROCESS,
    RESOURCE_THREAD,
    RESOURCE_ID,
    RESOURCE_PARENT,
    RESOURCE_SIZE,
    RESOURCE_DEVICE,
    RESOURCE_EVENT,
};
static const char *const resource_columns[] = {
    "timestamp",     "process", "thread",     "resource-id", "parent-resource-id",
    "resource-size", "gpu",     "event-type", NULL,
};

/* A resource inside a heap or buffer has a parent and takes no memory of its own. */
static bool resource_row(struct xctrace *import, const struct xctrace_table *table,
                         const uint32_t *cells, struct status *status) {
    struct row_memory memory = {0};
    struct text event = xctrace_text(table, cells[RESOURCE_EVENT]);
    bool use;
    if (!xctrace_is_target(import, table, cells[RESOURCE_PROCESS], cells[RESOURCE_THREAD]) ||
        xctrace_object_id(table, cells[RESOURCE_PARENT]) ||
        !xctrace_integer(table, cells[RESOURCE_SIZE], &memory.bytes))
        return true;
    if (!xctrace_span(import, table, cells[RESOURCE_TIME], 0, &memory.time, NULL, &use, status))
        return false;
    if (text_starts(event, "Dealloc") || text_starts(event, "Free"))
        memory.operation = MEMORY_FREE;
    else if (!text_starts(event, "Alloc"))
        return true;
    if (!use)
        return true;
    if (!xctrace_thread(import, table, cells[RESOURCE_THREAD], &memory.thread, status) ||
        !xctrace_device(import, xctrace_text(table, cells[RESOURCE_DEVICE]), &memory.device,
                        status))
        return false;
    memory.address = xctrace_object_id(table, cells[RESOURCE_ID]);
    trace_write_memory(import->writer, &memory);
    return true;
}

const struct xctrace_kind xctrace_resources = {"metal-resource-allocations", resource_columns,
                                               resource_row, NULL};

/* ---- the heap ---- */

/* "01:02.345.678", minutes to microseconds, as nanoseconds. */
static bool clock_time(struct text text, int64_t *nanoseconds) {
    static const int64_t units[] = {60000000000, 1000000000, 1000000, 1000};
    static const char ends[] = ":..";
    *nanoseconds = 0;
    for (size_t i = 0; i < 4; i++) {
        size_t length = 0;
        while (length < text.length && text.data[length] >= '0' && text.data[length] <= '9')
            length++;
        int64_t number;
        if (length == 0 || length > 6 || !text_to_i64((struct text){text.data, length}, &number))
            return false;
        *nanoseconds += number * units[i];
        text.data += length, text.length -= length;
        if (i < 3 && (text.length == 0 || text.data[0] != ends[i]))
            return false;
        if (i < 3)
            text.data++, text.length--;
    }
    return text.length == 0;
}

static bool hexadecimal(struct text text, uint64_t *number) {
    *number = 0;
    if (!text_starts(text, "0x") || text.length < 3 || text.length > 18)
        return false;
    for (size_t i = 2; i < text.length; i++) {
        char digit = text.data[i];
        unsigned value = digit >= '0' && digit <= '9'   ? (unsigned)(digit - '0')
                         : digit >= 'a' && digit <= 'f' ? (unsigned)(digit - 'a') + 10
                         : digit >= 'A' && digit <= 'F' ? (unsigned)(digit - 'A') + 10
                                                        : 16;
        if (value > 15)
            return false;
        *number = *number << 4 | value;
    }
    return true;
}

enum { HEAP_TIME, HEAP_ADDRESS, HEAP_SIZE, HEAP_LIVE, HEAP_CALLER, HEAP_LIBRARY, HEAP_CATEGORY };
static const char *const heap_columns[] = {
    "timestamp",           "address",  "size", "live", "responsible-caller",
    "responsible-library", "category", NULL,
};

/* One frame: the responsible function, or the category where no function is known. */
static bool heap_row(struct xctrace *import, const struct xctrace_table *table,
                     const uint32_t *cells, struct status *status) {
    struct row_allocation allocation = {.operation = MEMORY_ALLOC};
    uint64_t address;
    struct text live = xctrace_text(table, cells[HEAP_LIVE]);
    struct text caller = xctrace_text(table, cells[HEAP_CALLER]);
    if (!clock_time(xctrace_text(table, cells[HEAP_TIME]), &allocation.time) ||
        allocation.time > import->time_limit ||
        !xctrace_integer(table, cells[HEAP_SIZE], &allocation.bytes)) {
        import->incomplete++;
        return true;
    }
    bool is_live = text_is(live, "true") || text_is(live, "1");
    if (is_live && hexadecimal(xctrace_text(table, cells[HEAP_ADDRESS]), &address))
        allocation.address = address;
    if (caller.length == 0 || caller.data[0] == '<')
        caller = xctrace_text(table, cells[HEAP_CATEGORY]);
    if (!xctrace_push_frame(import, trace_writer_string(import->writer, caller),
                            xctrace_string(import, table, cells[HEAP_LIBRARY]), &allocation.stack,
                            status))
        return false;
    trace_write_allocation(import->writer, &allocation);
    return true;
}

const struct xctrace_kind xctrace_heap = {
    XCTRACE_ALLOCATIONS, heap_columns, heap_row,
    "tracks/track[@name=\"Allocations\"]/details/detail[@name=\"Allocations List\"]"};
