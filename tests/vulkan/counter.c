/* A Vulkan layer that counts what a program submits, so that any client can be compared with its
 * recording. Enabled as VK_LAYER_test_counter. At exit it writes `count dispatches N` and `count
 * submits N` to the file $COUNTER_OUTPUT.
 *
 * One device at a time; secondary command buffers are counted where they are executed.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vulkan_functions.h"

enum { BUFFERS = 1 << 16 };

static vk_get_instance_function *next_instance_function;
static vk_get_device_function *next_device_function;
static struct vulkan_device_functions next;
static vk_instance instance;
static struct {
    vk_command_buffer _Atomic handle;
    _Atomic uint64_t dispatches;
} buffers[BUFFERS];
static _Atomic uint64_t dispatches, submits;

static _Atomic uint64_t *count_of(vk_command_buffer buffer) {
    for (uint32_t at = (uint32_t)((uintptr_t)buffer >> 4) * 2654435761u;; at++) {
        vk_command_buffer unused = NULL;
        if (buffers[at % BUFFERS].handle == buffer ||
            atomic_compare_exchange_strong(&buffers[at % BUFFERS].handle, &unused, buffer) ||
            unused == buffer)
            return &buffers[at % BUFFERS].dispatches;
    }
}

static vk_result begin(vk_command_buffer buffer, const struct vk_command_buffer_begin_info *info) {
    *count_of(buffer) = 0;
    return next.vkBeginCommandBuffer(buffer, info);
}
static void dispatch(vk_command_buffer buffer, uint32_t x, uint32_t y, uint32_t z) {
    (*count_of(buffer))++;
    next.vkCmdDispatch(buffer, x, y, z);
}
static void dispatch_indirect(vk_command_buffer buffer, vk_handle from, uint64_t offset) {
    (*count_of(buffer))++;
    next.vkCmdDispatchIndirect(buffer, from, offset);
}
static void execute(vk_command_buffer buffer, uint32_t count, const vk_command_buffer *children) {
    for (uint32_t i = 0; i < count; i++)
        *count_of(buffer) += *count_of(children[i]);
    next.vkCmdExecuteCommands(buffer, count, children);
}
static vk_result submit(vk_queue queue, uint32_t count, const struct vk_submit_info *batches,
                        vk_handle fence) {
    submits++;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < batches[i].commandBufferCount; j++)
            dispatches += *count_of(batches[i].pCommandBuffers[j]);
    return next.vkQueueSubmit(queue, count, batches, fence);
}
static vk_result submit2(vk_queue queue, uint32_t count, const struct vk_submit_info2 *batches,
                         vk_handle fence) {
    submits++;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < batches[i].commandBufferInfoCount; j++)
            dispatches += *count_of(batches[i].pCommandBufferInfos[j].commandBuffer);
    return next.vkQueueSubmit2(queue, count, batches, fence);
}

static void *find_link(const void *chain, int32_t type) {
    for (const struct vk_structure *at = chain; at; at = at->pNext)
        if (at->sType == type &&
            ((const struct vk_layer_device_create_info *)(const void *)at)->function ==
                VULKAN_LAYER_LINK_INFO)
            return (void *)(uintptr_t)at;
    return NULL;
}

static vk_result create_instance(const struct vk_instance_create_info *info, const void *allocator,
                                 vk_instance *made) {
    struct vk_layer_instance_create_info *link =
        find_link(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
    next_instance_function = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    vk_result (*create)(const struct vk_instance_create_info *, const void *, vk_instance *) =
        (vk_result(*)(const struct vk_instance_create_info *, const void *,
                      vk_instance *))next_instance_function(NULL, "vkCreateInstance");
    vk_result result = create(info, allocator, made);
    instance = *made;
    return result;
}

static vk_result create_device(vk_physical_device physical,
                               const struct vk_device_create_info *info, const void *allocator,
                               vk_device *made) {
    struct vk_layer_device_create_info *link =
        find_link(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
    next_device_function = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    vk_result (*create)(vk_physical_device, const struct vk_device_create_info *, const void *,
                        vk_device *) =
        (vk_result(*)(vk_physical_device, const struct vk_device_create_info *, const void *,
                      vk_device *))next_instance_function(instance, "vkCreateDevice");
    vk_result result = create(physical, info, allocator, made);
    if (result != VK_SUCCESS)
        return result;
#define FILL(name, alias, type, parameters)                                                        \
    next.name = (type(*) parameters)next_device_function(*made, #name);                            \
    if (!next.name && (alias))                                                                     \
        next.name = (type(*) parameters)next_device_function(*made, alias);
    VULKAN_DEVICE_FUNCTIONS(FILL)
#undef FILL
    return result;
}

static const struct {
    const char *name;
    vk_function *function;
} hooks[] = {
    {"vkCreateInstance", (vk_function *)create_instance},
    {"vkCreateDevice", (vk_function *)create_device},
    {"vkBeginCommandBuffer", (vk_function *)begin},
    {"vkCmdDispatch", (vk_function *)dispatch},
    {"vkCmdDispatchIndirect", (vk_function *)dispatch_indirect},
    {"vkCmdExecuteCommands", (vk_function *)execute},
    {"vkQueueSubmit", (vk_function *)submit},
    {"vkQueueSubmit2", (vk_function *)submit2},
    {"vkQueueSubmit2KHR", (vk_function *)submit2},
};

static vk_function *find_hook(const char *name) {
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++)
        if (strcmp(hooks[i].name, name) == 0)
            return hooks[i].function;
    return NULL;
}

static vk_function *get_device_function(vk_device device, const char *name) {
    if (strcmp(name, "vkGetDeviceProcAddr") == 0)
        return (vk_function *)get_device_function;
    vk_function *function = next_device_function(device, name);
    return function && find_hook(name) ? find_hook(name) : function;
}
static vk_function *get_instance_function(vk_instance handle, const char *name) {
    if (strcmp(name, "vkGetInstanceProcAddr") == 0)
        return (vk_function *)get_instance_function;
    if (strcmp(name, "vkGetDeviceProcAddr") == 0)
        return (vk_function *)get_device_function;
    vk_function *hook = find_hook(name);
    if (hook || !handle)
        return hook;
    return next_instance_function(handle, name);
}

__attribute__((visibility("default"))) vk_result
vkNegotiateLoaderLayerInterfaceVersion(struct vk_negotiate_layer_interface *interface);
vk_result vkNegotiateLoaderLayerInterfaceVersion(struct vk_negotiate_layer_interface *interface) {
    interface->loaderLayerInterfaceVersion = VULKAN_LAYER_INTERFACE;
    interface->pfnGetInstanceProcAddr = get_instance_function;
    interface->pfnGetDeviceProcAddr = get_device_function;
    interface->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}

__attribute__((destructor)) static void write_counts(void) {
    const char *path = getenv("COUNTER_OUTPUT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "count dispatches %llu\ncount submits %llu\n", (unsigned long long)dispatches,
            (unsigned long long)submits);
    fclose(file);
}
