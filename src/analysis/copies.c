/* One pass over copies and sets. */
#include "analysis/copies.h"

#include <string.h>

/* Copies between devices and sets have no host side. */
static bool host_memory_unknown(const struct trace *trace, size_t row) {
    bool from = trace->activity.from_memory[row] == MEMORY_UNKNOWN;
    bool to = trace->activity.to_memory[row] == MEMORY_UNKNOWN;
    if (trace->activity.kind[row] != ACTIVITY_COPY)
        return false;
    switch (trace->activity.direction[row]) {
    case COPY_HTOD:
        return from;
    case COPY_DTOH:
        return to;
    case COPY_DTOD:
    case COPY_PTOP:
        return false;
    default:
        return from && to;
    }
}

static void count_copy(struct copy_group *group, const struct trace *trace, size_t row) {
    uint64_t bytes = trace->activity.bytes[row];
    int64_t time = trace->activity.duration[row];
    bool known = bytes != BYTES_UNKNOWN;
    group->count++;
    group->time += time;
    group->without_bytes += !known;
    if (known) {
        group->bytes += bytes;
        group->time_with_bytes += time;
        if (bytes < COPY_SMALL_BYTES) {
            group->small++;
            group->small_bytes += bytes;
            group->small_time += time;
        }
    } else {
        bytes = 0;
    }
    unsigned from = trace->activity.from_memory[row], to = trace->activity.to_memory[row];
    group->without_memory += host_memory_unknown(trace, row);
    if (from == MEMORY_PAGEABLE || to == MEMORY_PAGEABLE) {
        group->pageable++;
        group->pageable_bytes += bytes;
        group->pageable_without_bytes += !known;
        group->pageable_time += time;
    } else if (from == MEMORY_PINNED || to == MEMORY_PINNED) {
        group->pinned++;
        group->pinned_bytes += bytes;
        group->pinned_without_bytes += !known;
        group->pinned_time += time;
    }
}

void copies_find(const struct model *model, uint32_t device, const struct selection *by_device,
                 struct copies *copies) {
    const struct trace *trace = model->trace;
    memset(copies, 0, sizeof *copies);
    size_t first = device ? model->device_first[device] : 0;
    size_t end = device ? model->device_first[device + 1] : trace->activity.count;
    for (size_t i = first; i < end; i++) {
        unsigned kind = trace->activity.kind[i];
        if (kind == ACTIVITY_KERNEL || !model_selected(model, by_device, i))
            continue;
        if (kind == ACTIVITY_SET) {
            count_copy(&copies->sets, trace, i);
        } else {
            unsigned direction = trace->activity.direction[i];
            count_copy(&copies->direction[direction < COPY_DIRECTIONS ? direction : 0], trace, i);
            count_copy(&copies->all, trace, i);
        }
    }
}

double copy_group_rate(const struct copy_group *group) {
    return group->time_with_bytes > 0
               ? (double)group->bytes / ((double)group->time_with_bytes * 1e-9)
               : 0;
}
