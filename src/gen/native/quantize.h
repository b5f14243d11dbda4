/* The plan of quantizing and dequantizing on the CPU. */
#ifndef RIDGE_GEN_NATIVE_QUANTIZE_H
#define RIDGE_GEN_NATIVE_QUANTIZE_H

#include "gen/native/isa.h"
#include "gen/native/plan.h"

/* Buffers: x, result. */
struct quantize_plan {
    int64_t from, to; /* enum ridge_dtype */
    int64_t blocks, unit_blocks;
};

SIMD_DECLARE(native_function, quantize)
SIMD_DECLARE(native_function, dequantize)

/* `blocks` blocks of a quantized type as f32. */
typedef void dequantize_function(float *to, enum ridge_dtype type, const void *from,
                                 int64_t blocks);
SIMD_DECLARE(dequantize_function, dequantize_blocks)

/* One block of a type other than Q8_0 and Q4_K. */
typedef void quantize_block_function(void *to, enum ridge_dtype type, const float *from);
SIMD_DECLARE(quantize_block_function, quantize_other)
SIMD_DECLARE(dequantize_function, dequantize_other)

#endif
