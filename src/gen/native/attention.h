/* The plan of attention on the CPU.
 *
 * The heads that share keys, times their queries, are the rows of one problem: row r is query r
 * / group of head r % group of those. A unit is a block of rows against a part of the keys. If
 * the keys are split into parts, each unit stores its partial rows in shared memory and, after
 * a barrier, they are combined.
 */
#ifndef RIDGE_GEN_NATIVE_ATTENTION_H
#define RIDGE_GEN_NATIVE_ATTENTION_H

#include "gen/native/plan.h"
#include "gen/native/isa.h"

enum {
    ATTENTION_ROWS = 64, /* of a block, at most */
    ATTENTION_KEYS = 64, /* that a block of rows meets at a time */
    ATTENTION_WIDTH_MAX = 65536,
};

/* Buffers: q, k, v, lengths and mask if there are, result. */
struct attention_plan {
    int64_t type; /* enum ridge_dtype */
    int64_t batch, heads, kv_heads, queries, keys, width;
    int64_t q_strides[3], k_strides[3], v_strides[3];
    int64_t causal;
    double scale;
    int64_t group;                 /* heads that share keys */
    int64_t row_blocks;            /* of a batch's kv_head */
    int64_t parts;                 /* of the keys */
    int64_t window;                /* 0: none */
    int64_t lengths, mask, result; /* numbers of buffers; 0: absent */
    int64_t length_stride, mask_strides[4];
};

/* Elements of a row of scratch: vectors may reach beyond the width. */
static inline int64_t attention_padded(int64_t width) {
    return (width + 63) / 64 * 64;
}
/* Floats of partial rows: their sums, maximum scores and sums of exponentials. */
static inline int64_t attention_partial_floats(int64_t width) {
    return ATTENTION_ROWS * (attention_padded(width) + 2);
}
/* Floats of a thread's scratch: the rows' q and unfinished rows; keys, values and scores. */
static inline int64_t attention_scratch_floats(int64_t width) {
    return ATTENTION_ROWS * attention_padded(width) + attention_partial_floats(width) +
           2 * ATTENTION_KEYS * attention_padded(width) + (ATTENTION_KEYS + 3) * ATTENTION_ROWS;
}

SIMD_DECLARE(native_function, attention)

#endif
