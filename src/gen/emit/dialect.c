/* The head of a kernel in each language, and the prelude assembled from its files. */
#include "gen/emit/dialect.h"

#include "gen/emit/kernel_file.h"

extern const unsigned char embedded_prelude_h[], embedded_prelude_cuda_h[],
    embedded_prelude_opencl_h[], embedded_prelude_metal_h[], embedded_prelude_glsl_h[];

unsigned source_subgroup(const struct device_capabilities *device) {
    switch (device->language) {
    case LANGUAGE_CUDA:
    case LANGUAGE_METAL:
        return 32;
    case LANGUAGE_GLSL:
        return device->subgroup;
    default:
        return 1;
    }
}

void source_prelude(struct buffer *out, const struct device_capabilities *device) {
    const unsigned char *const preludes[] = {
        [LANGUAGE_CUDA] = embedded_prelude_cuda_h,
        [LANGUAGE_OPENCL] = embedded_prelude_opencl_h,
        [LANGUAGE_METAL] = embedded_prelude_metal_h,
        [LANGUAGE_GLSL] = embedded_prelude_glsl_h,
    };
    source_section(out, preludes[device->language], NULL);
    if (device->language == LANGUAGE_GLSL)
        buffer_printf(out, "#define SUBGROUP %u\n", source_subgroup(device));
    else
        source_section(out, embedded_prelude_h, "pointers");
    source_section(out, embedded_prelude_h, "common");
}

const char *source_storage(enum ridge_dtype dtype) {
    switch (dtype) {
    case RIDGE_F32:
        return "float";
    case RIDGE_F16:
    case RIDGE_BF16:
        return "UINT16";
    case RIDGE_I32:
        return "int";
    default:
        return "UCHAR";
    }
}

static const char *constness(const struct source_parameter *parameter) {
    return parameter->stored ? "" : "const ";
}

static void cuda_head(struct buffer *out, const struct source_kernel *kernel) {
    buffer_string(out, "extern \"C\" __global__ void ");
    if (kernel->cluster > 1)
        buffer_printf(out, "__cluster_dims__(%u, 1, 1) ", kernel->cluster);
    buffer_printf(out, "__launch_bounds__(%u", kernel->threads);
    if (kernel->blocks_per_unit)
        buffer_printf(out, ", %u", kernel->blocks_per_unit);
    buffer_printf(out, ") %s(", kernel->name);
    for (unsigned i = 0; i < kernel->buffer_count; i++) {
        const struct source_parameter *buffer = &kernel->buffers[i];
        buffer_printf(out, "%s%s%s *%s%s", i ? ", " : "", constness(buffer),
                      source_storage(buffer->dtype), buffer->no_alias ? "__restrict__ " : "",
                      buffer->name);
    }
    if (kernel->scalar_count)
        buffer_printf(out, "%sconst struct scalars scalars", kernel->buffer_count ? ", " : "");
    buffer_string(out, ") {\n");
    if (kernel->dynamic_shared)
        buffer_string(out, "extern __shared__ uint4 dynamic_words[];\n"
                           "UCHAR *dynamic_shared = (UCHAR *)dynamic_words;\n");
}

static void opencl_head(struct buffer *out, const struct source_kernel *kernel) {
    buffer_printf(out, "__kernel __attribute__((reqd_work_group_size(%u, 1, 1))) void %s(",
                  kernel->threads, kernel->name);
    const char *comma = "";
    for (unsigned i = 0; i < kernel->buffer_count; i++, comma = ", ")
        buffer_printf(out, "%s__global UCHAR *%s_memory, const INT64 %s_offset", comma,
                      kernel->buffers[i].name, kernel->buffers[i].name);
    if (kernel->scalar_count) {
        buffer_printf(out, "%sconst struct scalars scalars", comma);
        comma = ", ";
    }
    if (kernel->dynamic_shared)
        buffer_printf(out, "%s__local UCHAR *dynamic_shared", comma);
    buffer_string(out, ") {\n");
    for (unsigned i = 0; i < kernel->buffer_count; i++) {
        const struct source_parameter *buffer = &kernel->buffers[i];
        const char *storage = source_storage(buffer->dtype), *name = buffer->name;
        buffer_printf(out, "__global %s%s *%s%s = (__global %s%s *)(%s_memory + %s_offset);\n",
                      constness(buffer), storage, buffer->no_alias ? "restrict " : "", name,
                      constness(buffer), storage, name, name);
    }
}

/* Without the attribute the compiler may use too many registers for a block of this size. */
static void metal_head(struct buffer *out, const struct source_kernel *kernel) {
    buffer_printf(out, "[[max_total_threads_per_threadgroup(%u)]] kernel void %s(", kernel->threads,
                  kernel->name);
    for (unsigned i = 0; i < kernel->buffer_count; i++) {
        const struct source_parameter *buffer = &kernel->buffers[i];
        buffer_printf(out, "device %s%s *%s [[buffer(%u)]], ", constness(buffer),
                      source_storage(buffer->dtype), buffer->name, i);
    }
    if (kernel->scalar_count)
        buffer_printf(out, "constant struct scalars &scalars [[buffer(%u)]], ",
                      kernel->buffer_count);
    if (kernel->dynamic_shared)
        buffer_string(out, "threadgroup UCHAR *dynamic_shared [[threadgroup(0)]], ");
    buffer_string(out, "uint3 thread_position [[thread_position_in_threadgroup]], "
                       "uint3 thread_count [[threads_per_threadgroup]], "
                       "uint3 block_position [[threadgroup_position_in_grid]], "
                       "uint3 block_count [[threadgroups_per_grid]]) {\n");
}

/* The arguments are one block: pushed with the launch, or in memory at a pushed address. */
static void glsl_head(struct buffer *out, const struct source_kernel *kernel) {
    bool pushed = kernel->buffer_count + kernel->scalar_count + 1 <= GLSL_PUSH_WORDS;
    buffer_printf(out, "layout(local_size_x = %u) in;\n", kernel->threads);
    buffer_string(out, pushed ? "layout(push_constant, std430) uniform arguments {\n"
                              : "layout(buffer_reference, std430, buffer_reference_align = 8) "
                                "readonly buffer arguments {\n");
    if (kernel->buffer_count)
        buffer_printf(out, "uint64_t buffers[%u];\n", kernel->buffer_count);
    if (kernel->scalar_count)
        buffer_printf(out, "int64_t v[%u];\n", kernel->scalar_count);
    buffer_string(out, "uint64_t blocks;\n");
    buffer_string(out, pushed ? "} scalars;\n"
                              : "};\nlayout(push_constant) uniform push_block { arguments at; } "
                                "pushed;\n#define scalars pushed.at\n");
}

static void glsl_main(struct buffer *out, const struct source_kernel *kernel) {
    buffer_string(out, "void main() {\nif (BLOCK_X >= GRID_X)\nreturn;\n");
    for (unsigned i = 0; i < kernel->buffer_count; i++) {
        const char *storage = source_storage(kernel->buffers[i].dtype);
        buffer_printf(out, "POINTER(%s) %s = POINTER(%s)(scalars.buffers[%u]);\n", storage,
                      kernel->buffers[i].name, storage, i);
    }
}

static void c_head(struct buffer *out, enum device_language language,
                   const struct source_kernel *kernel) {
    if (kernel->scalar_count)
        buffer_printf(out, "struct scalars { INT64 v[%u]; };\n", kernel->scalar_count);
    source_section(out, embedded_prelude_h, "groups");
    buffer_string(out, kernel->scratch_words ? "#define SCRATCH_AT(n) scratch[n]\n"
                                             : "#define SCRATCH_AT(n) ((IN_SHARED UINT32 *)0)\n");
    if (language == LANGUAGE_CUDA)
        cuda_head(out, kernel);
    else if (language == LANGUAGE_OPENCL)
        opencl_head(out, kernel);
    else
        metal_head(out, kernel);
}

void source_kernel_begin(struct buffer *out, const struct device_capabilities *device,
                         const struct source_kernel *kernel) {
    bool glsl = device->language == LANGUAGE_GLSL;
    if (glsl)
        glsl_head(out, kernel);
    else
        c_head(out, device->language, kernel);
    if (kernel->scratch_words)
        buffer_printf(out, "SHARED UINT32 scratch[%u][%u];\n", kernel->scratch_arrays,
                      kernel->scratch_words);
    else if (glsl)
        buffer_string(out, "shared uint scratch[1][1];\n"); /* the functions below name it */
}

void source_kernel_body(struct buffer *out, const struct device_capabilities *device,
                        const struct source_kernel *kernel) {
    if (device->language != LANGUAGE_GLSL)
        return;
    source_section(out, embedded_prelude_h, "groups");
    glsl_main(out, kernel);
}
