/* Weights to Q8_0 and Q4_K blocks on the CPU.
 *
 * Q8_0: the scale takes the largest magnitude to 127; quants round halves away from zero.
 *
 * Q4_K, for each part of 32 weights x, with weights of the error w = rms(x) + |x|:
 * - low is the least x, at most 0, and high the greatest. Sixteen ways to round are tried: q =
 *   round((x - low) * (14 + c / 8) / (high - low)), c = 0 .. 15, within 0 to 15. Each has the
 *   scale and the offset (at most 0) that minimize the sum of w * (scale * q + offset - x)^2; the
 * one with the smallest sum is used, the first of equals.
 * - The block's scale is the greatest of the parts' / 63 and its minimum likewise of -offset, both
 *   rounded to f16; the parts' own become multiples of them, rounded to 6 bits.
 * - The quants are then rounded again with the scale and the minimum that a reader gets.
 * The ways to round are the lanes of a vector here and threads on a GPU
 * (src/gen/emit/quantize.c).
 */
#include "gen/native/quantize.h"

#include <math.h>

#include "gen/dtype.h"
#include "gen/native/blocks.h"
#include "gen/native/simd/widen.h"

enum { WAYS = 16 };

/* b when either is NaN. */
static inline float min_f32(float a, float b) {
    return a < b ? a : b;
}
static inline float max_f32(float a, float b) {
    return a > b ? a : b;
}

/* To the nearest of 0 .. 15, halves to even; NaN is 0. */
static inline float nearest_quant(float x) {
    x = x > 0 ? x : 0;
    x = x < 15 ? x : 15;
    const float whole = 0x1.8p23f; /* there neighboring floats are 1 apart */
    return (x + whole) - whole;
}

struct fit {
    float scale, offset;
};

/* The best scale for each rounding; see the start of this file. */
static void solve_ways(const float *x, float low, float rms, const float inverse[WAYS],
                       float scales[WAYS], float offsets[WAYS]) {
    float wq[WAYS] = {0}, wqq[WAYS] = {0}, wxq[WAYS] = {0}, sum_w = 0, sum_wx = 0;
    for (int i = 0; i < Q4_K_PART_WEIGHTS; i++) {
        float w = rms + fabsf(x[i]), above = x[i] - low;
        sum_w += w;
        sum_wx += w * x[i];
        for (int c = 0; c < WAYS; c++) {
            float q = nearest_quant(above * inverse[c]);
            wq[c] += w * q;
            wqq[c] += w * q * q;
            wxq[c] += w * x[i] * q;
        }
    }
    for (int c = 0; c < WAYS; c++) {
        float determinant = sum_w * wqq[c] - wq[c] * wq[c];
        float scale = (sum_w * wxq[c] - sum_wx * wq[c]) / determinant;
        float offset = (wqq[c] * sum_wx - wq[c] * wxq[c]) / determinant;
        /* All quants are equal up to rounding: only the line through 0 is determined. */
        bool line = determinant <= 1e-6f * sum_w * wqq[c] || offset > 0;
        scales[c] = line ? wxq[c] / wqq[c] : scale;
        offsets[c] = line ? 0 : offset;
    }
}

static struct fit fit_part(const float *x) {
    float low = 0, high = x[0], squares = 0;
    for (int i = 0; i < Q4_K_PART_WEIGHTS; i++) {
        low = min_f32(x[i], low);
        high = max_f32(x[i], high);
        squares += x[i] * x[i];
    }
    if (!(high > low))
        return (struct fit){0, low};
    float rms = sqrtf(squares / Q4_K_PART_WEIGHTS);
    float inverse[WAYS], scales[WAYS], offsets[WAYS], errors[WAYS] = {0};
    for (int c = 0; c < WAYS; c++)
        inverse[c] = (14 + (float)c / 8) / (high - low);
    solve_ways(x, low, rms, inverse, scales, offsets);
    for (int i = 0; i < Q4_K_PART_WEIGHTS; i++) {
        float w = rms + fabsf(x[i]), above = x[i] - low;
        for (int c = 0; c < WAYS; c++) {
            float error = scales[c] * nearest_quant(above * inverse[c]) + offsets[c] - x[i];
            errors[c] += w * error * error;
        }
    }
    struct fit best = {(high - low) / 15, low};
    float best_error = INFINITY;
    for (int c = 0; c < WAYS; c++)
        if (errors[c] < best_error) {
            best_error = errors[c];
            best = (struct fit){scales[c], offsets[c]};
        }
    return best;
}

/* value / 63 as f16, clamped to its range; *rounded is the value that a reader gets. */
static uint16_t unit_of(float greatest_value, float *rounded) {
    uint16_t unit = f16_from_f32(min_f32(greatest_value / 63, 65504));
    *rounded = f32_from_f16(unit);
    return unit;
}

/* 0 .. 63 */
static uint8_t multiple_of(float value, float unit) {
    float multiple = unit > 0 ? rintf(value / unit) : 0;
    return (uint8_t)(multiple > 0 ? min_f32(multiple, 63) : 0);
}

static void quantize_q4_k(const float *x, struct q4_k_block *block) {
    struct fit fits[Q4_K_PARTS];
    float scale = 0, minimum = 0;
    for (int p = 0; p < Q4_K_PARTS; p++) {
        fits[p] = fit_part(x + p * Q4_K_PART_WEIGHTS);
        scale = max_f32(scale, fits[p].scale);
        minimum = max_f32(minimum, -fits[p].offset);
    }
    block->scale = unit_of(scale, &scale);
    block->minimum = unit_of(minimum, &minimum);
    uint8_t scales[Q4_K_PARTS], minimums[Q4_K_PARTS], quants[Q4_K_WEIGHTS];
    for (int p = 0; p < Q4_K_PARTS; p++) {
        scales[p] = multiple_of(fits[p].scale, scale);
        minimums[p] = multiple_of(-fits[p].offset, minimum);
        float step = scale * scales[p], offset = minimum * minimums[p];
        float inverse = step > 0 ? 1 / step : 0;
        for (int i = 0; i < Q4_K_PART_WEIGHTS; i++) {
            int at = p * Q4_K_PART_WEIGHTS + i;
            quants[at] = (uint8_t)(int)nearest_quant((x[at] + offset) * inverse);
        }
    }
    q4_k_pack(scales, minimums, block->packed);
    for (int g = 0; g < Q4_K_PARTS / 2; g++)
        for (int i = 0; i < Q4_K_PART_WEIGHTS; i++)
            block->quants[32 * g + i] =
                (uint8_t)(quants[64 * g + i] | quants[64 * g + 32 + i] << 4);
}

static void quantize_q8_0(const float *x, struct q8_0_block *block) {
    float magnitude = 0;
    for (int i = 0; i < Q8_0_WEIGHTS; i++)
        magnitude = max_f32(fabsf(x[i]), magnitude);
    float scale = min_f32(magnitude / 127, 65504), inverse = scale > 0 ? 1 / scale : 0;
    block->scale = f16_from_f32(scale);
    for (int i = 0; i < Q8_0_WEIGHTS; i++) {
        float quant = min_f32(127, fabsf(x[i]) * inverse);
        int whole = (int)(quant > 0 ? quant : 0);
        whole += quant - (float)whole >= 0.5f;
        block->quants[i] = (int8_t)(x[i] < 0 ? -whole : whole);
    }
}

void SIMD_NAME(quantize)(const struct native_call *call) {
    const struct quantize_plan *plan = (const void *)call->scalars;
    enum ridge_dtype to = (enum ridge_dtype)plan->to;
    int64_t weights = dtype_block(to);
    size_t block_bytes = ridge_dtype_bytes(to, weights);
    size_t bytes = ridge_dtype_bytes((enum ridge_dtype)plan->from, weights);
    size_t begin, end;
    while (native_take(call, 1, &begin, &end)) {
        int64_t first = (int64_t)begin * plan->unit_blocks;
        int64_t last =
            first + plan->unit_blocks < plan->blocks ? first + plan->unit_blocks : plan->blocks;
        for (int64_t b = first; b < last; b++) {
            float x[Q4_K_WEIGHTS];
            widen(x, (enum ridge_dtype)plan->from,
                  (const char *)call->buffers[0] + (size_t)b * bytes, weights);
            if (!dtype_has_products(to))
                SIMD_NAME(quantize_other)
            ((char *)call->buffers[1] + (size_t)b * block_bytes, to, x);
            else if (to == RIDGE_Q4_K) quantize_q4_k(x, (struct q4_k_block *)call->buffers[1] + b);
            else quantize_q8_0(x, (struct q8_0_block *)call->buffers[1] + b);
        }
    }
}
