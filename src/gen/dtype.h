/* Properties of element types that are not in the public header. */
#ifndef RIDGE_GEN_DTYPE_H
#define RIDGE_GEN_DTYPE_H

#include <ridge.h>

/* Elements that share their bytes: 256 for Q4_K, 32 for Q8_0, otherwise 1. */
int64_t dtype_block(enum ridge_dtype dtype);

#endif
