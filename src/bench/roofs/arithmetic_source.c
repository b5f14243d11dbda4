/* Chains of multiply-adds as source: the sections of chains.cl, for each type and language. */
#include "base/array.h"
#include "bench/roofs/arithmetic.h"

#include "gen/emit/elements.h"
#include "gen/emit/kernel_file.h"

extern const unsigned char embedded_chains_cl[];

static const struct source_chain chains[] = {
    {ROOF_F32, LANGUAGE_CUDA, "f32", 2, "multiply-adds in registers", ""},
    {ROOF_F16, LANGUAGE_CUDA, "cuda_f16", 4, "multiply-adds of pairs",
     "the GPU has no f16 arithmetic"},
    {ROOF_BF16, LANGUAGE_CUDA, "cuda_bf16", 4, "multiply-adds of pairs",
     "the GPU has no bf16 arithmetic"},
    {ROOF_INT8, LANGUAGE_CUDA, "cuda_int8", 8, "dp4a, four products of bytes",
     "the GPU has no dp4a"},
    {ROOF_F32, LANGUAGE_OPENCL, "f32", 2, "multiply-adds in registers", ""},
    {ROOF_F32, LANGUAGE_OPENCL, "opencl_f32x16", 32, "multiply-adds of vectors of 16 in registers",
     ""},
    {ROOF_F16, LANGUAGE_OPENCL, "opencl_f16x2", 4, "multiply-adds of pairs",
     "the driver has no cl_khr_fp16"},
    {ROOF_F16, LANGUAGE_OPENCL, "opencl_f16x16", 32, "multiply-adds of vectors of 16",
     "the driver has no cl_khr_fp16"},
    {ROOF_INT8, LANGUAGE_OPENCL, "opencl_dot", 8, "dot products of four bytes",
     "the driver has no dot products of bytes"},
    {ROOF_INT8, LANGUAGE_OPENCL, "opencl_char16", 32, "multiply-adds of vectors of 16", ""},
    {ROOF_INT8, LANGUAGE_OPENCL, "opencl_mad24", 2, "multiply-adds of bytes in words", ""},
};

const struct source_chain *source_chains(unsigned *count) {
    *count = ARRAY_COUNT(chains);
    return chains;
}

static void write_kernel(struct buffer *out, enum device_language language,
                         const struct source_chain *chain, unsigned threads, unsigned steps,
                         const char *name) {
    enum { ACCUMULATORS = 8 };
    const struct source_parameter result = {.name = "result", .dtype = RIDGE_I32, .stored = true};
    const struct source_kernel kernel = {
        .name = name, .buffers = &result, .buffer_count = 1, .scalar_count = 1, .threads = threads};
    source_prelude(out, language, false);
    source_define(out, "ABSENT", SOURCE_CHAIN_ABSENT);
    source_section(out, embedded_chains_cl, "macros");
    source_section(out, embedded_chains_cl, chain->section);
    source_kernel_begin(out, language, &kernel);
    source_section(out, embedded_chains_cl, "begin");
    for (unsigned step = 0; step < steps; step += ACCUMULATORS)
        source_section(out, embedded_chains_cl, "steps");
    source_section(out, embedded_chains_cl, "end");
    buffer_string(out, "}\n");
}

bool source_chain_load(const struct roof_bench *bench, const struct source_chain *chain,
                       unsigned threads, unsigned steps, struct device_kernel **kernel,
                       struct status *status) {
    static const char name[] = "chain";
    struct buffer text = {0};
    write_kernel(&text, bench->capabilities->language, chain, threads, steps, name);
    struct kernel_code code = {
        .kind = CODE_SOURCE, .name = name, .source = text.data, .source_length = text.length};
    bool loaded =
        buffer_ok(&text, status) && bench->device->ops->load(bench->device, &code, kernel, status);
    buffer_finish(&text);
    return loaded;
}
