/* The chains of x86-64: anything beyond SSE2 is compiled with a function attribute and only run
 * after checking the CPU, and the system for the register state that it must save.
 *
 * Twelve accumulators cover a latency of four to six cycles at two instructions a cycle.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* syscall() */
#endif
#include "base/array.h"
#include "base/x86.h"
#include "bench/roofs/native_chains.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <string.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* Compilers that know the youngest instructions. */
#if defined(__clang__) ? __clang_major__ >= 14 : __GNUC__ >= 12
#define HAVE_YOUNG_INSTRUCTIONS 1
#endif
/* Some releases of clang leave this header out unless all of a file is compiled for it. */
#if defined(__AVX512FP16INTRIN_H) || defined(__AVX512FP16INTRIN_H_INCLUDED)
#define HAVE_F16 1
#endif

#define TARGET(list) __attribute__((target(list)))
#define TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

/* a = a * m + c tends to c / (1 - m): numbers of the size of 1 that never become subnormal. */
#define CHAIN(name, target, V, START, STEP, FACTOR, TERM)                                          \
    target static void name(size_t rounds, void *state) {                                          \
        const char *from = state;                                                                  \
        char *to = state;                                                                          \
        V m = FACTOR, c = TERM;                                                                    \
        V a0 = START(0), a1 = START(1), a2 = START(2), a3 = START(3), a4 = START(4),               \
          a5 = START(5), a6 = START(6), a7 = START(7), a8 = START(8), a9 = START(9),               \
          a10 = START(10), a11 = START(11);                                                        \
        for (size_t i = 0; i < rounds; i++) {                                                      \
            TWELVE(STEP)                                                                           \
        }                                                                                          \
        TWELVE(FINISH)                                                                             \
    }
#define FINISH(i) memcpy(to + i * sizeof a##i, &a##i, sizeof a##i);

/* Random bits as floats in [0.5, 1). */
#define START_SSE(i)                                                                               \
    _mm_castsi128_ps(_mm_or_si128(                                                                 \
        _mm_and_si128(_mm_loadu_si128((const __m128i *)(const void *)(from + i * 16)),             \
                      _mm_set1_epi32(0x007fffff)),                                                 \
        _mm_set1_epi32(0x3f000000)))
#define STEP_SSE(i) a##i = _mm_add_ps(_mm_mul_ps(a##i, m), c);
CHAIN(f32_sse, , __m128, START_SSE, STEP_SSE, _mm_set1_ps(0.999f), _mm_set1_ps(0.001f))

#define BITS_256(i) _mm256_loadu_si256((const __m256i *)(const void *)(from + i * 32))
#define START_AVX(i)                                                                               \
    _mm256_castsi256_ps(                                                                           \
        _mm256_or_si256(_mm256_and_si256(BITS_256(i), _mm256_set1_epi32(0x007fffff)),              \
                        _mm256_set1_epi32(0x3f000000)))
#define STEP_AVX(i) a##i = _mm256_fmadd_ps(a##i, m, c);
CHAIN(f32_avx2, TARGET("avx2,fma"), __m256, START_AVX, STEP_AVX, _mm256_set1_ps(0.999f),
      _mm256_set1_ps(0.001f))

/* Products of bytes, added in pairs, and those in pairs: three instructions. */
#define START_INT_AVX(i) BITS_256(i)
#define STEP_INT_AVX(i)                                                                            \
    a##i = _mm256_add_epi32(a##i, _mm256_madd_epi16(_mm256_maddubs_epi16(m, a##i), c));
CHAIN(int8_avx2, TARGET("avx2"), __m256i, START_INT_AVX, STEP_INT_AVX,
      _mm256_and_si256(BITS_256(12), _mm256_set1_epi8(0x3f)), _mm256_set1_epi16(1))

#define BITS_512(i) _mm512_loadu_si512(from + i * 64)
#define START_512(i)                                                                               \
    _mm512_castsi512_ps(                                                                           \
        _mm512_or_si512(_mm512_and_si512(BITS_512(i), _mm512_set1_epi32(0x007fffff)),              \
                        _mm512_set1_epi32(0x3f000000)))
#define STEP_512(i) a##i = _mm512_fmadd_ps(a##i, m, c);
CHAIN(f32_avx512, TARGET("avx512f"), __m512, START_512, STEP_512, _mm512_set1_ps(0.999f),
      _mm512_set1_ps(0.001f))

#ifdef HAVE_YOUNG_INSTRUCTIONS
#define STEP_VNNI_256(i) a##i = _mm256_dpbusd_avx_epi32(a##i, m, c);
CHAIN(int8_vnni_256, TARGET("avx2,avxvnni"), __m256i, START_INT_AVX, STEP_VNNI_256, BITS_256(12),
      BITS_256(13))

#define STEP_VNNI_512(i) a##i = _mm512_dpbusd_epi32(a##i, m, c);
CHAIN(int8_vnni_512, TARGET("avx512f,avx512vnni"), __m512i, BITS_512, STEP_VNNI_512, BITS_512(12),
      BITS_512(13))

#ifdef HAVE_F16
#define START_F16(i)                                                                               \
    _mm512_castsi512_ph(_mm512_or_si512(_mm512_and_si512(BITS_512(i), _mm512_set1_epi16(0x03ff)),  \
                                        _mm512_set1_epi16(0x3800)))
#define STEP_F16(i) a##i = _mm512_fmadd_ph(a##i, m, c);
CHAIN(f16_avx512, TARGET("avx512f,avx512bw,avx512fp16"), __m512h, START_F16, STEP_F16,
      _mm512_castsi512_ph(_mm512_set1_epi16(0x3bf0)), /* 0.992 */
      _mm512_castsi512_ph(_mm512_set1_epi16(0x2018))) /* 0.008 */
#endif

/* Products of pairs, added to an f32: both factors of either sign and of the size of 1. */
#define HALVES_512(i)                                                                              \
    (__m512bh) _mm512_or_si512(_mm512_and_si512(BITS_512(i), _mm512_set1_epi16((short)0x807f)),    \
                               _mm512_set1_epi16(0x3f00))
#define CHAIN_BF16(name, target)                                                                   \
    target static void name(size_t rounds, void *state) {                                          \
        const char *from = state;                                                                  \
        char *to = state;                                                                          \
        __m512bh m = HALVES_512(12), c = HALVES_512(13);                                           \
        __m512 a0 = START_512(0), a1 = START_512(1), a2 = START_512(2), a3 = START_512(3),         \
               a4 = START_512(4), a5 = START_512(5), a6 = START_512(6), a7 = START_512(7),         \
               a8 = START_512(8), a9 = START_512(9), a10 = START_512(10), a11 = START_512(11);     \
        for (size_t i = 0; i < rounds; i++) {                                                      \
            TWELVE(STEP_BF16)                                                                      \
        }                                                                                          \
        TWELVE(FINISH)                                                                             \
    }
#define STEP_BF16(i) a##i = _mm512_dpbf16_ps(a##i, m, c);
CHAIN_BF16(bf16_avx512, TARGET("avx512f,avx512bw,avx512bf16"))

/* Tiles of 16 rows of 64 bytes: six accumulate products of the other two. */
struct tile_configuration {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

static struct tile_configuration whole_tiles(void) {
    struct tile_configuration configuration = {.palette = 1};
    for (unsigned i = 0; i < 8; i++) {
        configuration.row_bytes[i] = 64;
        configuration.rows[i] = 16;
    }
    return configuration;
}

/* Bytes are what they are; halves need an exponent near 0. */
static void prepare_tiles(char *state, bool halves) {
    uint16_t value;
    for (size_t i = 0; halves && i < 2048; i += sizeof value) {
        memcpy(&value, state + i, sizeof value);
        value = (uint16_t)((value & 0x807f) | 0x3f00);
        memcpy(state + i, &value, sizeof value);
    }
}

#define CHAIN_TILES(name, target, MULTIPLY, halves)                                                \
    target static void name(size_t rounds, void *state) {                                          \
        struct tile_configuration configuration = whole_tiles();                                   \
        char *bytes = state;                                                                       \
        prepare_tiles(bytes, halves);                                                              \
        _tile_loadconfig(&configuration);                                                          \
        _tile_loadd(6, bytes, 64);                                                                 \
        _tile_loadd(7, bytes + 1024, 64);                                                          \
        _tile_zero(0);                                                                             \
        _tile_zero(1);                                                                             \
        _tile_zero(2);                                                                             \
        _tile_zero(3);                                                                             \
        _tile_zero(4);                                                                             \
        _tile_zero(5);                                                                             \
        for (size_t i = 0; i < rounds; i++) {                                                      \
            MULTIPLY(0, 6, 7);                                                                     \
            MULTIPLY(1, 6, 7);                                                                     \
            MULTIPLY(2, 6, 7);                                                                     \
            MULTIPLY(3, 6, 7);                                                                     \
            MULTIPLY(4, 6, 7);                                                                     \
            MULTIPLY(5, 6, 7);                                                                     \
        }                                                                                          \
        _tile_stored(5, bytes + 2048, 64);                                                         \
        _tile_release();                                                                           \
    }
CHAIN_TILES(tiles_bf16, TARGET("amx-tile,amx-bf16"), _tile_dpbf16ps, true)
CHAIN_TILES(tiles_int8, TARGET("amx-tile,amx-int8"), _tile_dpbssd, false)
#endif

/* ---- What the machine has ---------------------------------------------------------------- */

enum { LEAF_7_0_ECX, LEAF_7_0_EDX, LEAF_7_1_EAX, FEATURE_WORDS };

static bool has_bit(unsigned word, unsigned bit) {
    unsigned words[FEATURE_WORDS] = {0}, a, b, c, d;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        words[LEAF_7_0_ECX] = c;
        words[LEAF_7_0_EDX] = d;
        if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d))
            words[LEAF_7_1_EAX] = a;
    }
    return words[word] >> bit & 1;
}

static bool always(void) {
    return true;
}
/* These also check the register state that the system saves. */
static bool has_avx2(void) {
    return x86_supports("avx2") && x86_supports("fma");
}
static bool has_avx512(void) {
    return x86_supports("avx512f") && x86_supports("avx512bw");
}
#ifdef HAVE_YOUNG_INSTRUCTIONS
static bool has_vnni_256(void) {
    return has_avx2() && has_bit(LEAF_7_1_EAX, 4);
}
static bool has_vnni_512(void) {
    return has_avx512() && has_bit(LEAF_7_0_ECX, 11);
}
#ifdef HAVE_F16
static bool has_f16(void) {
    return has_avx512() && has_bit(LEAF_7_0_EDX, 23);
}
#endif
static bool has_bf16(void) {
    return has_avx512() && has_bit(LEAF_7_1_EAX, 5);
}

/* The registers of tiles are large: Linux gives them to those who ask. */
static bool may_use_tiles(void) {
#if defined(__linux__) && defined(SYS_arch_prctl)
    enum { ARCH_REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return has_bit(LEAF_7_0_EDX, 24) &&
           syscall(SYS_arch_prctl, ARCH_REQUEST_PERMISSION, TILE_DATA) == 0;
#else
    return false;
#endif
}
static bool has_tiles_bf16(void) {
    return has_bit(LEAF_7_0_EDX, 22) && may_use_tiles();
}
static bool has_tiles_int8(void) {
    return has_bit(LEAF_7_0_EDX, 25) && may_use_tiles();
}
#endif

/* Twelve vectors of this many elements, a multiply-add each. */
#define OPERATIONS(elements) (12 * 2.0 * (elements))
static const struct native_chain chains[] = {
    {ROOF_F32, f32_sse, OPERATIONS(4), always, "SSE multiplications and additions"},
    {ROOF_F32, f32_avx2, OPERATIONS(8), has_avx2, "AVX2 multiply-adds"},
    {ROOF_F32, f32_avx512, OPERATIONS(16), has_avx512, "AVX-512 multiply-adds"},
    {ROOF_INT8, int8_avx2, OPERATIONS(32), has_avx2, "AVX2 multiplications of bytes"},
#ifdef HAVE_YOUNG_INSTRUCTIONS
    {ROOF_INT8, int8_vnni_256, OPERATIONS(32), has_vnni_256, "AVX-VNNI dot products of bytes"},
    {ROOF_INT8, int8_vnni_512, OPERATIONS(64), has_vnni_512, "AVX-512 VNNI dot products of bytes"},
#ifdef HAVE_F16
    {ROOF_F16, f16_avx512, OPERATIONS(32), has_f16, "AVX-512 FP16 multiply-adds"},
#endif
    {ROOF_BF16, bf16_avx512, OPERATIONS(32), has_bf16, "AVX-512 BF16 dot products"},
    {ROOF_MATRIX_BF16, tiles_bf16, 6 * 2.0 * 16 * 16 * 32, has_tiles_bf16, "AMX tiles"},
    {ROOF_MATRIX_INT8, tiles_int8, 6 * 2.0 * 16 * 16 * 64, has_tiles_int8, "AMX tiles"},
#endif
};

const struct native_chain *native_chains(unsigned *count) {
    *count = ARRAY_COUNT(chains);
    return chains;
}

const char *native_chain_absent(enum roof_id roof) {
    switch (roof) {
    case ROOF_F16:
        return "needs AVX512-FP16; f16 is computed as f32";
    case ROOF_BF16:
        return "needs AVX512-BF16; bf16 is computed as f32";
    case ROOF_INT8:
        return "needs AVX2";
    case ROOF_MATRIX_BF16:
    case ROOF_MATRIX_INT8:
        return "needs AMX";
    default:
        return "the processor has none";
    }
}
#endif
