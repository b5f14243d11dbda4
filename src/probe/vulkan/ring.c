/* Ring buffers for the results of queries, in host memory that the device writes. A submission
 * takes contiguous words; they are given back in order once they have been read. When a ring is
 * full, a longer one takes its place. Beyond the last one, results are lost and counted.
 */
#include "probe/vulkan/vulkan.h"

#include <string.h>

#include "spool/lock.h"

enum { RING_BYTES = 256 << 10, RING_GROWTH = 4 };

static bool find_memory_type(const struct vulkan_device *device, uint32_t allowed,
                             uint32_t *found) {
    const vk_flags needed =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const vk_flags wanted[] = {needed | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, needed};
    for (unsigned want = 0; want < 2; want++)
        for (uint32_t i = 0; i < device->memory.memoryTypeCount && i < VK_MAX_MEMORY_TYPES; i++)
            if (allowed >> i & 1 &&
                (device->memory.memoryTypes[i].propertyFlags & wanted[want]) == wanted[want]) {
                *found = i;
                return true;
            }
    return false;
}

static void destroy_ring(struct vulkan_device *device, struct vulkan_ring *ring) {
    if (ring->buffer)
        device->next.vkDestroyBuffer(device->handle, ring->buffer, NULL);
    if (ring->memory)
        device->next.vkFreeMemory(device->handle, ring->memory, NULL);
    *ring = (struct vulkan_ring){0};
}

static bool make_ring(struct vulkan_device *device, struct vulkan_ring *ring, uint64_t bytes) {
    const struct vulkan_device_functions *next = &device->next;
    vk_device handle = device->handle;
    struct vk_buffer_create_info buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                           .size = bytes,
                                           .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    struct vk_memory_allocate_info memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    struct vk_memory_requirements needed = {0};
    void *mapped = NULL;
    *ring = (struct vulkan_ring){0};
    if (next->vkCreateBuffer(handle, &buffer, NULL, &ring->buffer) != VK_SUCCESS) {
        ring->buffer = 0;
        return false;
    }
    next->vkGetBufferMemoryRequirements(handle, ring->buffer, &needed);
    memory.allocationSize = needed.size;
    bool made = find_memory_type(device, needed.memoryTypeBits, &memory.memoryTypeIndex);
    if (made && next->vkAllocateMemory(handle, &memory, NULL, &ring->memory) != VK_SUCCESS) {
        ring->memory = 0;
        made = false;
    }
    if (!made || next->vkBindBufferMemory(handle, ring->buffer, ring->memory, 0) != VK_SUCCESS ||
        next->vkMapMemory(handle, ring->memory, 0, VULKAN_WHOLE_SIZE, 0, &mapped) != VK_SUCCESS) {
        destroy_ring(device, ring);
        return false;
    }
    ring->words = mapped;
    ring->count = bytes / sizeof *ring->words;
    return true;
}

/* The start of `words` contiguous words; the rest of the ring before its end may be skipped. */
static bool find_space(const struct vulkan_ring *ring, uint64_t words, uint64_t *start) {
    uint64_t place = ring->head % ring->count;
    *start = place + words <= ring->count ? ring->head : ring->head + ring->count - place;
    return words <= ring->count && *start + words - ring->tail <= ring->count;
}

/* With the lock. The ring with space for `words`, and where. */
static struct vulkan_ring *choose_ring(struct vulkan_device *device, uint64_t words,
                                       uint64_t *start) {
    uint64_t bytes = RING_BYTES;
    for (uint32_t i = 0; i < VULKAN_RINGS; i++, bytes *= RING_GROWTH) {
        struct vulkan_ring *ring = &device->rings[i];
        if (i + 1 < device->ring_count || (i == device->ring_count && words > bytes / 8))
            continue; /* replaced by a longer one, or too short to be made */
        if (!ring->words && !make_ring(device, ring, bytes))
            return NULL;
        if (i >= device->ring_count)
            device->ring_count = i + 1;
        if (find_space(ring, words, start))
            return ring;
    }
    return NULL;
}

bool vulkan_ring_take(struct vulkan_device *device, struct vulkan_submission *submission,
                      uint32_t words) {
    uint64_t start = 0, taken = (uint64_t)words + 1;
    if (!lock_acquire(&device->ring_lock))
        return false;
    struct vulkan_ring *ring = choose_ring(device, taken, &start);
    if (ring) {
        submission->ring = ring;
        submission->start = start;
        submission->end = ring->head = start + taken;
        submission->results = ring->words + start % ring->count;
        submission->words = words;
        memset(submission->results, 0, taken * sizeof *submission->results);
        if (ring->last)
            ring->last->next = submission;
        else
            ring->first = submission;
        ring->last = submission;
    }
    lock_release(&device->ring_lock);
    return ring != NULL;
}

struct vulkan_submission *vulkan_ring_next(struct vulkan_device *device, struct vulkan_ring *ring,
                                           struct vulkan_submission *before) {
    if (!lock_acquire(&device->ring_lock))
        return NULL;
    struct vulkan_submission *next = before ? before->next : ring->first;
    lock_release(&device->ring_lock);
    return next;
}

void vulkan_submission_release(struct vulkan_submission *submission) {
    for (uint32_t i = 0; i < submission->count; i++)
        vulkan_recording_release(submission->recordings[i]);
    submission->count = 0;
}

void vulkan_ring_collect(struct vulkan_device *device, struct vulkan_ring *ring) {
    if (!lock_acquire(&device->ring_lock))
        return;
    while (ring->first && atomic_load(&ring->first->done)) {
        struct vulkan_submission *done = ring->first;
        ring->first = done->next;
        if (!ring->first)
            ring->last = NULL;
        ring->tail = done->end;
        vulkan_submission_release(done);
        vulkan_free(done);
    }
    lock_release(&device->ring_lock);
}

void vulkan_rings_destroy(struct vulkan_device *device) {
    for (uint32_t i = 0; i < device->ring_count; i++) {
        struct vulkan_ring *ring = &device->rings[i];
        for (struct vulkan_submission *at = ring->first; at; at = at->next)
            atomic_store(&at->done, true);
        vulkan_ring_collect(device, ring);
        destroy_ring(device, ring);
    }
    device->ring_count = 0;
}
