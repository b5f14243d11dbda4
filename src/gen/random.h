/* Random numbers that depend only on a seed and a position, with the same bits on every device.
 *
 * Only integers are used up to the last step, which is exact (uniform) or rounded once
 * (normal). The functions are written once, as a macro whose parameters are the keywords in
 * which the languages differ: here it is expanded to C, in src/gen/emit/generate.c to source
 * for GPUs.
 *
 * The bits of position i are a hash of it with the key that the seed was mixed into: a Weyl
 * sequence through two multiplications, then the key again and a third. The normal distribution is
 * its inverse: one bit is the sign, the others are a tail probability, whose leading zeros and
 * next two bits choose a polynomial (random_table.h) in the bits after them.
 */
#ifndef RIDGE_GEN_RANDOM_H
#define RIDGE_GEN_RANDOM_H

#include <stdint.h>
#include <string.h>

#include "gen/random_table.h"

#define RANDOM_ROW(c0, c1, c2, c3, c4) c0, c1, c2, c3, c4,

#define RANDOM_BITS(INLINE, UINT64)                                                                \
    INLINE UINT64 random_mix(UINT64 x) {                                                           \
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ul;                                                \
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBul;                                                \
        return x ^ (x >> 31);                                                                      \
    }                                                                                              \
    INLINE UINT64 random_bits(UINT64 key, UINT64 index) {                                          \
        UINT64 x = random_mix(index * 0x9E3779B97F4A7C15ul + key);                                 \
        x = (x ^ (key >> 32) ^ (key << 32)) * 0xD6E8FEB86659FD93ul;                                \
        return x ^ (x >> 32);                                                                      \
    }

/* `limit` bounds the 24 bits of a uniform number, so that it stays below 1 when it is rounded to a
 * shorter type: see random_limit(). */
#define RANDOM_FUNCTIONS(INLINE, CONSTANT, CAST, INT32, UINT32, INT64, UINT64, LEADING_ZEROS)      \
    CONSTANT INT32 random_normal_table[640] = {RANDOM_NORMAL_ROWS(RANDOM_ROW)};                    \
    RANDOM_BITS(INLINE, UINT64)                                                                    \
    INLINE UINT64 random_step(UINT64 key, INT32 step) {                                            \
        return random_mix(key + CAST(UINT64, CAST(INT64, step)) * 0xA24BAED4963EE407ul);           \
    }                                                                                              \
    INLINE float random_uniform(UINT64 bits, INT32 limit) {                                        \
        INT32 top = CAST(INT32, bits >> 40);                                                       \
        return CAST(float, top < limit ? top : limit) * 5.9604644775390625e-8f;                    \
    }                                                                                              \
    INLINE float random_normal(UINT64 bits) {                                                      \
        UINT32 zeros = LEADING_ZEROS(CAST(UINT32, bits >> 32) | 1u);                               \
        UINT64 after = bits << (zeros + 1u);                                                       \
        INT32 row = 5 * CAST(INT32, 4u * zeros + CAST(UINT32, after >> 62));                       \
        INT32 t = CAST(INT32, CAST(UINT32, after >> 30) ^ 0x80000000u);                            \
        INT32 x = random_normal_table[row + 4];                                                    \
        x = random_normal_table[row + 3] + CAST(INT32, (CAST(INT64, x) * t) >> 31);                \
        x = random_normal_table[row + 2] + CAST(INT32, (CAST(INT64, x) * t) >> 31);                \
        x = random_normal_table[row + 1] + CAST(INT32, (CAST(INT64, x) * t) >> 31);                \
        x = random_normal_table[row] + CAST(INT32, (CAST(INT64, x) * t) >> 31);                    \
        INT32 sign = CAST(INT32, bits & 1u) - 1;                                                   \
        return CAST(float, (x ^ sign) - sign) * 3.7252902984619140625e-9f;                         \
    }

/* The position of the leading one by a conversion, which vectors have, instead of a count. Clearing
 * the bit below it keeps the conversion from rounding up to the next power of two. */
static inline uint32_t random_leading_zeros(uint32_t x) {
    float leading = (float)(x & ~(x >> 1));
    uint32_t bits;
    memcpy(&bits, &leading, sizeof bits);
    return 158 - (bits >> 23);
}

#define RANDOM_CAST(T, x) ((T)(x))
RANDOM_FUNCTIONS(static inline, static const, RANDOM_CAST, int32_t, uint32_t, int64_t, uint64_t,
                 random_leading_zeros)

/* The key for random_bits(). */
static inline uint64_t random_key(uint64_t seed) {
    return random_mix(seed * 0xD1342543DE82EF95u + 0x632BE59BD9B4E019u);
}

/* The largest 24-bit fraction that a float with `precision` bits can represent. */
static inline int32_t random_limit(unsigned precision) {
    return (1 << 24) - (1 << (24 - precision));
}

#endif
