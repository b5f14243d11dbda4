/* Which ranges of buffers are bound to a dispatch, and what are its push constants? Sets belong to
 * their pools, which the program serializes. Arrays of descriptors and other resources than buffers
 * have no range.
 */
#include "probe/vulkan/vulkan.h"

#include <string.h>

#include "base/min_max.h"

struct descriptor_set {
    struct descriptor_set *next, *previous; /* of its pool */
    vk_handle handle;
    uint64_t ranges[SHADER_SET_BINDINGS];
};
struct descriptor_pool {
    struct descriptor_set *first;
};
struct update_template {
    uint32_t count;
    struct vk_descriptor_update_template_entry entries[];
};

/* ---- Sets --------------------------------------------------------------------------------- */

static struct descriptor_pool *pool_of(struct vulkan_device *device, vk_handle handle) {
    struct descriptor_pool *pool = vulkan_object_find(device, OBJECT_DESCRIPTOR_POOL, handle);
    bool added;
    if (pool)
        return pool;
    pool = vulkan_allocate(sizeof *pool);
    if (!pool)
        return NULL;
    vulkan_object_set(device, OBJECT_DESCRIPTOR_POOL, handle, pool, &added);
    if (added)
        return pool;
    vulkan_free(pool);
    return NULL;
}

static void add_set(struct vulkan_device *device, struct descriptor_pool *pool, vk_handle handle) {
    struct descriptor_set *set = vulkan_allocate(sizeof *set);
    bool added;
    if (!set)
        return;
    set->handle = handle;
    vulkan_object_set(device, OBJECT_DESCRIPTOR_SET, handle, set, &added);
    if (!added) {
        vulkan_free(set);
        return;
    }
    set->next = pool->first;
    if (pool->first)
        pool->first->previous = set;
    pool->first = set;
}

vk_result probe_vkAllocateDescriptorSets(vk_device handle,
                                         const struct vk_descriptor_set_allocate_info *info,
                                         vk_handle *made) {
    struct vulkan_device *device = vulkan_device_of(handle);
    vk_result result = device->next.vkAllocateDescriptorSets(handle, info, made);
    struct descriptor_pool *pool =
        device->records && result == VK_SUCCESS ? pool_of(device, info->descriptorPool) : NULL;
    for (uint32_t i = 0; pool && i < info->descriptorSetCount; i++)
        add_set(device, pool, made[i]);
    return result;
}

vk_result probe_vkFreeDescriptorSets(vk_device handle, vk_handle pool, uint32_t count,
                                     const vk_handle *sets) {
    struct vulkan_device *device = vulkan_device_of(handle);
    struct descriptor_pool *known = vulkan_object_find(device, OBJECT_DESCRIPTOR_POOL, pool);
    for (uint32_t i = 0; known && i < count; i++) {
        struct descriptor_set *set =
            sets[i] ? vulkan_object_take(device, OBJECT_DESCRIPTOR_SET, sets[i]) : NULL;
        if (!set)
            continue;
        *(set->previous ? &set->previous->next : &known->first) = set->next;
        if (set->next)
            set->next->previous = set->previous;
        vulkan_free(set);
    }
    return device->next.vkFreeDescriptorSets(handle, pool, count, sets);
}

static void free_sets(struct vulkan_device *device, struct descriptor_pool *pool) {
    while (pool->first) {
        struct descriptor_set *set = pool->first;
        pool->first = set->next;
        vulkan_object_take(device, OBJECT_DESCRIPTOR_SET, set->handle);
        vulkan_free(set);
    }
}

vk_result probe_vkResetDescriptorPool(vk_device handle, vk_handle pool, vk_flags flags) {
    struct vulkan_device *device = vulkan_device_of(handle);
    struct descriptor_pool *known = vulkan_object_find(device, OBJECT_DESCRIPTOR_POOL, pool);
    if (known)
        free_sets(device, known);
    return device->next.vkResetDescriptorPool(handle, pool, flags);
}

void probe_vkDestroyDescriptorPool(vk_device handle, vk_handle pool, const void *allocator) {
    struct vulkan_device *device = vulkan_device_of(handle);
    struct descriptor_pool *known =
        pool ? vulkan_object_take(device, OBJECT_DESCRIPTOR_POOL, pool) : NULL;
    if (known)
        free_sets(device, known);
    vulkan_free(known);
    device->next.vkDestroyDescriptorPool(handle, pool, allocator);
}

/* ---- Updates ------------------------------------------------------------------------------ */

static bool is_buffer(int32_t type) {
    return type >= VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER &&
           type <= VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
}

static uint64_t range_of(const struct vulkan_device *device,
                         const struct vk_descriptor_buffer_info *info) {
    const struct vulkan_buffer *buffer =
        info->buffer ? vulkan_object_find(device, OBJECT_BUFFER, info->buffer) : NULL;
    if (info->range != VULKAN_WHOLE_SIZE)
        return info->range;
    return buffer && buffer->bytes > info->offset ? buffer->bytes - info->offset : 0;
}

/* More descriptors than a binding has go to the next ones. Shaders that use a binding with several
 * have no estimate. */
static void set_ranges(const struct vulkan_device *device, uint64_t *ranges, uint32_t binding,
                       uint32_t count, const void *infos, size_t stride) {
    for (uint32_t i = 0; i < count && binding < SHADER_SET_BINDINGS - i; i++)
        ranges[binding + i] =
            infos ? range_of(device, (const void *)((const char *)infos + i * stride)) : 0;
}

static void apply_writes(const struct vulkan_device *device, uint64_t *ranges, uint32_t count,
                         const struct vk_write_descriptor_set *writes) {
    for (uint32_t i = 0; i < count; i++)
        set_ranges(device, ranges, writes[i].dstBinding, writes[i].descriptorCount,
                   is_buffer(writes[i].descriptorType) ? writes[i].pBufferInfo : NULL,
                   sizeof *writes[i].pBufferInfo);
}

void probe_vkUpdateDescriptorSets(vk_device handle, uint32_t count,
                                  const struct vk_write_descriptor_set *writes, uint32_t copies,
                                  const struct vk_copy_descriptor_set *copied) {
    struct vulkan_device *device = vulkan_device_of(handle);
    for (uint32_t i = 0; i < count; i++) {
        struct descriptor_set *set =
            vulkan_object_find(device, OBJECT_DESCRIPTOR_SET, writes[i].dstSet);
        if (set)
            apply_writes(device, set->ranges, 1, &writes[i]);
    }
    for (uint32_t i = 0; i < copies; i++) {
        struct descriptor_set *to =
            vulkan_object_find(device, OBJECT_DESCRIPTOR_SET, copied[i].dstSet);
        const struct descriptor_set *from =
            vulkan_object_find(device, OBJECT_DESCRIPTOR_SET, copied[i].srcSet);
        if (to && from && copied[i].dstBinding < SHADER_SET_BINDINGS &&
            copied[i].srcBinding < SHADER_SET_BINDINGS)
            to->ranges[copied[i].dstBinding] = from->ranges[copied[i].srcBinding];
    }
    device->next.vkUpdateDescriptorSets(handle, count, writes, copies, copied);
}

vk_result
probe_vkCreateDescriptorUpdateTemplate(vk_device handle,
                                       const struct vk_descriptor_update_template_create_info *info,
                                       const void *allocator, vk_handle *made) {
    struct vulkan_device *device = vulkan_device_of(handle);
    vk_result result = device->next.vkCreateDescriptorUpdateTemplate(handle, info, allocator, made);
    size_t bytes = info->descriptorUpdateEntryCount * sizeof *info->pDescriptorUpdateEntries;
    struct update_template *template =
        device->records && result == VK_SUCCESS ? vulkan_allocate(sizeof *template + bytes) : NULL;
    bool added;
    if (!template)
        return result;
    template->count = info->descriptorUpdateEntryCount;
    memcpy(template->entries, info->pDescriptorUpdateEntries, bytes);
    vulkan_free(vulkan_object_set(device, OBJECT_UPDATE_TEMPLATE, *made, template, &added));
    if (!added)
        vulkan_free(template);
    return result;
}

void probe_vkDestroyDescriptorUpdateTemplate(vk_device handle, vk_handle template,
                                             const void *allocator) {
    struct vulkan_device *device = vulkan_device_of(handle);
    if (template)
        vulkan_free(vulkan_object_take(device, OBJECT_UPDATE_TEMPLATE, template));
    device->next.vkDestroyDescriptorUpdateTemplate(handle, template, allocator);
}

static void apply_template(const struct vulkan_device *device, uint64_t *ranges, vk_handle handle,
                           const void *data) {
    const struct update_template *template =
        vulkan_object_find(device, OBJECT_UPDATE_TEMPLATE, handle);
    for (uint32_t i = 0; template && i < template->count; i++) {
        const struct vk_descriptor_update_template_entry *entry = &template->entries[i];
        const char *infos = is_buffer(entry->descriptorType) ? data : NULL;
        set_ranges(device, ranges, entry->dstBinding, entry->descriptorCount,
                   infos ? infos + entry->offset : NULL, entry->stride);
    }
}

void probe_vkUpdateDescriptorSetWithTemplate(vk_device handle, vk_handle set, vk_handle template,
                                             const void *data) {
    struct vulkan_device *device = vulkan_device_of(handle);
    struct descriptor_set *known = vulkan_object_find(device, OBJECT_DESCRIPTOR_SET, set);
    if (known)
        apply_template(device, known->ranges, template, data);
    device->next.vkUpdateDescriptorSetWithTemplate(handle, set, template, data);
}

/* ---- Command buffers ----------------------------------------------------------------------- */

/* Of the command buffer's dispatches; NULL: it is not followed. */
static struct shader_arguments *arguments_of(const struct vulkan_device *device,
                                             vk_command_buffer buffer, int32_t point) {
    return point == VK_PIPELINE_BIND_POINT_COMPUTE ? vulkan_arguments_of(device, buffer) : NULL;
}

void probe_vkCmdBindDescriptorSets(vk_command_buffer buffer, int32_t point, vk_handle layout,
                                   uint32_t first, uint32_t count, const vk_handle *sets,
                                   uint32_t offset_count, const uint32_t *offsets) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct shader_arguments *arguments = arguments_of(device, buffer, point);
    for (uint32_t i = 0; arguments && i < count && first < SHADER_SETS - i; i++) {
        const struct descriptor_set *set =
            sets[i] ? vulkan_object_find(device, OBJECT_DESCRIPTOR_SET, sets[i]) : NULL;
        uint64_t *ranges = arguments->ranges[first + i];
        if (set)
            memcpy(ranges, set->ranges, sizeof set->ranges);
        else
            memset(ranges, 0, sizeof arguments->ranges[0]);
    }
    device->next.vkCmdBindDescriptorSets(buffer, point, layout, first, count, sets, offset_count,
                                         offsets);
}

void probe_vkCmdPushDescriptorSetKHR(vk_command_buffer buffer, int32_t point, vk_handle layout,
                                     uint32_t set, uint32_t count,
                                     const struct vk_write_descriptor_set *writes) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct shader_arguments *arguments = arguments_of(device, buffer, point);
    if (arguments && set < SHADER_SETS)
        apply_writes(device, arguments->ranges[set], count, writes);
    device->next.vkCmdPushDescriptorSetKHR(buffer, point, layout, set, count, writes);
}

void probe_vkCmdPushDescriptorSetWithTemplateKHR(vk_command_buffer buffer, vk_handle template,
                                                 vk_handle layout, uint32_t set, const void *data) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct shader_arguments *arguments =
        arguments_of(device, buffer, VK_PIPELINE_BIND_POINT_COMPUTE);
    if (arguments && set < SHADER_SETS)
        apply_template(device, arguments->ranges[set], template, data);
    device->next.vkCmdPushDescriptorSetWithTemplateKHR(buffer, template, layout, set, data);
}

void probe_vkCmdPushConstants(vk_command_buffer buffer, vk_handle layout, vk_flags stages,
                              uint32_t offset, uint32_t size, const void *values) {
    struct vulkan_device *device = vulkan_device_of(buffer);
    struct shader_arguments *arguments =
        stages & VK_SHADER_STAGE_COMPUTE_BIT ? vulkan_arguments_of(device, buffer) : NULL;
    if (arguments && offset < SHADER_PUSH_BYTES)
        memcpy(arguments->push + offset, values, MIN(size, SHADER_PUSH_BYTES - offset));
    device->next.vkCmdPushConstants(buffer, layout, stages, offset, size, values);
}
