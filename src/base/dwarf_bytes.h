/* Numbers as DWARF writes them: little-endian, ULEB128 and SLEB128.
 *
 * The input is untrusted: a read beyond the end gives 0 and sets `failed`. Nothing is allocated.
 */
#ifndef RIDGE_BASE_DWARF_BYTES_H
#define RIDGE_BASE_DWARF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dwarf_bytes {
    const uint8_t *at, *end;
    bool failed; /* a read went beyond the end; such reads give 0 */
};

static inline uint64_t dwarf_read_fixed(struct dwarf_bytes *bytes, size_t width) {
    uint64_t value = 0;
    if (bytes->failed || (size_t)(bytes->end - bytes->at) < width) {
        bytes->failed = true;
        return 0;
    }
    for (size_t i = 0; i < width; i++)
        value |= (uint64_t)bytes->at[i] << (8 * i);
    bytes->at += width;
    return value;
}

static inline int64_t dwarf_read_fixed_signed(struct dwarf_bytes *bytes, size_t width) {
    unsigned unused = (unsigned)(64 - 8 * width);
    return (int64_t)(dwarf_read_fixed(bytes, width) << unused) >> unused;
}

static inline uint64_t dwarf_read_leb128(struct dwarf_bytes *bytes, bool with_sign) {
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = (uint8_t)dwarf_read_fixed(bytes, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (with_sign && shift < 64 && byte & 0x40)
        value |= ~(uint64_t)0 << shift;
    return value;
}

static inline uint64_t dwarf_read_uleb128(struct dwarf_bytes *bytes) {
    return dwarf_read_leb128(bytes, false);
}

static inline int64_t dwarf_read_sleb128(struct dwarf_bytes *bytes) {
    return (int64_t)dwarf_read_leb128(bytes, true);
}

#endif
