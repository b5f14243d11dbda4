/* A launch of a custom kernel. */
#ifndef RIDGE_TENSOR_CUSTOM_H
#define RIDGE_TENSOR_CUSTOM_H

#include "gen/custom.h"

struct custom_call {
    int32_t number; /* of the kernel */
    uint32_t blocks;
    enum ridge_dtype dtype; /* of the result */
    unsigned rank;
    int64_t sizes[RIDGE_RANK_MAX];
    int64_t scalars[CUSTOM_SCALARS_MAX];
    uint64_t flops, bytes;    /* bytes 0: operands and result */
    struct custom_call *next; /* with the same hash */
};

#endif
