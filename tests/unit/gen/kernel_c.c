/* Kernel files, checked by this machine's C compiler: their text with kernel_shim.h in place of a
 * language's prelude. Nothing is run; OpenCL and CUDA devices run them in other tests. */
#include "../test.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "bench/kernels/kernel_case.h"
#include "bench/roofs/arithmetic.h"
#include "bench/roofs/stream.h"
#include "gen/emit/dialect.h"
#include "gen/emit/kernel_file.h"
#include "gen/kernel.h"

extern const unsigned char embedded_prelude_opencl_h[], embedded_prelude_cuda_h[];

static struct device_capabilities device_of(enum device_language language, unsigned major) {
    bool cuda = language == LANGUAGE_CUDA;
    return (struct device_capabilities){
        .language = language,
        .compute_units = 132,
        .subgroup = cuda ? 32 : 1,
        .block_max = 1024,
        .shared_bytes = 48 * 1024,
        .shared_max = 96 * 1024,
        .threads_per_unit = 2048,
        .major = major,
    };
}

/* What follows the prelude of the language in a kernel's source. */
static struct text behind_prelude(struct text source, enum device_language language) {
    struct buffer prelude = {0};
    source_section(&prelude,
                   language == LANGUAGE_CUDA ? embedded_prelude_cuda_h : embedded_prelude_opencl_h,
                   NULL);
    buffer_byte(&prelude, '\0');
    ptrdiff_t at = prelude.failed ? -1 : text_find(source, prelude.data);
    CHECK(at >= 0);
    size_t skipped = (size_t)at + prelude.length - 1;
    buffer_finish(&prelude);
    return (struct text){source.data + skipped, source.length - skipped};
}

static void write_source(FILE *file, struct text source, enum device_language language) {
    static const char linkage[] = "extern \"C\" ";
    struct text rest = behind_prelude(source, language);
    ptrdiff_t at;
    fprintf(file, "%s#include \"%.*skernel_shim.h\"\n",
            language == LANGUAGE_CUDA ? "#define SHIM_OF_CUDA\n" : "",
            (int)(strrchr(__FILE__, '/') + 1 - __FILE__), __FILE__);
    while ((at = text_find(rest, linkage)) >= 0) {
        fwrite(rest.data, 1, (size_t)at, file);
        rest.data += (size_t)at + sizeof linkage - 1;
        rest.length -= (size_t)at + sizeof linkage - 1;
    }
    fwrite(rest.data, 1, rest.length, file);
}

static bool has_compiler(void) {
    return system("cc --version > /dev/null 2>&1") == 0 &&
           access("tests/unit/gen/kernel_shim.h", R_OK) == 0;
}

static void check_source(struct text source, enum device_language language, const char *name) {
    const char *path = test_temporary(".c");
    char command[1024];
    FILE *file = fopen(path, "w");
    REQUIRE(file);
    write_source(file, source, language);
    fclose(file);
    snprintf(command, sizeof command,
             "cc -std=gnu11 -fsyntax-only -Wall -Wno-attributes -Wno-unknown-pragmas "
             "-Wno-unused -Wno-uninitialized -Wno-psabi -Werror -I. '%s'",
             path);
    if (system(command) != 0)
        test_failed(__FILE__, __LINE__, "%s is no C", name);
}

static void check_request(const struct kernel_request *request,
                          const struct device_capabilities *device) {
    struct kernel_generated generated;
    struct status status = {0};
    bool ok = kernel_generate(&request->spec, device, &generated, &status);
    CHECK_OK(ok, status);
    if (!ok)
        return;
    check_source(buffer_as_text(&generated.source), device->language, generated.name);
    kernel_generated_finish(&generated);
}

static struct matmul_work product_of(enum ridge_dtype a_type, enum ridge_dtype b_type, int64_t m,
                                     int64_t n, int64_t k, bool by_columns) {
    struct matmul_work work = {
        .a_type = a_type,
        .b_type = b_type,
        .batch = 1,
        .m = m,
        .n = n,
        .k = k,
        .a_row = k,
        .a_column = 1,
        .b_row = by_columns ? 1 : n,
        .b_column = by_columns ? k : 1,
        .a_alignment = 16,
        .b_alignment = 16,
        .epilogue = {.rank = 3, .outer = 3},
        .shape = {.sizes = {1, m, n}, .strides = {{m * n, n, 1}}},
    };
    program_operand(&work.epilogue, a_type, true);
    program_instruction(&work.epilogue, (struct program_instruction){.op = OP_ACCUMULATOR});
    program_instruction(&work.epilogue, (struct program_instruction){.op = OP_STORE, .a = 0});
    return work;
}

static void check_products(const struct device_capabilities *device) {
    struct matmul_work works[] = {
        product_of(RIDGE_F32, RIDGE_F32, 300, 300, 300, false),
        product_of(RIDGE_F16, RIDGE_F16, 8, 4096, 4096, false),
        product_of(RIDGE_BF16, RIDGE_BF16, 1, 4096, 4096, true),
        product_of(RIDGE_F16, RIDGE_F16, 512, 512, 512, true),
        product_of(RIDGE_F32, RIDGE_Q4_K, 1, 16384, 16384, true),
        product_of(RIDGE_F16, RIDGE_Q8_0, 64, 4096, 4096, true),
    };
    for (unsigned i = 0; i < ARRAY_COUNT(works); i++) {
        struct kernel_request request;
        struct status status = {0};
        unsigned buffers[2];
        bool ok = kernel_matmul(&works[i], device, &request, buffers, &status);
        CHECK_OK(ok, status);
        if (ok)
            check_request(&request, device);
    }
}

static void check_others(const struct device_capabilities *device) {
    struct kernel_request request;
    struct status status = {0};
    struct attention_work attention = {.type = RIDGE_F16,
                                       .batch = 2,
                                       .heads = 4,
                                       .kv_heads = 2,
                                       .queries = 64,
                                       .keys = 64,
                                       .width = 64,
                                       .q_strides = {16384, 64, 256},
                                       .k_strides = {8192, 64, 128},
                                       .v_strides = {8192, 64, 128},
                                       .scale = 0.3f,
                                       .causal = true};
    CHECK_OK(kernel_attention(&attention, device, &request, &status), status);
    check_request(&request, device);
    for (enum attention_result result = ATTENTION_OUTPUT;
         result <= ATTENTION_DKV && device->language == LANGUAGE_CUDA; result++) {
        attention.result = result;
        attention.stats = result == ATTENTION_OUTPUT;
        CHECK_OK(kernel_attention(&attention, device, &request, &status), status);
        check_request(&request, device);
    }
    attention.result = ATTENTION_OUTPUT;
    attention.stats = false;
    attention.window = 20;
    attention.has_lengths = attention.has_mask = true;
    CHECK_OK(kernel_attention(&attention, device, &request, &status), status);
    check_request(&request, device);
    for (enum op op = OP_UPDATE; op <= OP_FOLD; op++) {
        struct portable_work portable = {
            .op = op, .type = RIDGE_F16, .descending = true, .scalar_count = 36};
        CHECK_OK(kernel_portable(&portable, device, &request, &status), status);
        check_request(&request, device);
    }
    struct wkv7_work wkv7 = {RIDGE_F16, 1, 32, 32, 64};
    CHECK_OK(kernel_wkv7(&wkv7, device, &request, &status), status);
    check_request(&request, device);
    struct rope_work rope = {
        .type = RIDGE_F16, .batch = 1, .heads = 2, .tokens = 3, .width = 64, .base = 10000.0f};
    CHECK_OK(kernel_rope(&rope, device, &request, &status), status);
    check_request(&request, device);
    struct embedding_work embedding = {RIDGE_Q4_K, 10, 256, 3, 256};
    CHECK_OK(kernel_embedding(&embedding, device, &request, &status), status);
    check_request(&request, device);
    struct quantize_work there = {RIDGE_BF16, RIDGE_Q4_K, 3}, back = {RIDGE_Q4_K, RIDGE_BF16, 3};
    CHECK_OK(kernel_quantize(&there, device, &request, &status), status);
    check_request(&request, device);
    CHECK_OK(kernel_dequantize(&back, device, &request, &status), status);
    check_request(&request, device);
}

static void check_dual_gemm(enum kernel_family family, const struct device_capabilities *device) {
    const struct dual_gemm_matrix rows_of = {256, 16};
    struct dual_gemm_work work = {family,  RIDGE_F16, 8,        256,     256, 16,
                                  rows_of, rows_of,   {16, 16}, rows_of, 1};
    struct kernel_request request;
    struct status status = {0};
    if (family == KERNEL_GATED)
        work.second = rows_of;
    CHECK(kernel_dual_gemm_fits(&work, device));
    CHECK_OK(kernel_dual_gemm(&work, device, &request, &status), status);
    check_request(&request, device);
}

TEST(kernel_files_of_operations_are_c) {
    struct device_capabilities opencl = device_of(LANGUAGE_OPENCL, 0);
    struct device_capabilities cuda = device_of(LANGUAGE_CUDA, 9);
    if (!has_compiler()) {
        test_skip("no C compiler here, or not started in the checkout");
        return;
    }
    check_products(&opencl);
    check_others(&opencl);
    check_products(&cuda);
    check_others(&cuda);
    check_dual_gemm(KERNEL_GATED, &cuda);
    check_dual_gemm(KERNEL_LORA, &cuda);
}

/* ---- Of benchmarks ------------------------------------------------------------------------ */

static void check_sweep(enum hand_kernel which, int64_t batch, int64_t block_or_tile) {
    struct device_capabilities device = device_of(LANGUAGE_OPENCL, 0);
    struct bench_case work = {.size = 1000, .batch = batch};
    struct kernel_plan plan;
    struct status status = {0};
    CHECK_OK(kernel_case_set(&work, which, block_or_tile, &status) &&
                 kernel_plan_make(&work, &device, &plan, &status),
             status);
    for (int last = 0; last <= (which == HAND_SUM); last++) {
        struct buffer source = {0};
        kernel_text(&plan, &device, last, &source);
        check_source(buffer_as_text(&source), LANGUAGE_OPENCL, kernel_name_of(&plan, last));
        buffer_finish(&source);
    }
}

/* A device that checks what it should load. */
static bool load_as_c(struct device *device, const struct kernel_code *code,
                      struct device_kernel **kernel, struct status *status) {
    (void)status;
    check_source((struct text){code->source, code->source_length}, device->capabilities.language,
                 code->name);
    *kernel = NULL;
    return true;
}

TEST(kernel_files_of_benchmarks_are_c) {
    static const struct device_ops ops = {.load = load_as_c};
    struct device device = {.ops = &ops, .capabilities = device_of(LANGUAGE_OPENCL, 0)};
    struct roof_bench bench = {.device = &device, .capabilities = &device.capabilities};
    struct device_kernel *kernel;
    struct status status = {0};
    unsigned count;
    if (!has_compiler()) {
        test_skip("no C compiler here, or not started in the checkout");
        return;
    }
    check_sweep(HAND_SCALE, 0, 256);
    check_sweep(HAND_SUM, 0, 256);
    for (enum hand_kernel which = HAND_READ; which <= HAND_PRODUCT; which++) {
        check_sweep(which, 4, 0);
        check_sweep(which, 0, 64);
    }
    for (enum stream_kind kind = 0; kind < STREAM_KINDS; kind++)
        CHECK_OK(stream_load_source(&bench, &(struct stream_source){kind, 256, 4, kind != 0},
                                    &kernel, &status),
                 status);
    const struct source_chain *chains = source_chains(&count);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(chains[i].section, "f32") == 0 && chains[i].language == LANGUAGE_OPENCL)
            CHECK_OK(source_chain_load(&bench, &chains[i], 256, 16, &kernel, &status), status);
}
