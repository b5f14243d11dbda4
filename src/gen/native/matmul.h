/* Shared by the parts of a native matrix product: the plan of a launch, which is passed as its
 * scalars, and the kernels of each instruction set.
 *
 * There are three methods, selected in native_matmul():
 *   packed     A and B are copied block by block into panels that suit the registers, widened or
 *              dequantized on the way: for everything that is not one of the others.
 *   streamed   few rows, B dense with a contiguous axis: B is read once, where it lies.
 *   quantized  few rows, B quantized: likewise, against rows of A in 16-bit integers.
 */
#ifndef RIDGE_GEN_NATIVE_MATMUL_H
#define RIDGE_GEN_NATIVE_MATMUL_H

#include "base/min_max.h"
#include "gen/kernel.h"
#include "gen/native/epilogue.h"

enum matmul_path { MATMUL_PACKED, MATMUL_STREAMED, MATMUL_QUANTIZED, MATMUL_PATHS };

enum {
    MATMUL_FEW_ROWS = 8,           /* that the methods that do not pack take at once */
    MATMUL_STREAM_ROWS = 16,       /* maximum, for streaming */
    MATMUL_STREAM_DEPTH = 2048,    /* of A's rows that are widened at a time */
    MATMUL_STREAM_COLUMNS = 512,   /* of a unit, at most */
    MATMUL_DEQUANTIZED_DEPTH = 256 /* of columns that are dequantized at a time */
};

/* All members are 64 bits wide: these are the first scalars of the launch; the epilogue's follow.
 */
struct matmul_plan {
    int64_t batch, m, n, k;
    int64_t a_batch, a_row, a_column; /* strides in elements */
    int64_t b_batch, b_row, b_column;
    int64_t total; /* pieces of work that the launch's units share out, where no phases do it */

    /* packed */
    int64_t per_thread; /* every thread packs and multiplies its own blocks */
    int64_t panel_rows; /* of a panel of A */
    int64_t block_rows, block_columns, block_depth; /* packed at a time; whole panels */
    int64_t tile_rows, tile_columns; /* of a block, summed up in a thread's scratch; whole panels */

    /* streamed and quantized */
    int64_t swapped; /* this is the plan of the transpose: A is buffer 1 and B is buffer 0 */
    int64_t columns; /* of a unit */
    int64_t parts;   /* parts of k, used if there are too few columns for all threads */
    int64_t part_depth;
    int64_t part_sums; /* their offset in the shared memory, in bytes */
};
enum { MATMUL_SCALARS = sizeof(struct matmul_plan) / sizeof(int64_t) };

struct matmul_context {
    uint8_t a_type, b_type;
    struct program epilogue;
};

/* A thread's scratch: first the epilogue's, then floats, in this order: rows of A that were
 * widened, the sums of a unit, and those sums transposed. */
enum {
    MATMUL_SUMS = MATMUL_STREAM_ROWS * MATMUL_STREAM_DEPTH,
    MATMUL_TURNED = MATMUL_SUMS + MATMUL_STREAM_ROWS * MATMUL_STREAM_COLUMNS,
    MATMUL_SCRATCH = (MATMUL_TURNED + MATMUL_STREAM_ROWS * MATMUL_STREAM_COLUMNS) * sizeof(float),
};
static inline float *matmul_scratch(const struct native_call *call) {
    return (float *)((char *)call->scratch + NATIVE_EPILOGUE_SCRATCH);
}

/* Padding after a panel in floats, because panels are written in whole vectors. */
enum { MATMUL_PANEL_SLACK = 16 };

static inline int64_t matmul_blocks(int64_t size, int64_t block) {
    return size / block + (size % block != 0);
}

/* Floats of the packed panels of one block of A and of B, and of the sums of one tile. */
static inline int64_t matmul_a_floats(const struct matmul_plan *plan) {
    int64_t panels = plan->block_rows / plan->panel_rows;
    return panels * (plan->block_depth * plan->panel_rows + MATMUL_PANEL_SLACK);
}
static inline int64_t matmul_b_floats(const struct matmul_plan *plan) {
    return plan->block_depth * plan->block_columns;
}
/* Rows of sums are padded so that they do not map to the same cache sets. */
static inline int64_t matmul_tile_stride(const struct matmul_plan *plan) {
    return plan->tile_columns + 16;
}
static inline int64_t matmul_tile_floats(const struct matmul_plan *plan) {
    return plan->tile_rows * matmul_tile_stride(plan);
}
static inline int64_t matmul_block_tiles(const struct matmul_plan *plan) {
    return matmul_blocks(plan->block_rows, plan->tile_rows) *
           matmul_blocks(plan->block_columns, plan->tile_columns);
}

/* 256 elements of a row of A as integers: see simd/quantized_matmul.c. */
enum { MATMUL_ACTIVATIONS = 256, MATMUL_ACTIVATION_PARTS = 8 };
struct matmul_activations {
    int16_t values[MATMUL_ACTIVATIONS];
    float scales[MATMUL_ACTIVATION_PARTS]; /* an element is its value times its part's scale */
    float sums[MATMUL_ACTIVATION_PARTS];   /* of the part's elements */
};

/* For the methods that split k into parts: piece `number` of the launch stores its sums here, m
 * rows of plan->columns floats; then matmul_join_parts() adds them up and finishes. */
float *matmul_part_sums(const struct native_call *call, const struct matmul_plan *plan,
                        int64_t number);
void matmul_join_parts(const struct native_call *call);
/* Runs the epilogue on the whole sums of a unit's columns. */
void matmul_finish_unit(const struct native_call *call, int64_t unit, const float *sums);

/* The kernels of one ISA. */
struct matmul_kernels {
    unsigned panel_rows, panel_columns; /* maximum rows of an A panel; width of a B panel */
    native_function *run[MATMUL_PATHS];
};

#endif
