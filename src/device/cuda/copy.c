/* Copies between host and GPU.
 *
 * The driver reads pageable memory before it returns, and pinned memory afterwards. Copies to
 * the GPU therefore go through our own pinned staging buffers, which also lets a large copy
 * overlap with filling the next piece. Small copies share a slot and cost a memcpy and one
 * driver call. Without pinned memory, copies are synchronous.
 */
#include <string.h>

#include "device/cuda/cuda.h"

_Static_assert(CUDA_STAGING_SLOTS == 2, "one slot is filled while the other one is read");

enum {
    SLOT_BYTES = 4 << 20,
    SLOT_ALIGNMENT = 256,
    PIPELINED_BYTES = 256 << 10, /* copies to the host from this size on go through the slots */
};

static bool staging_ready(struct cuda_device *cuda) {
    struct cuda_staging *staging = &cuda->staging;
    for (unsigned i = 0; i < CUDA_STAGING_SLOTS && !staging->cannot_be_had; i++) {
        void *memory = NULL;
        if (staging->slots[i].memory)
            continue;
        staging->cannot_be_had =
            cuda->driver->cuMemAllocHost(&memory, SLOT_BYTES) != CUDA_SUCCEEDED;
        staging->slots[i].memory = staging->cannot_be_had ? NULL : memory;
    }
    return !staging->cannot_be_had;
}

/* Marks on each queue in use the point from which the active slot has been read. */
static bool close_slot(struct cuda_device *cuda, struct status *status) {
    struct cuda_staging *staging = &cuda->staging;
    for (unsigned queue = 0; queue < CUDA_QUEUES; queue++) {
        if (!(staging->queues & 1u << queue))
            continue;
        cuda_event event = cuda_event_take(cuda, &cuda->marks, status);
        if (!event)
            return false;
        if (!CUDA_CALL(cuda, status, cuEventRecord, event, cuda->streams[queue])) {
            cuda_event_give(&cuda->marks, event);
            return false;
        }
        staging->slots[staging->active].read[queue] = event;
        staging->queues &= ~(1u << queue);
    }
    return true;
}

/* Waits until the slot can be filled again. */
static bool open_slot(struct cuda_device *cuda, unsigned slot, struct status *status) {
    struct cuda_staging *staging = &cuda->staging;
    for (unsigned queue = 0; queue < CUDA_QUEUES; queue++) {
        cuda_event *event = &staging->slots[slot].read[queue];
        if (*event && !CUDA_CALL(cuda, status, cuEventSynchronize, *event))
            return false;
        cuda_event_give(&cuda->marks, *event);
        *event = NULL;
    }
    staging->active = slot;
    staging->used = 0;
    return true;
}

static bool next_slot(struct cuda_device *cuda, struct status *status) {
    return close_slot(cuda, status) &&
           open_slot(cuda, (cuda->staging.active + 1) % CUDA_STAGING_SLOTS, status);
}

static bool copy_in_staged(struct cuda_device *cuda, unsigned queue, cuda_address to,
                           const char *from, size_t bytes, struct status *status) {
    struct cuda_staging *staging = &cuda->staging;
    while (bytes > 0) {
        if (staging->used >= SLOT_BYTES && !next_slot(cuda, status))
            return false;
        size_t room = SLOT_BYTES - staging->used, piece = bytes < room ? bytes : room;
        char *slot = staging->slots[staging->active].memory + staging->used;
        memcpy(slot, from, piece);
        staging->used += (piece + SLOT_ALIGNMENT - 1) / SLOT_ALIGNMENT * SLOT_ALIGNMENT;
        staging->queues |= 1u << queue;
        if (!CUDA_CALL(cuda, status, cuMemcpyHtoDAsync, to, slot, piece, cuda->streams[queue]))
            return false;
        to += piece;
        from += piece;
        bytes -= piece;
    }
    return true;
}

static bool copy_in_waiting(struct cuda_device *cuda, unsigned queue, cuda_address to,
                            const void *from, size_t bytes, struct status *status) {
    return CUDA_CALL(cuda, status, cuMemcpyHtoDAsync, to, from, bytes, cuda->streams[queue]) &&
           CUDA_CALL(cuda, status, cuStreamSynchronize, cuda->streams[queue]);
}

static bool copy_in(struct cuda_device *cuda, unsigned queue, cuda_address to, const void *from,
                    size_t bytes, struct status *status) {
    if (cuda_is_pinned(cuda, from, bytes))
        return CUDA_CALL(cuda, status, cuMemcpyHtoDAsync, to, from, bytes, cuda->streams[queue]);
    return staging_ready(cuda) ? copy_in_staged(cuda, queue, to, from, bytes, status)
                               : copy_in_waiting(cuda, queue, to, from, bytes, status);
}

bool cuda_copy_in(struct device *device, unsigned queue, struct device_memory to, size_t offset,
                  const void *from, size_t bytes, struct device_stamp *stamp,
                  struct status *status) {
    struct cuda_device *cuda = cuda_of(device);
    if (!cuda_enter_queue(cuda, queue, status))
        return false;
    if (bytes == 0)
        return true;
    if (!cuda_stamp_begin(cuda, cuda->streams[queue], stamp, status))
        return false;
    bool copied = copy_in(cuda, queue, to.handle + offset, from, bytes, status);
    if (!copied)
        cuda_stamp_cancel(cuda, stamp);
    return copied && cuda_stamp_end(cuda, cuda->streams[queue], stamp, status);
}

/* One piece is transferred into a slot while the previous one is copied out of the other. */
static bool copy_out_staged(struct cuda_device *cuda, unsigned queue, char *to, cuda_address from,
                            size_t bytes, struct status *status) {
    struct cuda_staging *staging = &cuda->staging;
    size_t done = 0, piece = 0;
    if (!next_slot(cuda, status))
        return false;
    for (; done < bytes; done += piece) {
        piece = bytes - done < SLOT_BYTES ? bytes - done : SLOT_BYTES;
        staging->queues |= 1u << queue;
        if (!CUDA_CALL(cuda, status, cuMemcpyDtoHAsync, staging->slots[staging->active].memory,
                       from + done, piece, cuda->streams[queue]) ||
            !next_slot(cuda, status)) /* waits for the piece before */
            return false;
        if (done > 0)
            memcpy(to + done - SLOT_BYTES, staging->slots[staging->active].memory, SLOT_BYTES);
    }
    if (!next_slot(cuda, status))
        return false;
    memcpy(to + bytes - piece, staging->slots[staging->active].memory, piece);
    return true;
}

bool cuda_copy_out(struct device *device, unsigned queue, void *to, struct device_memory from,
                   size_t offset, size_t bytes, struct device_stamp *stamp, struct status *status) {
    struct cuda_device *cuda = cuda_of(device);
    if (!cuda_enter_queue(cuda, queue, status))
        return false;
    if (bytes == 0)
        return CUDA_CALL(cuda, status, cuStreamSynchronize, cuda->streams[queue]);
    if (!cuda_stamp_begin(cuda, cuda->streams[queue], stamp, status))
        return false;
    cuda_stream stream = cuda->streams[queue];
    bool copied =
        bytes >= PIPELINED_BYTES && !cuda_is_pinned(cuda, to, bytes) && staging_ready(cuda)
            ? copy_out_staged(cuda, queue, to, from.handle + offset, bytes, status)
            : CUDA_CALL(cuda, status, cuMemcpyDtoHAsync, to, from.handle + offset, bytes, stream);
    if (!copied)
        cuda_stamp_cancel(cuda, stamp);
    copied = copied && cuda_stamp_end(cuda, stream, stamp, status);
    if (copied)
        return CUDA_CALL(cuda, status, cuStreamSynchronize, stream);
    cuda->driver->cuStreamSynchronize(stream); /* nothing may still write to the host's memory */
    return false;
}

bool cuda_copy_within(struct device *device, unsigned queue, struct device_memory to,
                      size_t to_offset, struct device_memory from, size_t from_offset, size_t bytes,
                      struct device_stamp *stamp, struct status *status) {
    struct cuda_device *cuda = cuda_of(device);
    if (!cuda_enter_queue(cuda, queue, status))
        return false;
    if (bytes == 0)
        return true;
    if (!cuda_stamp_begin(cuda, cuda->streams[queue], stamp, status))
        return false;
    if (!CUDA_CALL(cuda, status, cuMemcpyDtoDAsync, to.handle + to_offset,
                   from.handle + from_offset, bytes, cuda->streams[queue])) {
        cuda_stamp_cancel(cuda, stamp);
        return false;
    }
    return cuda_stamp_end(cuda, cuda->streams[queue], stamp, status);
}

void cuda_staging_finish(struct cuda_device *cuda) {
    for (unsigned i = 0; i < CUDA_STAGING_SLOTS; i++)
        if (cuda->staging.slots[i].memory)
            cuda->driver->cuMemFreeHost(cuda->staging.slots[i].memory);
}
