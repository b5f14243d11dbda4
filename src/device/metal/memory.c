/* Buffers in shared storage, and copies to, from and between them.
 *
 * The host writes and reads a buffer in place, once the queue no longer needs it. When the queue is
 * busy, a small copy in goes through a staging buffer and a blit, so that the host does not wait.
 */
#include "base/memory.h"

#include <string.h>

#include "base/clock.h"
#include "base/format.h"
#include "device/metal/metal.h"

enum {
    STAGED_MAX = 4 << 20,
    BLIT_ALIGNMENT = 4, /* of offsets and sizes, on macOS */
};

static bool no_room(const struct metal_device *device, size_t bytes, struct status *status) {
    char wanted[FORMAT_SIZE], largest[FORMAT_SIZE], all[FORMAT_SIZE];
    return status_fail(status, STATUS_MEMORY,
                       "cannot allocate a buffer of %s on metal:%u (%s in total, at most %s per "
                       "buffer)",
                       format_bytes(bytes, wanted), device->base.index,
                       format_bytes(device->base.capabilities.memory_bytes, all),
                       format_bytes(device->buffer_max, largest));
}

/* macOS would swap rather than fail: what Metal recommends is the limit. */
static metal_id create_buffer(const struct metal_device *device, size_t bytes) {
    const struct metal_library *library = device->library;
    uint64_t all = device->base.capabilities.memory_bytes;
    uint64_t used = SEND(library, allocated_size, device->device);
    if (bytes > device->buffer_max || bytes > all || used > all - bytes)
        return NULL;
    return SEND(library, new_buffer, device->device, bytes, MTL_RESOURCE_STORAGE_SHARED);
}

bool metal_allocate(struct device *base, size_t bytes, struct device_memory *memory,
                    struct status *status) {
    struct metal_device *device = metal_of(base);
    const struct metal_library *library = device->library;
    struct metal_memory *made = memory_allocate(1, sizeof *made, status);
    if (!made)
        return false;
    void *pool = library->objc_autoreleasePoolPush();
    made->buffer = create_buffer(device, bytes ? bytes : 1);
    if (made->buffer)
        made->contents = SEND(library, contents, made->buffer);
    library->objc_autoreleasePoolPop(pool);
    if (!made->buffer) {
        memory_free(made);
        return no_room(device, bytes, status);
    }
    metal_link_add(&device->memories, &made->link);
    *memory = (struct device_memory){.handle = (uintptr_t)made, .bytes = bytes};
    return true;
}

void metal_release(struct device *base, struct device_memory memory) {
    const struct metal_library *library = metal_of(base)->library;
    struct metal_memory *made = (struct metal_memory *)(uintptr_t)memory.handle;
    if (!made)
        return;
    metal_link_remove(&made->link);
    void *pool = library->objc_autoreleasePoolPush();
    SEND(library, release, made->buffer); /* command buffers retain what they use */
    library->objc_autoreleasePoolPop(pool);
    memory_free(made);
}

bool metal_host_allocate(struct device *base, size_t bytes, void **memory, struct status *status) {
    struct metal_host *host = memory_allocate(1, sizeof *host, status);
    if (!host)
        return false;
    host->memory = memory_allocate_aligned(bytes ? bytes : 1, METAL_ALIGNMENT, status);
    if (!host->memory) {
        memory_free(host);
        return false;
    }
    metal_link_add(&metal_of(base)->hosts, &host->link);
    *memory = host->memory;
    return true;
}

void metal_host_release(struct device *base, void *memory) {
    for (struct metal_link *link = metal_of(base)->hosts; memory && link; link = link->next) {
        struct metal_host *host = (struct metal_host *)link;
        if (host->memory != memory)
            continue;
        metal_link_remove(link);
        memory_free(host->memory);
        memory_free(host);
        return;
    }
}

static bool in_bounds(struct device_memory memory, size_t offset, size_t bytes, const char *what,
                      struct status *status) {
    if (offset <= memory.bytes && bytes <= memory.bytes - offset)
        return true;
    return status_fail(status, STATUS_USAGE, "%s %zu bytes at %zu of a buffer of %zu", what, bytes,
                       offset, memory.bytes);
}

static bool is_aligned(size_t a, size_t b, size_t bytes) {
    return (a | b | bytes) % BLIT_ALIGNMENT == 0;
}

/* A copy on the GPU, in order with the queue's work. */
static bool blit(struct metal_device *device, struct metal_queue *queue, metal_id to,
                 size_t to_offset, metal_id from, size_t from_offset, size_t bytes,
                 struct device_stamp *stamp, struct status *status) {
    metal_id encoder;
    if (stamp)
        metal_commit(device, queue, NULL);
    if (!metal_encode(device, queue, METAL_BLIT, &encoder, status))
        return false;
    SEND(device->library, copy, encoder, from, from_offset, to, to_offset, bytes);
    if (stamp)
        metal_commit(device, queue, stamp);
    else
        metal_submit(device, queue);
    return true;
}

static bool copy_staged(struct metal_device *device, struct metal_queue *queue,
                        struct device_memory to, size_t offset, const void *from, size_t bytes,
                        struct device_stamp *stamp, struct status *status) {
    const struct metal_library *library = device->library;
    metal_id staging = create_buffer(device, bytes);
    if (!staging)
        return no_room(device, bytes, status);
    memcpy(SEND(library, contents, staging), from, bytes);
    bool ok =
        blit(device, queue, metal_memory_of(to)->buffer, offset, staging, 0, bytes, stamp, status);
    SEND(library, release, staging); /* the command buffer keeps it */
    return ok;
}

bool metal_copy_in(struct device *base, unsigned number, struct device_memory to, size_t offset,
                   const void *from, size_t bytes, struct device_stamp *stamp,
                   struct status *status) {
    struct metal_device *device = metal_of(base);
    struct metal_queue *queue;
    int64_t start = clock_now();
    if (!in_bounds(to, offset, bytes, "cannot copy in", status) ||
        !metal_queue(device, number, &queue, status))
        return false;
    metal_stamp_host(stamp, start);
    if (bytes == 0)
        return true;
    bool ok = true;
    void *pool = device->library->objc_autoreleasePoolPush();
    if (!metal_is_idle(device, queue) && bytes <= STAGED_MAX && is_aligned(offset, 0, bytes)) {
        if (stamp)
            *stamp = (struct device_stamp){0};
        ok = copy_staged(device, queue, to, offset, from, bytes, stamp, status);
    } else if ((ok = metal_drain(device, queue, status))) {
        start = clock_now();
        memcpy(metal_memory_of(to)->contents + offset, from, bytes);
        metal_stamp_host(stamp, start);
    }
    device->library->objc_autoreleasePoolPop(pool);
    return ok;
}

bool metal_copy_out(struct device *base, unsigned number, void *to, struct device_memory from,
                    size_t offset, size_t bytes, struct device_stamp *stamp,
                    struct status *status) {
    struct metal_device *device = metal_of(base);
    struct metal_queue *queue;
    if (!in_bounds(from, offset, bytes, "cannot copy out", status) ||
        !metal_queue(device, number, &queue, status))
        return false;
    void *pool = device->library->objc_autoreleasePoolPush();
    bool ok = metal_drain(device, queue, status);
    device->library->objc_autoreleasePoolPop(pool);
    int64_t start = clock_now();
    if (ok && bytes > 0)
        memcpy(to, metal_memory_of(from)->contents + offset, bytes);
    metal_stamp_host(stamp, start);
    return ok;
}

/* A copy that a blit does not support, on the host. */
static bool copy_unaligned(struct metal_device *device, struct metal_queue *queue, char *to,
                           const char *from, size_t bytes, struct device_stamp *stamp,
                           struct status *status) {
    if (!metal_drain(device, queue, status))
        return false;
    int64_t start = clock_now();
    memmove(to, from, bytes);
    metal_stamp_host(stamp, start);
    return true;
}

bool metal_copy_within(struct device *base, unsigned number, struct device_memory to,
                       size_t to_offset, struct device_memory from, size_t from_offset,
                       size_t bytes, struct device_stamp *stamp, struct status *status) {
    struct metal_device *device = metal_of(base);
    const struct metal_memory *source = metal_memory_of(from), *target = metal_memory_of(to);
    struct metal_queue *queue;
    if (!in_bounds(to, to_offset, bytes, "cannot copy to", status) ||
        !in_bounds(from, from_offset, bytes, "cannot copy from", status) ||
        !metal_queue(device, number, &queue, status))
        return false;
    if (bytes == 0) {
        metal_stamp_host(stamp, clock_now());
        return true;
    }
    void *pool = device->library->objc_autoreleasePoolPush();
    bool ok = is_aligned(to_offset, from_offset, bytes)
                  ? blit(device, queue, target->buffer, to_offset, source->buffer, from_offset,
                         bytes, stamp, status)
                  : copy_unaligned(device, queue, target->contents + to_offset,
                                   source->contents + from_offset, bytes, stamp, status);
    device->library->objc_autoreleasePoolPop(pool);
    return ok;
}
