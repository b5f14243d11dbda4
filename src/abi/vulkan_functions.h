/* The functions of Vulkan that the probe calls or replaces: F(name, alias, result, parameters).
 * `alias` is the name of the extension that a core function came from, or NULL. Layouts of
 * structures that the probe passes on without reading them are not declared.
 */
#ifndef RIDGE_ABI_VULKAN_FUNCTIONS_H
#define RIDGE_ABI_VULKAN_FUNCTIONS_H

#include "abi/vulkan.h"

#define VULKAN_INSTANCE_FUNCTIONS(F)                                                               \
    F(vkDestroyInstance, NULL, void, (vk_instance, const void *))                                  \
    F(vkEnumerateDeviceExtensionProperties, NULL, vk_result,                                       \
      (vk_physical_device, const char *, uint32_t *, struct vk_extension_properties *))            \
    F(vkGetPhysicalDeviceProperties, NULL, void,                                                   \
      (vk_physical_device, struct vk_physical_device_properties *))                                \
    F(vkGetPhysicalDeviceProperties2, "vkGetPhysicalDeviceProperties2KHR", void,                   \
      (vk_physical_device, struct vk_physical_device_properties2 *))                               \
    F(vkGetPhysicalDeviceQueueFamilyProperties, NULL, void,                                        \
      (vk_physical_device, uint32_t *, struct vk_queue_family_properties *))                       \
    F(vkGetPhysicalDeviceMemoryProperties, NULL, void,                                             \
      (vk_physical_device, struct vk_physical_device_memory_properties *))                         \
    F(vkGetPhysicalDeviceCalibrateableTimeDomainsEXT,                                              \
      "vkGetPhysicalDeviceCalibrateableTimeDomainsKHR", vk_result,                                 \
      (vk_physical_device, uint32_t *, int32_t *))

/* Only called. */
#define VULKAN_CALLED_FUNCTIONS(F)                                                                 \
    F(vkCreateQueryPool, NULL, vk_result,                                                          \
      (vk_device, const struct vk_query_pool_create_info *, const void *, vk_handle *))            \
    F(vkDestroyQueryPool, NULL, void, (vk_device, vk_handle, const void *))                        \
    F(vkCmdResetQueryPool, NULL, void, (vk_command_buffer, vk_handle, uint32_t, uint32_t))         \
    F(vkCmdWriteTimestamp, NULL, void, (vk_command_buffer, vk_flags, vk_handle, uint32_t))         \
    F(vkCmdCopyQueryPoolResults, NULL, void,                                                       \
      (vk_command_buffer, vk_handle, uint32_t, uint32_t, vk_handle, uint64_t, uint64_t, vk_flags)) \
    F(vkGetBufferMemoryRequirements, NULL, void,                                                   \
      (vk_device, vk_handle, struct vk_memory_requirements *))                                     \
    F(vkCreateFence, NULL, vk_result,                                                              \
      (vk_device, const struct vk_fence_create_info *, const void *, vk_handle *))                 \
    F(vkResetFences, NULL, vk_result, (vk_device, uint32_t, const vk_handle *))                    \
    F(vkGetCalibratedTimestampsEXT, "vkGetCalibratedTimestampsKHR", vk_result,                     \
      (vk_device, uint32_t, const struct vk_calibrated_timestamp_info *, uint64_t *, uint64_t *))

/* Replaced by a function of the probe. */
#define VULKAN_REPLACED_FUNCTIONS(F)                                                               \
    F(vkDestroyDevice, NULL, void, (vk_device, const void *))                                      \
    F(vkGetDeviceQueue, NULL, void, (vk_device, uint32_t, uint32_t, vk_queue *))                   \
    F(vkGetDeviceQueue2, NULL, void,                                                               \
      (vk_device, const struct vk_device_queue_info2 *, vk_queue *))                               \
    F(vkCreateCommandPool, NULL, vk_result,                                                        \
      (vk_device, const struct vk_command_pool_create_info *, const void *, vk_handle *))          \
    F(vkDestroyCommandPool, NULL, void, (vk_device, vk_handle, const void *))                      \
    F(vkResetCommandPool, NULL, vk_result, (vk_device, vk_handle, vk_flags))                       \
    F(vkAllocateCommandBuffers, NULL, vk_result,                                                   \
      (vk_device, const struct vk_command_buffer_allocate_info *, vk_command_buffer *))            \
    F(vkFreeCommandBuffers, NULL, void,                                                            \
      (vk_device, vk_handle, uint32_t, const vk_command_buffer *))                                 \
    F(vkBeginCommandBuffer, NULL, vk_result,                                                       \
      (vk_command_buffer, const struct vk_command_buffer_begin_info *))                            \
    F(vkEndCommandBuffer, NULL, vk_result, (vk_command_buffer))                                    \
    F(vkResetCommandBuffer, NULL, vk_result, (vk_command_buffer, vk_flags))                        \
    F(vkCmdBindPipeline, NULL, void, (vk_command_buffer, int32_t, vk_handle))                      \
    F(vkCmdDispatch, NULL, void, (vk_command_buffer, uint32_t, uint32_t, uint32_t))                \
    F(vkCmdDispatchBase, "vkCmdDispatchBaseKHR", void,                                             \
      (vk_command_buffer, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t))             \
    F(vkCmdDispatchIndirect, NULL, void, (vk_command_buffer, vk_handle, uint64_t))                 \
    F(vkCmdCopyBuffer, NULL, void,                                                                 \
      (vk_command_buffer, vk_handle, vk_handle, uint32_t, const struct vk_buffer_copy *))          \
    F(vkCmdCopyBuffer2, "vkCmdCopyBuffer2KHR", void,                                               \
      (vk_command_buffer, const struct vk_copy_buffer_info2 *))                                    \
    F(vkCmdCopyImage, NULL, void,                                                                  \
      (vk_command_buffer, vk_handle, int32_t, vk_handle, int32_t, uint32_t, const void *))         \
    F(vkCmdCopyImage2, "vkCmdCopyImage2KHR", void, (vk_command_buffer, const void *))              \
    F(vkCmdBlitImage, NULL, void,                                                                  \
      (vk_command_buffer, vk_handle, int32_t, vk_handle, int32_t, uint32_t, const void *,          \
       int32_t))                                                                                   \
    F(vkCmdBlitImage2, "vkCmdBlitImage2KHR", void, (vk_command_buffer, const void *))              \
    F(vkCmdCopyBufferToImage, NULL, void,                                                          \
      (vk_command_buffer, vk_handle, vk_handle, int32_t, uint32_t, const void *))                  \
    F(vkCmdCopyBufferToImage2, "vkCmdCopyBufferToImage2KHR", void,                                 \
      (vk_command_buffer, const void *))                                                           \
    F(vkCmdCopyImageToBuffer, NULL, void,                                                          \
      (vk_command_buffer, vk_handle, int32_t, vk_handle, uint32_t, const void *))                  \
    F(vkCmdCopyImageToBuffer2, "vkCmdCopyImageToBuffer2KHR", void,                                 \
      (vk_command_buffer, const void *))                                                           \
    F(vkCmdUpdateBuffer, NULL, void,                                                               \
      (vk_command_buffer, vk_handle, uint64_t, uint64_t, const void *))                            \
    F(vkCmdFillBuffer, NULL, void, (vk_command_buffer, vk_handle, uint64_t, uint64_t, uint32_t))   \
    F(vkCmdPipelineBarrier, NULL, void,                                                            \
      (vk_command_buffer, vk_flags, vk_flags, vk_flags, uint32_t,                                  \
       const struct vk_memory_barrier *, uint32_t, const void *, uint32_t, const void *))          \
    F(vkCmdPipelineBarrier2, "vkCmdPipelineBarrier2KHR", void, (vk_command_buffer, const void *))  \
    F(vkCmdWaitEvents, NULL, void,                                                                 \
      (vk_command_buffer, uint32_t, const vk_handle *, vk_flags, vk_flags, uint32_t, const void *, \
       uint32_t, const void *, uint32_t, const void *))                                            \
    F(vkCmdWaitEvents2, "vkCmdWaitEvents2KHR", void,                                               \
      (vk_command_buffer, uint32_t, const vk_handle *, const void *))                              \
    F(vkCmdExecuteCommands, NULL, void, (vk_command_buffer, uint32_t, const vk_command_buffer *))  \
    F(vkCmdBeginRenderPass, NULL, void, (vk_command_buffer, const void *, int32_t))                \
    F(vkCmdBeginRenderPass2, "vkCmdBeginRenderPass2KHR", void,                                     \
      (vk_command_buffer, const void *, const void *))                                             \
    F(vkCmdEndRenderPass, NULL, void, (vk_command_buffer))                                         \
    F(vkCmdEndRenderPass2, "vkCmdEndRenderPass2KHR", void, (vk_command_buffer, const void *))      \
    F(vkCmdBeginRendering, "vkCmdBeginRenderingKHR", void, (vk_command_buffer, const void *))      \
    F(vkCmdEndRendering, "vkCmdEndRenderingKHR", void, (vk_command_buffer))                        \
    F(vkCmdBeginDebugUtilsLabelEXT, NULL, void,                                                    \
      (vk_command_buffer, const struct vk_debug_utils_label *))                                    \
    F(vkCmdEndDebugUtilsLabelEXT, NULL, void, (vk_command_buffer))                                 \
    F(vkQueueBeginDebugUtilsLabelEXT, NULL, void, (vk_queue, const struct vk_debug_utils_label *)) \
    F(vkQueueEndDebugUtilsLabelEXT, NULL, void, (vk_queue))                                        \
    F(vkSetDebugUtilsObjectNameEXT, NULL, vk_result,                                               \
      (vk_device, const struct vk_debug_utils_object_name_info *))                                 \
    F(vkQueueSubmit, NULL, vk_result,                                                              \
      (vk_queue, uint32_t, const struct vk_submit_info *, vk_handle))                              \
    F(vkQueueSubmit2, "vkQueueSubmit2KHR", vk_result,                                              \
      (vk_queue, uint32_t, const struct vk_submit_info2 *, vk_handle))                             \
    F(vkQueueBindSparse, NULL, vk_result, (vk_queue, uint32_t, const void *, vk_handle))           \
    F(vkQueuePresentKHR, NULL, vk_result, (vk_queue, const void *))                                \
    F(vkQueueWaitIdle, NULL, vk_result, (vk_queue))                                                \
    F(vkDeviceWaitIdle, NULL, vk_result, (vk_device))                                              \
    F(vkWaitForFences, NULL, vk_result,                                                            \
      (vk_device, uint32_t, const vk_handle *, uint32_t, uint64_t))                                \
    F(vkDestroyFence, NULL, void, (vk_device, vk_handle, const void *))                            \
    F(vkDestroySemaphore, NULL, void, (vk_device, vk_handle, const void *))                        \
    F(vkGetFenceStatus, NULL, vk_result, (vk_device, vk_handle))                                   \
    F(vkWaitSemaphores, "vkWaitSemaphoresKHR", vk_result,                                          \
      (vk_device, const struct vk_semaphore_wait_info *, uint64_t))                                \
    F(vkGetSemaphoreCounterValue, "vkGetSemaphoreCounterValueKHR", vk_result,                      \
      (vk_device, vk_handle, uint64_t *))                                                          \
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
    F(vkBindBufferMemory2, "vkBindBufferMemory2KHR", vk_result,                                    \
      (vk_device, uint32_t, const struct vk_bind_buffer_memory_info *))                            \
    F(vkAllocateDescriptorSets, NULL, vk_result,                                                   \
      (vk_device, const struct vk_descriptor_set_allocate_info *, vk_handle *))                    \
    F(vkFreeDescriptorSets, NULL, vk_result, (vk_device, vk_handle, uint32_t, const vk_handle *))  \
    F(vkResetDescriptorPool, NULL, vk_result, (vk_device, vk_handle, vk_flags))                    \
    F(vkDestroyDescriptorPool, NULL, void, (vk_device, vk_handle, const void *))                   \
    F(vkUpdateDescriptorSets, NULL, void,                                                          \
      (vk_device, uint32_t, const struct vk_write_descriptor_set *, uint32_t,                      \
       const struct vk_copy_descriptor_set *))                                                     \
    F(vkCreateDescriptorUpdateTemplate, "vkCreateDescriptorUpdateTemplateKHR", vk_result,          \
      (vk_device, const struct vk_descriptor_update_template_create_info *, const void *,          \
       vk_handle *))                                                                               \
    F(vkDestroyDescriptorUpdateTemplate, "vkDestroyDescriptorUpdateTemplateKHR", void,             \
      (vk_device, vk_handle, const void *))                                                        \
    F(vkUpdateDescriptorSetWithTemplate, "vkUpdateDescriptorSetWithTemplateKHR", void,             \
      (vk_device, vk_handle, vk_handle, const void *))                                             \
    F(vkCmdBindDescriptorSets, NULL, void,                                                         \
      (vk_command_buffer, int32_t, vk_handle, uint32_t, uint32_t, const vk_handle *, uint32_t,     \
       const uint32_t *))                                                                          \
    F(vkCmdPushDescriptorSetKHR, "vkCmdPushDescriptorSet", void,                                   \
      (vk_command_buffer, int32_t, vk_handle, uint32_t, uint32_t,                                  \
       const struct vk_write_descriptor_set *))                                                    \
    F(vkCmdPushDescriptorSetWithTemplateKHR, "vkCmdPushDescriptorSetWithTemplate", void,           \
      (vk_command_buffer, vk_handle, vk_handle, uint32_t, const void *))                           \
    F(vkCmdPushConstants, NULL, void,                                                              \
      (vk_command_buffer, vk_handle, vk_flags, uint32_t, uint32_t, const void *))                  \
    F(vkCreateShaderModule, NULL, vk_result,                                                       \
      (vk_device, const struct vk_shader_module_create_info *, const void *, vk_handle *))         \
    F(vkDestroyShaderModule, NULL, void, (vk_device, vk_handle, const void *))                     \
    F(vkCreateComputePipelines, NULL, vk_result,                                                   \
      (vk_device, vk_handle, uint32_t, const struct vk_compute_pipeline_create_info *,             \
       const void *, vk_handle *))                                                                 \
    F(vkCreateGraphicsPipelines, NULL, vk_result,                                                  \
      (vk_device, vk_handle, uint32_t, const void *, const void *, vk_handle *))                   \
    F(vkDestroyPipeline, NULL, void, (vk_device, vk_handle, const void *))

#define VULKAN_DEVICE_FUNCTIONS(F) VULKAN_CALLED_FUNCTIONS(F) VULKAN_REPLACED_FUNCTIONS(F)

/* A table of function pointers, named as the functions. */
#define VULKAN_POINTER(name, alias, result, parameters) result(*name) parameters;
struct vulkan_instance_functions {
    VULKAN_INSTANCE_FUNCTIONS(VULKAN_POINTER)
};
struct vulkan_device_functions {
    VULKAN_DEVICE_FUNCTIONS(VULKAN_POINTER)
};
#undef VULKAN_POINTER

#endif
