/* Elements of a matrix in f32, one or LANES neighbors, whatever their type. `type` is a constant
 * where these are inlined into a loop. */
#ifndef RIDGE_GEN_NATIVE_SIMD_MATMUL_ELEMENTS_H
#define RIDGE_GEN_NATIVE_SIMD_MATMUL_ELEMENTS_H

#include <ridge.h>

#include "gen/native/simd.h"
#include "gen/native/simd/widen.h"

/* Before a loop whose count is a small constant: its arrays become registers. */
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
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

/* Interleaves the lower halves of two vectors; and the upper ones. */
#if VECTOR_BYTES == 64
#define LOW_TURNS 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_TURNS 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif VECTOR_BYTES == 32
#define LOW_TURNS 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_TURNS 4, 12, 5, 13, 6, 14, 7, 15
#else
#define LOW_TURNS 0, 4, 1, 5
#define HIGH_TURNS 2, 6, 3, 7
#endif

SIMD_INLINE floats floats_low_turns(floats a, floats b) {
    return __builtin_shufflevector(a, b, LOW_TURNS);
}
SIMD_INLINE floats floats_high_turns(floats a, floats b) {
    return __builtin_shufflevector(a, b, HIGH_TURNS);
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

/* The first `count` of them, fewer than LANES; the other lanes are 0. */
SIMD_INLINE floats elements_first(const void *data, enum ridge_dtype type, int64_t index,
                                  int count) {
    if (type == RIDGE_F32)
        return floats_load_first((const float *)data + index, count);
    shorts halves = shorts_load_first((const uint16_t *)data + index, count);
    return type == RIDGE_F16 ? floats_from_f16(halves) : floats_from_bf16(halves);
}

/* What is wanted soon: the processor's own guesses stop at the end of a page. There may be nothing
 * at that place. */
SIMD_INLINE void prefetch_element(const void *data, enum ridge_dtype type, int64_t index) {
    uintptr_t size = type == RIDGE_F32 ? sizeof(float) : sizeof(uint16_t);
    __builtin_prefetch((const void *)((uintptr_t)data + (uintptr_t)index * size));
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
