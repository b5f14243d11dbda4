/* The Vulkan device: Vulkan 1.2 and later, of any vendor, through one logical device per open
 * device.
 *
 * Kernels are GLSL, which compile.c makes SPIR-V of. They get addresses of buffers, so there are no
 * descriptors. Commands are recorded into batches (queues.c) that are submitted when enough have
 * come together or someone waits.
 */
#include "device/vulkan/vulkan.h"

#include "base/memory.h"

void vulkan_link_add(struct vulkan_link **list, struct vulkan_link *link) {
    link->next = *list;
    link->place = list;
    if (link->next)
        link->next->place = &link->next;
    *list = link;
}

void vulkan_link_remove(struct vulkan_link *link) {
    *link->place = link->next;
    if (link->next)
        link->next->place = link->place;
}

static bool count_devices(unsigned *count, struct status *status) {
    const struct vulkan_driver *driver;
    vk_physical_device *places;
    *count = 0;
    if (!vulkan_driver(&driver, status) || !vulkan_places(driver, &places, count, status))
        return false;
    memory_free(places);
    return true;
}

static bool find_place(const struct vulkan_driver *driver, unsigned index,
                       vk_physical_device *place, struct status *status) {
    vk_physical_device *places;
    unsigned count;
    if (!vulkan_places(driver, &places, &count, status))
        return false;
    if (index < count)
        *place = places[index];
    memory_free(places);
    return index < count ||
           status_fail(status, STATUS_USAGE, "vulkan:%u does not exist; the last one is vulkan:%u",
                       index, count - 1);
}

static bool probe(unsigned index, struct device_capabilities *capabilities, struct status *status) {
    const struct vulkan_driver *driver;
    vk_physical_device place;
    struct vulkan_traits traits;
    *capabilities = (struct device_capabilities){.language = LANGUAGE_GLSL};
    return vulkan_driver(&driver, status) && find_place(driver, index, &place, status) &&
           vulkan_describe(driver, place, capabilities, &traits, status);
}

static bool create_device(struct vulkan_device *device, struct status *status) {
    const struct vulkan_traits *traits = &device->traits;
    const float priorities[VULKAN_QUEUES] = {1.0f, 1.0f};
    const char *extensions[3];
    uint32_t extension_count = 0;
    if (traits->subgroup_extension && traits->required_subgroup)
        extensions[extension_count++] = traits->subgroup_extension;
    if (traits->calibrated)
        extensions[extension_count++] = traits->calibrated_extension;
    bool cooperative = device->base.capabilities.cooperative;
    if (cooperative)
        extensions[extension_count++] = VULKAN_COOPERATIVE_EXTENSION;
    struct vk_physical_device_cooperative_matrix_features matrices = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
        .cooperativeMatrix = 1};
    struct vk_physical_device_subgroup_size_control_features sizes = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES,
        .pNext = cooperative ? &matrices : NULL,
        .subgroupSizeControl = 1,
        .computeFullSubgroups = 1};
    struct vk_physical_device_vulkan12_features v12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = traits->required_subgroup ? &sizes : NULL,
        .storageBuffer8BitAccess = 1,
        .shaderFloat16 = traits->f16,
        .timelineSemaphore = 1,
        .vulkanMemoryModel = cooperative,
        .bufferDeviceAddress = 1};
    struct vk_physical_device_vulkan11_features v11 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
        .pNext = &v12,
        .storageBuffer16BitAccess = 1};
    struct vk_physical_device_features2 features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
        .pNext = &v11,
        .features = {.shaderInt64 = 1, .shaderFloat64 = traits->f64}};
    const struct vk_device_queue_create_info queues = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = traits->family,
        .queueCount = device->base.capabilities.queues,
        .pQueuePriorities = priorities};
    const struct vk_device_create_info info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                               .pNext = &features,
                                               .queueCreateInfoCount = 1,
                                               .pQueueCreateInfos = &queues,
                                               .enabledExtensionCount = extension_count,
                                               .ppEnabledExtensionNames = extensions};
    return vulkan_check(
               device->driver->vkCreateDevice(traits->device, &info, NULL, &device->device),
               "vkCreateDevice", status) &&
           vulkan_calls_fill(device->driver, device->device, &device->calls, status);
}

static bool create_layout(struct vulkan_device *device, struct status *status) {
    const struct vk_push_constant_range range = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                                 .size = GLSL_PUSH_WORDS * 8};
    const struct vk_pipeline_layout_create_info info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .pushConstantRangeCount = 1,
        .pPushConstantRanges = &range};
    return vulkan_check(
        device->calls.vkCreatePipelineLayout(device->device, &info, NULL, &device->layout),
        "vkCreatePipelineLayout", status);
}

static void free_kernel(struct vulkan_device *device, struct vulkan_link *link) {
    struct vulkan_kernel *kernel =
        (struct vulkan_kernel *)((char *)link - offsetof(struct vulkan_kernel, link));
    vulkan_unload(&device->base, &kernel->base);
}

static void free_objects(struct vulkan_device *device) {
    while (device->graphs)
        vulkan_graph_destroy(&device->base, device->graphs);
    while (device->kernels)
        free_kernel(device, device->kernels);
    vulkan_clock_destroy(device);
    vulkan_queues_destroy(device);
    while (device->memories)
        vulkan_memory_destroy(device, (struct vulkan_memory *)device->memories);
    while (device->pinned)
        vulkan_memory_destroy(device, (struct vulkan_memory *)device->pinned);
    if (device->layout)
        device->calls.vkDestroyPipelineLayout(device->device, device->layout, NULL);
}

static void close_device(struct device *base) {
    struct vulkan_device *device = vulkan_of(base);
    struct status ignored;
    if (!device)
        return;
    if (device->calls.vkDestroyDevice) {
        if (device->layout)
            vulkan_finish(base, &ignored);
        device->calls.vkDeviceWaitIdle(device->device); /* even if that failed */
        free_objects(device);
        device->calls.vkDestroyDevice(device->device, NULL);
    }
    memory_free(device);
}

static bool open_device(unsigned index, struct device **opened, struct status *status) {
    struct vulkan_device *device = memory_allocate(1, sizeof *device, status);
    vk_physical_device place;
    if (!device)
        return false;
    device->base.ops = &device_vulkan;
    device->base.index = index;
    if (!vulkan_driver(&device->driver, status) ||
        !find_place(device->driver, index, &place, status) ||
        !vulkan_describe(device->driver, place, &device->base.capabilities, &device->traits,
                         status) ||
        !create_device(device, status) || !vulkan_queues_create(device, status) ||
        !create_layout(device, status)) {
        close_device(&device->base);
        return status_context(status, "vulkan:%u", index);
    }
    *opened = &device->base;
    return true;
}

const struct device_ops device_vulkan = {
    .name = "vulkan",
    .count = count_devices,
    .probe = probe,
    .open = open_device,
    .close = close_device,
    .allocate = vulkan_buffer_allocate,
    .release = vulkan_buffer_release,
    .host_allocate = vulkan_host_allocate,
    .host_release = vulkan_host_release,
    .copy_in = vulkan_copy_in,
    .copy_out = vulkan_copy_out,
    .copy_within = vulkan_copy_within,
    .load = vulkan_load,
    .unload = vulkan_unload,
    .launch = vulkan_launch,
    .graph_create = vulkan_graph_create,
    .graph_replay = vulkan_graph_replay,
    .graph_destroy = vulkan_graph_destroy,
    .record = vulkan_record,
    .event_release = vulkan_event_release,
    .reached = vulkan_reached,
    .order = vulkan_order,
    .finish = vulkan_finish,
    .resolve = vulkan_resolve,
    .clock_error = vulkan_clock_error,
    .prepare_stamps = vulkan_prepare_stamps,
};
