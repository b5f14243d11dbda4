/* The head of a kernel in each language, and the prelude assembled from its files. */
#include "gen/emit/dialect.h"

#include "gen/emit/kernel_file.h"

extern const unsigned char embedded_prelude_h[], embedded_prelude_cuda_h[],
    embedded_prelude_opencl_h[], embedded_prelude_metal_h[];

void source_prelude(struct buffer *out, enum device_language language, bool no_contraction) {
    switch (language) {
    case LANGUAGE_NATIVE:
        return;
    case LANGUAGE_CUDA:
        source_section(out, embedded_prelude_cuda_h, NULL);
        break;
    case LANGUAGE_OPENCL:
        if (no_contraction)
            buffer_string(out, "#pragma OPENCL FP_CONTRACT OFF\n");
        source_section(out, embedded_prelude_opencl_h, NULL);
        break;
    case LANGUAGE_METAL:
        if (no_contraction)
            buffer_string(out, "#pragma METAL fp contract(off)\n");
        source_section(out, embedded_prelude_metal_h, NULL);
        break;
    }
    source_section(out, embedded_prelude_h, NULL);
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

/* Without the attribute the compiler may use so many registers that fewer threads fit. */
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

void source_kernel_begin(struct buffer *out, enum device_language language,
                         const struct source_kernel *kernel) {
    if (kernel->scalar_count)
        buffer_printf(out, "struct scalars { INT64 v[%u]; };\n", kernel->scalar_count);
    if (language == LANGUAGE_CUDA)
        cuda_head(out, kernel);
    else if (language == LANGUAGE_OPENCL)
        opencl_head(out, kernel);
    else
        metal_head(out, kernel);
}
