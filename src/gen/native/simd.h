/* Vectors of the ISA that a file of simd/ is compiled for (-DSIMD_ISA=avx2).
 *
 * `floats` and `ints` are LANES elements wide; + - * / & | ^ << >> and comparisons (-1 or 0 in each
 * lane) are the compiler's vector extensions; here is what they lack: loading, converting, choosing
 * and rounding. `doubles` are half as many lanes. Include this only in files of simd/.
 */
#ifndef RIDGE_GEN_NATIVE_SIMD_H
#define RIDGE_GEN_NATIVE_SIMD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define SIMD_AVX512 1
#define VECTOR_BYTES 64
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define SIMD_AVX2 1
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#if defined(__aarch64__)
#define SIMD_NEON 1
#endif
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(SIMD_NEON)
#include <arm_neon.h>
#endif
#if defined(SIMD_AVX512) || defined(SIMD_AVX2) || defined(SIMD_NEON)
#define SIMD_FMA 1
#endif

/* SIMD_NAME(pack) is pack_avx2. */
#define SIMD_PASTE_(name, set) name##_##set
#define SIMD_PASTE(name, set) SIMD_PASTE_(name, set)
#define SIMD_NAME(name) SIMD_PASTE(name, SIMD_ISA)

#define SIMD_INLINE static inline __attribute__((always_inline, unused))

enum { LANES = VECTOR_BYTES / 4, HALF_LANES = LANES / 2 };

typedef float floats __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t ints __attribute__((vector_size(VECTOR_BYTES)));
typedef uint32_t bits __attribute__((vector_size(VECTOR_BYTES)));
typedef double doubles __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t longs __attribute__((vector_size(VECTOR_BYTES)));
typedef float half_floats __attribute__((vector_size(VECTOR_BYTES / 2)));
typedef int32_t half_ints __attribute__((vector_size(VECTOR_BYTES / 2)));
typedef uint16_t shorts __attribute__((vector_size(VECTOR_BYTES / 2)));
typedef uint8_t bytes __attribute__((vector_size(VECTOR_BYTES / 4)));

#define SIMD_LOAD(name, type, element)                                                             \
    SIMD_INLINE type name(const element *from) {                                                   \
        type value;                                                                                \
        memcpy(&value, from, sizeof value);                                                        \
        return value;                                                                              \
    }
#define SIMD_STORE(name, type, element)                                                            \
    SIMD_INLINE void name(element *to, type value) {                                               \
        memcpy(to, &value, sizeof value);                                                          \
    }
SIMD_LOAD(floats_load, floats, float)
SIMD_STORE(floats_store, floats, float)
SIMD_LOAD(ints_load, ints, int32_t)
SIMD_STORE(ints_store, ints, int32_t)
SIMD_LOAD(shorts_load, shorts, uint16_t)
SIMD_STORE(shorts_store, shorts, uint16_t)
SIMD_LOAD(bytes_load, bytes, uint8_t)
SIMD_STORE(bytes_store, bytes, uint8_t)

/* The first `count` elements only, fewer than LANES; the other lanes are 0. */
SIMD_INLINE floats floats_load_first(const float *from, int count) {
#if defined(SIMD_AVX512)
    return (floats)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), from);
#else
    float first[LANES] = {0};
    for (int i = 0; i < count; i++)
        first[i] = from[i];
    return floats_load(first);
#endif
}
SIMD_INLINE void floats_store_first(float *to, floats value, int count) {
#if defined(SIMD_AVX512)
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), (__m512)value);
#else
    float first[LANES];
    floats_store(first, value);
    for (int i = 0; i < count; i++)
        to[i] = first[i];
#endif
}
SIMD_INLINE shorts shorts_load_first(const uint16_t *from, int count) {
#if defined(SIMD_AVX512)
    return (shorts)_mm256_maskz_loadu_epi16((__mmask16)((1u << count) - 1), from);
#else
    uint16_t first[LANES] = {0};
    for (int i = 0; i < count; i++)
        first[i] = from[i];
    return shorts_load(first);
#endif
}

/* Stores to memory that is not read soon, past the caches; `to` is aligned to the value's size.
 * Other threads see them after simd_fence(). */
#if defined(SIMD_AVX512)
#define floats_stream(to, value) _mm512_stream_ps(to, (__m512)(value))
#define shorts_stream(to, value) _mm256_stream_si256((__m256i *)(to), (__m256i)(value))
#elif defined(SIMD_AVX2)
#define floats_stream(to, value) _mm256_stream_ps(to, (__m256)(value))
#define shorts_stream(to, value) _mm_stream_si128((__m128i *)(to), (__m128i)(value))
#elif defined(__x86_64__)
#define floats_stream(to, value) _mm_stream_ps(to, (__m128)(value))
#define shorts_stream(to, value) shorts_store(to, value)
#else
#define floats_stream(to, value) floats_store(to, value)
#define shorts_stream(to, value) shorts_store(to, value)
#endif
SIMD_INLINE void simd_fence(void) {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

/* The same value in every lane. */
SIMD_INLINE floats floats_of(float value) {
    return value - (floats){0};
}
SIMD_INLINE ints ints_of(int32_t value) {
    return value - (ints){0};
}
SIMD_INLINE doubles doubles_of(double value) {
    return value - (doubles){0};
}

/* Bits of `a` where the mask's are 1, else of `b`: masks are -1 or 0 in each lane. */
SIMD_INLINE ints ints_choose(ints mask, ints a, ints b) {
    return (mask & a) | (~mask & b);
}
SIMD_INLINE floats floats_choose(ints mask, floats a, floats b) {
    return (floats)ints_choose(mask, (ints)a, (ints)b);
}
SIMD_INLINE doubles doubles_choose(longs mask, doubles a, doubles b) {
    return (doubles)((mask & (longs)a) | (~mask & (longs)b));
}

/* 0, 1, 2, ... */
SIMD_INLINE ints ints_count(void) {
    ints count;
    for (int i = 0; i < LANES; i++)
        count[i] = i;
    return count;
}

SIMD_INLINE floats floats_abs(floats x) {
    return (floats)((ints)x & 0x7fffffff);
}

/* a * b + c, rounded once where the set can. */
SIMD_INLINE floats floats_fma(floats a, floats b, floats c) {
#if defined(SIMD_AVX512)
    return (floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(SIMD_AVX2)
    return (floats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(SIMD_NEON)
    return (floats)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}
SIMD_INLINE doubles doubles_fma(doubles a, doubles b, doubles c) {
#if defined(SIMD_AVX512)
    return (doubles)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(SIMD_AVX2)
    return (doubles)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(SIMD_NEON)
    return (doubles)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
    return a * b + c;
#endif
}

/* The lesser and the greater; `b` when one of them is not a number. */
SIMD_INLINE floats floats_min(floats a, floats b) {
#if defined(SIMD_AVX512)
    return (floats)_mm512_min_ps((__m512)a, (__m512)b);
#elif defined(SIMD_AVX2)
    return (floats)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__x86_64__)
    return (floats)_mm_min_ps((__m128)a, (__m128)b);
#else
    return floats_choose(a < b, a, b);
#endif
}
SIMD_INLINE floats floats_max(floats a, floats b) {
#if defined(SIMD_AVX512)
    return (floats)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(SIMD_AVX2)
    return (floats)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__x86_64__)
    return (floats)_mm_max_ps((__m128)a, (__m128)b);
#else
    return floats_choose(a > b, a, b);
#endif
}

SIMD_INLINE floats floats_sqrt(floats x) {
#if defined(SIMD_AVX512)
    return (floats)_mm512_sqrt_ps((__m512)x);
#elif defined(SIMD_AVX2)
    return (floats)_mm256_sqrt_ps((__m256)x);
#elif defined(__x86_64__)
    return (floats)_mm_sqrt_ps((__m128)x);
#elif defined(SIMD_NEON)
    return (floats)vsqrtq_f32((float32x4_t)x);
#else
    for (int i = 0; i < LANES; i++)
        x[i] = sqrtf(x[i]);
    return x;
#endif
}

/* To the nearest whole number, halves to even, of |x| < 2^22 only. */
SIMD_INLINE floats floats_round_small(floats x) {
#if defined(SIMD_AVX512)
    return (floats)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif defined(SIMD_AVX2)
    return (floats)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif defined(SIMD_NEON)
    return (floats)vrndnq_f32((float32x4_t)x);
#else
    return (x + 0x1.8p23f) - 0x1.8p23f;
#endif
}

/* rint() of every x. */
SIMD_INLINE floats floats_round(floats x) {
#if defined(SIMD_FMA)
    return floats_round_small(x);
#else
    /* Above 2^23 all floats are integers. The sign is restored for -0 and values that round
     * to it. */
    floats magic = (floats)(((ints)x & INT32_MIN) | (ints)floats_of(0x1p23f));
    floats rounded = (floats)((ints)floats_abs((x + magic) - magic) | ((ints)x & INT32_MIN));
    return floats_choose(floats_abs(x) < 0x1p23f, rounded, x);
#endif
}

SIMD_INLINE floats floats_floor(floats x) {
#if defined(SIMD_AVX512)
    return (floats)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#elif defined(SIMD_AVX2)
    return (floats)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#elif defined(SIMD_NEON)
    return (floats)vrndmq_f32((float32x4_t)x);
#else
    floats rounded = floats_round(x);
    floats below = rounded - (floats)((rounded > x) & (ints)floats_of(1.0f));
    return (floats)((ints)below | ((ints)x & INT32_MIN));
#endif
}

SIMD_INLINE floats floats_ceil(floats x) {
#if defined(SIMD_AVX512)
    return (floats)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
#elif defined(SIMD_AVX2)
    return (floats)_mm256_round_ps((__m256)x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
#elif defined(SIMD_NEON)
    return (floats)vrndpq_f32((float32x4_t)x);
#else
    return -floats_floor(-x);
#endif
}

/* p * 2^n for whole |n| < 400, rounded once also where that is subnormal. */
SIMD_INLINE floats floats_scale(floats p, floats n) {
#if defined(SIMD_AVX512)
    return (floats)_mm512_scalef_ps((__m512)p, (__m512)n);
#else
    ints whole = __builtin_convertvector(n, ints), half = whole >> 1, rest = whole - half;
    return p * (floats)((half + 127) << 23) * (floats)((rest + 127) << 23);
#endif
}

/* Halves of the lanes, widened, and back. */
SIMD_INLINE void floats_widen(floats x, doubles *low, doubles *high) {
    half_floats halves[2];
    memcpy(halves, &x, sizeof x);
    *low = __builtin_convertvector(halves[0], doubles);
    *high = __builtin_convertvector(halves[1], doubles);
}
SIMD_INLINE floats floats_narrow(doubles low, doubles high) {
    half_floats halves[2] = {__builtin_convertvector(low, half_floats),
                             __builtin_convertvector(high, half_floats)};
    floats x;
    memcpy(&x, halves, sizeof x);
    return x;
}

/* Whether any lane of the mask is set. */
SIMD_INLINE int ints_any(ints mask) {
#if defined(SIMD_AVX512)
    return _mm512_movepi32_mask((__m512i)mask) != 0;
#elif defined(SIMD_AVX2)
    return _mm256_movemask_ps((__m256)mask) != 0;
#elif defined(__x86_64__)
    return _mm_movemask_ps((__m128)mask) != 0;
#elif defined(SIMD_NEON)
    return vmaxvq_u32((uint32x4_t)mask) != 0;
#else
    int any = 0;
    for (int i = 0; i < LANES; i++)
        any |= mask[i];
    return any != 0;
#endif
}

/* ---- 16-bit floats ---- */

SIMD_INLINE floats floats_from_f16(shorts h) {
#if defined(SIMD_AVX512)
    return (floats)_mm512_cvtph_ps((__m256i)h);
#elif defined(SIMD_AVX2)
    return (floats)_mm256_cvtph_ps((__m128i)h);
#elif defined(SIMD_NEON)
    return (floats)vcvt_f32_f16((float16x4_t)h);
#else
    ints wide = __builtin_convertvector(h, ints);
    ints magnitude = (wide & 0x7fff) << 13, sign = (wide & 0x8000) << 16;
    floats finite = (floats)magnitude * 0x1p112f; /* moves the exponent; exact for subnormals too */
    ints special = (wide & 0x7c00) == 0x7c00;
    ints quiet = special & ((wide & 0x3ff) != 0) & 0x400000;
    return (floats)(ints_choose(special, magnitude | 0x7f800000 | quiet, (ints)finite) | sign);
#endif
}

SIMD_INLINE shorts floats_to_f16(floats x) {
#if defined(SIMD_AVX512)
    return (shorts)_mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif defined(SIMD_AVX2)
    return (shorts)_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif defined(SIMD_NEON)
    return (shorts)vcvt_f16_f32((float32x4_t)x);
#else
    ints sign = (ints)((bits)x >> 16) & 0x8000;
    ints magnitude = (ints)x & 0x7fffffff;
    /* 65520 and above round to infinity. A number that will be subnormal is shifted into place, and
     * rounded, by adding one half; others are rounded by hand: up when above half, or odd. */
    ints normal = (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    ints subnormal = (ints)((floats)magnitude + 0.5f) - 0x3f000000;
    ints not_a_number = 0x7e00 | ((magnitude >> 13) & 0x3ff);
    ints rounded = ints_choose(magnitude < 0x38800000, subnormal, normal);
    rounded = ints_choose(magnitude >= 0x477ff000, ints_of(0x7c00), rounded);
    rounded = ints_choose(magnitude > 0x7f800000, not_a_number, rounded);
    return __builtin_convertvector(rounded | sign, shorts);
#endif
}

SIMD_INLINE floats floats_from_bf16(shorts h) {
    return (floats)(__builtin_convertvector(h, bits) << 16);
}

SIMD_INLINE shorts floats_to_bf16(floats x) {
    bits raw = (bits)x;
    bits rounded = (raw + 0x7fff + ((raw >> 16) & 1)) >> 16;
    bits not_a_number = (raw >> 16) | 0x40;
    return __builtin_convertvector((bits)ints_choose(x != x, (ints)not_a_number, (ints)rounded),
                                   shorts);
}

/* ---- Across the lanes ---- */

SIMD_INLINE float floats_sum(floats x) {
#if defined(SIMD_AVX512)
    return _mm512_reduce_add_ps((__m512)x);
#else
    float parts[LANES];
    memcpy(parts, &x, sizeof parts);
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++)
            parts[i] += parts[i + width];
    return parts[0];
#endif
}

/* No lane may be NaN. */
SIMD_INLINE float floats_greatest(floats x) {
#if defined(SIMD_AVX512)
    return _mm512_reduce_max_ps((__m512)x);
#elif defined(SIMD_NEON)
    return vmaxvq_f32((float32x4_t)x);
#else
    float parts[LANES];
    memcpy(parts, &x, sizeof parts);
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++)
            parts[i] = parts[i] > parts[i + width] ? parts[i] : parts[i + width];
    return parts[0];
#endif
}

#endif
