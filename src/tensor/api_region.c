/* Device time of a part of a program: what a recorder observes between two calls. Without a trace
 * the recorder is the region's own and writes to nowhere. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/min_max.h"
#include "device/work.h"
#include "tensor/tensor.h"

struct span {
    int64_t start, end;
};

struct region {
    struct recorder *own; /* NULL when a trace is on */
    struct ridge_region sums;
    struct span *spans;
    size_t count, capacity;
    bool failed; /* out of memory */
};

void region_destroy(struct region *region) {
    if (!region)
        return;
    memory_free(region->spans);
    memory_free(region);
}

static void observe(void *context, const struct row_activity *row) {
    struct region *region = context;
    struct status ignored;
    if (row->kind == ACTIVITY_KERNEL) {
        region->sums.kernels++;
        region->sums.flops += row->flops;
        region->sums.kernel_bytes += row->bytes;
    } else {
        region->sums.copies++;
        region->sums.copy_bytes += row->bytes;
    }
    if (!GROW(region->spans, &region->capacity, region->count + 1, &ignored)) {
        region->failed = true;
        return;
    }
    region->spans[region->count++] = (struct span){row->start, row->start + row->duration};
}

bool ridge_region_begin(ridge_device *device) {
    struct status *status = tensor_status();
    if (!device_check(device, "ridge_region_begin"))
        return false;
    if (device->region)
        return status_fail(status, STATUS_USAGE,
                           "ridge_region_begin: a region of %s is already being timed",
                           device->name);
    struct region *region = memory_allocate(1, sizeof *region, status);
    if (!region)
        return false;
    if (!device->recorder) {
        region->own = recorder_create(device->device, "/dev/null", status);
        if (!region->own) {
            region_destroy(region);
            return false;
        }
        device->recorder = region->own;
    }
    recorder_settle(device->recorder); /* what was queued before does not count */
    recorder_set_observer(device->recorder, observe, region);
    device->region = region;
    return true;
}

static int by_start(const void *a, const void *b) {
    int64_t first = ((const struct span *)a)->start, second = ((const struct span *)b)->start;
    return (first > second) - (first < second);
}

/* The union of the spans, and what they span together. */
static void sum_times(struct region *region) {
    int64_t busy = 0, end = INT64_MIN;
    if (region->count == 0)
        return;
    qsort(region->spans, region->count, sizeof *region->spans, by_start);
    for (size_t i = 0; i < region->count; i++) {
        const struct span *span = &region->spans[i];
        if (span->end > end) {
            busy += span->end - MAX(span->start, end);
            end = span->end;
        }
    }
    region->sums.seconds = (double)(end - region->spans[0].start) * 1e-9;
    region->sums.busy_seconds = (double)busy * 1e-9;
}

bool ridge_region_end(ridge_device *device, struct ridge_region *sums) {
    struct status *status = tensor_status(), ignored;
    if (!device_check(device, "ridge_region_end"))
        return false;
    struct region *region = device->region;
    if (!region)
        return status_fail(status, STATUS_USAGE, "ridge_region_end: no region of %s is being timed",
                           device->name);
    recorder_settle(device->recorder);
    recorder_set_observer(device->recorder, NULL, NULL);
    device->region = NULL;
    if (region->own) {
        device->recorder = NULL;
        recorder_finish(region->own, &ignored);
    }
    sum_times(region);
    if (sums)
        *sums = region->sums;
    bool ok = !region->failed || status_no_memory(status);
    region_destroy(region);
    return ok && (sums || tensor_null("ridge_region_end", "memory for the figures"));
}
