/* Names of shaders. In this order: the name that the program gave to the pipeline or the module,
 * the entry point, the source file if the entry point is called "main", a hash of the code.
 */
#include "probe/vulkan/vulkan.h"

#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "base/clock.h"

enum { NAME_MAX_BYTES = 256 };

struct shader_module {
    const char *name; /* given by the program, or NULL */
    size_t words;
    uint32_t code[];
};

static struct text base_name(struct text path) {
    for (size_t i = path.length; i > 0; i--)
        if (path.data[i - 1] == '/' || path.data[i - 1] == '\\')
            return (struct text){path.data + i, path.length - i};
    return path;
}

static const char *derive_name(const struct spirv_entry *entry, const char *entry_name,
                               const uint32_t *code, size_t words) {
    char text[NAME_MAX_BYTES];
    struct text source = base_name(entry->source);
    int length;
    if (strcmp(entry_name, "main") != 0)
        return vulkan_intern((struct text){entry_name, strnlen(entry_name, SPOOL_TEXT_MAX)});
    if (source.length > 0)
        return vulkan_intern(source);
    length =
        snprintf(text, sizeof text, "main#%08x", (unsigned)checksum64(code, words * sizeof *code));
    return vulkan_intern((struct text){text, (size_t)length});
}

static struct shader_work *read_work(const uint32_t *code, size_t words, const char *entry_name,
                                     const struct vk_specialization_info *values) {
    struct shader_work *work = vulkan_allocate(sizeof *work), *kept = NULL;
    if (work && shader_work_read(code, words, entry_name, values, work))
        kept = vulkan_allocate(shader_work_bytes(work));
    if (kept)
        memcpy(kept, work, shader_work_bytes(work));
    vulkan_free(work);
    return kept;
}

void vulkan_pipeline_release(struct vulkan_pipeline *pipeline) {
    if (pipeline)
        vulkan_free(pipeline->work);
    vulkan_free(pipeline);
}

/* The code of a stage: of its module, or inline. */
static void describe_pipeline(struct vulkan_device *device,
                              const struct vk_pipeline_shader_stage_create_info *stage,
                              struct vulkan_pipeline *pipeline) {
    const struct shader_module *module =
        stage->module ? vulkan_object_find(device, OBJECT_MODULE, stage->module) : NULL;
    const uint32_t *code = module ? module->code : NULL;
    size_t words = module ? module->words : 0;
    const char *entry_name = stage->pName ? stage->pName : "main";
    const struct vk_structure *at = stage->pNext;
    for (; at && !code; at = at->pNext)
        if (at->sType == VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO) {
            const struct vk_shader_module_create_info *info = (const void *)at;
            code = info->pCode;
            words = info->codeSize / sizeof *code;
        }
    struct spirv_entry entry = {.source = TEXT("")};
    if (code)
        entry = spirv_find_entry(code, words, entry_name, stage->pSpecializationInfo);
    memcpy(pipeline->block, entry.block, sizeof entry.block);
    if (code)
        pipeline->work = read_work(code, words, entry_name, stage->pSpecializationInfo);
    pipeline->name =
        module && module->name ? module->name : derive_name(&entry, entry_name, code, words);
}

static void keep(struct vulkan_device *device, enum vulkan_object type, vk_handle handle,
                 void *object) {
    bool added;
    vulkan_free(vulkan_object_set(device, type, handle, object, &added));
    if (!added)
        vulkan_free(object);
}

vk_result probe_vkCreateShaderModule(vk_device handle,
                                     const struct vk_shader_module_create_info *info,
                                     const void *allocator, vk_handle *made) {
    struct vulkan_device *device = vulkan_device_of(handle);
    int64_t start = clock_now();
    vk_result result = device->next.vkCreateShaderModule(handle, info, allocator, made);
    vulkan_put_call(&(struct vulkan_call){
        .name = "vkCreateShaderModule", .class = CALL_COMPILE, .start = start, .result = result});
    struct shader_module *module = device->records && result == VK_SUCCESS
                                       ? vulkan_allocate(sizeof *module + info->codeSize)
                                       : NULL;
    if (!module)
        return result;
    module->words = info->codeSize / sizeof *module->code;
    memcpy(module->code, info->pCode, module->words * sizeof *module->code);
    keep(device, OBJECT_MODULE, *made, module);
    return result;
}

void probe_vkDestroyShaderModule(vk_device handle, vk_handle module, const void *allocator) {
    struct vulkan_device *device = vulkan_device_of(handle);
    vulkan_free(vulkan_object_take(device, OBJECT_MODULE, module));
    device->next.vkDestroyShaderModule(handle, module, allocator);
}

static void keep_pipelines(struct vulkan_device *device, uint32_t count,
                           const struct vk_compute_pipeline_create_info *infos,
                           const vk_handle *made) {
    for (uint32_t i = 0; i < count; i++) {
        struct vulkan_pipeline *pipeline = made[i] ? vulkan_allocate(sizeof *pipeline) : NULL;
        if (!pipeline)
            continue;
        bool added;
        describe_pipeline(device, &infos[i].stage, pipeline);
        vulkan_pipeline_release(
            vulkan_object_set(device, OBJECT_PIPELINE, made[i], pipeline, &added));
        if (!added)
            vulkan_pipeline_release(pipeline);
    }
}

vk_result probe_vkCreateComputePipelines(vk_device handle, vk_handle cache, uint32_t count,
                                         const struct vk_compute_pipeline_create_info *infos,
                                         const void *allocator, vk_handle *made) {
    struct vulkan_device *device = vulkan_device_of(handle);
    int64_t start = clock_now();
    vk_result result =
        device->next.vkCreateComputePipelines(handle, cache, count, infos, allocator, made);
    vulkan_put_call(&(struct vulkan_call){.name = "vkCreateComputePipelines",
                                          .class = CALL_COMPILE,
                                          .start = start,
                                          .result = result});
    if (device->records && result >= 0)
        keep_pipelines(device, count, infos, made);
    return result;
}

vk_result probe_vkCreateGraphicsPipelines(vk_device handle, vk_handle cache, uint32_t count,
                                          const void *infos, const void *allocator,
                                          vk_handle *made) {
    struct vulkan_device *device = vulkan_device_of(handle);
    int64_t start = clock_now();
    vk_result result =
        device->next.vkCreateGraphicsPipelines(handle, cache, count, infos, allocator, made);
    vulkan_put_call(&(struct vulkan_call){.name = "vkCreateGraphicsPipelines",
                                          .class = CALL_COMPILE,
                                          .start = start,
                                          .result = result});
    return result;
}

void probe_vkDestroyPipeline(vk_device handle, vk_handle pipeline, const void *allocator) {
    struct vulkan_device *device = vulkan_device_of(handle);
    vulkan_pipeline_release(vulkan_object_take(device, OBJECT_PIPELINE, pipeline));
    device->next.vkDestroyPipeline(handle, pipeline, allocator);
}

/* ---- Names given by the program ------------------------------------------------------------ */

static void name_object(struct vulkan_device *device,
                        const struct vk_debug_utils_object_name_info *info) {
    const char *name = info->pObjectName && *info->pObjectName
                           ? vulkan_intern((struct text){
                                 info->pObjectName, strnlen(info->pObjectName, SPOOL_TEXT_MAX)})
                           : NULL;
    if (!name)
        return;
    if (info->objectType == VK_OBJECT_TYPE_PIPELINE) {
        struct vulkan_pipeline *pipeline =
            vulkan_object_find(device, OBJECT_PIPELINE, info->objectHandle);
        if (pipeline)
            pipeline->name = name;
    } else if (info->objectType == VK_OBJECT_TYPE_SHADER_MODULE) {
        struct shader_module *module =
            vulkan_object_find(device, OBJECT_MODULE, info->objectHandle);
        if (module)
            module->name = name;
    } else if (info->objectType == VK_OBJECT_TYPE_QUEUE) {
        struct vulkan_queue *queue = vulkan_object_find(device, OBJECT_QUEUE, info->objectHandle);
        if (queue)
            atomic_store(&queue->name, name);
    }
}

vk_result probe_vkSetDebugUtilsObjectNameEXT(vk_device handle,
                                             const struct vk_debug_utils_object_name_info *info) {
    struct vulkan_device *device = vulkan_device_of(handle);
    if (device->records)
        name_object(device, info);
    return device->next.vkSetDebugUtilsObjectNameEXT(handle, info);
}
