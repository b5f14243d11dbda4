/* Loads Vulkan for the runtime's device, creates its instance and explains its errors.
 *
 * All calls go through structs of function pointers, so that a test can make the Nth call fail.
 */
#ifndef RIDGE_ABI_VULKAN_DRIVER_H
#define RIDGE_ABI_VULKAN_DRIVER_H

#include "base/status.h"
#include "abi/vulkan.h"

/* F(name, alias, result, parameters) as in vulkan_functions.h. */
#define VULKAN_DRIVER_INSTANCE_FUNCTIONS(F)                                                        \
    F(vkDestroyInstance, NULL, void, (vk_instance, const void *))                                  \
    F(vkEnumeratePhysicalDevices, NULL, vk_result,                                                 \
      (vk_instance, uint32_t *, vk_physical_device *))                                             \
    F(vkEnumerateDeviceExtensionProperties, NULL, vk_result,                                       \
      (vk_physical_device, const char *, uint32_t *, struct vk_extension_properties *))            \
    F(vkGetPhysicalDeviceProperties, NULL, void,                                                   \
      (vk_physical_device, struct vk_physical_device_properties *))                                \
    F(vkGetPhysicalDeviceProperties2, NULL, void,                                                  \
      (vk_physical_device, struct vk_physical_device_properties2 *))                               \
    F(vkGetPhysicalDeviceFeatures2, NULL, void,                                                    \
      (vk_physical_device, struct vk_physical_device_features2 *))                                 \
    F(vkGetPhysicalDeviceQueueFamilyProperties, NULL, void,                                        \
      (vk_physical_device, uint32_t *, struct vk_queue_family_properties *))                       \
    F(vkGetPhysicalDeviceMemoryProperties, NULL, void,                                             \
      (vk_physical_device, struct vk_physical_device_memory_properties *))                         \
    F(vkCreateDevice, NULL, vk_result,                                                             \
      (vk_physical_device, const struct vk_device_create_info *, const void *, vk_device *))       \
    F(vkGetDeviceProcAddr, NULL, vk_function *, (vk_device, const char *))

#define VULKAN_DRIVER_DEVICE_FUNCTIONS(F)                                                          \
    F(vkDestroyDevice, NULL, void, (vk_device, const void *))                                      \
    F(vkDeviceWaitIdle, NULL, vk_result, (vk_device))                                              \
    F(vkGetDeviceQueue, NULL, void, (vk_device, uint32_t, uint32_t, vk_queue *))                   \
    F(vkQueueSubmit, NULL, vk_result,                                                              \
      (vk_queue, uint32_t, const struct vk_submit_info *, vk_handle))                              \
    F(vkCreateSemaphore, NULL, vk_result,                                                          \
      (vk_device, const struct vk_semaphore_create_info *, const void *, vk_handle *))             \
    F(vkDestroySemaphore, NULL, void, (vk_device, vk_handle, const void *))                        \
    F(vkWaitSemaphores, NULL, vk_result,                                                           \
      (vk_device, const struct vk_semaphore_wait_info *, uint64_t))                                \
    F(vkGetSemaphoreCounterValue, NULL, vk_result, (vk_device, vk_handle, uint64_t *))             \
    F(vkCreateCommandPool, NULL, vk_result,                                                        \
      (vk_device, const struct vk_command_pool_create_info *, const void *, vk_handle *))          \
    F(vkDestroyCommandPool, NULL, void, (vk_device, vk_handle, const void *))                      \
    F(vkAllocateCommandBuffers, NULL, vk_result,                                                   \
      (vk_device, const struct vk_command_buffer_allocate_info *, vk_command_buffer *))            \
    F(vkFreeCommandBuffers, NULL, void,                                                            \
      (vk_device, vk_handle, uint32_t, const vk_command_buffer *))                                 \
    F(vkBeginCommandBuffer, NULL, vk_result,                                                       \
      (vk_command_buffer, const struct vk_command_buffer_begin_info *))                            \
    F(vkEndCommandBuffer, NULL, vk_result, (vk_command_buffer))                                    \
    F(vkCmdBindPipeline, NULL, void, (vk_command_buffer, int32_t, vk_handle))                      \
    F(vkCmdPushConstants, NULL, void,                                                              \
      (vk_command_buffer, vk_handle, vk_flags, uint32_t, uint32_t, const void *))                  \
    F(vkCmdDispatch, NULL, void, (vk_command_buffer, uint32_t, uint32_t, uint32_t))                \
    F(vkCmdCopyBuffer, NULL, void,                                                                 \
      (vk_command_buffer, vk_handle, vk_handle, uint32_t, const struct vk_buffer_copy *))          \
    F(vkCmdPipelineBarrier, NULL, void,                                                            \
      (vk_command_buffer, vk_flags, vk_flags, vk_flags, uint32_t,                                  \
       const struct vk_memory_barrier *, uint32_t, const void *, uint32_t, const void *))          \
    F(vkCreateQueryPool, NULL, vk_result,                                                          \
      (vk_device, const struct vk_query_pool_create_info *, const void *, vk_handle *))            \
    F(vkDestroyQueryPool, NULL, void, (vk_device, vk_handle, const void *))                        \
    F(vkCmdResetQueryPool, NULL, void, (vk_command_buffer, vk_handle, uint32_t, uint32_t))         \
    F(vkCmdWriteTimestamp, NULL, void, (vk_command_buffer, vk_flags, vk_handle, uint32_t))         \
    F(vkGetQueryPoolResults, NULL, vk_result,                                                      \
      (vk_device, vk_handle, uint32_t, uint32_t, size_t, void *, uint64_t, vk_flags))              \
    F(vkAllocateMemory, NULL, vk_result,                                                           \
      (vk_device, const struct vk_memory_allocate_info *, const void *, vk_handle *))              \
    F(vkFreeMemory, NULL, void, (vk_device, vk_handle, const void *))                              \
    F(vkMapMemory, NULL, vk_result, (vk_device, vk_handle, uint64_t, uint64_t, vk_flags, void **)) \
    F(vkCreateBuffer, NULL, vk_result,                                                             \
      (vk_device, const struct vk_buffer_create_info *, const void *, vk_handle *))                \
    F(vkDestroyBuffer, NULL, void, (vk_device, vk_handle, const void *))                           \
    F(vkBindBufferMemory, NULL, vk_result, (vk_device, vk_handle, vk_handle, uint64_t))            \
    F(vkGetBufferMemoryRequirements, NULL, void,                                                   \
      (vk_device, vk_handle, struct vk_memory_requirements *))                                     \
    F(vkGetBufferDeviceAddress, NULL, uint64_t,                                                    \
      (vk_device, const struct vk_buffer_device_address_info *))                                   \
    F(vkCreateShaderModule, NULL, vk_result,                                                       \
      (vk_device, const struct vk_shader_module_create_info *, const void *, vk_handle *))         \
    F(vkDestroyShaderModule, NULL, void, (vk_device, vk_handle, const void *))                     \
    F(vkCreatePipelineLayout, NULL, vk_result,                                                     \
      (vk_device, const struct vk_pipeline_layout_create_info *, const void *, vk_handle *))       \
    F(vkDestroyPipelineLayout, NULL, void, (vk_device, vk_handle, const void *))                   \
    F(vkCreateComputePipelines, NULL, vk_result,                                                   \
      (vk_device, vk_handle, uint32_t, const struct vk_compute_pipeline_create_info *,             \
       const void *, vk_handle *))                                                                 \
    F(vkDestroyPipeline, NULL, void, (vk_device, vk_handle, const void *))

/* NULL when absent. */
#define VULKAN_DRIVER_OPTIONAL_FUNCTIONS(F)                                                        \
    F(vkGetCalibratedTimestampsEXT, "vkGetCalibratedTimestampsKHR", vk_result,                     \
      (vk_device, uint32_t, const struct vk_calibrated_timestamp_info *, uint64_t *, uint64_t *))

#define VULKAN_DRIVER_POINTER(name, alias, result, parameters) result(*name) parameters;
/* The instance of this process and its functions. */
struct vulkan_driver {
    vk_instance instance;
    VULKAN_DRIVER_INSTANCE_FUNCTIONS(VULKAN_DRIVER_POINTER)
    vk_result (*vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)(vk_physical_device, uint32_t *,
                                                                int32_t *); /* or NULL */
    vk_result (*vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)(
        vk_physical_device, uint32_t *, struct vk_cooperative_matrix_properties *); /* or NULL */
};
/* The functions of one open device. */
struct vulkan_calls {
    VULKAN_DRIVER_DEVICE_FUNCTIONS(VULKAN_DRIVER_POINTER)
    VULKAN_DRIVER_OPTIONAL_FUNCTIONS(VULKAN_DRIVER_POINTER)
};
#undef VULKAN_DRIVER_POINTER

/* The driver, loaded at the first call. Fails without Vulkan on this machine. */
bool vulkan_driver(const struct vulkan_driver **driver, struct status *status);
/* Fills the functions of a device. */
bool vulkan_calls_fill(const struct vulkan_driver *driver, vk_device device,
                       struct vulkan_calls *calls, struct status *status);

/* True for VK_SUCCESS; else fails with the call, the error and a remedy. */
bool vulkan_check(vk_result result, const char *call, struct status *status);

#endif
