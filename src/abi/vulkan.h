/* The part of Vulkan's binary interface that ridge uses, declared here so that no Vulkan header is
 * needed to build. Members and values have the names of Khronos' vulkan_core.h and vk_layer.h;
 * tests/abi/vulkan.c compares them where those headers are installed.
 */
#ifndef RIDGE_ABI_VULKAN_H
#define RIDGE_ABI_VULKAN_H

#include <stddef.h>
#include <stdint.h>

/* Dispatchable handles. The first word of such an object is the loader's. */
typedef struct VkInstance_T *vk_instance;
typedef struct VkPhysicalDevice_T *vk_physical_device;
typedef struct VkDevice_T *vk_device;
typedef struct VkQueue_T *vk_queue;
typedef struct VkCommandBuffer_T *vk_command_buffer;
/* All others: buffers, fences, pools, ... */
typedef uint64_t vk_handle;
typedef int32_t vk_result;
typedef uint32_t vk_flags;

/* X(name, value) */
#define VULKAN_CONSTANTS(X)                                                                        \
    X(VK_SUCCESS, 0)                                                                               \
    X(VK_NOT_READY, 1)                                                                             \
    X(VK_TIMEOUT, 2)                                                                               \
    X(VK_INCOMPLETE, 5)                                                                            \
    X(VK_ERROR_OUT_OF_HOST_MEMORY, -1)                                                             \
    X(VK_ERROR_OUT_OF_DEVICE_MEMORY, -2)                                                           \
    X(VK_ERROR_INITIALIZATION_FAILED, -3)                                                          \
    X(VK_ERROR_DEVICE_LOST, -4)                                                                    \
    X(VK_ERROR_MEMORY_MAP_FAILED, -5)                                                              \
    X(VK_ERROR_LAYER_NOT_PRESENT, -6)                                                              \
    X(VK_ERROR_EXTENSION_NOT_PRESENT, -7)                                                          \
    X(VK_ERROR_FEATURE_NOT_PRESENT, -8)                                                            \
    X(VK_ERROR_INCOMPATIBLE_DRIVER, -9)                                                            \
    X(VK_ERROR_TOO_MANY_OBJECTS, -10)                                                              \
    X(VK_ERROR_FRAGMENTED_POOL, -12)                                                               \
    X(VK_STRUCTURE_TYPE_APPLICATION_INFO, 0)                                                       \
    X(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, 1)                                                   \
    X(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, 2)                                               \
    X(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, 3)                                                     \
    X(VK_STRUCTURE_TYPE_SUBMIT_INFO, 4)                                                            \
    X(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, 5)                                                   \
    X(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, 8)                                                      \
    X(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, 9)                                                  \
    X(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, 11)                                                \
    X(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, 12)                                                    \
    X(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, 16)                                             \
    X(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, 18)                                     \
    X(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, 29)                                          \
    X(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, 30)                                           \
    X(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, 39)                                              \
    X(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, 40)                                          \
    X(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, 42)                                             \
    X(VK_STRUCTURE_TYPE_MEMORY_BARRIER, 46)                                                        \
    X(VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO, 47)                                           \
    X(VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO, 48)                                             \
    X(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, 49)                                   \
    X(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, 51)                                   \
    X(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, 1000059000)                                    \
    X(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, 1000059001)                                  \
    X(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO, 1000060000)                                    \
    X(VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO, 1000060005)                                      \
    X(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES, 1000071004)                                 \
    X(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, 1000094000)                           \
    X(VK_STRUCTURE_TYPE_PROTECTED_SUBMIT_INFO, 1000145000)                                         \
    X(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV, 1000154001)              \
    X(VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, 1000184000)                                 \
    X(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD, 1000185000)                    \
    X(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES, 1000196000)                             \
    X(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES, 1000197000)                     \
    X(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, 1000207002)                                    \
    X(VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO, 1000207003)                                \
    X(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, 1000207004)                                           \
    X(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES, 1000225000)              \
    X(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO, 1000225001)      \
    X(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES, 1000225002)                \
    X(VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, 1000244001)                                    \
    X(VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, 1000314006)                                    \
    X(VK_QUEUE_GRAPHICS_BIT, 1)                                                                    \
    X(VK_QUEUE_COMPUTE_BIT, 2)                                                                     \
    X(VK_QUEUE_TRANSFER_BIT, 4)                                                                    \
    X(VK_QUEUE_PROTECTED_BIT, 16)                                                                  \
    X(VK_QUERY_TYPE_TIMESTAMP, 2)                                                                  \
    X(VK_QUERY_RESULT_64_BIT, 1)                                                                   \
    X(VK_QUERY_RESULT_WAIT_BIT, 2)                                                                 \
    X(VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, 1)                                                        \
    X(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0x800)                                                 \
    X(VK_PIPELINE_STAGE_TRANSFER_BIT, 0x1000)                                                      \
    X(VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, 0x2000)                                                \
    X(VK_PIPELINE_STAGE_HOST_BIT, 0x4000)                                                          \
    X(VK_ACCESS_SHADER_READ_BIT, 0x20)                                                             \
    X(VK_ACCESS_SHADER_WRITE_BIT, 0x40)                                                            \
    X(VK_ACCESS_TRANSFER_READ_BIT, 0x800)                                                          \
    X(VK_ACCESS_TRANSFER_WRITE_BIT, 0x1000)                                                        \
    X(VK_ACCESS_HOST_READ_BIT, 0x2000)                                                             \
    X(VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 6)                                                        \
    X(VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, 9)                                                \
    X(VK_PIPELINE_BIND_POINT_COMPUTE, 1)                                                           \
    X(VK_SHADER_STAGE_COMPUTE_BIT, 0x20)                                                           \
    X(VK_COMMAND_BUFFER_LEVEL_PRIMARY, 0)                                                          \
    X(VK_COMMAND_BUFFER_LEVEL_SECONDARY, 1)                                                        \
    X(VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT, 1)                                              \
    X(VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT, 2)                                         \
    X(VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT, 4)                                             \
    X(VK_COMMAND_POOL_CREATE_TRANSIENT_BIT, 1)                                                     \
    X(VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT, 2)                                          \
    X(VK_COMMAND_POOL_CREATE_PROTECTED_BIT, 4)                                                     \
    X(VK_BUFFER_USAGE_TRANSFER_SRC_BIT, 1)                                                         \
    X(VK_BUFFER_USAGE_TRANSFER_DST_BIT, 2)                                                         \
    X(VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, 0x20)                                                    \
    X(VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT, 0x20000)                                          \
    X(VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT, 2)                                                    \
    X(VK_SEMAPHORE_TYPE_TIMELINE, 1)                                                               \
    X(VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT, 2)                               \
    X(VK_SUBGROUP_FEATURE_SHUFFLE_BIT, 16)                                                         \
    X(VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU, 1)                                                   \
    X(VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, 2)                                                     \
    X(VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU, 3)                                                      \
    X(VK_PHYSICAL_DEVICE_TYPE_CPU, 4)                                                              \
    X(VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 1)                                                      \
    X(VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, 2)                                                      \
    X(VK_MEMORY_PROPERTY_HOST_COHERENT_BIT, 4)                                                     \
    X(VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 8)                                                       \
    X(VK_MEMORY_HEAP_DEVICE_LOCAL_BIT, 1)                                                          \
    X(VK_OBJECT_TYPE_QUEUE, 4)                                                                     \
    X(VK_OBJECT_TYPE_SHADER_MODULE, 15)                                                            \
    X(VK_OBJECT_TYPE_PIPELINE, 19)                                                                 \
    X(VK_TIME_DOMAIN_DEVICE_EXT, 0)                                                                \
    X(VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT, 1)                                                       \
    X(VK_TIME_DOMAIN_CLOCK_MONOTONIC_RAW_EXT, 2)                                                   \
    X(VK_MAX_MEMORY_TYPES, 32)                                                                     \
    X(VK_MAX_MEMORY_HEAPS, 16)

#ifndef VULKAN_CORE_H_ /* tests/abi/vulkan.c includes Khronos' header first */
#define VULKAN_ENUMERATOR(name, value) name = value,
enum vulkan_constant { VULKAN_CONSTANTS(VULKAN_ENUMERATOR) };
#undef VULKAN_ENUMERATOR
#endif
#define VULKAN_WHOLE_SIZE UINT64_MAX
#define VULKAN_VERSION_1_1 ((uint32_t)1 << 22 | (uint32_t)1 << 12)
#define VULKAN_VERSION_1_2 ((uint32_t)1 << 22 | (uint32_t)2 << 12)
#define VULKAN_VERSION_1_3 ((uint32_t)1 << 22 | (uint32_t)3 << 12)

/* ---- The loader and its layers ----------------------------------------------------------- */

typedef void vk_function(void);
typedef vk_function *vk_get_instance_function(vk_instance instance, const char *name);
typedef vk_function *vk_get_device_function(vk_device device, const char *name);

enum { VULKAN_LAYER_INTERFACE = 2, VULKAN_LAYER_LINK_INFO = 0, VULKAN_LOADER_DATA_CALLBACK = 1 };

struct vk_negotiate_layer_interface {
    int32_t sType;
    void *pNext;
    uint32_t loaderLayerInterfaceVersion;
    vk_get_instance_function *pfnGetInstanceProcAddr;
    vk_get_device_function *pfnGetDeviceProcAddr;
    vk_get_instance_function *pfnGetPhysicalDeviceProcAddr;
};
struct vk_layer_instance_link {
    struct vk_layer_instance_link *pNext;
    vk_get_instance_function *pfnNextGetInstanceProcAddr;
    vk_get_instance_function *pfnNextGetPhysicalDeviceProcAddr;
};
struct vk_layer_instance_create_info {
    int32_t sType;
    const void *pNext;
    int32_t function;
    union {
        struct vk_layer_instance_link *pLayerInfo;
        void *pair[2]; /* other functions */
    } u;
};
struct vk_layer_device_link {
    struct vk_layer_device_link *pNext;
    vk_get_instance_function *pfnNextGetInstanceProcAddr;
    vk_get_device_function *pfnNextGetDeviceProcAddr;
};
typedef vk_result vk_set_device_loader_data(vk_device device, void *object);
struct vk_layer_device_create_info {
    int32_t sType;
    const void *pNext;
    int32_t function;
    union {
        struct vk_layer_device_link *pLayerInfo;
        vk_set_device_loader_data *pfnSetDeviceLoaderData;
    } u;
};

/* ---- Structures -------------------------------------------------------------------------- */

/* The head of every structure with a type. */
struct vk_structure {
    int32_t sType;
    const struct vk_structure *pNext;
};
struct vk_application_info {
    int32_t sType;
    const void *pNext;
    const char *pApplicationName;
    uint32_t applicationVersion;
    const char *pEngineName;
    uint32_t engineVersion;
    uint32_t apiVersion;
};
struct vk_instance_create_info {
    int32_t sType;
    const void *pNext;
    vk_flags flags;
    const struct vk_application_info *pApplicationInfo;
    uint32_t enabledLayerCount;
    const char *const *ppEnabledLayerNames;
    uint32_t enabledExtensionCount;
    const char *const *ppEnabledExtensionNames;
};
struct vk_device_queue_create_info {
    int32_t sType;
    const void *pNext;
    vk_flags flags;
    uint32_t queueFamilyIndex;
    uint32_t queueCount;
    const float *pQueuePriorities;
};
struct vk_device_create_info {
    int32_t sType;
    const void *pNext;
    vk_flags flags;
    uint32_t queueCreateInfoCount;
    const struct vk_device_queue_create_info *pQueueCreateInfos;
    uint32_t enabledLayerCount;
    const char *const *ppEnabledLayerNames;
    uint32_t enabledExtensionCount;
    const char *const *ppEnabledExtensionNames;
    const void *pEnabledFeatures;
};
struct vk_device_queue_info2 {
    int32_t sType;
    const void *pNext;
    vk_flags flags;
    uint32_t queueFamilyIndex;
    uint32_t queueIndex;
};
struct vk_extension_properties {
    char extensionName[256];
    uint32_t specVersion;
};
struct vk_queue_family_properties {
    vk_flags queueFlags;
    uint32_t queueCount;
    uint32_t timestampValidBits;
    uint32_t minImageTransferGranularity[3];
};
/* VkPhysicalDeviceProperties, with the used members of VkPhysicalDeviceLimits. */
struct vk_physical_device_properties {
    uint32_t apiVersion;
    uint32_t driverVersion;
    uint32_t vendorID;
    uint32_t deviceID;
    int32_t deviceType;
    char deviceName[256];
    uint8_t pipelineCacheUUID[16];
    _Alignas(8) uint8_t limits_before[32];
    uint32_t maxPushConstantsSize;
    uint8_t limits_between[180];
    uint32_t maxComputeSharedMemorySize;
    uint32_t maxComputeWorkGroupCount[3];
    uint32_t maxComputeWorkGroupInvocations;
    uint32_t maxComputeWorkGroupSize[3];
    uint8_t limits_between_2[172];
    uint32_t timestampComputeAndGraphics;
    float timestampPeriod;
    uint8_t limits_after[76];
    uint32_t sparseProperties[5];
};
struct vk_physical_device_properties2 {
    int32_t sType;
    void *pNext;
    struct vk_physical_device_properties properties;
};
struct vk_physical_device_id_properties {
    int32_t sType;
    void *pNext;
    uint8_t deviceUUID[16];
    uint8_t driverUUID[16];
    uint8_t deviceLUID[8];
    uint32_t deviceNodeMask;
    uint32_t deviceLUIDValid;
};
struct vk_physical_device_driver_properties {
    int32_t sType;
    void *pNext;
    int32_t driverID;
    char driverName[256];
    char driverInfo[256];
    uint8_t conformanceVersion[4];
};
struct vk_physical_device_subgroup_properties {
    int32_t sType;
    void *pNext;
    uint32_t subgroupSize;
    vk_flags supportedStages;
    vk_flags supportedOperations;
    uint32_t quadOperationsInAllStages;
};
struct vk_physical_device_subgroup_size_control_properties {
    int32_t sType;
    void *pNext;
    uint32_t minSubgroupSize;
    uint32_t maxSubgroupSize;
    uint32_t maxComputeWorkgroupSubgroups;
    vk_flags requiredSubgroupSizeStages;
};
/* VkPhysicalDeviceFloatControlsProperties, with the used member. */
struct vk_physical_device_float_controls_properties {
    int32_t sType;
    void *pNext;
    uint32_t before[3];
    uint32_t shaderSignedZeroInfNanPreserveFloat32;
    uint32_t after[14];
};
struct vk_physical_device_shader_sm_builtins_properties {
    int32_t sType;
    void *pNext;
    uint32_t shaderSMCount;
    uint32_t shaderWarpsPerSM;
};
struct vk_physical_device_shader_core_properties {
    int32_t sType;
    void *pNext;
    uint32_t shaderEngineCount;
    uint32_t shaderArraysPerEngineCount;
    uint32_t computeUnitsPerShaderArray;
    uint32_t others[11];
};
/* VkPhysicalDeviceFeatures and those of versions, with the used members. */
struct vk_physical_device_features {
    uint32_t before[39];
    uint32_t shaderFloat64;
    uint32_t shaderInt64;
    uint32_t after[14];
};
struct vk_physical_device_features2 {
    int32_t sType;
    void *pNext;
    struct vk_physical_device_features features;
};
struct vk_physical_device_vulkan11_features {
    int32_t sType;
    void *pNext;
    uint32_t storageBuffer16BitAccess;
    uint32_t others[11];
};
struct vk_physical_device_vulkan12_features {
    int32_t sType;
    void *pNext;
    uint32_t before[2];
    uint32_t storageBuffer8BitAccess;
    uint32_t between[4];
    uint32_t shaderFloat16;
    uint32_t between_2[29];
    uint32_t timelineSemaphore;
    uint32_t bufferDeviceAddress;
    uint32_t after[9];
};
struct vk_physical_device_subgroup_size_control_features {
    int32_t sType;
    void *pNext;
    uint32_t subgroupSizeControl;
    uint32_t computeFullSubgroups;
};
struct vk_memory_type {
    vk_flags propertyFlags;
    uint32_t heapIndex;
};
struct vk_memory_heap {
    uint64_t size;
    vk_flags flags;
};
struct vk_physical_device_memory_properties {
    uint32_t memoryTypeCount;
    struct vk_memory_type memoryTypes[VK_MAX_MEMORY_TYPES];
    uint32_t memoryHeapCount;
    struct vk_memory_heap memoryHeaps[VK_MAX_MEMORY_HEAPS];
};
struct vk_memory_requirements {
    uint64_t size;
    uint64_t alignment;
    uint32_t memoryTypeBits;
};
struct vk_memory_allocate_info {
    int32_t sType;
    const void *pNext;
    uint64_t allocationSize;
    uint32_t memoryTypeIndex;
};
struct vk_memory_allocate_flags_info {
    int32_t sType;
    const void *pNext;
    vk_flags flags;
    uint32_t deviceMask;
};
struct vk_buffer_device_address_info {
    int32_t sType;
    const void *pNext;
    vk_handle buffer;
};
struct vk_semaphore_create_info {
    int32_t sType;
    const void *pNext;
    vk_flags flags;
};
struct vk_semaphore_type_create_info {
    int32_t sType;
    const void *pNext;
    int32_t semaphoreType;
    uint64_t initialValue;
};
struct vk_push_constant_range {
    vk_flags stageFlags;
    uint32_t offset;
    uint32_t size;
};
struct vk_pipeline_layout_create_info {
    int32_t sType;
    const void *pNext;
    vk_flags flags;
    uint32_t setLayoutCount;
    const vk_handle *pSetLayouts;
    uint32_t pushConstantRangeCount;
    const struct vk_push_constant_range *pPushConstantRanges;
};
struct vk_pipeline_shader_stage_required_subgroup_size_create_info {
    int32_t sType;
    void *pNext;
    uint32_t requiredSubgroupSize;
};
struct vk_buffer_create_info {
    int32_t sType;
    const void *pNext;
    vk_flags flags;
    uint64_t size;
    vk_flags usage;
    int32_t sharingMode;
    uint32_t queueFamilyIndexCount;
    const uint32_t *pQueueFamilyIndices;
};
struct vk_bind_buffer_memory_info {
    int32_t sType;
    const void *pNext;
    vk_handle buffer;
    vk_handle memory;
    uint64_t memoryOffset;
};
struct vk_query_pool_create_info {
    int32_t sType;
    const void *pNext;
    vk_flags flags;
    int32_t queryType;
    uint32_t queryCount;
    vk_flags pipelineStatistics;
};
struct vk_fence_create_info {
    int32_t sType;
    const void *pNext;
    vk_flags flags;
};
struct vk_command_pool_create_info {
    int32_t sType;
    const void *pNext;
    vk_flags flags;
    uint32_t queueFamilyIndex;
};
struct vk_command_buffer_allocate_info {
    int32_t sType;
    const void *pNext;
    vk_handle commandPool;
    int32_t level;
    uint32_t commandBufferCount;
};
struct vk_command_buffer_begin_info {
    int32_t sType;
    const void *pNext;
    vk_flags flags;
    const void *pInheritanceInfo;
};
struct vk_memory_barrier {
    int32_t sType;
    const void *pNext;
    vk_flags srcAccessMask;
    vk_flags dstAccessMask;
};
struct vk_buffer_copy {
    uint64_t srcOffset;
    uint64_t dstOffset;
    uint64_t size;
};
struct vk_buffer_copy2 {
    int32_t sType;
    const void *pNext;
    uint64_t srcOffset;
    uint64_t dstOffset;
    uint64_t size;
};
struct vk_copy_buffer_info2 {
    int32_t sType;
    const void *pNext;
    vk_handle srcBuffer;
    vk_handle dstBuffer;
    uint32_t regionCount;
    const struct vk_buffer_copy2 *pRegions;
};
struct vk_submit_info {
    int32_t sType;
    const void *pNext;
    uint32_t waitSemaphoreCount;
    const vk_handle *pWaitSemaphores;
    const vk_flags *pWaitDstStageMask;
    uint32_t commandBufferCount;
    const vk_command_buffer *pCommandBuffers;
    uint32_t signalSemaphoreCount;
    const vk_handle *pSignalSemaphores;
};
struct vk_timeline_semaphore_submit_info {
    int32_t sType;
    const void *pNext;
    uint32_t waitSemaphoreValueCount;
    const uint64_t *pWaitSemaphoreValues;
    uint32_t signalSemaphoreValueCount;
    const uint64_t *pSignalSemaphoreValues;
};
struct vk_semaphore_submit_info {
    int32_t sType;
    const void *pNext;
    vk_handle semaphore;
    uint64_t value;
    uint64_t stageMask;
    uint32_t deviceIndex;
};
struct vk_command_buffer_submit_info {
    int32_t sType;
    const void *pNext;
    vk_command_buffer commandBuffer;
    uint32_t deviceMask;
};
struct vk_submit_info2 {
    int32_t sType;
    const void *pNext;
    vk_flags flags;
    uint32_t waitSemaphoreInfoCount;
    const struct vk_semaphore_submit_info *pWaitSemaphoreInfos;
    uint32_t commandBufferInfoCount;
    const struct vk_command_buffer_submit_info *pCommandBufferInfos;
    uint32_t signalSemaphoreInfoCount;
    const struct vk_semaphore_submit_info *pSignalSemaphoreInfos;
};
struct vk_semaphore_wait_info {
    int32_t sType;
    const void *pNext;
    vk_flags flags;
    uint32_t semaphoreCount;
    const vk_handle *pSemaphores;
    const uint64_t *pValues;
};
struct vk_shader_module_create_info {
    int32_t sType;
    const void *pNext;
    vk_flags flags;
    size_t codeSize;
    const uint32_t *pCode;
};
struct vk_specialization_map_entry {
    uint32_t constantID;
    uint32_t offset;
    size_t size;
};
struct vk_specialization_info {
    uint32_t mapEntryCount;
    const struct vk_specialization_map_entry *pMapEntries;
    size_t dataSize;
    const void *pData;
};
struct vk_pipeline_shader_stage_create_info {
    int32_t sType;
    const void *pNext;
    vk_flags flags;
    int32_t stage;
    vk_handle module;
    const char *pName;
    const struct vk_specialization_info *pSpecializationInfo;
};
struct vk_compute_pipeline_create_info {
    int32_t sType;
    const void *pNext;
    vk_flags flags;
    struct vk_pipeline_shader_stage_create_info stage;
    vk_handle layout;
    vk_handle basePipelineHandle;
    int32_t basePipelineIndex;
};
struct vk_descriptor_buffer_info {
    vk_handle buffer;
    uint64_t offset;
    uint64_t range;
};
struct vk_write_descriptor_set {
    int32_t sType;
    const void *pNext;
    vk_handle dstSet;
    uint32_t dstBinding;
    uint32_t dstArrayElement;
    uint32_t descriptorCount;
    int32_t descriptorType;
    const void *pImageInfo;
    const struct vk_descriptor_buffer_info *pBufferInfo;
    const void *pTexelBufferView;
};
struct vk_copy_descriptor_set {
    int32_t sType;
    const void *pNext;
    vk_handle srcSet;
    uint32_t srcBinding;
    uint32_t srcArrayElement;
    vk_handle dstSet;
    uint32_t dstBinding;
    uint32_t dstArrayElement;
    uint32_t descriptorCount;
};
struct vk_descriptor_set_allocate_info {
    int32_t sType;
    const void *pNext;
    vk_handle descriptorPool;
    uint32_t descriptorSetCount;
    const vk_handle *pSetLayouts;
};
struct vk_descriptor_update_template_entry {
    uint32_t dstBinding;
    uint32_t dstArrayElement;
    uint32_t descriptorCount;
    int32_t descriptorType;
    size_t offset;
    size_t stride;
};
struct vk_descriptor_update_template_create_info {
    int32_t sType;
    const void *pNext;
    vk_flags flags;
    uint32_t descriptorUpdateEntryCount;
    const struct vk_descriptor_update_template_entry *pDescriptorUpdateEntries;
    int32_t templateType;
    vk_handle descriptorSetLayout;
    int32_t pipelineBindPoint;
    vk_handle pipelineLayout;
    uint32_t set;
};
struct vk_debug_utils_label {
    int32_t sType;
    const void *pNext;
    const char *pLabelName;
    float color[4];
};
struct vk_debug_utils_object_name_info {
    int32_t sType;
    const void *pNext;
    int32_t objectType;
    uint64_t objectHandle;
    const char *pObjectName;
};
struct vk_calibrated_timestamp_info {
    int32_t sType;
    const void *pNext;
    int32_t timeDomain;
};

#endif
