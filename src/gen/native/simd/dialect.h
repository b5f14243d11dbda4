/* The dialect of kernel files (gen/emit/dialect.h) in C, for those that the CPU shares. */
#ifndef RIDGE_GEN_NATIVE_SIMD_DIALECT_H
#define RIDGE_GEN_NATIVE_SIMD_DIALECT_H

#include <math.h>

#include "gen/native/simd/widen.h"

#define INT64 int64_t
#define UINT64 uint64_t
#define UINT32 uint32_t
#define CAST(T, x) ((T)(x))
#define POINTER(T) T *
#define CONST_POINTER(T) const T *
#define AT(p, i) ((p) + (i))
#define ELEMENT(p, i) ((p)[i])
#define UCHAR uint8_t
#define INLINE static inline
#define INFINITE INFINITY
#define EXP expf
#define LOG logf
#define LOG1P log1pf
#define ABS fabsf
#define RINT rintf
#define FMA(a, b, c) ((a) * (b) + (c))
#define LOAD_I32(p, i) ((p)[i])
#define STORE_I32(p, i, x) ((p)[i] = (x))
#define LOAD_U8(p, i) ((int)(p)[i])
#define STORE_U8(p, i, x) ((p)[i] = (uint8_t)(x))
#define U32_LO_F16(u) f32_from_f16((uint16_t)(u))
#define f32_to_f16(x) ((uint32_t)f16_from_f32(x))
#define WORDS2 struct words2
#define MAKE_WORDS2(a, b) ((struct words2){a, b})
struct words2 {
    uint32_t x, y;
};

static inline float AS_FLOAT(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}
static inline uint32_t AS_UINT(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static inline float load_bf16(uint16_t half) {
    return AS_FLOAT((uint32_t)half << 16);
}
static inline uint16_t store_bf16(float x) {
    uint16_t half;
    narrow(&half, RIDGE_BF16, &x, 1);
    return half;
}

#endif
