/* XXH64 from its specification (little-endian lanes, seed 0): fast enough to verify every chunk
 * when a trace is opened. */
#include "base/checksum.h"

#include <string.h>

static const uint64_t PRIME1 = 0x9E3779B185EBCA87u, PRIME2 = 0xC2B2AE3D27D4EB4Fu,
                      PRIME3 = 0x165667B19E3779F9u, PRIME4 = 0x85EBCA77C2B2AE63u,
                      PRIME5 = 0x27D4EB2F165667C5u;

static inline uint64_t rotate(uint64_t x, int by) {
    return x << by | x >> (64 - by);
}

static inline uint64_t read64(const unsigned char *p) {
    uint64_t value;
    memcpy(&value, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

static inline uint32_t read32(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t lane(uint64_t accumulator, uint64_t input) {
    return rotate(accumulator + input * PRIME2, 31) * PRIME1;
}

static inline uint64_t merge(uint64_t hash, uint64_t accumulator) {
    return (hash ^ lane(0, accumulator)) * PRIME1 + PRIME4;
}

uint64_t checksum64(const void *data, size_t length) {
    /* `data` may be NULL if length is 0, and NULL + 0 is undefined */
    const unsigned char *p = length > 0 ? data : (const unsigned char *)"", *end = p + length;
    uint64_t hash = PRIME5;
    if (length >= 32) {
        uint64_t a = PRIME1 + PRIME2, b = PRIME2, c = 0, d = 0 - PRIME1;
        for (; end - p >= 32; p += 32) {
            a = lane(a, read64(p));
            b = lane(b, read64(p + 8));
            c = lane(c, read64(p + 16));
            d = lane(d, read64(p + 24));
        }
        hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
        hash = merge(merge(merge(merge(hash, a), b), c), d);
    }
    hash += length;
    for (; end - p >= 8; p += 8)
        hash = rotate(hash ^ lane(0, read64(p)), 27) * PRIME1 + PRIME4;
    if (end - p >= 4) {
        hash = rotate(hash ^ read32(p) * PRIME1, 23) * PRIME2 + PRIME3;
        p += 4;
    }
    for (; p < end; p++)
        hash = rotate(hash ^ *p * PRIME5, 11) * PRIME1;
    hash = (hash ^ hash >> 33) * PRIME2;
    hash = (hash ^ hash >> 29) * PRIME3;
    return hash ^ hash >> 32;
}
