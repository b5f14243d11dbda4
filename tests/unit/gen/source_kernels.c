/* The hand-made GPU kernels, run where there is a device for source code and compiled for CUDA
 * where there is a compiler, against references in double. */
#include "source_run.h"

#include "base/array.h"
#include "device/cuda/compile.h"
#include "gen/native/blocks.h"
#include "gen/emit/matmul.h"

static double tolerance_of(enum ridge_dtype type) {
    return type == RIDGE_F32 ? 4e-6 : type == RIDGE_F16 ? 1e-3 : 8e-3;
}

static bool near(double actual, double expected, enum ridge_dtype type) {
    return fabs(actual - expected) <= tolerance_of(type) * (fabs(expected) + 1);
}

static struct source_array array_of(void *data, enum ridge_dtype type, int64_t count,
                                    size_t offset) {
    return (struct source_array){data, ridge_dtype_bytes(type, count), offset};
}

static void check_attention(struct device *device, const struct attention_work *work,
                            size_t offset) {
    struct status status = {0};
    int64_t q_count = work->batch * work->q_strides[0], k_count = work->batch * work->k_strides[0];
    int64_t v_count = work->batch * work->v_strides[0];
    int64_t count = work->batch * work->heads * work->queries * work->width;
    void *q = noise_array(work->type, q_count, 1, &status);
    void *k = noise_array(work->type, k_count, 2, &status);
    void *v = noise_array(work->type, v_count, 3, &status);
    void *result = noise_array(work->type, count, 4, &status);
    struct source_array arrays[] = {
        array_of(q, work->type, q_count, offset), array_of(k, work->type, k_count, offset),
        array_of(v, work->type, v_count, offset), array_of(result, work->type, count, 0)};
    struct kernel_request request;
    CHECK_OK(kernel_attention(work, &device->capabilities, &request, &status) &&
                 source_run(device, &request, arrays, 4, &status),
             status);
    double worst = 0;
    for (int64_t line = 0; line < work->batch * work->heads * work->queries; line++) {
        int64_t query = line % work->queries, head = line / work->queries % work->heads;
        int64_t batch = line / work->queries / work->heads;
        int64_t kv_head = head / (work->heads / work->kv_heads);
        int64_t seen = work->causal ? work->keys - work->queries + query + 1 : work->keys;
        double scores[512], total = 0;
        int64_t q_at =
            batch * work->q_strides[0] + head * work->q_strides[1] + query * work->q_strides[2];
        for (int64_t key = 0; key < seen; key++) {
            int64_t k_at = batch * work->k_strides[0] + kv_head * work->k_strides[1] +
                           key * work->k_strides[2];
            double dot = 0;
            for (int64_t c = 0; c < work->width; c++)
                dot += element(q, work->type, q_at + c) * element(k, work->type, k_at + c);
            scores[key] = exp(dot * work->scale);
            total += scores[key];
        }
        for (int64_t c = 0; c < work->width; c++) {
            double sum = 0;
            for (int64_t key = 0; key < seen; key++)
                sum += scores[key] *
                       element(v, work->type,
                               batch * work->v_strides[0] + kv_head * work->v_strides[1] +
                                   key * work->v_strides[2] + c);
            double expected = seen > 0 ? sum / total : 0;
            double error = fabs(element(result, work->type, line * work->width + c) - expected);
            worst = fmax(worst, isnan(error) ? INFINITY : error);
        }
    }
    if (worst > tolerance_of(work->type) * 2)
        test_failed(__FILE__, __LINE__, "attention of width %lld, %lld queries: off by %g",
                    (long long)work->width, (long long)work->queries, worst);
    memory_free(q);
    memory_free(k);
    memory_free(v);
    memory_free(result);
}

/* q, k and v as they come out of one projection: [batch, tokens, heads, width] seen as [batch,
 * heads, tokens, width]. */
static struct attention_work attention_of(enum ridge_dtype type, int64_t heads, int64_t kv_heads,
                                          int64_t queries, int64_t keys, int64_t width,
                                          bool causal) {
    return (struct attention_work){
        .type = type,
        .batch = 2,
        .heads = heads,
        .kv_heads = kv_heads,
        .queries = queries,
        .keys = keys,
        .width = width,
        .q_strides = {queries * heads * width, width, heads * width},
        .k_strides = {(keys + 2) * kv_heads * width, (keys + 2) * width, width},
        .v_strides = {(keys + 2) * kv_heads * width, width, kv_heads * width},
        .scale = 0.3f,
        .causal = causal,
    };
}

/* Compiling a kernel for a CPU takes about a second: there, fewer of them are tried. */
static unsigned share_of(const struct device *device, unsigned few, unsigned all) {
    return device->capabilities.is_gpu ? all : few;
}

TEST(generated_attention_agrees_with_softmax_in_double) {
    struct attention_work works[] = {
        attention_of(RIDGE_F32, 4, 2, 1, 75, 16, true),
        attention_of(RIDGE_F16, 2, 1, 35, 40, 20, true),
        attention_of(RIDGE_F16, 2, 2, 3, 9, 24, false),
        attention_of(RIDGE_BF16, 2, 2, 1, 300, 128, true),
        attention_of(RIDGE_F32, 2, 2, 9, 80, 256, true),
        attention_of(RIDGE_F32, 2, 1, 5, 2, 16, true), /* the first queries see nothing */
        attention_of(RIDGE_F32, 1, 1, 12, 2, 10, true),
    };
    FOR_EACH_SOURCE_DEVICE(device)
    for (unsigned i = 0; i < share_of(device, 2, ARRAY_COUNT(works)); i++)
        check_attention(device, &works[i], i == 2 ? 2 : 16);
}

static void check_wkv7(struct device *device, enum ridge_dtype type, int64_t tokens,
                       int64_t width) {
    enum { BATCH = 2, HEADS = 3, VECTORS = 6 };
    struct status status = {0};
    struct wkv7_work work = {type, BATCH, tokens, HEADS, width};
    int64_t count = BATCH * tokens * HEADS * width, states = BATCH * HEADS * width * width;
    void *vectors[VECTORS];
    struct source_array arrays[VECTORS + 3];
    for (int i = 0; i < VECTORS; i++) {
        vectors[i] = noise_array(type, count, (uint64_t)i, &status);
        for (int64_t e = 0; e < count && i != 3; e++)
            set_element(vectors[i], type, e,
                        i == 1 ? 0.5 + 0.4 * noise((uint64_t)e)
                               : noise((uint64_t)(e + i * 999)) / 4);
        arrays[i] = array_of(vectors[i], type, count, 4);
    }
    float *state = noise_array(RIDGE_F32, states, 7, &status);
    float *after = noise_array(RIDGE_F32, states, 8, &status);
    void *y = noise_array(type, count, 9, &status);
    arrays[6] = array_of(state, RIDGE_F32, states, 0);
    arrays[7] = array_of(y, type, count, 0);
    arrays[8] = array_of(after, RIDGE_F32, states, 0);
    struct kernel_request request;
    CHECK_OK(kernel_wkv7(&work, &device->capabilities, &request, &status) &&
                 source_run(device, &request, arrays, VECTORS + 3, &status),
             status);
    bool good = true;
    for (int64_t row = 0; row < BATCH * HEADS * width; row++) {
        int64_t i = row % width, head = row / width % HEADS, batch = row / width / HEADS;
        double s[128];
        for (int64_t j = 0; j < width; j++)
            s[j] = state[row * width + j];
        for (int64_t t = 0; t < tokens; t++) {
            int64_t at = ((batch * tokens + t) * HEADS + head) * width;
            double sa = 0, sum = 0;
            for (int64_t j = 0; j < width; j++)
                sa += s[j] * element(vectors[4], type, at + j);
            for (int64_t j = 0; j < width; j++) {
                s[j] = s[j] * element(vectors[1], type, at + j) +
                       sa * element(vectors[5], type, at + j) +
                       element(vectors[3], type, at + i) * element(vectors[2], type, at + j);
                sum += s[j] * element(vectors[0], type, at + j);
            }
            good = good && near(element(y, type, at + i), sum, type);
        }
        for (int64_t j = 0; j < width; j++)
            good = good && near(after[row * width + j], s[j], RIDGE_F32);
    }
    CHECK(good);
    for (int i = 0; i < VECTORS; i++)
        memory_free(vectors[i]);
    memory_free(state);
    memory_free(after);
    memory_free(y);
}

TEST(generated_wkv7_agrees_with_the_recurrence_in_double) {
    FOR_EACH_SOURCE_DEVICE(device) {
        check_wkv7(device, RIDGE_F16, 3, 19);
        check_wkv7(device, RIDGE_F16, 0, 19);
        if (device->capabilities.is_gpu) {
            check_wkv7(device, RIDGE_F32, 5, 64);
            check_wkv7(device, RIDGE_BF16, 4, 128);
        }
    }
}

static void check_rope(struct device *device, const struct rope_work *work, int64_t start) {
    struct status status = {0};
    int64_t count = work->batch * work->strides[0];
    int64_t results = work->batch * work->heads * work->tokens * work->width;
    void *x = noise_array(work->type, count, 1, &status);
    void *result = noise_array(work->type, results, 2, &status);
    int32_t positions[16];
    REQUIRE(work->tokens <= 16);
    for (int64_t t = 0; t < work->tokens; t++)
        positions[t] = (int32_t)(start + t);
    struct source_array arrays[] = {array_of(x, work->type, count, 4),
                                    array_of(positions, RIDGE_I32, work->tokens, 0),
                                    array_of(result, work->type, results, 0)};
    struct kernel_request request;
    CHECK_OK(kernel_rope(work, &device->capabilities, &request, &status) &&
                 source_run(device, &request, arrays, 3, &status),
             status);
    double worst = 0;
    int64_t pairs = work->width / 2;
    for (int64_t line = 0; line < work->batch * work->heads * work->tokens; line++) {
        int64_t token = line % work->tokens, head = line / work->tokens % work->heads;
        int64_t from = line / work->tokens / work->heads * work->strides[0] +
                       head * work->strides[1] + token * work->strides[2];
        for (int64_t pair = 0; pair < pairs; pair++) {
            int64_t first = work->interleaved ? 2 * pair : pair;
            int64_t second = work->interleaved ? 2 * pair + 1 : pair + pairs;
            double angle = (double)(start + token) * pow(work->base, -(double)pair / (double)pairs);
            double a = element(x, work->type, from + first);
            double b = element(x, work->type, from + second);
            double *got = (double[]){element(result, work->type, line * work->width + first),
                                     element(result, work->type, line * work->width + second)};
            worst = fmax(worst, fabs(got[0] - (a * cos(angle) - b * sin(angle))));
            worst = fmax(worst, fabs(got[1] - (b * cos(angle) + a * sin(angle))));
        }
    }
    if (!(worst <= tolerance_of(work->type)))
        test_failed(__FILE__, __LINE__, "rope from %lld on: off by %g", (long long)start, worst);
    memory_free(x);
    memory_free(result);
}

TEST(generated_rope_is_exact_at_far_positions) {
    FOR_EACH_SOURCE_DEVICE(device) {
        struct rope_work work = {.type = RIDGE_F32,
                                 .batch = 2,
                                 .heads = 3,
                                 .tokens = 7,
                                 .width = 128,
                                 .strides = {3 * 7 * 128, 128, 3 * 128},
                                 .position_strides = {0, 1},
                                 .base = 10000.0f};
        int64_t starts[] = {0, 4095, 1000000, -3};
        for (unsigned i = 0; i < 4; i++)
            check_rope(device, &work, starts[i]);
        work.interleaved = true;
        work.type = RIDGE_BF16;
        if (device->capabilities.is_gpu)
            check_rope(device, &work, -3);
    }
}

/* What each quantized weight stands for, by the definition of the format. */
static double weight(const void *blocks, enum ridge_dtype type, int64_t i) {
    if (type == RIDGE_Q8_0) {
        const struct q8_0_block *block = (const struct q8_0_block *)blocks + i / 32;
        return element(&block->scale, RIDGE_F16, 0) * block->quants[i % 32];
    }
    const struct q4_k_block *block = (const struct q4_k_block *)blocks + i / 256;
    uint8_t scales[8], minimums[8];
    q4_k_unpack(block->packed, scales, minimums);
    int64_t part = i % 256 / 32;
    int quant = block->quants[part / 2 * 32 + i % 32] >> (part % 2 * 4) & 15;
    return element(&block->scale, RIDGE_F16, 0) * scales[part] * quant -
           element(&block->minimum, RIDGE_F16, 0) * minimums[part];
}

static void check_quantized(struct device *device, enum ridge_dtype type, enum ridge_dtype from,
                            double allowed) {
    enum { COUNT = 1024 };
    struct status status = {0};
    void *x = noise_array(from, COUNT, 3, &status);
    for (int64_t i = 256; i < 512; i++)
        set_element(x, from, i, i < 384 ? 0 : 0.25);
    size_t bytes = ridge_dtype_bytes(type, COUNT);
    void *blocks = memory_allocate(bytes, 1, &status);
    void *back = noise_array(from, COUNT, 4, &status);
    void *rows = noise_array(RIDGE_F32, COUNT, 5, &status);
    int32_t indices[4] = {3, -1, 0, 4};
    struct source_array arrays[] = {array_of(x, from, COUNT, 4),
                                    {blocks, bytes, 16},
                                    array_of(back, from, COUNT, 4),
                                    {indices, sizeof indices, 4},
                                    array_of(rows, RIDGE_F32, COUNT, 4)};
    struct quantize_work there = {from, type, COUNT / (type == RIDGE_Q4_K ? 256 : 32)};
    struct quantize_work again = {type, from, there.blocks};
    struct embedding_work lookup = {type, 4, 256, 4, 256};
    struct kernel_request request;
    CHECK_OK(kernel_quantize(&there, &device->capabilities, &request, &status) &&
                 source_run(device, &request, arrays, 2, &status),
             status);
    CHECK_OK(kernel_dequantize(&again, &device->capabilities, &request, &status) &&
                 source_run(device, &request, arrays + 1, 2, &status),
             status);
    struct source_array table[] = {arrays[1], arrays[3], arrays[4]};
    CHECK_OK(kernel_embedding(&lookup, &device->capabilities, &request, &status) &&
                 source_run(device, &request, table, 3, &status),
             status);
    double squares = 0;
    bool good = true;
    for (int64_t i = 0; i < COUNT; i++) {
        double value = weight(blocks, type, i), error = value - element(x, from, i);
        squares += error * error;
        good = good && near(element(back, from, i), value, from);
        int32_t index = indices[i / 256];
        double expected = index >= 0 && index < 4 ? weight(blocks, type, index * 256 + i % 256) : 0;
        good = good && near(((float *)rows)[i], expected, RIDGE_F32);
    }
    CHECK(good);
    CHECK(sqrt(squares / COUNT) < allowed);
    memory_free(x);
    memory_free(blocks);
    memory_free(back);
    memory_free(rows);
}

TEST(weights_quantized_by_generated_kernels_read_back_close) {
    FOR_EACH_SOURCE_DEVICE(device) {
        check_quantized(device, RIDGE_Q4_K, RIDGE_F16, 0.035);
        if (device->capabilities.is_gpu) {
            check_quantized(device, RIDGE_Q4_K, RIDGE_F32, 0.035);
            check_quantized(device, RIDGE_Q8_0, RIDGE_F32, 0.003);
        }
    }
}

static void check_embedding(struct device *device, enum ridge_dtype type, int64_t width,
                            size_t offset) {
    enum { ROWS = 9, COUNT = 5 };
    struct status status = {0};
    int32_t indices[COUNT] = {8, 0, 9, INT32_MIN, 3};
    void *table = noise_array(type == RIDGE_U8 ? RIDGE_F32 : type, ROWS * (width + 3), 1, &status);
    void *result = noise_array(RIDGE_F32, COUNT * width, 2, &status);
    struct source_array arrays[] = {array_of(table, type, ROWS * (width + 3), offset),
                                    {indices, sizeof indices, 4},
                                    array_of(result, type, COUNT * width, offset)};
    struct embedding_work work = {type, ROWS, width, COUNT, width + 3};
    struct kernel_request request;
    CHECK_OK(kernel_embedding(&work, &device->capabilities, &request, &status) &&
                 source_run(device, &request, arrays, 3, &status),
             status);
    bool good = true;
    for (int64_t i = 0; i < COUNT * width; i++) {
        int32_t index = indices[i / width];
        double expected =
            index >= 0 && index < ROWS ? element(table, type, index * (width + 3) + i % width) : 0;
        good = good && element(result, type, i) == expected;
    }
    CHECK(good);
    memory_free(table);
    memory_free(result);
}

TEST(generated_embedding_copies_rows_and_gives_zeros_out_of_range) {
    FOR_EACH_SOURCE_DEVICE(device) {
        check_embedding(device, RIDGE_F32, 37, 0);
        check_embedding(device, RIDGE_F32, 1, 4);
        if (device->capabilities.is_gpu)
            check_embedding(device, RIDGE_U8, 301, 16);
    }
}

/* ---- Compiling for CUDA ------------------------------------------------------------------- */

static struct device_capabilities cuda_of(unsigned major) {
    return (struct device_capabilities){
        .language = LANGUAGE_CUDA,
        .compute_units = 132,
        .subgroup = 32,
        .block_max = 1024,
        .shared_bytes = 48 * 1024,
        .shared_max = 227 * 1024,
        .major = major,
    };
}

static void check_compiles(const struct kernel_request *request,
                           const struct device_capabilities *device) {
    struct kernel_generated generated;
    struct status status = {0};
    struct buffer binary = {0};
    CHECK_OK(kernel_generate(&request->spec, device, &generated, &status) &&
                 cuda_compile(generated.source.data, generated.source.length, generated.name,
                              device->major, device->minor, false, &binary, &status),
             status);
    buffer_finish(&binary);
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

static void check_products_compile(const struct device_capabilities *device) {
    struct matmul_work works[] = {
        product_of(RIDGE_F16, RIDGE_F16, 8, 4096, 4096, false),
        product_of(RIDGE_BF16, RIDGE_BF16, 12, 4096, 4096, true),
        product_of(RIDGE_F32, RIDGE_Q4_K, 1, 16384, 16384, true),
        product_of(RIDGE_F16, RIDGE_Q8_0, 64, 4096, 4096, true),
    };
    for (unsigned i = 0; i < ARRAY_COUNT(works); i++) {
        struct kernel_request request;
        struct status status = {0};
        unsigned buffers[2];
        CHECK_OK(kernel_matmul(&works[i], device, &request, buffers, &status), status);
        check_compiles(&request, device);
    }
}

static void check_others_compile(const struct device_capabilities *device) {
    struct kernel_request request;
    struct status status = {0};
    struct attention_work attentions[] = {
        attention_of(RIDGE_F16, 32, 8, 1, 4096, 128, true),
        attention_of(RIDGE_BF16, 32, 8, 512, 512, 128, true),
    };
    for (unsigned i = 0; i < ARRAY_COUNT(attentions); i++) {
        CHECK_OK(kernel_attention(&attentions[i], device, &request, &status), status);
        check_compiles(&request, device);
    }
    attentions[0].window = 100;
    attentions[1].has_lengths = attentions[1].has_mask = true;
    for (unsigned i = 0; i < ARRAY_COUNT(attentions); i++) {
        CHECK_OK(kernel_attention(&attentions[i], device, &request, &status), status);
        check_compiles(&request, device);
    }
    for (enum attention_result result = ATTENTION_OUTPUT; result <= ATTENTION_DKV; result++) {
        attentions[1].result = result;
        attentions[1].stats = result == ATTENTION_OUTPUT;
        CHECK_OK(kernel_attention(&attentions[1], device, &request, &status), status);
        check_compiles(&request, device);
    }
    for (enum op op = OP_UPDATE; op <= OP_FOLD; op++)
        for (enum ridge_dtype type = RIDGE_F32; type <= RIDGE_U8; type++) {
            struct portable_work portable = {
                .op = op, .type = type, .descending = type == RIDGE_F32, .scalar_count = 36};
            if (op == OP_SAMPLE && type > RIDGE_BF16)
                continue;
            CHECK_OK(kernel_portable(&portable, device, &request, &status), status);
            check_compiles(&request, device);
        }
    struct wkv7_work wkv7 = {RIDGE_F16, 1, 32, 32, 64};
    CHECK_OK(kernel_wkv7(&wkv7, device, &request, &status), status);
    check_compiles(&request, device);
    struct rope_work rope = {
        .type = RIDGE_F16, .batch = 1, .heads = 2, .tokens = 3, .width = 64, .base = 10000.0f};
    CHECK_OK(kernel_rope(&rope, device, &request, &status), status);
    check_compiles(&request, device);
    struct embedding_work embedding = {RIDGE_Q4_K, 10, 256, 3, 256};
    CHECK_OK(kernel_embedding(&embedding, device, &request, &status), status);
    check_compiles(&request, device);
    struct quantize_work there = {RIDGE_BF16, RIDGE_Q4_K, 3}, back = {RIDGE_Q4_K, RIDGE_BF16, 3};
    CHECK_OK(kernel_quantize(&there, device, &request, &status), status);
    check_compiles(&request, device);
    CHECK_OK(kernel_dequantize(&back, device, &request, &status), status);
    check_compiles(&request, device);
    for (enum ridge_dtype type = RIDGE_Q4_0; type < RIDGE_DTYPES; type++) {
        there.to = back.from = type;
        CHECK_OK(kernel_quantize(&there, device, &request, &status), status);
        check_compiles(&request, device);
        CHECK_OK(kernel_dequantize(&back, device, &request, &status), status);
        check_compiles(&request, device);
    }
}

TEST(hand_made_kernels_compile_for_old_and_recent_gpus) {
    for (unsigned major = 7; major <= 9; major += 2) {
        struct device_capabilities device = cuda_of(major);
        struct status status = {0};
        if (major == 7)
            device.minor = 5;
        if (!cuda_compiler_ready(device.major, device.minor, &status)) {
            test_skip("no CUDA compiler here");
            continue;
        }
        check_products_compile(&device);
        if (major == 9)
            check_others_compile(&device);
    }
}
