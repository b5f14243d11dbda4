/* Elements of a matrix in f32, one or LANES neighbours, whatever their type. `type` is a constant
 * where these are inlined into a loop. */
#ifndef RIDGE_GEN_NATIVE_SIMD_MATMUL_ELEMENTS_H
#define RIDGE_GEN_NATIVE_SIMD_MATMUL_ELEMENTS_H

#include <ridge.h>

#include "gen/native/simd.h"
#include "gen/native/simd/widen.h"

/* Before a loop whose count is a small constant: its arrays become registers. And before one that
 * is not worth the code. */
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("nounroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#define NO_UNROLL _Pragma("GCC unroll 1")
#endif

SIMD_INLINE float f16_to_float(uint16_t half) {
    return floats_from_f16((shorts){half})[0];
}

/* Compilers take __builtin_convertvector() of bytes apart lane by lane. */
SIMD_INLINE floats floats_from_bytes(bytes narrow) {
#if defined(SIMD_AVX512)
    return (floats)_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32((__m128i)narrow));
#elif defined(SIMD_AVX2)
    __m128i wide = _mm_loadl_epi64((const void *)&narrow);
    return (floats)_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(wide));
#else
    return __builtin_convertvector(__builtin_convertvector(narrow, ints), floats);
#endif
}
SIMD_INLINE floats floats_from_signed_bytes(bytes narrow) {
    return floats_from_bytes(narrow ^ 0x80) - 128;
}

SIMD_INLINE float element(const void *data, enum ridge_dtype type, int64_t index) {
    if (type == RIDGE_F32)
        return ((const float *)data)[index];
    uint16_t half = ((const uint16_t *)data)[index];
    return type == RIDGE_F16 ? f16_to_float(half) : floats_from_bf16((shorts){half})[0];
}

SIMD_INLINE floats elements(const void *data, enum ridge_dtype type, int64_t index) {
    if (type == RIDGE_F32)
        return floats_load((const float *)data + index);
    shorts halves = shorts_load((const uint16_t *)data + index);
    return type == RIDGE_F16 ? floats_from_f16(halves) : floats_from_bf16(halves);
}

/* `count` elements, `stride` apart, to f32. */
static inline void element_run(float *to, const void *data, enum ridge_dtype type, int64_t first,
                               int64_t stride, int64_t count) {
    if (stride == 1)
        widen(to, type, (const char *)data + first * (type == RIDGE_F32 ? 4 : 2), count);
    else
        for (int64_t i = 0; i < count; i++)
            to[i] = element(data, type, first + i * stride);
}

#endif
