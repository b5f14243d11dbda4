/* Matrix products by generated kernels, against sums in double; and the selection of kernels. */
#include "source_run.h"

#include "base/array.h"
#include "gen/native/blocks.h"
#include "gen/emit/matmul.h"

struct product {
    enum ridge_dtype a_type, b_type;
    int64_t batch, m, n, k;
    bool a_transposed, b_transposed; /* k before m; n before k */
    int64_t padding;                 /* of every line, in elements */
    bool shared_b;                   /* one B for the whole batch */
    bool everywhere; /* else on GPUs only: compiling a kernel for the CPU takes about a second */
};

static void set_layout(int64_t rows, int64_t columns, bool transposed, int64_t padding,
                       int64_t *row, int64_t *column, int64_t *batch) {
    *row = transposed ? 1 : columns + padding;
    *column = transposed ? rows + padding : 1;
    *batch = transposed ? (rows + padding) * columns : rows * (columns + padding);
}

/* silu(product + bias) * scale, where the bias is one for each column. */
static void add_epilogue(struct matmul_work *work, enum ridge_dtype type) {
    struct program *program = &work->epilogue;
    *program = (struct program){.rank = 3, .outer = 3, .constant_count = 1};
    program_operand(program, type, false);
    program_operand(program, type, true);
#define INSTRUCTION(...) program_instruction(program, (struct program_instruction){__VA_ARGS__})
    INSTRUCTION(.op = OP_ACCUMULATOR);
    INSTRUCTION(.op = OP_LOAD, .slot = 0);
    INSTRUCTION(.op = OP_ADD, .a = 0, .b = 1);
    INSTRUCTION(.op = OP_SILU, .a = 2);
    INSTRUCTION(.op = OP_CONSTANT);
    INSTRUCTION(.op = OP_MUL, .a = 3, .b = 4);
    INSTRUCTION(.op = OP_STORE, .slot = 1, .a = 5);
#undef INSTRUCTION
    work->shape = (struct program_shape){
        .sizes = {work->batch, work->m, work->n},
        .strides = {{0, 0, 1}, {work->m * work->n, work->n, 1}},
        .alignment = {16, 16},
    };
    work->shape.constants[0].f32 = 2.0f;
}

static struct matmul_work work_of(const struct product *p) {
    struct matmul_work work = {
        .a_type = p->a_type,
        .b_type = p->b_type,
        .batch = p->batch,
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .a_alignment = 16,
        .b_alignment = 16,
    };
    set_layout(p->m, p->k, p->a_transposed, p->padding, &work.a_row, &work.a_column, &work.a_batch);
    set_layout(p->k, p->n, p->b_transposed, source_is_quantized(p->b_type) ? 0 : p->padding,
               &work.b_row, &work.b_column, &work.b_batch);
    if (p->shared_b)
        work.b_batch = 0;
    add_epilogue(&work, p->a_type);
    return work;
}

/* Weight i of quantized blocks, read by the definition of the format. */
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

static double any_element(const void *array, enum ridge_dtype type, int64_t i) {
    return source_is_quantized(type) ? weight(array, type, i) : element(array, type, i);
}

/* Blocks of random bits with scales that make weights of about 1. */
static void *random_blocks(enum ridge_dtype type, int64_t count, struct status *status) {
    size_t bytes = ridge_dtype_bytes(type, count);
    unsigned char *data = memory_allocate(bytes, 1, status);
    for (size_t i = 0; data && i < bytes; i++)
        data[i] = (unsigned char)(int)(noise(i) * 127.0);
    for (int64_t i = 0; data && i < count / (type == RIDGE_Q8_0 ? 32 : 256); i++) {
        unsigned char *block = data + ridge_dtype_bytes(type, 1) * (size_t)i;
        set_element(block, RIDGE_F16, 0,
                    (type == RIDGE_Q8_0 ? 0.01 : 0.002) * (2 + noise((uint64_t)i)));
        if (type == RIDGE_Q4_K)
            set_element(block, RIDGE_F16, 1, 0.01 * (2 + noise((uint64_t)i + 77)));
    }
    return data;
}

static double tolerance_of(enum ridge_dtype type) {
    return type == RIDGE_F32 ? 2e-6 : type == RIDGE_F16 ? 1e-3 : 8e-3;
}

/* The largest error, as a part of what rounding may cost at this sum of magnitudes. */
static double check_result(const struct matmul_work *work, const void *a, const void *b,
                           const void *bias, const void *result) {
    double worst = 0;
    for (int64_t e = 0; e < work->batch * work->m * work->n; e++) {
        int64_t j = e % work->n, i = e / work->n % work->m, batch = e / work->n / work->m;
        double sum = element(bias, work->a_type, j), magnitude = fabs(sum);
        for (int64_t k = 0; k < work->k; k++) {
            double term = element(a, work->a_type,
                                  batch * work->a_batch + i * work->a_row + k * work->a_column) *
                          any_element(b, work->b_type,
                                      batch * work->b_batch + k * work->b_row + j * work->b_column);
            sum += term;
            magnitude += fabs(term);
        }
        double expected = 2 * sum / (1 + exp(-sum));
        double error = fabs(expected - element(result, work->a_type, e));
        double allowed = tolerance_of(work->a_type) * (fabs(expected) + 0.01) + 4e-6 * magnitude;
        worst = fmax(worst, isnan(error) ? INFINITY : error / allowed);
    }
    return worst;
}

static void check_product(struct device *device, const struct product *p) {
    struct status status = {0};
    struct matmul_work work = work_of(p);
    int64_t a_count = p->batch * work.a_batch, b_batches = p->shared_b ? 1 : p->batch;
    int64_t b_count = b_batches * (p->b_transposed ? p->n * work.b_column : p->k * work.b_row);
    int64_t count = p->batch * p->m * p->n;
    void *a = noise_array(p->a_type, a_count, 1, &status);
    void *b = source_is_quantized(p->b_type) ? random_blocks(p->b_type, b_count, &status)
                                             : noise_array(p->b_type, b_count, 2, &status);
    void *bias = noise_array(p->a_type, p->n, 3, &status);
    void *result = noise_array(p->a_type, count, 4, &status);
    struct source_array arrays[] = {
        {a, ridge_dtype_bytes(p->a_type, a_count), 16},
        {b, ridge_dtype_bytes(p->b_type, b_count), 32},
        {bias, ridge_dtype_bytes(p->a_type, p->n), 16},
        {result, ridge_dtype_bytes(p->a_type, count), 0},
    };
    struct kernel_request request;
    memset(&request, 0, sizeof request);
    CHECK_OK(source_matmul(&work, &device->capabilities, &request, &status) &&
                 source_run(device, &request, arrays, 4, &status),
             status);
    double worst = check_result(&work, a, b, bias, result);
    if (worst > 1)
        test_failed(__FILE__, __LINE__,
                    "kind %d swapped %d of %s x %s, %lld x (%lld, %lld, %lld): %g of the allowed "
                    "error",
                    request.spec.choices[MATMUL_KIND], request.spec.choices[MATMUL_SWAPPED],
                    ridge_dtype_name(p->a_type), ridge_dtype_name(p->b_type), (long long)p->batch,
                    (long long)p->m, (long long)p->n, (long long)p->k, worst);
    memory_free(a);
    memory_free(b);
    memory_free(bias);
    memory_free(result);
}

static const struct product products[] = {
    /* tiles: ragged, batched, all four layouts */
    {RIDGE_F32, RIDGE_F32, 1, 65, 67, 33, .padding = 0},
    {RIDGE_F16, RIDGE_F16, 2, 40, 35, 17, .a_transposed = true, .padding = 3, .everywhere = true},
    {RIDGE_BF16, RIDGE_BF16, 1, 130, 20, 70, .b_transposed = true},
    {RIDGE_F32, RIDGE_F16, 2, 33, 34, 19, .a_transposed = true, .b_transposed = true},
    {RIDGE_F32, RIDGE_F32, 3, 20, 18, 0, .padding = 0},
    /* few rows, B [k][n] and [n][k], wide loads and none */
    {RIDGE_F16, RIDGE_F16, 1, 1, 256, 96, .padding = 0},
    {RIDGE_F16, RIDGE_F16, 1, 8, 128, 256, .padding = 8, .everywhere = true},
    {RIDGE_F32, RIDGE_F32, 2, 5, 37, 50, .shared_b = true},
    {RIDGE_BF16, RIDGE_BF16, 1, 16, 72, 40, .a_transposed = true},
    {RIDGE_F16, RIDGE_F16, 1, 3, 50, 264, .b_transposed = true},
    {RIDGE_F32, RIDGE_F32, 1, 1, 9, 513, .b_transposed = true, .padding = 1, .everywhere = true},
    {RIDGE_BF16, RIDGE_BF16, 2, 16, 33, 64, .b_transposed = true, .padding = 8},
    {RIDGE_F32, RIDGE_F32, 1, 1, 1, 1, .padding = 0},
    /* few columns: the transpose of few rows */
    {RIDGE_F16, RIDGE_F16, 1, 200, 2, 128, .padding = 0},
    {RIDGE_F32, RIDGE_F32, 2, 50, 1, 31, .a_transposed = true},
    /* quantized */
    {RIDGE_F32, RIDGE_Q4_K, 1, 1, 19, 512, .b_transposed = true, .everywhere = true},
    {RIDGE_F16, RIDGE_Q4_K, 2, 5, 10, 256, .b_transposed = true, .padding = 4},
    {RIDGE_BF16, RIDGE_Q4_K, 1, 8, 9, 768, .a_transposed = true, .b_transposed = true},
    {RIDGE_F32, RIDGE_Q8_0, 1, 1, 33, 160, .b_transposed = true},
    {RIDGE_F16, RIDGE_Q8_0, 2, 7, 8, 64, .b_transposed = true, .shared_b = true,
     .everywhere = true},
    {RIDGE_F16, RIDGE_Q8_0, 1, 1, 9, 2336, .b_transposed = true, .everywhere = true},
    {RIDGE_BF16, RIDGE_Q8_0, 1, 3, 5, 96, .a_transposed = true, .b_transposed = true},
    {RIDGE_F32, RIDGE_Q4_K, 1, 20, 35, 256, .b_transposed = true},
    {RIDGE_BF16, RIDGE_Q8_0, 1, 18, 21, 96, .b_transposed = true},
};

TEST(generated_matrix_products_agree_with_sums_in_double) {
    FOR_EACH_SOURCE_DEVICE(device)
    for (unsigned i = 0; i < ARRAY_COUNT(products); i++)
        if (products[i].everywhere || device->capabilities.is_gpu)
            check_product(device, &products[i]);
}

static const struct device_capabilities hopper = {
    .language = LANGUAGE_CUDA,
    .compute_units = 132,
    .subgroup = 32,
    .block_max = 1024,
    .shared_bytes = 48 * 1024,
    .shared_max = 227 * 1024,
    .major = 9,
    .library_matmul = true,
};

/* D = relu(A x B + bias), as the library does it. */
static void use_library_epilogue(struct matmul_work *work) {
    struct program *program = &work->epilogue;
    program->instructions[3].op = OP_RELU;
    program->instructions[4] = (struct program_instruction){.op = OP_STORE, .slot = 1, .a = 3};
    program->instruction_count = 5;
    program->constant_count = 0;
}

TEST(the_library_gets_large_products_with_an_epilogue_that_it_does) {
    struct matmul_work work =
        work_of(&(struct product){RIDGE_F16, RIDGE_F16, 1, 512, 512, 512, .b_transposed = true});
    struct kernel_request request;
    struct status status = {0};
    unsigned buffers[2] = {9, 9};
    use_library_epilogue(&work);
    CHECK_OK(kernel_matmul(&work, &hopper, &request, buffers, &status), status);
    CHECK(request.library);
    CHECK(!kernel_matmul_splits(&work, &hopper));
    CHECK_INT(buffers[0], 1);
    CHECK_INT(buffers[1], 0);
    CHECK(request.matmul.bias);
    CHECK_INT(request.matmul.activation, RIDGE_ACTIVATION_RELU);
    CHECK_INT(request.matmul.d_row, 512);
}

TEST(an_epilogue_that_the_library_does_not_do_is_split_off) {
    struct matmul_work work =
        work_of(&(struct product){RIDGE_F16, RIDGE_F16, 1, 512, 512, 512, .b_transposed = true});
    CHECK(kernel_matmul_splits(&work, &hopper));
    use_library_epilogue(&work);
    work.shape.strides[0][1] = 1; /* the bias is not one for each column */
    CHECK(kernel_matmul_splits(&work, &hopper));
}

TEST(products_that_the_library_would_refuse_or_do_badly_stay_here) {
    struct kernel_request request;
    struct status status = {0};
    unsigned buffers[2];
    struct matmul_work work =
        work_of(&(struct product){RIDGE_F16, RIDGE_F16, 1, 8, 4096, 4096, .padding = 0});
    use_library_epilogue(&work);
    CHECK_OK(kernel_matmul(&work, &hopper, &request, buffers, &status), status);
    CHECK(!request.library);
    CHECK(!kernel_matmul_splits(&work, &hopper));
    CHECK_INT(request.spec.choices[MATMUL_KIND], MATMUL_TENSOR_ROWS);
    work = work_of(&(struct product){RIDGE_F16, RIDGE_F16, 1, 512, 512, 512, .padding = 0});
    use_library_epilogue(&work);
    work.a_row = 1000;
    work.a_column = 2;
    CHECK_OK(kernel_matmul(&work, &hopper, &request, buffers, &status), status);
    CHECK(!request.library);
    work = work_of(&(struct product){RIDGE_F16, RIDGE_F16, 1, 512, 512, 512, .padding = 0});
    use_library_epilogue(&work);
    work.b_alignment = 2;
    CHECK_OK(kernel_matmul(&work, &hopper, &request, buffers, &status), status);
    CHECK(!request.library);
}

TEST(a_quantized_matrix_of_one_column_may_have_any_stride_between_columns) {
    struct matmul_work work =
        work_of(&(struct product){RIDGE_F32, RIDGE_Q8_0, 1, 2, 1, 256, .b_transposed = true});
    work.b_column = 1;
    struct kernel_request request;
    struct status status = {0};
    unsigned buffers[2];
    CHECK_OK(kernel_matmul(&work, &hopper, &request, buffers, &status), status);
}

TEST(a_quantized_matrix_that_does_not_lie_by_columns_is_refused) {
    struct matmul_work work =
        work_of(&(struct product){RIDGE_F32, RIDGE_Q4_K, 1, 2, 256, 256, .b_transposed = true});
    work.b_row = 256;
    work.b_column = 1;
    struct kernel_request request;
    struct status status = {0};
    unsigned buffers[2];
    CHECK(!kernel_matmul(&work, &hopper, &request, buffers, &status));
    CHECK_INT(status.code, STATUS_USAGE);
}
