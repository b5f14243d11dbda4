/* Chains of multiply-adds as source: eight accumulators in each thread.
 *
 * Numbers stay of the size of 1: a * m + c tends to c / (1 - m). Both are launch arguments, so
 * that no compiler can combine several steps. CUDA's halves are PTX instructions, as NVRTC has
 * no headers. OpenCL's vectors are for drivers that run a work item as a CPU thread; a GPU may
 * be faster with single floats, so both are tried.
 *
 * The kernel detects missing features by the compiler's macros and reports them: some drivers
 * print errors when a source does not compile.
 */
#include "base/array.h"
#include "bench/roofs/arithmetic.h"

#include "gen/emit/dialect.h"

/* Random bits as a float in [0.5, 1). Lanes of a vector differ, or a compiler would compute one
 * for all, and all are used in the end, or it would remove some. */
#define FLOAT_START "AS_FLOAT((seed & 0x7fffffu) | 0x3f000000u)"
#define LANES "(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)"
#define FACTORS_F32 "float M = AS_FLOAT(0x3f7fbe77u ^ zero), C = AS_FLOAT(0x3a83126fu ^ zero);\n"

static const struct source_chain chains[] = {
    {ROOF_F32, LANGUAGE_CUDA, "1", "float", FLOAT_START, FACTORS_F32, "A = FMA(A, M, C);",
     "AS_UINT(A)", 2, "multiply-adds in registers", ""},
    {ROOF_F16, LANGUAGE_CUDA, "__CUDA_ARCH__ >= 530", "UINT32",
     "((seed & 0x03ff03ffu) | 0x38003800u)",
     "UINT32 M = 0x3bf03bf0u ^ zero, C = 0x20182018u ^ zero;\n",
     "asm(\"fma.rn.f16x2 %0, %0, %1, %2;\" : \"+r\"(A) : \"r\"(M), \"r\"(C));", "A", 4,
     "multiply-adds of pairs", "the GPU has no f16 arithmetic"},
    {ROOF_BF16, LANGUAGE_CUDA, "__CUDA_ARCH__ >= 800", "UINT32",
     "((seed & 0x007f007fu) | 0x3f003f00u)",
     "UINT32 M = 0x3f7e3f7eu ^ zero, C = 0x3c003c00u ^ zero;\n",
     "asm(\"fma.rn.bf16x2 %0, %0, %1, %2;\" : \"+r\"(A) : \"r\"(M), \"r\"(C));", "A", 4,
     "multiply-adds of pairs", "the GPU has no bf16 arithmetic"},
    {ROOF_INT8, LANGUAGE_CUDA, "__CUDA_ARCH__ >= 610", "int", "(int)seed",
     "int M = (int)(0x5be29d37u ^ zero);\n",
     "asm(\"dp4a.s32.s32 %0, %0, %1, %0;\" : \"+r\"(A) : \"r\"(M));", "(UINT32)A", 8,
     "dp4a, four products of bytes", "the GPU has no dp4a"},

    {ROOF_F32, LANGUAGE_OPENCL, "1", "float", FLOAT_START, FACTORS_F32, "A = fma(A, M, C);",
     "AS_UINT(A)", 2, "multiply-adds in registers", ""},
    {ROOF_F32, LANGUAGE_OPENCL, "1", "float16",
     "((float16)" LANES " * 0.03f + (float16)(" FLOAT_START "))", FACTORS_F32,
     "A = fma(A, (float16)(M), (float16)(C));", "AS_UINT(ALL_LANES(A))", 32,
     "multiply-adds of vectors of 16 in registers", ""},
    {ROOF_F16, LANGUAGE_OPENCL, "defined(cl_khr_fp16)", "half2",
     "((half2)(0, 0.1h) + (half2)((half)(" FLOAT_START ")))",
     "half2 M = (half2)(0.99h - (half)zero), C = (half2)(0.01h + (half)zero);\n",
     "A = fma(A, M, C);", "AS_UINT((float)(A.x + A.y))", 4, "multiply-adds of pairs",
     "the driver has no cl_khr_fp16"},
    {ROOF_F16, LANGUAGE_OPENCL, "defined(cl_khr_fp16)", "half16",
     "((half16)" LANES " * 0.03h + (half16)((half)(" FLOAT_START ")))",
     "half16 M = (half16)(0.99h - (half)zero), C = (half16)(0.01h + (half)zero);\n",
     "A = fma(A, M, C);", "AS_UINT((float)(ALL_LANES(A)))", 32, "multiply-adds of vectors of 16",
     "the driver has no cl_khr_fp16"},
    {ROOF_INT8, LANGUAGE_OPENCL, "defined(__opencl_c_integer_dot_product_input_4x8bit_packed)",
     "int", "(int)seed", "uint M = 0x5be29d37u ^ zero;\n", "A += dot_4x8packed_ss_int((uint)A, M);",
     "(UINT32)A", 8, "dot products of four bytes", "the driver has no dot products of bytes"},
    {ROOF_INT8, LANGUAGE_OPENCL, "1", "char16", "((char16)" LANES " + (char16)((char)seed))",
     "char16 M = (char16)((char)(77 ^ zero)), C = (char16)((char)(29 ^ zero));\n", "A = A * M + C;",
     "(UINT32)(ALL_LANES(A))", 32, "multiply-adds of vectors of 16", ""},
    {ROOF_INT8, LANGUAGE_OPENCL, "1", "int", "(int)seed",
     "int M = (int)(77 ^ zero), C = (int)(29 ^ zero);\n", "A = mad24(A, M, C) & 0x7f;", "(UINT32)A",
     2, "multiply-adds of bytes in words", ""},
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
    buffer_string(out,
                  "#define ALL_LANES(v) ((v).s0 + (v).s1 + (v).s2 + (v).s3 + (v).s4 + (v).s5 + "
                  "(v).s6 + (v).s7 + (v).s8 + (v).s9 + (v).sa + (v).sb + (v).sc + (v).sd + "
                  "(v).se + (v).sf)\n");
    buffer_string(out,
                  "#ifdef cl_khr_fp16\n#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#endif\n");
    buffer_printf(out, "#define START(seed) %s\n#define STEP(A) %s\n#define BITS(A) %s\n",
                  chain->start, chain->step, chain->bits);
    source_kernel_begin(out, language, &kernel);
    buffer_printf(out, "#if %s\n", chain->condition);
    buffer_string(
        out, "UINT32 seed = (BLOCK_X * 1024u + THREAD_X) * 2654435761u;\n"
             "const UINT32 rounds = (UINT32)scalars.v[0], zero = (UINT32)(scalars.v[0] >> 32);\n");
    buffer_string(out, chain->factors);
    for (unsigned i = 0; i < ACCUMULATORS; i++)
        buffer_printf(out, "seed = seed * 1664525u + 1013904223u;\n%s a%u = START(seed);\n",
                      chain->type, i);
    buffer_string(out, "for (UINT32 round = 0; round < rounds; round++) {\n");
    for (unsigned step = 0; step < steps; step += ACCUMULATORS)
        for (unsigned i = 0; i < ACCUMULATORS; i++)
            buffer_printf(out, "STEP(a%u)\n", i);
    buffer_string(out, "}\nUINT32 sum = 0;\n");
    for (unsigned i = 0; i < ACCUMULATORS; i++)
        buffer_printf(out, "sum ^= BITS(a%u);\n", i);
    /* True so rarely that the store costs nothing, but no compiler can prove that it never is. */
    buffer_string(out, "if (sum == 0x5bd1e995u) result[0] = (int)sum;\n#else\n");
    buffer_printf(out, "result[0] = %d;\n#endif\n}\n", SOURCE_CHAIN_ABSENT);
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
