/* XXH64 of the xxHash specification: chunk checksums and hash tables. */
#ifndef RIDGE_BASE_CHECKSUM_H
#define RIDGE_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint64_t checksum64(const void *data, size_t length);

/* A hash of an integer, for hash tables with integer keys. */
static inline uint64_t hash_u64(uint64_t value) {
    value ^= value >> 32;
    value *= 0x9E3779B97F4A7C15u;
    value ^= value >> 29;
    value *= 0xBF58476D1CE4E5B9u;
    return value ^ value >> 32;
}

#endif
