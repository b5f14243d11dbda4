/* Buffers and pinned host memory. Every allocation is a buffer with its own memory: the pool above
 * divides large ones. */
#include "base/memory.h"

#include <string.h>

#include "base/format.h"
#include "device/vulkan/vulkan.h"

/* The flags that memory must and should have. */
static const struct {
    vk_flags required, wanted;
} uses[] = {
    [VULKAN_DEVICE_MEMORY] = {0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT},
    [VULKAN_UPLOAD] = {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                       0},
    [VULKAN_READBACK] = {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                         VK_MEMORY_PROPERTY_HOST_CACHED_BIT},
};

static bool choose_type(const struct vulkan_device *device, uint32_t allowed, enum vulkan_use use,
                        uint32_t *type, struct status *status) {
    const struct vk_physical_device_memory_properties *memory = &device->traits.memory;
    for (unsigned wanted = 2; wanted-- > 0;) {
        vk_flags flags = uses[use].required | (wanted ? uses[use].wanted : 0);
        for (*type = 0; *type < memory->memoryTypeCount; (*type)++)
            if ((allowed >> *type & 1) &&
                (memory->memoryTypes[*type].propertyFlags & flags) == flags)
                return true;
    }
    return status_fail(status, STATUS_UNSUPPORTED, "the device has no memory for this buffer");
}

static bool bind_memory(struct vulkan_device *device, struct vulkan_memory *memory,
                        enum vulkan_use use, struct status *status) {
    const struct vulkan_calls *calls = &device->calls;
    const struct vk_memory_allocate_flags_info flags = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    struct vk_memory_requirements needs;
    struct vk_memory_allocate_info info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                           .pNext = &flags};
    calls->vkGetBufferMemoryRequirements(device->device, memory->buffer, &needs);
    info.allocationSize = needs.size;
    return choose_type(device, needs.memoryTypeBits, use, &info.memoryTypeIndex, status) &&
           vulkan_check(calls->vkAllocateMemory(device->device, &info, NULL, &memory->memory),
                        "vkAllocateMemory", status) &&
           vulkan_check(
               calls->vkBindBufferMemory(device->device, memory->buffer, memory->memory, 0),
               "vkBindBufferMemory", status) &&
           (use == VULKAN_DEVICE_MEMORY ||
            vulkan_check(calls->vkMapMemory(device->device, memory->memory, 0, VULKAN_WHOLE_SIZE, 0,
                                            &memory->mapped),
                         "vkMapMemory", status));
}

static bool fill_memory(struct vulkan_device *device, struct vulkan_memory *memory, size_t bytes,
                        enum vulkan_use use, struct status *status) {
    const struct vk_buffer_create_info info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = bytes ? bytes : 1,
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
    if (!vulkan_check(device->calls.vkCreateBuffer(device->device, &info, NULL, &memory->buffer),
                      "vkCreateBuffer", status) ||
        !bind_memory(device, memory, use, status))
        return false;
    const struct vk_buffer_device_address_info address = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = memory->buffer};
    memory->address = device->calls.vkGetBufferDeviceAddress(device->device, &address);
    memory->bytes = info.size;
    return true;
}

bool vulkan_memory_create(struct vulkan_device *device, size_t bytes, enum vulkan_use use,
                          struct vulkan_memory **memory, struct status *status) {
    struct vulkan_memory *made = memory_allocate(1, sizeof *made, status);
    if (!made)
        return false;
    vulkan_link_add(use == VULKAN_READBACK ? &device->pinned : &device->memories, &made->link);
    if (!fill_memory(device, made, bytes, use, status)) {
        vulkan_memory_destroy(device, made);
        return false;
    }
    *memory = made;
    return true;
}

void vulkan_memory_destroy(struct vulkan_device *device, struct vulkan_memory *memory) {
    if (!memory)
        return;
    if (memory->buffer)
        device->calls.vkDestroyBuffer(device->device, memory->buffer, NULL);
    if (memory->memory)
        device->calls.vkFreeMemory(device->device, memory->memory, NULL);
    vulkan_link_remove(&memory->link);
    memory_free(memory);
}

bool vulkan_buffer_allocate(struct device *base, size_t bytes, struct device_memory *memory,
                            struct status *status) {
    struct vulkan_device *device = vulkan_of(base);
    struct vulkan_memory *made = NULL;
    uint64_t all = base->capabilities.memory_bytes;
    bool fits = bytes <= all;
    if (!fits)
        status_fail(status, STATUS_MEMORY, "that is more than the device has");
    if (!fits || !vulkan_memory_create(device, bytes, VULKAN_DEVICE_MEMORY, &made, status)) {
        char wanted[FORMAT_SIZE], total[FORMAT_SIZE];
        status_context(status, "cannot allocate a buffer of %s on vulkan:%u (%s in total)",
                       format_bytes(bytes, wanted), base->index, format_bytes(all, total));
        status->code = STATUS_MEMORY;
        return false;
    }
    *memory = (struct device_memory){.handle = (uintptr_t)made, .bytes = bytes};
    return true;
}

/* Queued work may still use it. */
void vulkan_buffer_release(struct device *base, struct device_memory memory) {
    struct status ignored;
    if (!memory.handle)
        return;
    vulkan_finish(base, &ignored);
    vulkan_memory_destroy(vulkan_of(base), vulkan_object(memory));
}

bool vulkan_host_allocate(struct device *base, size_t bytes, void **memory, struct status *status) {
    struct vulkan_memory *made;
    if (!vulkan_memory_create(vulkan_of(base), bytes, VULKAN_READBACK, &made, status))
        return status_context(status, "%zu bytes of pinned memory", bytes);
    *memory = made->mapped;
    return true;
}

void vulkan_host_release(struct device *base, void *memory) {
    struct vulkan_device *device = vulkan_of(base);
    struct status ignored;
    for (struct vulkan_link *link = device->pinned; memory && link; link = link->next)
        if (((struct vulkan_memory *)link)->mapped == memory) {
            vulkan_finish(base, &ignored);
            vulkan_memory_destroy(device, (struct vulkan_memory *)link);
            return;
        }
}
