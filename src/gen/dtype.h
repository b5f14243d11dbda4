/* Properties of element types that are not in the public header. */
#ifndef RIDGE_GEN_DTYPE_H
#define RIDGE_GEN_DTYPE_H

#include <ridge.h>

/* Elements that share their bytes: 256 for Q4_K, 32 for Q8_0, 1 for plain types. */
int64_t dtype_block(enum ridge_dtype dtype);
static inline bool dtype_is_quantized(enum ridge_dtype dtype) {
    return dtype >= RIDGE_Q8_0;
}
/* Whether matrix products read its blocks; others are dequantized first. */
static inline bool dtype_has_products(enum ridge_dtype dtype) {
    return dtype == RIDGE_Q8_0 || dtype == RIDGE_Q4_K;
}

#endif
