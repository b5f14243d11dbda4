/* Conversions between bits and doubles, by arithmetic only. */
#include "numbers.h"

#include <math.h>
#include <string.h>

/* Mantissa bits, the minimum exponent and the maximum value. */
static const struct {
    int fraction, exponent_min;
    double max;
} floats[] = {
    [RIDGE_F32] = {23, -126, 0x1.fffffep127},
    [RIDGE_F16] = {10, -14, 65504},
    [RIDGE_BF16] = {7, -126, 0x1.fep127},
};

bool is_float(enum ridge_dtype dtype) {
    return dtype == RIDGE_F32 || dtype == RIDGE_F16 || dtype == RIDGE_BF16;
}

double number_max(enum ridge_dtype dtype) {
    return floats[dtype].max;
}

double number_ulp(enum ridge_dtype dtype, double x) {
    x = fabs(x);
    if (!(x <= floats[dtype].max))
        x = floats[dtype].max;
    int exponent = x == 0 ? floats[dtype].exponent_min : ilogb(x);
    if (exponent < floats[dtype].exponent_min)
        exponent = floats[dtype].exponent_min;
    return ldexp(1, exponent - floats[dtype].fraction);
}

double number_round(enum ridge_dtype dtype, double x) {
    if (x == 0 || isnan(x) || isinf(x))
        return x;
    double unit = number_ulp(dtype, x);
    double rounded = fabs(x) / unit < 0x1p52 ? nearbyint(x / unit) * unit : x;
    return fabs(rounded) > floats[dtype].max ? copysign(INFINITY, x) : copysign(rounded, x);
}

static double half_value(uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent == 31  ? (fraction ? NAN : INFINITY)
                  : exponent == 0 ? ldexp(fraction, -24)
                                  : ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 ? -size : size;
}

static uint16_t half_bits(double x) {
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    if (isnan(x))
        return sign | 0x7e00;
    x = fabs(number_round(RIDGE_F16, x));
    if (isinf(x))
        return sign | 0x7c00;
    if (x < 0x1p-14)
        return sign | (uint16_t)(x * 0x1p24);
    int exponent = ilogb(x);
    return sign | (uint16_t)((exponent + 15) << 10) |
           (uint16_t)((unsigned)ldexp(x, 10 - exponent) & 1023);
}

static double brain_value(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static uint16_t brain_bits(double x) {
    float value = (float)number_round(RIDGE_BF16, x);
    uint32_t wide;
    memcpy(&wide, &value, sizeof wide);
    return isnan(x) ? (uint16_t)(wide >> 16 | 0x40) : (uint16_t)(wide >> 16);
}

void numbers_decode(enum ridge_dtype dtype, const void *bytes, int64_t count, double *values) {
    for (int64_t i = 0; i < count; i++) {
        if (dtype == RIDGE_F32)
            values[i] = ((const float *)bytes)[i];
        else if (dtype == RIDGE_F16)
            values[i] = half_value(((const uint16_t *)bytes)[i]);
        else if (dtype == RIDGE_BF16)
            values[i] = brain_value(((const uint16_t *)bytes)[i]);
        else if (dtype == RIDGE_I32)
            values[i] = ((const int32_t *)bytes)[i];
        else
            values[i] = ((const uint8_t *)bytes)[i];
    }
}

void numbers_encode(enum ridge_dtype dtype, const double *values, int64_t count, void *bytes) {
    for (int64_t i = 0; i < count; i++) {
        if (dtype == RIDGE_F32)
            ((float *)bytes)[i] = (float)number_round(RIDGE_F32, values[i]);
        else if (dtype == RIDGE_F16)
            ((uint16_t *)bytes)[i] = half_bits(values[i]);
        else if (dtype == RIDGE_BF16)
            ((uint16_t *)bytes)[i] = brain_bits(values[i]);
        else if (dtype == RIDGE_I32)
            ((int32_t *)bytes)[i] = (int32_t)values[i];
        else
            ((uint8_t *)bytes)[i] = (uint8_t)values[i];
    }
}

int64_t wrap_integer(enum ridge_dtype dtype, int64_t x) {
    if (dtype == RIDGE_U8)
        return x & 255;
    uint32_t low = (uint32_t)x;
    return low < 0x80000000u ? (int64_t)low : (int64_t)low - 0x100000000;
}

static double little_half(const uint8_t *bytes) {
    return half_value((uint16_t)(bytes[0] | bytes[1] << 8));
}

static void dequantize_q4_k(const uint8_t *block, double *values) {
    double scale = little_half(block), minimum = little_half(block + 2);
    const uint8_t *packed = block + 4, *quants = block + 16;
    for (int part = 0; part < 8; part++) {
        int of_scale, of_minimum;
        if (part < 4) {
            of_scale = packed[part] & 63;
            of_minimum = packed[part + 4] & 63;
        } else {
            of_scale = (packed[part + 4] & 15) | packed[part - 4] >> 6 << 4;
            of_minimum = packed[part + 4] >> 4 | packed[part] >> 6 << 4;
        }
        for (int i = 0; i < 32; i++) {
            int two = quants[part / 2 * 32 + i];
            int quant = part % 2 ? two >> 4 : two & 15;
            values[32 * part + i] = scale * of_scale * quant - minimum * of_minimum;
        }
    }
}

void numbers_dequantize(enum ridge_dtype dtype, const void *blocks, int64_t count, double *values) {
    const uint8_t *bytes = blocks;
    if (dtype == RIDGE_Q4_K) {
        for (int64_t i = 0; i < count / 256; i++)
            dequantize_q4_k(bytes + 144 * i, values + 256 * i);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *block = bytes + i / 32 * 34;
        values[i] = little_half(block) * (int8_t)block[2 + i % 32];
    }
}
