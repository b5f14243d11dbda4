/* How fast are copies to the device and back, by size, from pageable and from pinned host
 * memory? Copies to the device are queued back to back; each copy back is waited for, as its
 * reader must. */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "bench/roofs/methods.h"

static const uint64_t sizes[] = {4 << 10,    16 << 10, 64 << 10, 256 << 10,
                                 1024 << 10, 4 << 20,  16 << 20, 64 << 20};
static const uint64_t sizes_quick[] = {4 << 10, 256 << 10, 16 << 20};

struct transfers {
    struct device *device;
    struct device_memory memory;
    char *host;
    size_t bytes;
    bool to_device;
};

static bool transfer_batch(void *context, unsigned calls, double *nanoseconds,
                           struct status *status) {
    struct transfers *work = context;
    const struct device_ops *ops = work->device->ops;
    double start = measure_clock();
    for (unsigned i = 0; i < calls; i++) {
        bool copied = work->to_device ? ops->copy_in(work->device, 0, work->memory, 0, work->host,
                                                     work->bytes, NULL, status)
                                      : ops->copy_out(work->device, 0, work->host, work->memory, 0,
                                                      work->bytes, NULL, status);
        if (!copied)
            return false;
    }
    if (!ops->finish(work->device, status))
        return false;
    *nanoseconds = measure_clock() - start;
    return true;
}

static bool measure_size(const struct roof_bench *bench, struct transfers *transfers, bool pinned,
                         struct status *status) {
    struct roofs *roofs = bench->roofs;
    if (roofs->transfer_count == TRANSFERS_MAX)
        return true;
    struct transfer_roof *row = &roofs->transfers[roofs->transfer_count];
    *row = (struct transfer_roof){
        .bytes = transfers->bytes, .to_device = transfers->to_device, .pinned = pinned};
    struct roof_method method = {.work = {transfers, transfer_batch},
                                 .amount = (double)transfers->bytes};
    snprintf(method.how, sizeof method.how, "%s",
             bench->capabilities->host_memory ? "the device's memory is the host's"
             : pinned                         ? "pinned memory"
                                              : "ordinary memory");
    if (!roof_best(bench, &method, 1, &row->roof, status))
        return false;
    roofs->transfer_count++;
    return true;
}

static bool measure_sizes(const struct roof_bench *bench, struct device_memory memory, char *host,
                          bool pinned, struct status *status) {
    const uint64_t *list = bench->quick ? sizes_quick : sizes;
    size_t count = bench->quick ? ARRAY_COUNT(sizes_quick) : ARRAY_COUNT(sizes);
    for (unsigned direction = 0; direction < 2; direction++)
        for (size_t i = 0; i < count && list[i] <= memory.bytes; i++) {
            struct transfers transfers = {bench->device, memory, host, (size_t)list[i],
                                          direction == 0};
            if (!measure_size(bench, &transfers, pinned, status))
                return false;
        }
    return true;
}

/* Pages that were never written are all one page of zeros. */
static void touch(char *host, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        host[i] = (char)(i * 2654435761u >> 13);
}

static bool measure_pageable(const struct roof_bench *bench, struct device_memory memory,
                             struct status *status) {
    char *host = memory_allocate_aligned(memory.bytes, 4096, status);
    if (!host)
        return false;
    touch(host, memory.bytes);
    bool measured = measure_sizes(bench, memory, host, false, status);
    memory_free(host);
    return measured;
}

/* Without pinned memory there are no such roofs. */
static bool measure_pinned(const struct roof_bench *bench, struct device_memory memory,
                           struct status *status) {
    const struct device_ops *ops = bench->device->ops;
    void *host = NULL;
    struct status none;
    if (!ops->host_allocate(bench->device, memory.bytes, &host, &none))
        return true;
    touch(host, memory.bytes);
    bool measured = measure_sizes(bench, memory, host, true, status);
    ops->host_release(bench->device, host);
    return measured;
}

bool roof_measure_transfers(const struct roof_bench *bench, struct status *status) {
    const struct device_ops *ops = bench->device->ops;
    uint64_t bytes = bench->quick ? 16 << 20 : 64 << 20;
    struct device_memory memory;
    if (bytes > bench->capabilities->memory_bytes / 8 && bench->capabilities->memory_bytes > 0)
        bytes = bench->capabilities->memory_bytes / 8;
    if (!ops->allocate(bench->device, (size_t)bytes, &memory, status))
        return status_context(status, "measuring transfers");
    bool measured =
        measure_pageable(bench, memory, status) && measure_pinned(bench, memory, status);
    ops->release(bench->device, memory);
    return measured || status_context(status, "measuring transfers");
}
