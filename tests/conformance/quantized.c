/* Q8_0 and Q4_K: their bytes, how far weights move, and products with them. */
#include <math.h>
#include <string.h>

#include "products.h"

static const enum ridge_dtype floats[] = {RIDGE_F32, RIDGE_F16, RIDGE_BF16};

static int64_t block_of(enum ridge_dtype dtype) {
    return dtype == RIDGE_Q4_K ? 256 : 32;
}

/* The scale takes the largest magnitude to 127; halves round away from zero. */
static void quantize_q8_0(const double *values, int64_t count, uint8_t *bytes) {
    for (int64_t block = 0; block < count / 32; block++) {
        const double *x = values + 32 * block;
        uint8_t *to = bytes + 34 * block;
        float greatest = 0;
        for (int i = 0; i < 32; i++)
            greatest = fmaxf(greatest, fabsf((float)x[i]));
        float scale = greatest / 127, inverse = scale > 0 ? 1 / scale : 0;
        double half = scale;
        uint16_t bits;
        numbers_encode(RIDGE_F16, &half, 1, &bits);
        to[0] = (uint8_t)bits;
        to[1] = (uint8_t)(bits >> 8);
        for (int i = 0; i < 32; i++)
            to[2 + i] = (uint8_t)(int)roundf((float)x[i] * inverse);
    }
}

static void check_bytes(enum ridge_dtype from) {
    if (!case_begin("quantize %s to q8_0, byte for byte", ridge_dtype_name(from)))
        return;
    struct array x = array_noise(from, SIZES(5, 96), -3, 3, 21);
    memset(x.values + 32, 0, 32 * sizeof(double));
    for (int i = 64; i < 96; i++)
        x.values[i] = number_round(from, x.values[i] * 1e-3);
    uint8_t expected[5 * 3 * 34], got[5 * 3 * 34];
    quantize_q8_0(x.values, x.count, expected);
    ridge_tensor *quantized = ridge_quantize(array_tensor(&x, from, CONTIGUOUS), RIDGE_Q8_0);
    if (!quantized || !ridge_to_host(quantized, got, sizeof got))
        case_fail("%s", ridge_error_message());
    else
        for (unsigned i = 0; i < sizeof got; i++)
            if (got[i] != expected[i]) {
                case_fail("byte %u is %u, not %u", i, got[i], expected[i]);
                break;
            }
    case_end();
}

/* A weight moves at most half a step; of Q4_K, whose steps have six bits and share a block's scale,
 * somewhat more. */
static void check_round_trip(enum ridge_dtype from, enum ridge_dtype dtype, enum layout layout) {
    if (!case_begin("quantize and dequantize %s %s %s", ridge_dtype_name(from),
                    ridge_dtype_name(dtype), layout_name(layout)))
        return;
    struct array x = array_noise(from, SIZES(3, 2, 512), -1, 1, 22);
    for (int64_t i = 512; i < 1024; i++)
        x.values[i] = number_round(from, x.values[i] * 0.01 + 0.5);
    memset(x.values + 1024, 0, 256 * sizeof(double));
    ridge_tensor *quantized = ridge_quantize(array_tensor(&x, from, layout), dtype);
    struct array weights = quantized ? array_read(quantized) : (struct array){0};
    double *slack = case_memory((size_t)x.count, sizeof *slack);
    int64_t part = 32;
    for (int64_t i = 0; i < x.count; i += part) {
        double low = 0, high = 0;
        for (int64_t j = i / block_of(dtype) * block_of(dtype);
             j < (i / block_of(dtype) + 1) * block_of(dtype); j++) {
            low = fmin(low, x.values[j]);
            high = fmax(high, x.values[j]);
        }
        double step = dtype == RIDGE_Q8_0 ? fmax(high, -low) / 127 : (high - low) / 15;
        for (int64_t j = i; j < i + part; j++)
            slack[j] = step * (dtype == RIDGE_Q8_0 ? 0.57 : 0.85);
    }
    double squares = 0, errors = 0;
    for (int64_t i = 0; weights.values && i < x.count; i++) {
        double error = fabs(weights.values[i] - x.values[i]);
        squares += x.values[i] * x.values[i];
        errors += error * error;
        if (error > slack[i])
            case_fail("element %lld: %.6g became %.6g, bound %.3g", (long long)i, x.values[i],
                      weights.values[i], slack[i]);
    }
    CASE_CHECK(sqrt(errors / squares) < (dtype == RIDGE_Q8_0 ? 0.006 : 0.08));
    for (unsigned t = 0; t < 3 && weights.values; t++)
        expect_array(ridge_dequantize(quantized, floats[t]), floats[t], &weights, 2, NULL);
    case_end();
}

/* Bytes from outside, as a file has them: any scales, minimums and quants. */
static void check_any_bytes(enum ridge_dtype dtype) {
    if (!case_begin("dequantize any bytes of %s", ridge_dtype_name(dtype)))
        return;
    int64_t sizes[2] = {7, 512}, count = 7 * 512;
    size_t bytes = ridge_dtype_bytes(dtype, count),
           block = bytes / (size_t)(count / block_of(dtype));
    uint8_t *data = case_memory(bytes, 1);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)noise_bits(31, i);
    for (size_t i = 0; i < bytes; i += block) {
        data[i + 1] = (uint8_t)(0x20 | (data[i + 1] & 0x9f)); /* a scale that is no NaN */
        if (dtype == RIDGE_Q4_K)
            data[i + 3] = (uint8_t)(0x20 | (data[i + 3] & 0x9f));
    }
    for (size_t i = 0; i < bytes; i += block) {
        data[i + 1] &= 0xbf;
        if (dtype == RIDGE_Q4_K)
            data[i + 3] &= 0xbf;
    }
    struct array expected = array_make(2, sizes);
    numbers_dequantize(dtype, data, count, expected.values);
    double *slack = case_memory((size_t)count, sizeof *slack);
    for (int64_t i = 0; i < count; i++)
        slack[i] = 0x1p-22 * (fabs(expected.values[i]) + 130);
    ridge_tensor *x = ridge_from_host(session.device, dtype, 2, sizes, data);
    expect_array(ridge_dequantize(x, RIDGE_F32), RIDGE_F32, &expected, 2,
                 dtype == RIDGE_Q4_K ? slack : NULL);
    uint8_t *back = case_memory(bytes, 1);
    CASE_CHECK(ridge_to_host(x, back, bytes) && memcmp(data, back, bytes) == 0);
    case_end();
}

/* With few rows a device may turn x into integers of 16 bits, 32 of them to a scale: an element is
 * then off by 2^-16 of the greatest near it. */
static void activations_as_integers(struct estimate *x) {
    for (int64_t i = 0; i < x->value.count; i += 32) {
        double greatest = 0;
        for (int64_t j = i; j < i + 32; j++)
            greatest = fmax(greatest, fabs(x->value.values[j]));
        for (int64_t j = i; j < i + 32; j++)
            x->slack[j] = greatest * 0x1.02p-16;
    }
}

static void check_linear(enum ridge_dtype dtype, enum ridge_dtype weights_type, int64_t m,
                         int64_t n, int64_t k, enum ridge_activation activation) {
    if (!case_begin("linear %s x %s %lld x %lld x %lld activation %d", ridge_dtype_name(dtype),
                    ridge_dtype_name(weights_type), (long long)m, (long long)n, (long long)k,
                    (int)activation))
        return;
    struct estimate x = exactly(array_noise(dtype, SIZES(m, k), -1, 1, 1));
    struct array w = array_noise(RIDGE_F32, SIZES(n, k), -1, 1, 2);
    struct estimate bias = exactly(array_noise(dtype, SIZES(n), -1, 1, 3));
    ridge_tensor *x_tensor = array_tensor(&x.value, dtype, CONTIGUOUS);
    ridge_tensor *quantized = ridge_quantize(array_tensor(&w, RIDGE_F32, CONTIGUOUS), weights_type);
    if (!quantized) {
        case_fail("%s", ridge_error_message());
        case_end();
        return;
    }
    struct estimate weights = exactly(array_read(quantized));
    /* A product of many rows may read the weights as 16-bit floats. */
    if (dtype != RIDGE_F32)
        estimate_round(&weights, dtype);
    weights = transposed(&weights);
    activations_as_integers(&x);
    struct estimate expected = product(&x, &weights);
    if (dtype != RIDGE_F32)
        estimate_round(&expected, dtype);
    estimate_add(&expected, &bias, 1);
    if (dtype != RIDGE_F32)
        estimate_round(&expected, dtype);
    estimate_activate(&expected, activation);
    expect_estimate(
        ridge_linear(x_tensor, quantized, array_tensor(&bias.value, dtype, CONTIGUOUS), activation),
        dtype, &expected);
    if (activation == RIDGE_ACTIVATION_NONE) {
        ridge_tensor *same = ridge_add(ridge_matmul(x_tensor, ridge_transpose(quantized, 0, 1)),
                                       array_tensor(&bias.value, dtype, CONTIGUOUS));
        expect_estimate(same, dtype, &expected);
    }
    case_end();
}

/* The types without products of their own: how far weights move, relative to the largest of the
 * block, and a product that dequantizes. scripts/check-quants compares bytes with gguf's. */
static const struct {
    enum ridge_dtype dtype;
    double step; /* of the levels, in units of the largest magnitude */
} others[] = {
    {RIDGE_Q4_0, 1 / 8.0},  {RIDGE_Q4_1, 2 / 15.0}, {RIDGE_Q5_0, 1 / 16.0},
    {RIDGE_Q5_1, 2 / 31.0}, {RIDGE_Q2_K, 2 / 3.0},  {RIDGE_Q3_K, 1 / 4.0},
    {RIDGE_Q5_K, 2 / 31.0}, {RIDGE_Q6_K, 1 / 32.0}, {RIDGE_IQ4_XS, 24 / 127.0},
};

static void check_other(enum ridge_dtype dtype, double step, enum ridge_dtype from) {
    if (!case_begin("quantize %s to %s and back, and a product", ridge_dtype_name(from),
                    ridge_dtype_name(dtype)))
        return;
    struct array w = array_noise(from, SIZES(6, 512), -1, 1, 71);
    for (int64_t i = 0; i < w.count; i++) /* blocks of several sizes, one of them zeros */
        w.values[i] = number_round(from, w.values[i] * (double[]){1, 1e-2, 40, 0, 2, 1}[i / 512]);
    ridge_tensor *packed = ridge_quantize(array_tensor(&w, from, PADDED), dtype);
    ridge_tensor *back = ridge_dequantize(packed, RIDGE_F32);
    double *slack = case_memory((size_t)w.count, sizeof *slack);
    for (int64_t i = 0; i < w.count; i++) {
        double greatest = 0;
        for (int j = 0; j < 256; j++)
            greatest = fmax(greatest, fabs(w.values[i / 256 * 256 + j]));
        /* Half a step, or a whole one at the clamped end; scales are rounded too. */
        slack[i] = greatest * step * 1.4;
    }
    expect_array(back, RIDGE_F32, &w, 0, slack);
    struct array plain = array_read(back), x = array_noise(from, SIZES(3, 512), -1, 1, 72);
    if (plain.values) {
        struct array y = array_make(SIZES(3, 6));
        double *sums = case_memory((size_t)y.count, sizeof *sums);
        double unit = from == RIDGE_F32 ? 0 : from == RIDGE_F16 ? 0x1p-11 : 0x1p-8;
        for (int64_t i = 0; i < y.count; i++)
            for (int64_t k = 0; k < 512; k++) {
                double term = x.values[i / 6 * 512 + k] * plain.values[i % 6 * 512 + k];
                y.values[i] += term;
                sums[i] += fabs(term) * (16 * 0x1p-24 + unit);
            }
        expect_array(
            ridge_linear(array_tensor(&x, from, CONTIGUOUS), packed, NULL, RIDGE_ACTIVATION_NONE),
            from, &y, 2, sums);
    }
    case_end();
}

static void check_others(void) {
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++)
        for (unsigned t = 0; t < (session.quick ? 1 : 3); t++)
            if (!session.quick || i % 4 == 3)
                check_other(others[i].dtype, others[i].step, floats[t]);
}

void check_quantized(void) {
    check_others();
    static const enum ridge_dtype quantized[] = {RIDGE_Q8_0, RIDGE_Q4_K};
    static const int64_t rows[] = {1, 2, 3, 8, 9, 33};
    for (unsigned t = 0; t < (session.quick ? 1 : 3); t++)
        check_bytes(floats[t]);
    for (unsigned q = 0; q < 2 && session.quick; q++) {
        check_any_bytes(quantized[q]);
        check_linear(RIDGE_F32, quantized[q], 1, 67, 512, RIDGE_ACTIVATION_NONE);
    }
    if (session.quick)
        check_linear(RIDGE_F32, RIDGE_Q4_K, 9, 67, 512, RIDGE_ACTIVATION_RELU);
    for (unsigned q = 0; q < 2 && !session.quick; q++) {
        check_any_bytes(quantized[q]);
        for (unsigned t = 0; t < 3; t++) {
            check_round_trip(floats[t], quantized[q], CONTIGUOUS);
            check_round_trip(floats[t], quantized[q], PADDED);
            for (unsigned r = 0; r < sizeof rows / sizeof rows[0]; r++) {
                check_linear(floats[t], quantized[q], rows[r], 67, 512, RIDGE_ACTIVATION_NONE);
                if (session.native)
                    check_linear(floats[t], quantized[q], rows[r], 131, 256, RIDGE_ACTIVATION_SILU);
            }
        }
        check_linear(RIDGE_F32, quantized[q], 1, 1, 256, RIDGE_ACTIVATION_RELU);
        check_linear(RIDGE_F32, quantized[q], 1, 300, 2048, RIDGE_ACTIVATION_NONE);
        check_linear(RIDGE_F16, quantized[q], 64, 130, 512, RIDGE_ACTIVATION_NONE);
    }
    if (session.quick)
        return;
    check_linear(RIDGE_F32, RIDGE_Q8_0, 2, 17, 32, RIDGE_ACTIVATION_NONE);
    check_linear(RIDGE_F32, RIDGE_Q8_0, 5, 33, 96, RIDGE_ACTIVATION_GELU);
}
