/* Matrix products as kernel source: the kinds of kernels, and their common parts.
 *
 * The skinny kinds read the larger matrix once against a few rows of the other. They are written
 * for few rows of A; a product with few columns is `swapped`, i.e. transposed: "A" is then the
 * work's B and "rows" are its columns, until the epilogue.
 */
#ifndef RIDGE_GEN_EMIT_MATMUL_H
#define RIDGE_GEN_EMIT_MATMUL_H

#include "gen/backends.h"
#include "gen/emit/dialect.h"
#include "gen/emit/elements.h"

enum matmul_kind {
    MATMUL_TILED,          /* any strides: tiles in shared memory */
    MATMUL_SIMDGROUP,      /* the same on Metal's SIMD-group matrices */
    MATMUL_COOPERATIVE,    /* and on Vulkan's cooperative matrices */
    MATMUL_SKINNY_ROWS,    /* B is [k][n] */
    MATMUL_SKINNY_COLUMNS, /* B is [n][k] */
    MATMUL_TENSOR_ROWS,    /* the same two on CUDA's matrix units */
    MATMUL_TENSOR_COLUMNS,
    MATMUL_QUANTIZED,        /* B is Q8_0 or Q4_K, few rows of A */
    MATMUL_QUANTIZED_TENSOR, /* B is Q4_K, CUDA's matrix units */
    MATMUL_KINDS
};

/* The first choices of the specification; a kind names the others. */
enum matmul_choice { MATMUL_KIND, MATMUL_SWAPPED, MATMUL_THREADS, MATMUL_OTHERS };

/* The first scalars of every kind; the epilogue's follow. */
enum matmul_scalar {
    MATMUL_BATCH,
    MATMUL_M,
    MATMUL_N,
    MATMUL_K,
    MATMUL_A_BATCH,
    MATMUL_A_ROW,
    MATMUL_A_COLUMN,
    MATMUL_B_BATCH,
    MATMUL_B_ROW,
    MATMUL_B_COLUMN,
    MATMUL_SCALARS
};

enum { MATMUL_SKINNY_M = 16 };

/* Whether a skinny kernel is best for this product because it has few rows or columns. */
bool source_matmul_skinny(const struct matmul_work *work, const struct device_capabilities *device);

/* One kind: plan() returns whether it supports the (possibly swapped) work, and sets its choices
 * and geometry; code() writes its source. */
struct matmul_kernel {
    bool (*plan)(const struct matmul_work *work, const struct device_capabilities *device,
                 struct kernel_request *request);
    void (*code)(const struct kernel_spec *spec, const struct device_capabilities *device,
                 struct kernel_generated *generated);
};
extern const struct matmul_kernel matmul_tiled, matmul_simdgroup, matmul_cooperative,
    matmul_skinny_rows, matmul_skinny_columns, matmul_tensor_rows, matmul_tensor_columns,
    matmul_quantized, matmul_quantized_tensor;

/* Defines TYPE_A, LOAD_A(p, i), TYPE_B, LOAD_B(p, i) and the names of the scalars (SIZE_M,
 * A_ROW, ...). */
void source_matmul_macros(struct buffer *out, const struct kernel_spec *spec);

/* The kernel's head, with the pointers a and b and the epilogue's operands, and dynamic shared
 * memory if the code of `generated` needs it. `shared` is the section of `file` that declares
 * shared arrays, or NULL. */
void source_matmul_begin(const struct kernel_spec *spec, const struct device_capabilities *device,
                         struct kernel_generated *generated, unsigned blocks_per_unit,
                         const unsigned char *file, const char *shared);

/* The epilogue of one element, at integers of the kernel called batch, row and column. */
void source_matmul_epilogue(struct buffer *out, const struct kernel_spec *spec,
                            const struct device_capabilities *device, const char *accumulator);

/* For groups of LANES threads with ROWS x ACROSS partial sums each: adds them up through
 * `partial` and opens the loop over elements, in which `total` is the sum at `row` and `column`. */
void source_lanes_tail(struct buffer *out);

#endif
