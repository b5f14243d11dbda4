/* Replays allocations and releases in order of time. Running totals of the source are used as they
 * are; otherwise the sum since the start of the trace is a lower bound. */
#include "analysis/memory_use.h"

#include <string.h>

#include "base/memory.h"
#include "base/min_max.h"
#include "base/sort.h"

/* What is known of a device before a row: the memory in use and held by the allocator, 0 if that is
 * not recorded. */
struct before {
    uint64_t level, reserved;
};

static void count_row(const struct trace *trace, size_t row, struct memory_use *use,
                      const struct before *before) {
    uint64_t level = before->level, reserved = trace->memory.reserved[row];
    uint64_t bytes = trace->memory.bytes[row];
    if (trace->memory.operation[row] == MEMORY_ALLOC) {
        use->allocations++;
        use->allocated_bytes += bytes;
        use->compared += before->reserved && reserved;
        use->reused += before->reserved && reserved && reserved <= before->reserved;
        level += bytes;
    } else {
        level -= bytes;
        use->frees++;
        use->freed_bytes += bytes;
    }
    uint64_t now =
        level <= INT64_MAX ? level : 0; /* below 0: more was freed than allocated in the trace */
    if (trace->memory.allocated[row]) {
        use->absolute = true;
        now = trace->memory.allocated[row];
    }
    if (now > use->high_water) {
        use->high_water = now;
        use->high_water_time = trace->memory.time[row];
    }
    use->reserved_max = MAX(use->reserved_max, reserved);
}

bool memory_use_find(const struct model *model, const struct selection *selection,
                     struct memory_use **by_device, struct status *status) {
    struct trace *trace = model->trace;
    size_t devices = trace->device.count;
    uint32_t *order = NULL;
    if (!trace_load(trace, TABLE_MEMORY, "time device operation bytes allocated reserved",
                    status) ||
        !sort_rows(trace->memory.device, (uint32_t)devices, trace->memory.time, NULL,
                   trace->memory.count, &order, status))
        return false;
    *by_device = memory_allocate(devices, sizeof **by_device, status);
    struct before *before = memory_allocate(devices, sizeof *before, status);
    bool ok = *by_device && before;
    for (size_t i = 0; i < trace->memory.count && ok; i++) {
        size_t row = order ? order[i] : i;
        int64_t time = trace->memory.time[row];
        uint32_t device = trace->memory.device[row];
        uint64_t bytes = trace->memory.bytes[row];
        if (!selection || selection_contains(selection, time))
            count_row(trace, row, &(*by_device)[device], &before[device]);
        before[device].level += trace->memory.operation[row] == MEMORY_ALLOC ? bytes : 0 - bytes;
        before[device].reserved = trace->memory.reserved[row];
    }
    memory_free(order);
    memory_free(before);
    if (!ok) {
        memory_free(*by_device);
        *by_device = NULL;
    }
    return ok;
}
