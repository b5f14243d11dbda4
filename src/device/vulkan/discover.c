/* Which Vulkan devices are there, in what order, and what can each of them do?
 *
 * Kernels need 64-bit integers, addresses of buffers, 8- and 16-bit elements in buffers and
 * timeline semaphores: Vulkan 1.2 with these features.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "device/vulkan/vulkan.h"

enum { PLACES_MAX = 64, FAMILIES_MAX = 32, ASSUMED_UNITS = 16, SIZES_MAX = 64 };

static unsigned rank_of(const struct vulkan_driver *driver, vk_physical_device place) {
    static const int32_t order[] = {VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
                                    VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
                                    VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU};
    struct vk_physical_device_properties properties;
    driver->vkGetPhysicalDeviceProperties(place, &properties);
    for (unsigned i = 0; i < ARRAY_COUNT(order); i++)
        if (order[i] == properties.deviceType)
            return i;
    return properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU ? ARRAY_COUNT(order) + 1
                                                                : ARRAY_COUNT(order);
}

/* Insertion keeps the driver's order among equals. */
static void sort_places(const struct vulkan_driver *driver, vk_physical_device *places,
                        unsigned count) {
    for (unsigned i = 1; i < count; i++)
        for (unsigned k = i; k > 0 && rank_of(driver, places[k]) < rank_of(driver, places[k - 1]);
             k--) {
            vk_physical_device other = places[k];
            places[k] = places[k - 1];
            places[k - 1] = other;
        }
}

bool vulkan_places(const struct vulkan_driver *driver, vk_physical_device **places, unsigned *count,
                   struct status *status) {
    uint32_t found = PLACES_MAX;
    *count = 0;
    *places = memory_allocate(PLACES_MAX, sizeof **places, status);
    if (!*places)
        return false;
    vk_result result = driver->vkEnumeratePhysicalDevices(driver->instance, &found, *places);
    bool ok = result == VK_INCOMPLETE || vulkan_check(result, "vkEnumeratePhysicalDevices", status);
    if (ok && found == 0)
        ok = status_fail(status, STATUS_UNSUPPORTED,
                         "no Vulkan driver has a device; check that it is present and that you may "
                         "open it (group render or video)");
    if (!ok) {
        memory_free(*places);
        *places = NULL;
        return false;
    }
    sort_places(driver, *places, found);
    *count = found;
    return true;
}

/* ---- Extensions and features -------------------------------------------------------------- */

/* The name itself if the device has the extension. */
static const char *extension(const struct vk_extension_properties *all, uint32_t count,
                             const char *name) {
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(all[i].extensionName, name) == 0)
            return name;
    return NULL;
}

struct properties {
    struct vk_physical_device_properties2 core;
    struct vk_physical_device_driver_properties driver;
    struct vk_physical_device_id_properties id;
    struct vk_physical_device_subgroup_properties subgroup;
    struct vk_physical_device_float_controls_properties floats;
    struct vk_physical_device_subgroup_size_control_properties sizes;
    struct vk_physical_device_shader_sm_builtins_properties nvidia;
    struct vk_physical_device_shader_core_properties amd;
    bool has_sizes, has_nvidia, has_amd;
};

static void chain(void **last, void *structure, int32_t type) {
    struct vk_structure *head = structure;
    head->sType = type;
    head->pNext = *last;
    *last = structure;
}

static void read_properties(const struct vulkan_driver *driver, vk_physical_device place,
                            struct properties *p) {
    void *next = NULL;
    chain(&next, &p->driver, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
    chain(&next, &p->id, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
    chain(&next, &p->subgroup, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
    chain(&next, &p->floats, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES);
    if (p->has_sizes)
        chain(&next, &p->sizes, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
    if (p->has_nvidia)
        chain(&next, &p->nvidia,
              VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV);
    if (p->has_amd)
        chain(&next, &p->amd, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD);
    chain(&next, &p->core, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
    driver->vkGetPhysicalDeviceProperties2(place, &p->core);
}

static bool read_features(const struct vulkan_driver *driver, vk_physical_device place,
                          bool has_sizes, struct vulkan_traits *traits, struct status *status) {
    struct vk_physical_device_subgroup_size_control_features sizes = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
    struct vk_physical_device_vulkan12_features v12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = has_sizes ? &sizes : NULL};
    struct vk_physical_device_vulkan11_features v11 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &v12};
    struct vk_physical_device_features2 all = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &v11};
    driver->vkGetPhysicalDeviceFeatures2(place, &all);
    const struct {
        uint32_t present;
        const char *name;
    } needed[] = {
        {all.features.shaderInt64, "shaderInt64"},
        {v11.storageBuffer16BitAccess, "storageBuffer16BitAccess"},
        {v12.storageBuffer8BitAccess, "storageBuffer8BitAccess"},
        {v12.bufferDeviceAddress, "bufferDeviceAddress"},
        {v12.timelineSemaphore, "timelineSemaphore"},
    };
    for (unsigned i = 0; i < ARRAY_COUNT(needed); i++)
        if (!needed[i].present)
            return status_fail(status, STATUS_UNSUPPORTED,
                               "the driver does not have the feature %s, which ridge's kernels "
                               "need; a newer driver may have it",
                               needed[i].name);
    traits->f64 = all.features.shaderFloat64;
    traits->f16 = v12.shaderFloat16;
    traits->memory_model = v12.vulkanMemoryModel;
    traits->required_subgroup = sizes.subgroupSizeControl && sizes.computeFullSubgroups;
    return true;
}

/* Products of f16 matrices of 16 x 16 into f32, by a subgroup. */
static bool has_size(const struct vulkan_driver *driver, vk_physical_device place) {
    struct vk_cooperative_matrix_properties sizes[SIZES_MAX];
    uint32_t count = SIZES_MAX;
    for (unsigned i = 0; i < SIZES_MAX; i++)
        sizes[i] = (struct vk_cooperative_matrix_properties){
            .sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR};
    vk_result result =
        driver->vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR(place, &count, sizes);
    for (uint32_t i = 0; i < count && (result == VK_SUCCESS || result == VK_INCOMPLETE); i++)
        if (sizes[i].MSize == 16 && sizes[i].NSize == 16 && sizes[i].KSize == 16 &&
            sizes[i].AType == VK_COMPONENT_TYPE_FLOAT16_KHR &&
            sizes[i].BType == VK_COMPONENT_TYPE_FLOAT16_KHR &&
            sizes[i].CType == VK_COMPONENT_TYPE_FLOAT32_KHR &&
            sizes[i].ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR &&
            sizes[i].scope == VK_SCOPE_SUBGROUP_KHR)
            return true;
    return false;
}

/* Cooperative matrices that ridge's kernels can use. */
static bool has_matrices(const struct vulkan_driver *driver, vk_physical_device place,
                         const struct vulkan_traits *traits) {
    struct vk_physical_device_cooperative_matrix_features matrices = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR};
    struct vk_physical_device_features2 all = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &matrices};
    if (!driver->vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR || !traits->f16 ||
        !traits->memory_model || !traits->required_subgroup)
        return false;
    driver->vkGetPhysicalDeviceFeatures2(place, &all);
    return matrices.cooperativeMatrix && has_size(driver, place);
}

/* ---- Queues, memory, clock ---------------------------------------------------------------- */

/* A family of compute queues: with timestamps, and without graphics if there is one. */
static bool choose_family(const struct vulkan_driver *driver, vk_physical_device place,
                          struct vulkan_traits *traits, struct status *status) {
    struct vk_queue_family_properties families[FAMILIES_MAX];
    uint32_t count = FAMILIES_MAX, best = 0, best_score = 0;
    driver->vkGetPhysicalDeviceQueueFamilyProperties(place, &count, families);
    for (uint32_t i = 0; i < count; i++) {
        const struct vk_queue_family_properties *family = &families[i];
        if (!(family->queueFlags & VK_QUEUE_COMPUTE_BIT) || family->queueCount == 0)
            continue;
        uint32_t score = 1 + (family->timestampValidBits ? 2 : 0) +
                         (family->queueFlags & VK_QUEUE_GRAPHICS_BIT ? 0 : 1);
        if (score > best_score) {
            best = i;
            best_score = score;
        }
    }
    if (!best_score)
        return status_fail(status, STATUS_UNSUPPORTED, "the device has no compute queue");
    traits->family = best;
    traits->family_queues = families[best].queueCount;
    traits->timestamp_bits = families[best].timestampValidBits;
    return true;
}

static uint64_t device_memory_bytes(const struct vk_physical_device_memory_properties *memory) {
    uint64_t local = 0, any = 0;
    for (uint32_t i = 0; i < memory->memoryHeapCount; i++) {
        const struct vk_memory_heap *heap = &memory->memoryHeaps[i];
        if (heap->flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT && heap->size > local)
            local = heap->size;
        if (heap->size > any)
            any = heap->size;
    }
    return local ? local : any;
}

/* Whether the driver can read its clock together with CLOCK_MONOTONIC. */
static bool has_monotonic(const struct vulkan_driver *driver, vk_physical_device place) {
    int32_t domains[16];
    uint32_t count = ARRAY_COUNT(domains);
    bool device = false, host = false;
    if (!driver->vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)
        return false;
    vk_result result =
        driver->vkGetPhysicalDeviceCalibrateableTimeDomainsEXT(place, &count, domains);
    for (uint32_t i = 0; i < count && (result == VK_SUCCESS || result == VK_INCOMPLETE); i++) {
        device = device || domains[i] == VK_TIME_DOMAIN_DEVICE_EXT;
        host = host || domains[i] == VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
    }
    return device && host;
}

static void format_uuid(const uint8_t *bytes, char *text, size_t capacity) {
    size_t used = 0;
    for (unsigned i = 0; i < 16 && used + 3 < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%s%02x",
                                 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
}

static const char *vendor_name(uint32_t id) {
    static const struct {
        uint32_t id;
        const char *name;
    } vendors[] = {{0x1002, "AMD"},    {0x106B, "Apple"},    {0x10005, "Mesa"},
                   {0x10DE, "NVIDIA"}, {0x13B5, "ARM"},      {0x14E4, "Broadcom"},
                   {0x1010, "ImgTec"}, {0x5143, "Qualcomm"}, {0x8086, "Intel"}};
    for (unsigned i = 0; i < ARRAY_COUNT(vendors); i++)
        if (vendors[i].id == id)
            return vendors[i].name;
    return "";
}

static void set_units(const struct properties *p, struct device_capabilities *capabilities) {
    if (!capabilities->is_gpu) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        capabilities->compute_units = processors > 0 ? (uint32_t)processors : 1;
    } else if (p->has_nvidia && p->nvidia.shaderSMCount) {
        capabilities->compute_units = p->nvidia.shaderSMCount;
    } else if (p->has_amd && p->amd.shaderEngineCount) {
        capabilities->compute_units = p->amd.shaderEngineCount * p->amd.shaderArraysPerEngineCount *
                                      p->amd.computeUnitsPerShaderArray;
    } else {
        capabilities->compute_units = ASSUMED_UNITS;
        capabilities->units_assumed = true;
    }
}

/* 1 unless threads can shuffle and the size is certain. */
static uint32_t subgroup_size(const struct properties *p, const struct vulkan_traits *traits) {
    const struct vk_physical_device_subgroup_properties *subgroup = &p->subgroup;
    bool shuffles = subgroup->supportedStages & VK_SHADER_STAGE_COMPUTE_BIT &&
                    subgroup->supportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
    uint32_t size = subgroup->subgroupSize;
    return shuffles && traits->required_subgroup && size && !(size & (size - 1)) ? size : 1;
}

static void set_capabilities(const struct properties *p, const struct vulkan_traits *traits,
                             struct device_capabilities *capabilities) {
    const struct vk_physical_device_properties *core = &p->core.properties;
    capabilities->is_gpu = core->deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU;
    snprintf(capabilities->description, sizeof capabilities->description, "%.*s",
             (int)sizeof capabilities->description - 1, core->deviceName);
    snprintf(capabilities->vendor, sizeof capabilities->vendor, "%s", vendor_name(core->vendorID));
    snprintf(capabilities->driver, sizeof capabilities->driver, "Vulkan %u.%u.%u, %.50s %.50s",
             core->apiVersion >> 22, core->apiVersion >> 12 & 0x3ff, core->apiVersion & 0xfff,
             p->driver.driverName, p->driver.driverInfo);
    format_uuid(p->id.deviceUUID, capabilities->uuid, sizeof capabilities->uuid);
    capabilities->memory_bytes = device_memory_bytes(&traits->memory);
    capabilities->subgroup = subgroup_size(p, traits);
    capabilities->block_max = core->maxComputeWorkGroupInvocations;
    if (capabilities->block_max > core->maxComputeWorkGroupSize[0])
        capabilities->block_max = core->maxComputeWorkGroupSize[0];
    /* maxComputeWorkgroupSubgroups limits pipelines that require the subgroup size */
    uint64_t threads = (uint64_t)capabilities->subgroup * p->sizes.maxComputeWorkgroupSubgroups;
    if (capabilities->subgroup > 1 && threads > 0 && capabilities->block_max > threads)
        capabilities->block_max = (uint32_t)threads;
    capabilities->shared_bytes = core->maxComputeSharedMemorySize;
    capabilities->alignment = 256;
    capabilities->half = true;
    set_units(p, capabilities);
}

static bool describe(const struct vulkan_driver *driver, vk_physical_device place,
                     struct device_capabilities *capabilities, struct vulkan_traits *traits,
                     struct vk_extension_properties *extensions, uint32_t count,
                     struct status *status) {
    struct properties p = {.has_sizes = false};
    struct vk_physical_device_properties core;
    driver->vkGetPhysicalDeviceProperties(place, &core);
    snprintf(capabilities->description, sizeof capabilities->description, "%.*s",
             (int)sizeof capabilities->description - 1, core.deviceName);
    if (core.apiVersion < VULKAN_VERSION_1_2)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "the driver has Vulkan %u.%u; ridge needs 1.2", core.apiVersion >> 22,
                           core.apiVersion >> 12 & 0x3ff);
    if (core.apiVersion < VULKAN_VERSION_1_3)
        traits->subgroup_extension = extension(extensions, count, "VK_EXT_subgroup_size_control");
    p.has_sizes = core.apiVersion >= VULKAN_VERSION_1_3 || traits->subgroup_extension;
    p.has_nvidia = extension(extensions, count, "VK_NV_shader_sm_builtins");
    p.has_amd = extension(extensions, count, "VK_AMD_shader_core_properties");
    traits->device = place;
    traits->timestamp_period = (double)core.timestampPeriod;
    for (unsigned i = 0; i < 3; i++)
        traits->grid_max[i] = core.maxComputeWorkGroupCount[i];
    driver->vkGetPhysicalDeviceMemoryProperties(place, &traits->memory);
    if (!read_features(driver, place, p.has_sizes, traits, status) ||
        !choose_family(driver, place, traits, status))
        return false;
    read_properties(driver, place, &p);
    bool required = p.sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT;
    traits->required_subgroup = traits->required_subgroup && required;
    traits->keeps_nan = p.floats.shaderSignedZeroInfNanPreserveFloat32;
    traits->calibrated_extension = extension(extensions, count, "VK_KHR_calibrated_timestamps");
    if (!traits->calibrated_extension)
        traits->calibrated_extension = extension(extensions, count, "VK_EXT_calibrated_timestamps");
    traits->calibrated = traits->calibrated_extension && has_monotonic(driver, place);
    traits->cooperative = extension(extensions, count, VULKAN_COOPERATIVE_EXTENSION) &&
                          has_matrices(driver, place, traits);
    set_capabilities(&p, traits, capabilities);
    capabilities->queues =
        traits->family_queues < VULKAN_QUEUES ? traits->family_queues : VULKAN_QUEUES;
    if (!vulkan_compiler_check(status))
        return false;
    capabilities->cooperative =
        traits->cooperative && capabilities->subgroup > 1 && vulkan_compiler_has_matrices();
    return true;
}

bool vulkan_describe(const struct vulkan_driver *driver, vk_physical_device place,
                     struct device_capabilities *capabilities, struct vulkan_traits *traits,
                     struct status *status) {
    uint32_t count = 0;
    struct vk_extension_properties *extensions = NULL;
    *capabilities = (struct device_capabilities){.language = LANGUAGE_GLSL, .queues = 1};
    *traits = (struct vulkan_traits){0};
    if (!vulkan_check(driver->vkEnumerateDeviceExtensionProperties(place, NULL, &count, NULL),
                      "vkEnumerateDeviceExtensionProperties", status))
        return false;
    extensions = memory_allocate(count ? count : 1, sizeof *extensions, status);
    if (!extensions)
        return false;
    vk_result result =
        driver->vkEnumerateDeviceExtensionProperties(place, NULL, &count, extensions);
    bool ok = (result == VK_INCOMPLETE ||
               vulkan_check(result, "vkEnumerateDeviceExtensionProperties", status)) &&
              describe(driver, place, capabilities, traits, extensions, count, status);
    memory_free(extensions);
    return ok;
}
