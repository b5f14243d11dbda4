/* Kernels: GLSL with the lines that depend on the device's features, compiled or from the cache of
 * compiled kernels, and a compute pipeline made of it.
 *
 * The entry point of the SPIR-V is renamed from main to the kernel's name, so that every tool that
 * looks at the pipeline shows it.
 */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "device/cache.h"
#include "device/vulkan/vulkan.h"

static const char extensions[] =
    "#version 460\n"
    "#extension GL_EXT_buffer_reference : require\n"
    "#extension GL_EXT_control_flow_attributes : require\n"
    "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n"
    "#extension GL_EXT_shader_8bit_storage : require\n"
    "#extension GL_EXT_shader_16bit_storage : require\n"
    "#extension GL_EXT_spirv_intrinsics : require\n"
    "#define UNROLL [[unroll]]\n";

void vulkan_write_source(const struct vulkan_device *device, const struct kernel_code *code,
                         struct buffer *source) {
    buffer_string(source, extensions);
    if (device->base.capabilities.subgroup > 1)
        buffer_string(source, "#extension GL_KHR_shader_subgroup_shuffle : require\n");
    if (device->traits.f16)
        buffer_string(source,
                      "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n"
                      "#define HAS_HALF\n");
    if (device->base.capabilities.cooperative)
        buffer_string(source, vulkan_cooperative_extensions);
    if (device->traits.f64)
        buffer_string(source, "#define HAS_DOUBLE\n");
    if (device->traits.keeps_nan) /* SignedZeroInfNanPreserve of 32 bits */
        buffer_string(source, "spirv_execution_mode(extensions = [\"SPV_KHR_float_controls\"], "
                              "capabilities = [4466], 4461, 32);\n");
    buffer_append(source, code->source, code->source_length);
}

/* ---- SPIR-V ------------------------------------------------------------------------------- */

enum { SPIRV_MAGIC = 0x07230203, SPIRV_HEADER = 5, OP_ENTRY_POINT = 15, ENTRY_NAME = 3 };

/* The word at which the first entry point's instruction starts; 0 if there is none. */
static size_t find_entry_point(const uint32_t *words, size_t count) {
    for (size_t at = SPIRV_HEADER; at < count; at += words[at] >> 16) {
        if (words[at] >> 16 == 0)
            return 0;
        if ((words[at] & 0xffff) == OP_ENTRY_POINT)
            return at;
    }
    return 0;
}

static bool rename_entry_point(const struct buffer *spirv, const char *name, struct buffer *renamed,
                               struct status *status) {
    const uint32_t *words = (const uint32_t *)(const void *)spirv->data;
    size_t count = spirv->length / 4;
    size_t at =
        count > SPIRV_HEADER && words[0] == SPIRV_MAGIC ? find_entry_point(words, count) : 0;
    if (at == 0 || at + ENTRY_NAME + 1 >= count || words[at + ENTRY_NAME] != 0x6e69616d /* main */)
        return status_fail(status, STATUS_INPUT, "the compiler's SPIR-V has no entry point main");
    size_t old_length = words[at] >> 16;
    size_t rest = at + ENTRY_NAME + 2; /* "main" and its terminator are two words */
    size_t name_words = strlen(name) / 4 + 1;
    uint32_t first = (uint32_t)(old_length - 2 + name_words) << 16 | OP_ENTRY_POINT;
    buffer_append(renamed, words, at * 4);
    buffer_append(renamed, &first, 4);
    buffer_append(renamed, &words[at + 1], (ENTRY_NAME - 1) * 4);
    buffer_append(renamed, name, strlen(name));
    for (size_t i = strlen(name); i < name_words * 4; i++)
        buffer_byte(renamed, '\0');
    buffer_append(renamed, &words[rest], (count - rest) * 4);
    return buffer_ok(renamed, status);
}

/* SPIR-V depends on nothing but the source, which has the device's features in it. */
static bool to_spirv(const struct vulkan_device *device, const struct kernel_code *code,
                     struct buffer *renamed, struct status *status) {
    static const char kind[] = "spirv 1.5 of vulkan 1.2";
    struct buffer key = {0}, spirv = {0};
    buffer_append(&key, kind, sizeof kind);
    vulkan_write_source(device, code, &key);
    bool ok = buffer_ok(&key, status);
    if (ok && !cache_load(key.data, key.length, &spirv)) {
        ok = vulkan_compile(key.data + sizeof kind, key.length - sizeof kind, &spirv, status);
        if (ok)
            cache_store(key.data, key.length, spirv.data, spirv.length);
    }
    ok = ok && rename_entry_point(&spirv, code->name, renamed, status);
    buffer_finish(&key);
    buffer_finish(&spirv);
    return ok;
}

/* ---- Pipelines ---------------------------------------------------------------------------- */

/* Threads of a block: the source's local_size_x. */
static uint32_t threads_of(const struct kernel_code *code) {
    static const char word[] = "layout(local_size_x = ";
    const char *at = code->source;
    const char *end = at + code->source_length;
    for (; at + sizeof word < end; at++)
        if (memcmp(at, word, sizeof word - 1) == 0) {
            uint32_t threads = 0;
            for (at += sizeof word - 1; at < end && *at >= '0' && *at <= '9'; at++)
                threads = threads * 10 + (uint32_t)(*at - '0');
            return threads;
        }
    return 0;
}

static bool create_pipeline(struct vulkan_device *device, struct vulkan_kernel *kernel,
                            vk_handle module, struct status *status) {
    uint32_t subgroup = device->base.capabilities.subgroup;
    struct vk_pipeline_shader_stage_required_subgroup_size_create_info required = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
        .requiredSubgroupSize = subgroup};
    bool full = subgroup > 1 && kernel->threads % subgroup == 0;
    const struct vk_compute_pipeline_create_info info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .pNext = subgroup > 1 ? &required : NULL,
                  .flags = full ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT : 0,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = kernel->base.name},
        .layout = device->layout};
    return vulkan_check(device->calls.vkCreateComputePipelines(device->device, 0, 1, &info, NULL,
                                                               &kernel->pipeline),
                        "vkCreateComputePipelines", status);
}

static bool fill_kernel(struct vulkan_device *device, const struct kernel_code *code,
                        struct vulkan_kernel *kernel, struct status *status) {
    struct buffer spirv = {0};
    vk_handle module = 0;
    int length = snprintf(kernel->base.name, sizeof kernel->base.name, "%s", code->name);
    if (length < 0 || (size_t)length >= sizeof kernel->base.name)
        return status_fail(status, STATUS_USAGE, "a name of %d characters is too long", length);
    if (code->shared_max > 0)
        return status_fail(status, STATUS_UNSUPPORTED, "Vulkan has no dynamic shared memory");
    kernel->threads = threads_of(code);
    bool ok = to_spirv(device, code, &spirv, status);
    if (ok) {
        const struct vk_shader_module_create_info info = {
            .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
            .codeSize = spirv.length,
            .pCode = (const uint32_t *)(const void *)spirv.data};
        ok = vulkan_check(device->calls.vkCreateShaderModule(device->device, &info, NULL, &module),
                          "vkCreateShaderModule", status) &&
             create_pipeline(device, kernel, module, status);
    }
    if (module)
        device->calls.vkDestroyShaderModule(device->device, module, NULL);
    buffer_finish(&spirv);
    return ok;
}

bool vulkan_load(struct device *base, const struct kernel_code *code, struct device_kernel **loaded,
                 struct status *status) {
    struct vulkan_device *device = vulkan_of(base);
    if (code->kind != CODE_SOURCE)
        return status_fail(status, STATUS_UNSUPPORTED, "kernel %s: Vulkan devices need source",
                           code->name);
    struct vulkan_kernel *kernel = memory_allocate(1, sizeof *kernel, status);
    if (!kernel)
        return false;
    vulkan_link_add(&device->kernels, &kernel->link);
    if (!fill_kernel(device, code, kernel, status)) {
        vulkan_unload(base, &kernel->base);
        return status_context(status, "kernel %s", code->name);
    }
    *loaded = &kernel->base;
    return true;
}

/* Queued work may still use it. */
void vulkan_unload(struct device *base, struct device_kernel *loaded) {
    struct vulkan_kernel *kernel = (struct vulkan_kernel *)loaded;
    struct vulkan_device *device = vulkan_of(base);
    struct status ignored;
    if (!kernel)
        return;
    if (kernel->pipeline) {
        vulkan_finish(base, &ignored);
        device->calls.vkDestroyPipeline(device->device, kernel->pipeline, NULL);
    }
    vulkan_link_remove(&kernel->link);
    memory_free(kernel);
}
