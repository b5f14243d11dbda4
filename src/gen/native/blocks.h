/* Memory layout of quantized weights, identical to GGUF (little-endian).
 *
 * Q8_0: 32 weights w[i] = scale * quants[i].
 *
 * Q4_K: 256 weights in 8 sub-blocks of 32, each with a 6-bit scale and a 6-bit minimum:
 * w = scale * scales[s] * q - minimum * minimums[s], where q is 0 to 15. Bytes 32 * g .. 32 * g +
 * 31 of the quants hold sub-block 2 * g in their low halves and sub-block 2 * g + 1 in their high
 * ones.
 */
#ifndef RIDGE_GEN_NATIVE_BLOCKS_H
#define RIDGE_GEN_NATIVE_BLOCKS_H

#include <stdint.h>
#include <string.h>

enum {
    Q8_0_WEIGHTS = 32,
    Q4_K_WEIGHTS = 256,
    Q4_K_PARTS = 8,         /* sub-blocks */
    Q4_K_PART_WEIGHTS = 32, /* of a sub-block */
};

struct q8_0_block {
    uint16_t scale; /* f16 */
    int8_t quants[Q8_0_WEIGHTS];
};
_Static_assert(sizeof(struct q8_0_block) == 34, "a Q8_0 block is 34 bytes");

struct q4_k_block {
    uint16_t scale, minimum; /* f16 */
    uint8_t packed[12];      /* scales and minimums: see q4_k_unpack() */
    uint8_t quants[Q4_K_WEIGHTS / 2];
};
_Static_assert(sizeof(struct q4_k_block) == 144, "a Q4_K block is 144 bytes");

/* The 6-bit scales and minimums of the sub-blocks.
 *
 * Bytes 0..3 hold scales 0..3 and bytes 4..7 minimums 0..3 in their low 6 bits; bytes 8..11 hold
 * the low 4 bits of scales 4..7 (low half) and of minimums 4..7 (high half), whose upper 2 bits are
 * the upper ones of bytes 0..3 and 4..7. Four bytes are unpacked at a time.
 */
static inline void q4_k_unpack(const uint8_t packed[12], uint8_t scales[8], uint8_t minimums[8]) {
    uint32_t first, second, third;
    memcpy(&first, packed, 4);
    memcpy(&second, packed + 4, 4);
    memcpy(&third, packed + 8, 4);
    uint32_t words[4] = {
        first & 0x3f3f3f3f,
        (third & 0x0f0f0f0f) | (first >> 2 & 0x30303030),
        second & 0x3f3f3f3f,
        (third >> 4 & 0x0f0f0f0f) | (second >> 2 & 0x30303030),
    };
    memcpy(scales, words, 8);
    memcpy(minimums, words + 2, 8);
}

/* The inverse: values are 0 to 63. */
static inline void q4_k_pack(const uint8_t scales[8], const uint8_t minimums[8],
                             uint8_t packed[12]) {
    for (int i = 0; i < 4; i++) {
        packed[i] = (uint8_t)(scales[i] | scales[i + 4] >> 4 << 6);
        packed[i + 4] = (uint8_t)(minimums[i] | minimums[i + 4] >> 4 << 6);
        packed[i + 8] = (uint8_t)((scales[i + 4] & 15) | (minimums[i + 4] & 15) << 4);
    }
}

#endif
