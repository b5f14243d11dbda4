/* Cases that launch a hand-made kernel, whose block or tile size the experiment selects.
 *
 * A matrix product has three kernels that walk the same tiles: one only reads what the product
 * reads, one only computes, on data that is already in cache, and one does both. There are also
 * the two kernels by which bandwidth is usually judged.
 */
#ifndef RIDGE_BENCH_KERNELS_KERNEL_CASE_H
#define RIDGE_BENCH_KERNELS_KERNEL_CASE_H

#include "bench/case.h"
#include "device/device.h"

enum hand_kernel {
    HAND_SCALE,   /* y = 2 x + 1; size elements */
    HAND_SUM,     /* the sum of size elements */
    HAND_READ,    /* the sum of what the product reads */
    HAND_COMPUTE, /* the product's multiply-adds, on its first tile over and over */
    HAND_PRODUCT, /* C [batch, size] = A [batch, size] x B [size, size]; batch 0 is the size */
};

/* Indices of numbers[] of such a case. */
enum kernel_number {
    KERNEL_WHICH, /* enum hand_kernel */
    KERNEL_BLOCK, /* HAND_SCALE, HAND_SUM: threads of a block; on the CPU, elements per unit of work
                   */
    KERNEL_TILE,  /* the products: rows and columns of a tile; 0: as suits the device and the sizes
                   */
};

extern const struct case_kind kernel_case;

/* Sets the kind, numbers, type and memory_bytes of a case that has its size and batch. Fails when
 * the sizes cannot be. */
bool kernel_case_set(struct bench_case *work, enum hand_kernel which, int64_t block_or_tile,
                     struct status *status);

/* ---- For kernel_text.c and kernel_native.c -------------------------------------------------- */

/* The tiling of a case on a device. A product has m rows, n columns and k multiply-adds an
 * element; the others n elements. */
struct kernel_plan {
    enum hand_kernel which;
    bool few_rows;                   /* B is [n, k] and there are no tiles: a row of B at a time */
    int64_t m, n, k;                 /* at most INT32_MAX elements in a matrix */
    int64_t tile_rows, tile_columns; /* of a product that has tiles; powers of two */
    int64_t depth; /* multiply-adds of an element in one step: those that HAND_COMPUTE repeats */
    int64_t block; /* threads; of the CPU, elements */
    int64_t thread_rows, thread_columns; /* of a tile, for each thread; not of the CPU */
    int64_t vector;                      /* elements that are loaded together; not of the CPU */
    int64_t grid;                        /* blocks, or units of the CPU */
};

enum {
    FEW_ROWS = 8,       /* maximum: with so few rows nothing is shared between them */
    GROUP_LANES = 32,   /* threads that share a row of B */
    CPU_ROW_DEPTH = 64, /* elements of it that the CPU takes in one step */
    KERNEL_BUFFERS_MAX = 3,
};

bool kernel_plan_make(const struct bench_case *work, const struct device_capabilities *device,
                      struct kernel_plan *plan, struct status *status);

static inline int64_t kernel_rows(const struct bench_case *work) {
    return work->batch > 0 ? work->batch : work->size;
}
/* Steps along k, the last one perhaps in part outside. */
static inline int64_t kernel_steps(const struct kernel_plan *plan) {
    return plan->k / plan->depth + (plan->k % plan->depth != 0);
}
static inline bool kernel_is_product(enum hand_kernel which) {
    return which >= HAND_READ;
}

/* What one call does, in that many launches. */
void kernel_amount(const struct kernel_plan *plan, unsigned launches, struct amount *amount);

/* A name for traces: a C identifier. */
const char *kernel_name_of(const struct kernel_plan *plan, bool last);

/* Source in the device's language. `last` is the second launch of HAND_SUM, which adds up the
 * partial sums of the first one's blocks. Scalars are m, n, k; or n and how many partial sums
 * there are. */
void kernel_text(const struct kernel_plan *plan, const struct device_capabilities *device,
                 bool last, struct buffer *out);

/* The CPU's function, and what each of its threads needs. The context is the plan; HAND_SUM's
 * threads share a double each. */
native_function *kernel_native(const struct kernel_plan *plan, size_t *scratch_bytes);

#endif
