/* Copies to, from and between buffers. Pinned memory is copied directly; other host memory through
 * a few slots of staging memory, so that the host fills or empties one while the device copies
 * another. */
#include <string.h>

#include "device/vulkan/vulkan.h"

enum { SLOT_BYTES = 4 << 20 };

static bool in_bounds(struct device_memory memory, size_t offset, size_t bytes, const char *what,
                      struct status *status) {
    if (offset <= memory.bytes && bytes <= memory.bytes - offset)
        return true;
    return status_fail(status, STATUS_USAGE,
                       "%s %zu bytes at offset %zu of a buffer of %zu bytes: out of bounds", what,
                       bytes, offset, memory.bytes);
}

static void record_copy(struct vulkan_device *device, const struct vulkan_batch *batch,
                        vk_handle from, uint64_t from_offset, vk_handle to, uint64_t to_offset,
                        uint64_t bytes) {
    const struct vk_buffer_copy region = {from_offset, to_offset, bytes};
    device->calls.vkCmdCopyBuffer(batch->commands, from, to, 1, &region);
}

/* The pinned memory that these bytes are in, or NULL. */
static struct vulkan_memory *pinned_at(const struct vulkan_device *device, const void *host,
                                       size_t bytes) {
    uintptr_t at = (uintptr_t)host;
    for (struct vulkan_link *link = device->pinned; link; link = link->next) {
        struct vulkan_memory *memory = (struct vulkan_memory *)link;
        uintptr_t first = (uintptr_t)memory->mapped;
        if (at >= first && at - first <= memory->bytes && bytes <= memory->bytes - (at - first))
            return memory;
    }
    return NULL;
}

/* The next slot of staging memory, when it is free. */
static bool take_slot(struct vulkan_device *device, unsigned number, struct vulkan_slot **taken,
                      struct status *status) {
    struct vulkan_slot *slot = &device->slots[device->next_slot];
    if (!slot->memory &&
        !vulkan_memory_create(device, SLOT_BYTES, VULKAN_READBACK, &slot->memory, status))
        return false;
    if (slot->value && !vulkan_wait(device, slot->queue, slot->value, status))
        return false;
    slot->value = 0;
    slot->queue = number;
    device->next_slot = (device->next_slot + 1) % VULKAN_SLOTS;
    *taken = slot;
    return true;
}

/* One piece of a copy to the device. The last one has the end of the stamp. */
static bool copy_piece_in(struct vulkan_device *device, unsigned number, struct vulkan_memory *to,
                          size_t offset, const char *from, size_t bytes, struct device_stamp *begin,
                          struct device_stamp *end, struct status *status) {
    struct vulkan_memory *pinned = pinned_at(device, from, bytes);
    struct vulkan_slot *slot = NULL;
    struct vulkan_batch *batch;
    size_t at = 0;
    if (pinned) {
        at = (size_t)(from - (const char *)pinned->mapped);
    } else {
        if (!take_slot(device, number, &slot, status))
            return false;
        memcpy(slot->memory->mapped, from, bytes);
        pinned = slot->memory;
    }
    if (!vulkan_begin(device, number, 0, &batch, status) ||
        !vulkan_stamp_begin(device, number, batch->commands, begin, status))
        return false;
    record_copy(device, batch, pinned->buffer, at, to->buffer, offset, bytes);
    vulkan_stamp_end(device, number, batch->commands, end);
    if (slot)
        slot->value = vulkan_next_value(device, number);
    return vulkan_submit(device, number, status);
}

bool vulkan_copy_in(struct device *base, unsigned number, struct device_memory to, size_t offset,
                    const void *from, size_t bytes, struct device_stamp *stamp,
                    struct status *status) {
    struct vulkan_device *device = vulkan_of(base);
    if (stamp)
        *stamp = (struct device_stamp){0};
    if (!in_bounds(to, offset, bytes, "cannot copy in", status))
        return false;
    size_t piece = pinned_at(device, from, bytes) ? bytes : SLOT_BYTES;
    for (size_t done = 0; done < bytes; done += piece) {
        size_t part = bytes - done < piece ? bytes - done : piece;
        if (!copy_piece_in(device, number, vulkan_object(to), offset + done,
                           (const char *)from + done, part, done == 0 ? stamp : NULL,
                           done + part == bytes ? stamp : NULL, status))
            return false;
    }
    return true;
}

/* A piece of a copy to the host that the device is doing. */
struct piece {
    struct vulkan_slot *slot; /* NULL: pinned memory, nothing is left to do */
    char *to;
    size_t bytes;
    uint64_t value;
};

static bool start_piece_out(struct vulkan_device *device, unsigned number,
                            const struct vulkan_memory *from, size_t offset, struct piece *piece,
                            struct device_stamp *begin, struct device_stamp *end,
                            struct status *status) {
    struct vulkan_memory *pinned = pinned_at(device, piece->to, piece->bytes);
    struct vulkan_batch *batch;
    size_t at = 0;
    piece->slot = NULL;
    if (pinned) {
        at = (size_t)(piece->to - (char *)pinned->mapped);
    } else {
        if (!take_slot(device, number, &piece->slot, status))
            return false;
        pinned = piece->slot->memory;
    }
    if (!vulkan_begin(device, number, 0, &batch, status) ||
        !vulkan_stamp_begin(device, number, batch->commands, begin, status))
        return false;
    record_copy(device, batch, from->buffer, offset, pinned->buffer, at, piece->bytes);
    vulkan_stamp_end(device, number, batch->commands, end);
    piece->value = vulkan_next_value(device, number);
    return vulkan_submit(device, number, status);
}

static bool finish_piece_out(struct vulkan_device *device, unsigned number,
                             const struct piece *piece, struct status *status) {
    if (piece->bytes == 0)
        return true;
    if (!vulkan_wait(device, number, piece->value, status))
        return false;
    if (piece->slot)
        memcpy(piece->to, piece->slot->memory->mapped, piece->bytes);
    return true;
}

bool vulkan_copy_out(struct device *base, unsigned number, void *to, struct device_memory from,
                     size_t offset, size_t bytes, struct device_stamp *stamp,
                     struct status *status) {
    struct vulkan_device *device = vulkan_of(base);
    if (stamp)
        *stamp = (struct device_stamp){0};
    if (!in_bounds(from, offset, bytes, "cannot copy out", status))
        return false;
    if (bytes == 0)
        return vulkan_finish(base, status);
    size_t size = pinned_at(device, to, bytes) ? bytes : SLOT_BYTES;
    struct piece pieces[2] = {{.slot = NULL}};
    unsigned turn = 0;
    for (size_t done = 0; done < bytes; done += size, turn ^= 1) {
        size_t part = bytes - done < size ? bytes - done : size;
        pieces[turn] = (struct piece){.to = (char *)to + done, .bytes = part};
        if (!start_piece_out(device, number, vulkan_object(from), offset + done, &pieces[turn],
                             done == 0 ? stamp : NULL, done + part == bytes ? stamp : NULL,
                             status) ||
            !finish_piece_out(device, number, &pieces[turn ^ 1], status))
            return false;
    }
    device->queues[number].launches = 0;
    return finish_piece_out(device, number, &pieces[turn ^ 1], status);
}

bool vulkan_copy_within(struct device *base, unsigned number, struct device_memory to,
                        size_t to_offset, struct device_memory from, size_t from_offset,
                        size_t bytes, struct device_stamp *stamp, struct status *status) {
    struct vulkan_device *device = vulkan_of(base);
    struct vulkan_batch *batch;
    if (stamp)
        *stamp = (struct device_stamp){0};
    if (!in_bounds(to, to_offset, bytes, "cannot copy to", status) ||
        !in_bounds(from, from_offset, bytes, "cannot copy from", status))
        return false;
    if (bytes == 0)
        return true;
    if (!vulkan_begin(device, number, 0, &batch, status) ||
        !vulkan_stamp_begin(device, number, batch->commands, stamp, status))
        return false;
    record_copy(device, batch, vulkan_object(from)->buffer, from_offset, vulkan_object(to)->buffer,
                to_offset, bytes);
    vulkan_stamp_end(device, number, batch->commands, stamp);
    return vulkan_submit_some(device, number, status);
}
