/* linear, gated_mlp and lora. */
#include "products.h"

static const enum ridge_dtype dtypes[] = {RIDGE_F32, RIDGE_F16, RIDGE_BF16};

static struct estimate noise(enum ridge_dtype dtype, unsigned rank, const int64_t *sizes,
                             uint64_t seed) {
    return exactly(array_noise(dtype, rank, sizes, -1, 1, seed));
}

static ridge_tensor *tensor(const struct estimate *x, enum ridge_dtype dtype) {
    return array_tensor(&x->value, dtype, CONTIGUOUS);
}

/* A result of the type, as it is between two operations. */
static void rounded(struct estimate *x, enum ridge_dtype dtype) {
    if (dtype != RIDGE_F32)
        estimate_round(x, dtype);
}

static void check_linear(enum ridge_dtype dtype, enum ridge_activation activation, unsigned rank,
                         const int64_t *sizes) {
    if (!case_begin("linear %s %s activation %d", ridge_dtype_name(dtype), sizes_text(rank, sizes),
                    (int)activation))
        return;
    int64_t in = sizes[rank - 1];
    struct estimate x = noise(dtype, rank, sizes, 1), w = noise(dtype, SIZES(43, in), 2),
                    bias = noise(dtype, SIZES(43), 3);
    struct estimate turned = transposed(&w), expected = product(&x, &turned);
    rounded(&expected, dtype);
    estimate_add(&expected, &bias, 1);
    rounded(&expected, dtype);
    estimate_activate(&expected, activation);
    expect_estimate(
        ridge_linear(tensor(&x, dtype), tensor(&w, dtype), tensor(&bias, dtype), activation), dtype,
        &expected);
    case_end();
}

/* A matrix [in, out] as a weight [out, in]; every second one of them contiguous. */
static ridge_tensor *turned(const struct estimate *matrix, enum ridge_dtype dtype) {
    static unsigned calls;
    ridge_tensor *weight = ridge_transpose(tensor(matrix, dtype), 0, 1);
    return ++calls % 2 ? weight : ridge_contiguous(weight);
}

static void check_gated_mlp(enum ridge_dtype dtype, bool with_down, int64_t tokens) {
    if (!case_begin("gated_mlp %s %lld tokens%s", ridge_dtype_name(dtype), (long long)tokens,
                    with_down ? " with down" : ""))
        return;
    struct estimate x = noise(dtype, SIZES(2, tokens, 48), 1),
                    gate = noise(dtype, SIZES(48, 100), 2), up = noise(dtype, SIZES(48, 100), 3),
                    down = noise(dtype, SIZES(100, 48), 4);
    struct estimate expected = product(&x, &gate), other = product(&x, &up);
    rounded(&expected, dtype);
    estimate_activate(&expected, RIDGE_ACTIVATION_SILU);
    rounded(&expected, dtype);
    rounded(&other, dtype);
    estimate_multiply(&expected, &other);
    if (with_down) {
        rounded(&expected, dtype);
        expected = product(&expected, &down);
    }
    expect_estimate(ridge_gated_mlp(tensor(&x, dtype), turned(&gate, dtype), turned(&up, dtype),
                                    with_down ? turned(&down, dtype) : NULL),
                    dtype, &expected);
    case_end();
}

static void check_lora(enum ridge_dtype dtype, int64_t tokens) {
    if (!case_begin("lora %s %lld tokens", ridge_dtype_name(dtype), (long long)tokens))
        return;
    struct estimate x = noise(dtype, SIZES(tokens, 64), 1), w = noise(dtype, SIZES(64, 50), 2),
                    a = noise(dtype, SIZES(64, 4), 3), b = noise(dtype, SIZES(4, 50), 4);
    struct estimate expected = product(&x, &w), low = product(&x, &a);
    rounded(&low, dtype);
    low = product(&low, &b);
    rounded(&low, dtype);
    rounded(&expected, dtype);
    estimate_add(&expected, &low, 0.5);
    if (dtype != RIDGE_F32) /* the scaled term separately */
        estimate_round(&expected, dtype);
    expect_estimate(ridge_lora(tensor(&x, dtype), turned(&w, dtype), turned(&a, dtype),
                               turned(&b, dtype), 0.5f),
                    dtype, &expected);
    case_end();
}

void check_layers(void) {
    if (session.quick) /* matmul and compiled have the like */
        return;
    for (unsigned t = 0; t < sizeof dtypes / sizeof dtypes[0]; t++) {
        check_linear(dtypes[t], RIDGE_ACTIVATION_NONE, SIZES(1, 96));
        check_linear(dtypes[t], RIDGE_ACTIVATION_SILU, SIZES(2, 5, 33));
        check_linear(dtypes[t], RIDGE_ACTIVATION_GELU, SIZES(70, 128));
        check_gated_mlp(dtypes[t], false, 1);
        check_gated_mlp(dtypes[t], true, 1);
        check_gated_mlp(dtypes[t], true, 35);
        check_lora(dtypes[t], 1);
        check_lora(dtypes[t], 37);
    }
}
