/* A loaded matrix product, as matmul.c makes it and matmul_choice.c chooses its algorithms. */
#ifndef RIDGE_DEVICE_CUDA_MATMUL_H
#define RIDGE_DEVICE_CUDA_MATMUL_H

#include "device/cuda/cuda.h"

/* An algorithm works for addresses of at least some alignment: that of allocations, that of the
 * widest loads, or none but the elements' own. */
enum { MATMUL_ALIGNMENTS = 3 };

struct matmul_algorithm {
    bool chosen;
    struct blas_algorithm algorithm;
    size_t workspace_bytes;
};

struct cuda_matmul {
    struct device_matmul shape;
    bool empty; /* the result has no elements */
    blas_description description;
    blas_layout a, b, d; /* in cuBLAS' order: its a is our B, its b is our A */
    struct matmul_algorithm algorithms[MATMUL_ALIGNMENTS];
};

struct matmul_buffers {
    cuda_address a, b, d, bias; /* ours; no bias is 0 */
};

/* Runs one algorithm. */
bool matmul_run(struct cuda_device *cuda, struct cuda_matmul *matmul,
                const struct matmul_buffers *buffers, const struct blas_algorithm *algorithm,
                const struct cuda_workspace *workspace, cuda_stream stream, struct status *status);

/* Chooses the algorithm for one alignment: the fastest when `measure` and there is memory to try
 * them, else the one that cuBLASLt deems best. */
bool matmul_choose(struct cuda_device *cuda, struct cuda_matmul *matmul, unsigned alignment,
                   bool measure, struct status *status);

/* Bytes of an element of A and B, and of D; 0 for types that cuBLASLt does not take. */
size_t matmul_ab_bytes(const struct device_matmul *shape);
size_t matmul_d_bytes(const struct device_matmul *shape);

#endif
