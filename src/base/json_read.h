/* Reads JSON of any size from a window that slides over the file, without building a tree.
 *
 * Scanning functions take a position in the window and return the position after what they read, or
 * NULL on failure. They have no side effects on the position, so the caller may retry from the same
 * position with more bytes:
 *
 *   while (!(after = scan_skip(scan, scan->at)))
 *       if (!scan_more(scan, "a value", status))
 *           return false;      // damaged, truncated, too long, unreadable: see the status
 *   scan->at = after;
 *
 * Slices point into the window and are valid until the next scan_more(), scan_peek() or
 * json_skip(). Common mistakes of trace writers are accepted: NaN and Infinity, control characters
 * and unknown escapes in strings. Nesting beyond SCAN_DEPTH is rejected.
 */
#ifndef RIDGE_BASE_JSON_READ_H
#define RIDGE_BASE_JSON_READ_H

#include <stdint.h>

#include "base/input.h"
#include "base/text.h"

enum { SCAN_DEPTH = 512, SCAN_UNIT_MAX = 64 << 20 };

struct scan {
    struct input input;
    const char *at, *end; /* unread bytes of the window; INPUT_PADDING zero bytes follow */
    const char *error;    /* error of the last scan; NULL: it needs more bytes */
    const char *error_at; /* where */
};

/* A string without its quotes, as stored in the file. */
struct scan_string {
    struct text raw;
    bool escaped; /* has escapes: decode it with scan_decode() */
};

/* Takes ownership of an open input; scan_close() closes it. */
void scan_open(struct scan *scan, const struct input *input);
void scan_close(struct scan *scan);
/* Position of scan->at in the uncompressed file. */
uint64_t scan_offset(const struct scan *scan);

/* After a failed scan from scan->at: reads more so that it can be retried, or fails. `what` is
 * being read, for the message. */
bool scan_more(struct scan *scan, const char *what, struct status *status);
/* Skips white space and returns the next byte in *byte; 0 at the end. */
bool scan_peek(struct scan *scan, char *byte, struct status *status);
/* Skips one value of any length; the window does not grow for it. */
bool json_skip(struct scan *scan, struct status *status);

/* Walks a container of any length element by element: enter it at its opening bracket and continue
 * after each element. scan->at is then at an element or, if *more is false, after the container.
 * `closing` is its closing bracket.
 *
 *   bool ok = scan_enter(scan, '}', &more, status);
 *   while (ok && more)
 *       ok = scan_key_copy(scan, &buffer, &key, status) && ... scan_next(scan, '}', &more, status);
 */
bool scan_enter(struct scan *scan, char closing, bool *more, struct status *status);
bool scan_next(struct scan *scan, char closing, bool *more, struct status *status);
/* Moves scan->at from a member's key to its value. The key is copied to `buffer` without decoding,
 * and padded for keywords_find(). */
bool scan_key_copy(struct scan *scan, struct buffer *buffer, struct text *key,
                   struct status *status);
/* Fails: scan->at is not at what was expected. */
bool scan_unexpected(const struct scan *scan, const char *expected, struct status *status);

/* A string; `at` is at its opening quote. */
static inline const char *scan_string(struct scan *scan, const char *at,
                                      struct scan_string *string);
/* Skips a value. */
const char *scan_skip(struct scan *scan, const char *at);
/* A number, or a string that contains one. Fractions are rounded; out-of-range values saturate,
 * except that unsigned 64-bit values keep their bits. *is_number is false for any other value. */
const char *scan_integer(struct scan *scan, const char *at, int64_t *value, bool *is_number);
/* A number of microseconds, or a string that contains one, as exact nanoseconds. */
const char *scan_microseconds(struct scan *scan, const char *at, int64_t *value, bool *is_number);
/* A number as a double, for measurements. */
const char *scan_double(struct scan *scan, const char *at, double *value, bool *is_number);

/* Walks an object in the window: to the first member, past a comma to the next, over a key to its
 * value. Keys are not decoded. `closed`: the object ended, and the position is after it. */
static inline const char *scan_first_member(const char *at, bool *closed);
static inline const char *scan_next_member(struct scan *scan, const char *at, bool *closed);
static inline const char *scan_key(struct scan *scan, const char *at, struct text *key);

/* Appends the decoded string as UTF-8. */
void scan_decode(struct text raw, struct buffer *out);
/* Appends the value without white space and as strictly valid JSON (NaN becomes null); false, with
 * nothing appended, when it is not a value. */
bool scan_compact(struct text raw, struct buffer *out);

/* ---- Inline: importers spend their time here ----
 *
 * The searches compare 16 bytes at a time with SSE2 or NEON, else byte by byte. They may read up to
 * 15 bytes beyond `end`, which INPUT_PADDING allows. */

#if defined(__SSE2__)
#include <emmintrin.h>

/* Bit i of a mask represents byte i. */
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

/* Four bits of a mask represent one byte. */
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

/* The first byte that is not white space; the zero padding is not. */
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

/* Records the failure of a scan at `at` and returns NULL. */
const char *scan_fail(struct scan *scan, const char *at, const char *why);

/* The rest of scan_string() for a string whose first backslash is at `stop`. */
const char *scan_escaped_string(struct scan *scan, const char *start, const char *stop,
                                struct scan_string *string);

static inline bool scan_is_space(char byte) {
    return byte == ' ' || (unsigned char)(byte - '\t') <= '\r' - '\t';
}

static inline const char *scan_space(const char *at) {
    if (!scan_is_space(*at))
        return at;
    if (!scan_is_space(*++at))
        return at;
    return bytes_skip_space(at);
}

static inline const char *scan_string(struct scan *scan, const char *at,
                                      struct scan_string *string) {
    if (*at != '"')
        return scan_fail(scan, at, "expected a string");
    const char *start = at + 1, *stop = bytes_find_quote(start, scan->end);
    string->escaped = *stop == '\\';
    if (*stop != '"')
        return scan_escaped_string(scan, start, stop, string);
    string->raw = (struct text){start, (size_t)(stop - start)};
    return stop + 1;
}

static inline const char *scan_key(struct scan *scan, const char *at, struct text *key) {
    struct scan_string string;
    if (!(at = scan_string(scan, at, &string)))
        return NULL;
    *key = string.raw;
    at = scan_space(at);
    if (*at != ':')
        return scan_fail(scan, at, "expected a colon after a key");
    return scan_space(at + 1);
}

static inline const char *scan_next_member(struct scan *scan, const char *at, bool *closed) {
    at = scan_space(at);
    *closed = *at == '}';
    if (*at == '}')
        return at + 1;
    if (*at != ',')
        return scan_fail(scan, at, "expected a comma or a closing brace");
    at = scan_space(at + 1);
    if (*at == '}') { /* a trailing comma is accepted */
        *closed = true;
        return at + 1;
    }
    return at;
}

static inline const char *scan_first_member(const char *at, bool *closed) {
    at = scan_space(at + 1);
    *closed = *at == '}';
    return *closed ? at + 1 : at;
}

#endif
