/* Matrix products on the CPU against sums in double precision: all types, layouts, methods and
 * ISAs, and sizes that are not multiples of a block. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "device/device.h"
#include "gen/backends.h"
#include "gen/native/blocks.h"
#include "gen/native/isa.h"
#include "../test.h"

#include "base/array.h"

/* A product to be tried. Strides of 0 mean: as for a contiguous matrix. */
struct product {
    enum ridge_dtype a_type, b_type, result_type;
    int64_t batch, m, n, k;
    bool a_turned, b_turned; /* columns are contiguous instead of rows */
    int64_t spread;          /* elements from one to the next, 1 when 0 */
    bool b_shared;           /* one B for the whole batch */
    bool bias_relu;          /* relu(product + bias of n) */
};

static uint64_t random_state = 1;
static uint32_t random_bits(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33);
}
static float random_float(void) {
    return (float)random_bits() / (float)(1u << 30) - 1;
}

static float f16_value(uint16_t half) {
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double magnitude = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return (float)(half & 0x8000 ? -magnitude : magnitude);
}

static double value_at(const void *data, enum ridge_dtype type, int64_t index) {
    if (type == RIDGE_F32)
        return ((const float *)data)[index];
    uint16_t half = ((const uint16_t *)data)[index];
    if (type == RIDGE_F16)
        return f16_value(half);
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double weight_at(const void *data, enum ridge_dtype type, int64_t index) {
    if (type == RIDGE_Q8_0) {
        const struct q8_0_block *block = (const struct q8_0_block *)data + index / 32;
        return (double)f16_value(block->scale) * block->quants[index % 32];
    }
    if (type != RIDGE_Q4_K)
        return value_at(data, type, index);
    const struct q4_k_block *block = (const struct q4_k_block *)data + index / 256;
    int i = (int)(index % 256), part = i / 32;
    int quant = block->quants[part / 2 * 32 + i % 32] >> (part % 2 * 4) & 15;
    uint8_t scales[8], minimums[8];
    q4_k_unpack(block->packed, scales, minimums);
    return (double)f16_value(block->scale) * scales[part] * quant -
           (double)f16_value(block->minimum) * minimums[part];
}

/* Numbers from -1 to 1; quantized ones have scales such that they are about that. */
static void fill(void *data, enum ridge_dtype type, int64_t count) {
    for (int64_t i = 0; type == RIDGE_F32 && i < count; i++)
        ((float *)data)[i] = random_float();
    for (int64_t i = 0; type == RIDGE_F16 && i < count; i++)
        ((uint16_t *)data)[i] =
            (uint16_t)((random_bits() & 0x83ff) | (8 + random_bits() % 7) << 10);
    for (int64_t i = 0; type == RIDGE_BF16 && i < count; i++)
        ((uint16_t *)data)[i] =
            (uint16_t)((random_bits() & 0x807f) | (120 + random_bits() % 7) << 7);
    if (type == RIDGE_Q8_0 || type == RIDGE_Q4_K) {
        unsigned char *bytes = data;
        size_t size = ridge_dtype_bytes(type, count);
        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)random_bits();
    }
    for (int64_t i = 0; type == RIDGE_Q8_0 && i < count / 32; i++)
        ((struct q8_0_block *)data)[i].scale = (uint16_t)(0x2000 | (random_bits() & 0x83ff));
    for (int64_t i = 0; type == RIDGE_Q4_K && i < count / 256; i++) {
        ((struct q4_k_block *)data)[i].scale = (uint16_t)(0x1400 | (random_bits() & 0x3ff));
        ((struct q4_k_block *)data)[i].minimum = (uint16_t)(0x1c00 | (random_bits() & 0x3ff));
    }
}

/* Strides [batch, row, column] of a matrix, and the elements that it reaches over. */
static int64_t lay_out(const struct product *product, int64_t rows, int64_t columns, bool turned,
                       bool one, int64_t strides[3]) {
    int64_t spread = product->spread ? product->spread : 1;
    strides[0] = one ? 0 : rows * columns * spread;
    strides[1] = turned ? spread : columns * spread;
    strides[2] = turned ? rows * spread : spread;
    return (one ? 1 : product->batch) * rows * columns * spread;
}

static void instruction(struct program *program, enum op op, unsigned slot, unsigned a,
                        unsigned b) {
    program_instruction(program, (struct program_instruction){.op = (uint8_t)op,
                                                              .type = VALUE_F32,
                                                              .slot = (uint8_t)slot,
                                                              .a = (uint16_t)a,
                                                              .b = (uint16_t)b});
}

/* Stores the product, or relu of it plus a bias, which is operand 1 then. */
static void make_epilogue(const struct product *product, struct matmul_work *work) {
    struct program *program = &work->epilogue;
    program->rank = program->outer = 3;
    int64_t sizes[3] = {product->batch, product->m, product->n};
    memcpy(work->shape.sizes, sizes, sizeof sizes);
    program_operand(program, product->result_type, true);
    const uint8_t kinds[3] = {STRIDE_ANY, STRIDE_ANY, STRIDE_ONE};
    memcpy(program->operands[0].strides, kinds, sizeof kinds);
    int64_t strides[3] = {product->m * product->n, product->n, 1};
    memcpy(work->shape.strides[0], strides, sizeof strides);
    work->shape.alignment[0] = work->shape.alignment[1] = 16;
    instruction(program, OP_ACCUMULATOR, 0, 0, 0);
    unsigned value = 0;
    if (product->bias_relu) {
        program_operand(program, RIDGE_F32, false);
        program->operands[1].strides[2] = STRIDE_ONE;
        work->shape.strides[1][2] = 1;
        instruction(program, OP_LOAD, 1, 0, 0);
        instruction(program, OP_ADD, 0, 0, 1);
        instruction(program, OP_RELU, 0, 2, 0);
        value = 3;
    }
    instruction(program, OP_STORE, 0, value, 0);
}

static struct device *device;
static bool open_device(void) {
    struct status status;
    if (!device && !device_cpu.open(0, &device, &status))
        test_failed(__FILE__, __LINE__, "%s", status.message);
    return device != NULL;
}

/* Plans, loads and runs the work for a machine of `threads`, at least as many as there are. */
static bool launch(const struct matmul_work *work, unsigned threads,
                   const struct launch_buffer *buffers, unsigned buffer_count,
                   struct status *status) {
    struct device_capabilities machine = device->capabilities;
    machine.compute_units = threads > machine.compute_units ? threads : machine.compute_units;
    struct kernel_request request;
    memset(&request, 0, sizeof request);
    struct kernel_generated generated;
    struct device_kernel *kernel;
    if (!native_matmul(work, &machine, &request, status) ||
        !kernel_generate(&request.spec, &machine, &generated, status))
        return false;
    bool done = device->ops->load(device, &generated.code, &kernel, status);
    kernel_generated_finish(&generated);
    if (!done)
        return false;
    struct launch launch = {
        .kernel = kernel,
        .shared_bytes = request.shared_bytes,
        .buffers = buffers,
        .buffer_count = buffer_count,
        .scalars = request.scalars,
        .scalar_count = request.scalar_count,
    };
    memcpy(launch.grid, request.grid, sizeof launch.grid);
    memcpy(launch.block, request.block, sizeof launch.block);
    done = device->ops->launch(device, 0, &launch, NULL, status) &&
           device->ops->finish(device, status);
    device->ops->unload(device, kernel);
    return done;
}

struct matrix {
    enum ridge_dtype type;
    int64_t strides[3];
    void *data;
    struct launch_buffer buffer;
};

static bool make_matrix(struct matrix *matrix, enum ridge_dtype type, int64_t count) {
    struct status status;
    size_t bytes = ridge_dtype_bytes(type, count);
    matrix->type = type;
    matrix->data = malloc(bytes ? bytes : 1);
    fill(matrix->data, type, count);
    return matrix->data && device->ops->allocate(device, bytes, &matrix->buffer.memory, &status) &&
           device->ops->copy_in(device, 0, matrix->buffer.memory, 0, matrix->data, bytes, NULL,
                                &status);
}

static void drop_matrix(struct matrix *matrix) {
    free(matrix->data);
    device->ops->release(device, matrix->buffer.memory);
}

/* What an element of the result should be, and how far off it may be. */
struct expected {
    double value, allowed;
};

static struct expected expect(const struct product *product, const struct matrix *a,
                              const struct matrix *b, const struct matrix *bias, int64_t batch,
                              int64_t i, int64_t j) {
    bool quantized = b->type == RIDGE_Q8_0 || b->type == RIDGE_Q4_K;
    double of_sum = quantized ? 2e-5 : 2e-6;
    double of_result = product->result_type == RIDGE_F32   ? 1e-7
                       : product->result_type == RIDGE_F16 ? 0x1p-11
                                                           : 0x1p-8;
    int64_t in_a = batch * a->strides[0] + i * a->strides[1];
    int64_t in_b = batch * b->strides[0] + j * b->strides[2];
    double sum = 0, magnitude = 0;
    for (int64_t p = 0; p < product->k; p++) {
        double term = value_at(a->data, a->type, in_a + p * a->strides[2]) *
                      weight_at(b->data, b->type, in_b + p * b->strides[1]);
        sum += term;
        magnitude += fabs(term);
    }
    if (product->bias_relu) {
        sum += ((const float *)bias->data)[j];
        sum = sum < 0 ? 0 : sum;
    }
    return (struct expected){sum, magnitude * of_sum + fabs(sum) * of_result + 1e-7};
}

static void expect_all(const struct product *product, const struct matrix *a,
                       const struct matrix *b, const struct matrix *bias,
                       struct expected *expected) {
    for (int64_t batch = 0; batch < product->batch; batch++)
        for (int64_t i = 0; i < product->m; i++)
            for (int64_t j = 0; j < product->n; j++)
                *expected++ = expect(product, a, b, bias, batch, i, j);
}

static void check_result(const struct product *product, const struct expected *expected,
                         const void *result) {
    int64_t count = product->batch * product->m * product->n;
    double worst = 0;
    for (int64_t i = 0; i < count; i++) {
        double actual = value_at(result, product->result_type, i);
        double error = fabs(actual - expected[i].value) / expected[i].allowed;
        worst = error > worst || isnan(error) ? error : worst;
    }
    if (!(worst <= 1))
        test_failed(__FILE__, __LINE__,
                    "%s x %s -> %s, %lld x %lld x %lld x %lld%s%s spread %lld on %s: error is %g "
                    "times what is allowed",
                    ridge_dtype_name(product->a_type), ridge_dtype_name(product->b_type),
                    ridge_dtype_name(product->result_type), (long long)product->batch,
                    (long long)product->m, (long long)product->n, (long long)product->k,
                    product->a_turned ? " A turned" : "", product->b_turned ? " B turned" : "",
                    (long long)product->spread, simd_best()->name, worst);
}

/* Runs the product and reads its result back; the result's old content is not what is expected. */
static void run_product(const struct product *product, const struct matmul_work *work,
                        unsigned threads, const struct launch_buffer *buffers,
                        const struct expected *expected, void *result) {
    struct status status;
    size_t bytes =
        ridge_dtype_bytes(product->result_type, product->batch * product->m * product->n);
    struct device_memory memory = buffers[2].memory;
    memset(result, 0x7f, bytes);
    CHECK_OK(device->ops->copy_in(device, 0, memory, 0, result, bytes, NULL, &status), status);
    CHECK_OK(launch(work, threads, buffers, product->bias_relu ? 4 : 3, &status), status);
    CHECK_OK(device->ops->copy_out(device, 0, result, memory, 0, bytes, NULL, &status), status);
    check_result(product, expected, result);
}

/* Tries the product on every instruction set that this machine has. */
static void try_product(const struct product *product, unsigned threads) {
    struct matrix a = {0}, b = {0}, result = {0}, bias = {0};
    int64_t count = product->batch * product->m * product->n;
    int64_t a_count = lay_out(product, product->m, product->k, product->a_turned, false, a.strides);
    int64_t b_count =
        lay_out(product, product->k, product->n, product->b_turned, product->b_shared, b.strides);
    REQUIRE(open_device());
    REQUIRE(make_matrix(&a, product->a_type, a_count));
    REQUIRE(make_matrix(&b, product->b_type, b_count));
    REQUIRE(make_matrix(&result, product->result_type, count));
    REQUIRE(make_matrix(&bias, RIDGE_F32, product->n));
    struct expected *expected = calloc((size_t)count + 1, sizeof *expected);
    REQUIRE(expected);
    expect_all(product, &a, &b, &bias, expected);
    struct matmul_work work = {
        .a_type = product->a_type,
        .b_type = product->b_type,
        .batch = product->batch,
        .m = product->m,
        .n = product->n,
        .k = product->k,
        .a_batch = a.strides[0],
        .a_row = a.strides[1],
        .a_column = a.strides[2],
        .b_batch = b.strides[0],
        .b_row = b.strides[1],
        .b_column = b.strides[2],
        .a_alignment = 16,
        .b_alignment = 16,
    };
    make_epilogue(product, &work);
    struct launch_buffer buffers[] = {a.buffer, b.buffer, result.buffer, bias.buffer};
    for (unsigned i = 0; simd_isa(i); i++)
        if (simd_use(simd_isa(i)->name))
            run_product(product, &work, threads, buffers, expected, result.data);
    simd_use(NULL);
    free(expected);
    drop_matrix(&a);
    drop_matrix(&b);
    drop_matrix(&result);
    drop_matrix(&bias);
}

static const enum ridge_dtype floats[] = {RIDGE_F32, RIDGE_F16, RIDGE_BF16};

TEST(a_matrix_product_of_every_float_type_and_layout_is_right) {
    static const int64_t sizes[][3] = {{1, 70, 300},  {2, 33, 17},  {3, 5, 64},  {8, 130, 45},
                                       {13, 31, 100}, {70, 90, 50}, {300, 1, 70}};
    for (size_t s = 0; s < ARRAY_COUNT(sizes); s++)
        for (int layout = 0; layout < 8; layout++)
            for (int type = 0; type < 3; type++)
                try_product(&(struct product){.a_type = floats[type],
                                              .b_type = floats[type],
                                              .result_type = floats[(type + layout) % 3],
                                              .batch = 1 + layout % 2,
                                              .m = sizes[s][0],
                                              .n = sizes[s][1],
                                              .k = sizes[s][2],
                                              .a_turned = layout & 1,
                                              .b_turned = layout & 2,
                                              .spread = layout & 4 ? 3 : 1},
                            1);
}

TEST(a_matrix_product_of_two_types_is_right) {
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            for (int few = 0; few < 3; few++)
                try_product(&(struct product){.a_type = floats[a],
                                              .b_type = floats[b],
                                              .result_type = RIDGE_F32,
                                              .batch = 1,
                                              .m = few == 0 ? 4 : 40,
                                              .n = few == 1 ? 3 : 37,
                                              .k = 50},
                            1);
}

TEST(matrix_products_of_sizes_around_every_panel_are_right) {
    for (int64_t m = 1; m <= 30; m++)
        try_product(&(struct product){.batch = 1,
                                      .m = m,
                                      .n = 2 * m + 7,
                                      .k = 9 + m % 4 * 8,
                                      .a_turned = m % 3 == 0,
                                      .b_turned = m % 2},
                    1);
}

TEST(a_matrix_product_larger_than_its_blocks_is_right) {
    try_product(&(struct product){.batch = 1, .m = 230, .n = 290, .k = 270}, 1);
    try_product(&(struct product){.batch = 1, .m = 70, .n = 66, .k = 4200, .b_turned = true}, 3);
    try_product(&(struct product){.batch = 1, .m = 20, .n = 600, .k = 600}, 1);
    try_product(&(struct product){.batch = 1, .m = 2100, .n = 70, .k = 65}, 1);
}

TEST(a_matrix_product_for_many_threads_is_right) {
    try_product(&(struct product){.batch = 1, .m = 100, .n = 200, .k = 300}, 64);
    try_product(&(struct product){.batch = 1, .m = 1, .n = 40, .k = 5000}, 16);
    try_product(&(struct product){.batch = 1, .m = 5, .n = 10, .k = 9000, .b_turned = true}, 16);
    try_product(
        &(struct product){
            .b_type = RIDGE_Q4_K, .batch = 1, .m = 2, .n = 10, .k = 9216, .b_turned = true},
        16);
}

TEST(a_batch_of_matrix_products_is_right_and_can_share_its_right_side) {
    for (int shared = 0; shared < 2; shared++)
        for (int64_t m = 1; m <= 33; m += 16)
            try_product(
                &(struct product){
                    .batch = 7, .m = m, .n = 40, .k = 33, .b_shared = shared, .bias_relu = m == 17},
                1);
}

TEST(what_follows_a_matrix_product_is_applied_once_to_each_element) {
    for (int type = 0; type < 3; type++)
        for (int64_t m = 1; m <= 150; m += m < 10 ? 3 : 70)
            try_product(&(struct product){.result_type = floats[type],
                                          .batch = 2,
                                          .m = m,
                                          .n = 300,
                                          .k = 120,
                                          .bias_relu = true},
                        1);
}

TEST(a_matrix_product_over_nothing_is_zero_and_one_of_nothing_does_nothing) {
    for (int64_t m = 0; m <= 20; m += 10)
        for (int64_t n = 0; n <= 20; n += 10)
            try_product(&(struct product){.batch = 1, .m = m, .n = n, .k = 0, .bias_relu = true},
                        1);
    for (int64_t m = 0; m <= 1; m++)
        for (int64_t n = 0; n <= 1; n++) {
            try_product(&(struct product){.batch = 1, .m = m, .n = n, .k = 5}, 1);
            try_product(&(struct product){.batch = 0, .m = m, .n = n, .k = 5}, 1);
            try_product(
                &(struct product){
                    .b_type = RIDGE_Q8_0, .batch = 1, .m = m, .n = n, .k = 0, .b_turned = true},
                1);
        }
}

TEST(a_matrix_product_with_quantized_weights_is_right) {
    for (int64_t m = 1; m <= 40; m += m < 10 ? 1 : 13)
        for (int type = RIDGE_Q8_0; type <= RIDGE_Q4_K; type++)
            try_product(&(struct product){.a_type = floats[m % 3],
                                          .b_type = (enum ridge_dtype)type,
                                          .batch = 1 + m % 2,
                                          .m = m,
                                          .n = 21,
                                          .k = type == RIDGE_Q8_0 ? 32 * (m + 1) : 512,
                                          .a_turned = m % 4 == 3,
                                          .b_turned = true,
                                          .b_shared = m % 2},
                        1);
}

TEST(what_is_not_a_number_shows_in_a_product_with_quantized_weights) {
    if (!open_device())
        return;
    float x[256], y = 0;
    for (int i = 0; i < 256; i++)
        x[i] = i == 77 ? NAN : 1;
    struct q4_k_block w;
    fill(&w, RIDGE_Q4_K, 256);
    struct product product = {.b_type = RIDGE_Q4_K, .batch = 1, .m = 1, .n = 1, .k = 256};
    struct matmul_work work = {.b_type = RIDGE_Q4_K, .batch = 1, .m = 1, .n = 1, .k = 256};
    work.a_column = work.b_row = 1;
    work.b_column = 256;
    make_epilogue(&product, &work);
    struct launch_buffer buffers[3] = {{{0, 0}, 0}};
    const void *data[3] = {x, &w, &y};
    size_t bytes[3] = {sizeof x, sizeof w, sizeof y};
    struct status status;
    for (int i = 0; i < 3; i++) {
        REQUIRE(device->ops->allocate(device, bytes[i], &buffers[i].memory, &status));
        REQUIRE(device->ops->copy_in(device, 0, buffers[i].memory, 0, data[i], bytes[i], NULL,
                                     &status));
    }
    CHECK_OK(launch(&work, 1, buffers, 3, &status), status);
    CHECK_OK(device->ops->copy_out(device, 0, &y, buffers[2].memory, 0, sizeof y, NULL, &status),
             status);
    CHECK(isnan(y));
    for (int i = 0; i < 3; i++)
        device->ops->release(device, buffers[i].memory);
}

TEST(a_matrix_product_of_types_or_blocks_that_cannot_be_says_why) {
    struct device_capabilities machine = {.language = LANGUAGE_NATIVE, .compute_units = 1};
    struct kernel_request request = {0};
    struct status status = {0};
    struct matmul_work work = {.a_type = RIDGE_I32, .batch = 1, .m = 1, .n = 1, .k = 100};
    CHECK(!native_matmul(&work, &machine, &request, &status));
    CHECK(status.code == STATUS_USAGE && strstr(status.message, "i32 x f32"));
    work.a_type = RIDGE_F32;
    work.b_type = RIDGE_Q4_K;
    work.b_row = 1;
    work.b_column = 100;
    CHECK(!native_matmul(&work, &machine, &request, &status));
    CHECK(status.code == STATUS_USAGE && strstr(status.message, "256 weights"));
}
