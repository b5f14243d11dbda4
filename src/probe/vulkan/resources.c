/* Allocations, buffers, and calls that are only recorded. The memory of a buffer determines the
 * direction of its copies.
 */
#include "probe/vulkan/vulkan.h"

#include "base/clock.h"
#include "probe/capture.h"

struct allocation {
    uint64_t bytes;
    uint8_t kind; /* enum memory_kind */
};

static void put_memory(const struct vulkan_device *device, vk_handle handle,
                       const struct allocation *allocation, bool released) {
    int64_t now = clock_now();
    if (!capture_is_on() || !capture_has_started(now))
        return;
    struct probe_thread *thread = probe_enter();
    if (!thread)
        return;
    bool on_device = allocation->kind == MEMORY_DEVICE;
    struct spool_memory *memory = vulkan_device_put(thread->lane, device)
                                      ? spool_begin(thread->lane, SPOOL_MEMORY, 0, sizeof *memory)
                                      : NULL;
    if (memory) {
        *memory = (struct spool_memory){
            .head = memory->head,
            .time = now,
            .bytes = allocation->bytes,
            .address = handle,
            .device = on_device ? device->index + 1 : 0,
            .released = released,
            .memory_kind = allocation->kind,
            .tid = thread->tid,
        };
        spool_publish(thread->lane);
    }
    probe_leave(thread);
}

static uint8_t kind_of_type(const struct vulkan_device *device, uint32_t type) {
    if (type >= device->memory.memoryTypeCount || type >= VK_MAX_MEMORY_TYPES)
        return MEMORY_UNKNOWN;
    return device->memory.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
               ? MEMORY_DEVICE
               : MEMORY_PINNED;
}

static void keep(struct vulkan_device *device, enum vulkan_object type, vk_handle handle,
                 void *object) {
    bool added;
    vulkan_free(vulkan_object_set(device, type, handle, object, &added));
    if (!added)
        vulkan_free(object);
}

vk_result probe_vkAllocateMemory(vk_device handle, const struct vk_memory_allocate_info *info,
                                 const void *allocator, vk_handle *made) {
    struct vulkan_device *device = vulkan_device_of(handle);
    int64_t start = clock_now();
    vk_result result = device->next.vkAllocateMemory(handle, info, allocator, made);
    vulkan_put_call(&(struct vulkan_call){
        .name = "vkAllocateMemory", .class = CALL_ALLOC, .start = start, .result = result});
    struct allocation *allocation =
        device->records && result == VK_SUCCESS ? vulkan_allocate(sizeof *allocation) : NULL;
    if (!allocation)
        return result;
    allocation->bytes = info->allocationSize;
    allocation->kind = kind_of_type(device, info->memoryTypeIndex);
    put_memory(device, *made, allocation, false);
    keep(device, OBJECT_MEMORY, *made, allocation);
    return result;
}

void probe_vkFreeMemory(vk_device handle, vk_handle memory, const void *allocator) {
    struct vulkan_device *device = vulkan_device_of(handle);
    struct allocation *allocation =
        memory ? vulkan_object_take(device, OBJECT_MEMORY, memory) : NULL;
    int64_t start = clock_now();
    device->next.vkFreeMemory(handle, memory, allocator);
    vulkan_put_call(
        &(struct vulkan_call){.name = "vkFreeMemory", .class = CALL_ALLOC, .start = start});
    if (allocation)
        put_memory(device, memory, allocation, true);
    vulkan_free(allocation);
}

vk_result probe_vkMapMemory(vk_device handle, vk_handle memory, uint64_t offset, uint64_t size,
                            vk_flags flags, void **data) {
    struct vulkan_device *device = vulkan_device_of(handle);
    int64_t start = clock_now();
    vk_result result = device->next.vkMapMemory(handle, memory, offset, size, flags, data);
    vulkan_put_call(&(struct vulkan_call){.name = "vkMapMemory", .start = start, .result = result});
    return result;
}

vk_result probe_vkCreateBuffer(vk_device handle, const struct vk_buffer_create_info *info,
                               const void *allocator, vk_handle *made) {
    struct vulkan_device *device = vulkan_device_of(handle);
    vk_result result = device->next.vkCreateBuffer(handle, info, allocator, made);
    struct vulkan_buffer *buffer =
        device->records && result == VK_SUCCESS ? vulkan_allocate(sizeof *buffer) : NULL;
    if (!buffer)
        return result;
    buffer->bytes = info->size;
    keep(device, OBJECT_BUFFER, *made, buffer);
    return result;
}

void probe_vkDestroyBuffer(vk_device handle, vk_handle buffer, const void *allocator) {
    struct vulkan_device *device = vulkan_device_of(handle);
    if (buffer)
        vulkan_free(vulkan_object_take(device, OBJECT_BUFFER, buffer));
    device->next.vkDestroyBuffer(handle, buffer, allocator);
}

static void bind(struct vulkan_device *device, vk_handle handle, vk_handle memory) {
    struct vulkan_buffer *buffer = vulkan_object_find(device, OBJECT_BUFFER, handle);
    const struct allocation *allocation = vulkan_object_find(device, OBJECT_MEMORY, memory);
    if (buffer && allocation)
        buffer->memory = allocation->kind;
}

vk_result probe_vkBindBufferMemory(vk_device handle, vk_handle buffer, vk_handle memory,
                                   uint64_t offset) {
    struct vulkan_device *device = vulkan_device_of(handle);
    vk_result result = device->next.vkBindBufferMemory(handle, buffer, memory, offset);
    if (device->records && result == VK_SUCCESS)
        bind(device, buffer, memory);
    return result;
}

vk_result probe_vkBindBufferMemory2(vk_device handle, uint32_t count,
                                    const struct vk_bind_buffer_memory_info *infos) {
    struct vulkan_device *device = vulkan_device_of(handle);
    vk_result result = device->next.vkBindBufferMemory2(handle, count, infos);
    for (uint32_t i = 0; device->records && result == VK_SUCCESS && i < count; i++)
        bind(device, infos[i].buffer, infos[i].memory);
    return result;
}

vk_result probe_vkGetQueryPoolResults(vk_device handle, vk_handle pool, uint32_t first,
                                      uint32_t count, size_t bytes, void *data, uint64_t stride,
                                      vk_flags flags) {
    struct vulkan_device *device = vulkan_device_of(handle);
    int64_t start = clock_now();
    vk_result result =
        device->next.vkGetQueryPoolResults(handle, pool, first, count, bytes, data, stride, flags);
    vulkan_put_call(
        &(struct vulkan_call){.name = "vkGetQueryPoolResults",
                              .class = flags & VK_QUERY_RESULT_WAIT_BIT ? CALL_SYNC : CALL_OTHER,
                              .start = start,
                              .result = result});
    return result;
}
