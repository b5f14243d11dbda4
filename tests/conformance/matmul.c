/* Matrix products: sizes around every tile, batches, transposes and strides, bias and activations.
 */
#include "products.h"

static const enum ridge_dtype dtypes[] = {RIDGE_F32, RIDGE_F16, RIDGE_BF16};

static struct estimate matrix(enum ridge_dtype dtype, unsigned rank, const int64_t *sizes,
                              uint64_t seed) {
    return exactly(array_noise(dtype, rank, sizes, -1, 1, seed));
}

/* A transposed layout stores the transpose: the product must read it in place. */
static void check(enum ridge_dtype dtype, enum layout a_layout, enum layout b_layout,
                  unsigned a_rank, const int64_t *a_sizes, unsigned b_rank,
                  const int64_t *b_sizes) {
    if (!case_begin("matmul %s %s %s x %s %s", ridge_dtype_name(dtype), layout_name(a_layout),
                    sizes_text(a_rank, a_sizes), layout_name(b_layout),
                    sizes_text(b_rank, b_sizes)))
        return;
    struct estimate a = matrix(dtype, a_rank, a_sizes, 1), b = matrix(dtype, b_rank, b_sizes, 2);
    struct estimate expected = product(&a, &b);
    ridge_tensor *got = ridge_matmul(array_tensor(&a.value, dtype, a_layout),
                                     array_tensor(&b.value, dtype, b_layout));
    expect_estimate(got, dtype, &expected);
    case_end();
}

static void check_sizes(enum ridge_dtype dtype, int64_t m, int64_t n, int64_t k) {
    check(dtype, CONTIGUOUS, CONTIGUOUS, SIZES(m, k), SIZES(k, n));
}

static void check_epilogue(enum ridge_dtype dtype, int64_t m, int64_t n, int64_t k,
                           enum ridge_activation activation, unsigned bias_rank,
                           const int64_t *bias_sizes) {
    if (!case_begin("matmul_activation %s %lld x %lld x %lld bias %s activation %d",
                    ridge_dtype_name(dtype), (long long)m, (long long)n, (long long)k,
                    bias_sizes ? sizes_text(bias_rank, bias_sizes) : "none", (int)activation))
        return;
    struct estimate a = matrix(dtype, SIZES(m, k), 1), b = matrix(dtype, SIZES(k, n), 2);
    struct estimate expected = product(&a, &b);
    ridge_tensor *bias_tensor = NULL;
    if (dtype != RIDGE_F32)
        estimate_round(&expected, dtype);
    if (bias_sizes) {
        struct estimate bias = matrix(dtype, bias_rank, bias_sizes, 3);
        bias_tensor = array_tensor(&bias.value, dtype, CONTIGUOUS);
        estimate_add(&expected, &bias, 1);
        if (dtype != RIDGE_F32)
            estimate_round(&expected, dtype);
    }
    estimate_activate(&expected, activation);
    ridge_tensor *got =
        ridge_matmul_activation(array_tensor(&a.value, dtype, CONTIGUOUS),
                                array_tensor(&b.value, dtype, CONTIGUOUS), bias_tensor, activation);
    expect_estimate(got, dtype, &expected);
    case_end();
}

static const int64_t shapes[][3] = {
    {1, 1, 1},    {1, 17, 64},   {1, 512, 512},   {2, 3, 7},       {3, 65, 255},   {7, 16, 17},
    {8, 128, 64}, {9, 255, 128}, {16, 16, 16},    {17, 7, 3},      {64, 64, 64},   {65, 65, 65},
    {64, 1, 255}, {512, 2, 128}, {255, 1, 17},    {128, 128, 512}, {255, 512, 65}, {65, 255, 1},
    {2, 2, 4096}, {1, 3, 10000}, {300, 310, 320},
};

static void check_layouts(enum ridge_dtype dtype) {
    static const enum layout layouts[] = {CONTIGUOUS, TRANSPOSED, STEPPED, PADDED, OFFSET};
    for (unsigned a = 0; a < 5; a++)
        for (unsigned b = 0; b < 5; b++) {
            if (!session.native && a > 1 && b > 1 && a != b)
                continue;
            check(dtype, layouts[a], layouts[b], SIZES(37, 70), SIZES(70, 45));
            if (!session.native)
                continue;
            check(dtype, layouts[a], layouts[b], SIZES(2, 130), SIZES(130, 90));
            check(dtype, layouts[a], layouts[b], SIZES(90, 130), SIZES(130, 1));
            check(dtype, layouts[a], layouts[b], SIZES(130, 80), SIZES(80, 128));
        }
}

static void check_batches(enum ridge_dtype dtype) {
    check(dtype, CONTIGUOUS, CONTIGUOUS, SIZES(5, 7, 16), SIZES(5, 16, 9));
    check(dtype, CONTIGUOUS, TRANSPOSED, SIZES(3, 5, 7, 16), SIZES(5, 16, 9));
    check(dtype, CONTIGUOUS, CONTIGUOUS, SIZES(3, 5, 17, 33), SIZES(33, 20));
    check(dtype, CONTIGUOUS, CONTIGUOUS, SIZES(17, 33), SIZES(4, 33, 20));
    check(dtype, REVERSED, CONTIGUOUS, SIZES(3, 1, 7, 16), SIZES(1, 5, 16, 9));
    check(dtype, PADDED, REVERSED, SIZES(2, 3, 8, 6), SIZES(2, 3, 6, 8));
    check(dtype, CONTIGUOUS, CONTIGUOUS, SIZES(0, 7, 16), SIZES(16, 9));
    check(dtype, CONTIGUOUS, CONTIGUOUS, SIZES(2, 0, 16), SIZES(16, 9));
    check(dtype, CONTIGUOUS, CONTIGUOUS, SIZES(4, 0), SIZES(0, 9));
    check(dtype, CONTIGUOUS, CONTIGUOUS, SIZES(64, 1, 40), SIZES(64, 40, 33));
}

static void check_type(enum ridge_dtype dtype) {
    for (unsigned i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        check_sizes(dtype, shapes[i][0], shapes[i][1], shapes[i][2]);
    check_layouts(dtype);
    check_batches(dtype);
    for (int i = RIDGE_ACTIVATION_NONE; i <= RIDGE_ACTIVATION_SILU; i++) {
        enum ridge_activation activation = (enum ridge_activation)i;
        check_epilogue(dtype, 33, 65, 64, activation, SIZES(65));
        check_epilogue(dtype, 1, 65, 64, activation, SIZES(65));
        check_epilogue(dtype, 33, 65, 64, activation, 0, NULL);
    }
    check_epilogue(dtype, 33, 65, 64, RIDGE_ACTIVATION_GELU, SIZES(33, 1));
    check_epilogue(dtype, 33, 65, 64, RIDGE_ACTIVATION_NONE, SIZES(33, 65));
    check_epilogue(dtype, 200, 300, 700, RIDGE_ACTIVATION_SILU, SIZES(1));
    check_epilogue(dtype, 9, 1, 100, RIDGE_ACTIVATION_RELU, SIZES(1));
    check_epilogue(dtype, 4, 5, 0, RIDGE_ACTIVATION_NONE, SIZES(5));
}

void check_matmul(void) {
    if (!session.quick) {
        for (unsigned t = 0; t < sizeof dtypes / sizeof dtypes[0]; t++)
            check_type(dtypes[t]);
        return;
    }
    check_sizes(RIDGE_F32, 1, 65, 255);
    check_sizes(RIDGE_F32, 65, 63, 65);
    check_sizes(RIDGE_F16, 65, 63, 65);
    check(RIDGE_F32, TRANSPOSED, STEPPED, SIZES(37, 70), SIZES(70, 45));
    check(RIDGE_F32, CONTIGUOUS, CONTIGUOUS, SIZES(3, 5, 7, 16), SIZES(5, 16, 9));
}
