/* The plan of rotary positions on the CPU. */
#ifndef RIDGE_GEN_NATIVE_ROPE_H
#define RIDGE_GEN_NATIVE_ROPE_H

#include "gen/native/plan.h"
#include "gen/native/isa.h"

enum {
    ROPE_TOKENS = 64, /* per unit, at most: steps by which an angle is rotated */
    ROPE_WIDTH_MAX = 1 << 20,
};

/* Buffers: x, positions, result. */
struct rope_plan {
    int64_t type; /* enum ridge_dtype */
    int64_t batch, heads, tokens, width;
    int64_t strides[3], position_strides[2];
    double base;
    int64_t interleaved;
    int64_t unit_tokens, token_units; /* tokens of a unit, and how many such units there are */
    int64_t unit_heads, head_units;   /* likewise heads of all batches */
};

/* Bytes of a thread's scratch: for each pair the angle's cosine and sine and the turn from token to
 * token in double, then in f32; and a row. */
static inline int64_t rope_scratch_bytes(int64_t width) {
    return (width / 2) * (4 * 8 + 2 * 4) + width * 2 * 4;
}

SIMD_DECLARE(native_function, rope)

#endif
