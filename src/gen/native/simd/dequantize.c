/* Quantized blocks to floats on the CPU, here those of Q8_0 and Q4_K. The products are exact in f32
 * (a scale of 11 bits, a multiple of 6, a quant of 4 or 7), so every way to contract them gives the
 * same result. */
#include "gen/native/quantize.h"

#include "gen/dtype.h"
#include "gen/native/blocks.h"
#include "gen/native/simd/widen.h"

static void dequantize_q8_0(float *to, const struct q8_0_block *block) {
    float scale = f32_from_f16(block->scale);
    for (int i = 0; i < Q8_0_WEIGHTS; i++)
        to[i] = scale * (float)block->quants[i];
}

static void dequantize_q4_k(float *to, const struct q4_k_block *block) {
    uint8_t scales[Q4_K_PARTS], minimums[Q4_K_PARTS];
    q4_k_unpack(block->packed, scales, minimums);
    float scale = f32_from_f16(block->scale), minimum = f32_from_f16(block->minimum);
    for (int g = 0; g < Q4_K_PARTS / 2; g++) {
        const uint8_t *quants = block->quants + g * Q4_K_PART_WEIGHTS;
        float low_scale = scale * scales[2 * g], low_offset = minimum * minimums[2 * g];
        float high_scale = scale * scales[2 * g + 1], high_offset = minimum * minimums[2 * g + 1];
        for (int i = 0; i < Q4_K_PART_WEIGHTS; i++)
            to[2 * g * Q4_K_PART_WEIGHTS + i] = low_scale * (float)(quants[i] & 15) - low_offset;
        for (int i = 0; i < Q4_K_PART_WEIGHTS; i++)
            to[(2 * g + 1) * Q4_K_PART_WEIGHTS + i] =
                high_scale * (float)(quants[i] >> 4) - high_offset;
    }
}

void SIMD_NAME(dequantize_blocks)(float *to, enum ridge_dtype type, const void *from,
                                  int64_t blocks) {
    const struct q8_0_block *q8_0 = from;
    const struct q4_k_block *q4_k = from;
    if (!dtype_has_products(type)) {
        SIMD_NAME(dequantize_other)(to, type, from, blocks);
        return;
    }
    for (int64_t b = 0; b < blocks; b++)
        if (type == RIDGE_Q8_0)
            dequantize_q8_0(to + b * Q8_0_WEIGHTS, &q8_0[b]);
        else
            dequantize_q4_k(to + b * Q4_K_WEIGHTS, &q4_k[b]);
}

void SIMD_NAME(dequantize)(const struct native_call *call) {
    const struct quantize_plan *plan = (const void *)call->scalars;
    enum ridge_dtype from = (enum ridge_dtype)plan->from, to = (enum ridge_dtype)plan->to;
    int64_t weights = dtype_block(from);
    size_t block_bytes = ridge_dtype_bytes(from, weights);
    size_t element_bytes = ridge_dtype_bytes(to, 1);
    size_t begin, end;
    while (native_take(call, 1, &begin, &end)) {
        int64_t first = (int64_t)begin * plan->unit_blocks;
        int64_t last =
            first + plan->unit_blocks < plan->blocks ? first + plan->unit_blocks : plan->blocks;
        for (int64_t b = first; b < last; b++) {
            const char *block = (const char *)call->buffers[0] + (size_t)b * block_bytes;
            char *result = (char *)call->buffers[1] + (size_t)(b * weights) * element_bytes;
            if (to == RIDGE_F32) {
                SIMD_NAME(dequantize_blocks)((float *)result, from, block, 1);
                continue;
            }
            float values[Q4_K_WEIGHTS];
            SIMD_NAME(dequantize_blocks)(values, from, block, 1);
            narrow(result, to, values, weights);
        }
    }
}
