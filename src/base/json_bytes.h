/* The three searches that JSON scanning spends its time in, 16 bytes at a time where the processor
 * can (SSE2 on every x86-64, NEON on every arm64), else byte by byte. All may read up to 15 bytes
 * beyond `end`, which INPUT_PADDING allows. */
#ifndef RIDGE_BASE_JSON_BYTES_H
#define RIDGE_BASE_JSON_BYTES_H

#include <stdint.h>

#if defined(__SSE2__)
#include <emmintrin.h>

/* Bit i of a mask stands for byte i. */
enum { BYTES_MASK_SHIFT = 0 };
typedef __m128i bytes_block;

static inline bytes_block bytes_load(const char *at) {
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}
static inline bytes_block bytes_equal(bytes_block block, char byte) {
    return _mm_cmpeq_epi8(block, _mm_set1_epi8(byte));
}
static inline bytes_block bytes_or(bytes_block a, bytes_block b) {
    return _mm_or_si128(a, b);
}
static inline bytes_block bytes_lower(bytes_block block) {
    return _mm_or_si128(block, _mm_set1_epi8(0x20));
}
/* Whether each byte lies in '\t' to '\r'. */
static inline bytes_block bytes_control_space(bytes_block block) {
    __m128i shifted = _mm_sub_epi8(block, _mm_set1_epi8('\t'));
    return _mm_cmpeq_epi8(_mm_min_epu8(shifted, _mm_set1_epi8('\r' - '\t')), shifted);
}
static inline uint64_t bytes_mask(bytes_block matches) {
    return (uint64_t)(unsigned)_mm_movemask_epi8(matches);
}
enum { BYTES_MASK_ALL = 0xFFFF };
#define BYTES_BLOCKS 1

#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>

/* Four bits of a mask stand for a byte. */
enum { BYTES_MASK_SHIFT = 2 };
typedef uint8x16_t bytes_block;

static inline bytes_block bytes_load(const char *at) {
    return vld1q_u8((const uint8_t *)at);
}
static inline bytes_block bytes_equal(bytes_block block, char byte) {
    return vceqq_u8(block, vdupq_n_u8((uint8_t)byte));
}
static inline bytes_block bytes_or(bytes_block a, bytes_block b) {
    return vorrq_u8(a, b);
}
static inline bytes_block bytes_lower(bytes_block block) {
    return vorrq_u8(block, vdupq_n_u8(0x20));
}
static inline bytes_block bytes_control_space(bytes_block block) {
    return vcleq_u8(vsubq_u8(block, vdupq_n_u8('\t')), vdupq_n_u8('\r' - '\t'));
}
static inline uint64_t bytes_mask(bytes_block matches) {
    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(matches), 4)), 0);
}
#define BYTES_MASK_ALL UINT64_MAX
#define BYTES_BLOCKS 1
#endif

#ifdef BYTES_BLOCKS

static inline const char *bytes_first(const char *at, uint64_t mask) {
    return at + ((unsigned)__builtin_ctzll(mask) >> BYTES_MASK_SHIFT);
}

/* The first quote or backslash; at or beyond `end` when there is none. */
static inline const char *bytes_find_quote(const char *at, const char *end) {
    for (; at < end; at += 16) {
        bytes_block block = bytes_load(at);
        uint64_t mask = bytes_mask(bytes_or(bytes_equal(block, '"'), bytes_equal(block, '\\')));
        if (mask)
            return bytes_first(at, mask);
    }
    return end;
}

/* The first quote, bracket or brace: the pairs differ in one bit. */
static inline const char *bytes_find_structure(const char *at, const char *end) {
    for (; at < end; at += 16) {
        bytes_block block = bytes_load(at), lower = bytes_lower(block);
        uint64_t mask = bytes_mask(bytes_or(
            bytes_equal(block, '"'), bytes_or(bytes_equal(lower, '{'), bytes_equal(lower, '}'))));
        if (mask)
            return bytes_first(at, mask);
    }
    return end;
}

/* The first byte that is not white space; the padding's zeros are not. */
static inline const char *bytes_skip_space(const char *at) {
    for (;; at += 16) {
        bytes_block block = bytes_load(at);
        uint64_t mask = bytes_mask(bytes_or(bytes_equal(block, ' '), bytes_control_space(block)));
        if (mask != BYTES_MASK_ALL)
            return bytes_first(at, ~mask);
    }
}

#else

static inline const char *bytes_find_quote(const char *at, const char *end) {
    while (at < end && *at != '"' && *at != '\\')
        at++;
    return at;
}

static inline const char *bytes_find_structure(const char *at, const char *end) {
    while (at < end && *at != '"' && (*at | 0x20) != '{' && (*at | 0x20) != '}')
        at++;
    return at;
}

static inline const char *bytes_skip_space(const char *at) {
    while (*at == ' ' || (*at >= '\t' && *at <= '\r'))
        at++;
    return at;
}

#endif
#endif
