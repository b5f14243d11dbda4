/* A column is encoded as a constant, or as byte planes (all lowest bytes, then all second bytes,
 * ...) of its values or of their differences, whichever needs fewer planes; zstd then removes
 * redundancy. Decoding is a few loops that compilers vectorize. */
#include "trace/chunk.h"

#include <string.h>
#include <zstd.h>

#include "base/checksum.h"

/* Like PNG's: a high bit, a name, and line ends that reveal a text-mode copy. */
const unsigned char chunk_magic[8] = {0x8E, 'R', 'D', 'G', '\r', '\n', 0x1A, '\n'};

static void put(unsigned char *at, uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get(const unsigned char *at, unsigned size) {
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

bool chunk_builder_init(struct chunk_builder *builder, size_t rows_max, size_t bytes_max, int level,
                        struct status *status) {
    memset(builder, 0, sizeof *builder);
    builder->level = level;
    builder->rows_max = rows_max;
    builder->planes_capacity = rows_max * 8 > bytes_max ? rows_max * 8 : bytes_max;
    builder->capacity = CHUNK_HEADER_SIZE + TABLE_COLUMNS_MAX * CHUNK_ENTRY_SIZE +
                        TABLE_COLUMNS_MAX * ZSTD_compressBound(rows_max * 8) +
                        ZSTD_compressBound(bytes_max);
    builder->values = memory_allocate(rows_max, sizeof *builder->values, status);
    builder->planes = memory_allocate(builder->planes_capacity, 1, status);
    builder->bytes = memory_allocate(builder->capacity, 1, status);
    if (level)
        builder->zstd = ZSTD_createCCtx();
    if (!builder->values || !builder->planes || !builder->bytes || (level && !builder->zstd)) {
        chunk_builder_finish(builder);
        return status_no_memory(status);
    }
    return true;
}

void chunk_builder_finish(struct chunk_builder *builder) {
    memory_free(builder->values);
    memory_free(builder->planes);
    memory_free(builder->bytes);
    ZSTD_freeCCtx(builder->zstd);
    memset(builder, 0, sizeof *builder);
}

void chunk_begin(struct chunk_builder *builder, unsigned columns) {
    builder->columns = 0;
    builder->columns_planned = columns;
    builder->length = CHUNK_HEADER_SIZE + (size_t)columns * CHUNK_ENTRY_SIZE;
}

static void add_entry(struct chunk_builder *builder, const struct chunk_entry *entry) {
    unsigned char *at =
        builder->bytes + CHUNK_HEADER_SIZE + (size_t)builder->columns * CHUNK_ENTRY_SIZE;
    put(at, entry->column, 2);
    put(at + 2, entry->encoding, 1);
    put(at + 3, entry->width, 1);
    put(at + 4, entry->compressed, 4);
    put(at + 8, entry->stored_size, 4);
    put(at + 12, entry->raw_size, 4);
    put(at + 16, entry->base, 8);
    builder->columns++;
}

static void add_data(struct chunk_builder *builder, struct chunk_entry *entry, const void *raw,
                     size_t size) {
    unsigned char *at = builder->bytes + builder->length;
    size_t room = builder->capacity - builder->length;
    entry->raw_size = (uint32_t)size;
    entry->stored_size = (uint32_t)size;
    if (builder->zstd) {
        size_t packed = ZSTD_compressCCtx(builder->zstd, at, room, raw, size, builder->level);
        if (!ZSTD_isError(packed) && packed < size) {
            entry->compressed = true;
            entry->stored_size = (uint32_t)packed;
        }
    }
    if (!entry->compressed)
        memcpy(at, raw, size);
    builder->length += entry->stored_size;
    add_entry(builder, entry);
}

static uint64_t zigzag(uint64_t difference) {
    return difference << 1 ^ (0 - (difference >> 63));
}

static unsigned bytes_needed(uint64_t bits) {
    return bits ? (71 - (unsigned)__builtin_clzll(bits)) / 8 : 0;
}

static void widen(uint64_t *out, const void *values, size_t size, size_t rows) {
    if (size == 8) {
        memcpy(out, values, rows * 8);
    } else if (size == 4) {
        const uint32_t *in = values;
        for (size_t i = 0; i < rows; i++)
            out[i] = in[i];
    } else {
        const uint8_t *in = values;
        for (size_t i = 0; i < rows; i++)
            out[i] = in[i];
    }
}

/* Whether all rows equal the first: the usual case, so tested without widening. */
static bool all_equal(const void *values, size_t size, size_t rows) {
    return rows == 1 || memcmp(values, (const char *)values + size, (rows - 1) * size) == 0;
}

void chunk_add_column(struct chunk_builder *builder, unsigned column, const void *values,
                      size_t size, size_t rows) {
    uint64_t *v = builder->values;
    struct chunk_entry entry = {.column = (uint16_t)column};
    if (all_equal(values, size, rows)) {
        widen(v, values, size, 1);
        entry.encoding = ENCODING_CONSTANT;
        entry.base = v[0];
        add_entry(builder, &entry);
        return;
    }
    widen(v, values, size, rows);
    uint64_t plain_bits = v[0], delta_bits = 0;
    for (size_t i = 1; i < rows; i++) {
        plain_bits |= v[i];
        delta_bits |= zigzag(v[i] - v[i - 1]);
    }
    entry.encoding = ENCODING_PLAIN;
    entry.width = (uint8_t)bytes_needed(plain_bits);
    if (bytes_needed(delta_bits) < entry.width) {
        entry.encoding = ENCODING_DELTA;
        entry.width = (uint8_t)bytes_needed(delta_bits);
        entry.base = v[0];
        uint64_t previous = v[0];
        for (size_t i = 0; i < rows; i++) {
            uint64_t value = v[i];
            v[i] = zigzag(value - previous);
            previous = value;
        }
    }
    for (unsigned byte = 0; byte < entry.width; byte++) {
        unsigned char *plane = builder->planes + byte * rows;
        for (size_t i = 0; i < rows; i++)
            plane[i] = (unsigned char)(v[i] >> 8 * byte);
    }
    add_data(builder, &entry, builder->planes, entry.width * rows);
}

void chunk_add_bytes(struct chunk_builder *builder, unsigned column, const void *bytes,
                     size_t length) {
    struct chunk_entry entry = {.column = (uint16_t)column, .encoding = ENCODING_BYTES};
    add_data(builder, &entry, bytes, length);
}

void chunk_write_header(unsigned char *at, const struct chunk_header *header) {
    memcpy(at, chunk_magic, 8);
    put(at + 8, header->type, 4);
    put(at + 12, header->version, 2);
    put(at + 14, header->columns, 2);
    put(at + 16, header->session, 8);
    put(at + 24, header->writer, 8);
    put(at + 32, header->sequence, 4);
    put(at + 36, header->rows, 4);
    put(at + 40, header->first_id, 8);
    put(at + 48, (uint64_t)header->time_first, 8);
    put(at + 56, (uint64_t)header->time_last, 8);
    put(at + 64, header->body_size, 8);
    put(at + 72, header->body_checksum, 8);
    put(at + 80, checksum64(at, 80), 8);
}

void chunk_seal(struct chunk_builder *builder, struct chunk_header *header) {
    header->version = CHUNK_VERSION;
    header->columns = (uint16_t)builder->columns;
    header->body_size = builder->length - CHUNK_HEADER_SIZE;
    header->body_checksum = checksum64(builder->bytes + CHUNK_HEADER_SIZE, header->body_size);
    chunk_write_header(builder->bytes, header);
}

bool chunk_read_header(const unsigned char *bytes, struct chunk_header *header) {
    if (memcmp(bytes, chunk_magic, 8) != 0 || get(bytes + 80, 8) != checksum64(bytes, 80))
        return false;
    header->type = (uint32_t)get(bytes + 8, 4);
    header->version = (uint16_t)get(bytes + 12, 2);
    header->columns = (uint16_t)get(bytes + 14, 2);
    header->session = get(bytes + 16, 8);
    header->writer = get(bytes + 24, 8);
    header->sequence = (uint32_t)get(bytes + 32, 4);
    header->rows = (uint32_t)get(bytes + 36, 4);
    header->first_id = get(bytes + 40, 8);
    header->time_first = (int64_t)get(bytes + 48, 8);
    header->time_last = (int64_t)get(bytes + 56, 8);
    header->body_size = get(bytes + 64, 8);
    header->body_checksum = get(bytes + 72, 8);
    return header->rows <= CHUNK_ROWS_MAX && header->columns <= CHUNK_COLUMNS_MAX &&
           header->body_size <= CHUNK_BODY_MAX &&
           header->body_size >= (uint64_t)header->columns * CHUNK_ENTRY_SIZE;
}

struct chunk_entry chunk_read_entry(const unsigned char *body, unsigned index) {
    const unsigned char *at = body + (size_t)index * CHUNK_ENTRY_SIZE;
    return (struct chunk_entry){
        .column = (uint16_t)get(at, 2),
        .encoding = (uint8_t)get(at + 2, 1),
        .width = (uint8_t)get(at + 3, 1),
        .compressed = get(at + 4, 4) & 1,
        .stored_size = (uint32_t)get(at + 8, 4),
        .raw_size = (uint32_t)get(at + 12, 4),
        .base = get(at + 16, 8),
    };
}

bool chunk_search_inside(uint64_t rejected, uint64_t bytes_read) {
    enum { REJECTED_MIN = 64 << 20, REJECTED_RATIO = 16 };
    return rejected <= REJECTED_MIN || rejected / REJECTED_RATIO <= bytes_read;
}

static bool unpack(struct chunk_decoder *decoder, const struct chunk_entry *entry,
                   const unsigned char *data, const unsigned char **raw, struct status *status) {
    if (!entry->compressed) {
        *raw = data;
        return entry->stored_size == entry->raw_size ||
               status_fail(status, STATUS_INPUT, "a column's size is wrong");
    }
    if (entry->raw_size > CHUNK_BODY_MAX)
        return status_fail(status, STATUS_INPUT, "a column is too large");
    if (!decoder->zstd && !(decoder->zstd = ZSTD_createDCtx()))
        return status_no_memory(status);
    if (!GROW(decoder->raw, &decoder->raw_capacity, entry->raw_size, status))
        return false;
    size_t size =
        ZSTD_decompressDCtx(decoder->zstd, decoder->raw, entry->raw_size, data, entry->stored_size);
    if (ZSTD_isError(size) || size != entry->raw_size)
        return status_fail(status, STATUS_INPUT, "a column cannot be decompressed");
    *raw = decoder->raw;
    return true;
}

static inline uint64_t unzigzag(uint64_t value) {
    return value >> 1 ^ (0 - (value & 1));
}

/* One loop per output type; widths 1 to 3 are the most common. */
#define DECODE_LOOPS(type)                                                                         \
    static void decode_plain_##type(type *out, const unsigned char *planes, unsigned width,        \
                                    size_t rows) {                                                 \
        const unsigned char *p0 = planes, *p1 = planes + rows, *p2 = planes + 2 * rows;            \
        if (width == 1) {                                                                          \
            for (size_t i = 0; i < rows; i++)                                                      \
                out[i] = (type)p0[i];                                                              \
        } else if (width == 2) {                                                                   \
            for (size_t i = 0; i < rows; i++)                                                      \
                out[i] = (type)((uint32_t)p0[i] | (uint32_t)p1[i] << 8);                           \
        } else if (width == 3) {                                                                   \
            for (size_t i = 0; i < rows; i++)                                                      \
                out[i] = (type)((uint32_t)p0[i] | (uint32_t)p1[i] << 8 | (uint32_t)p2[i] << 16);   \
        } else {                                                                                   \
            memset(out, 0, rows * sizeof *out);                                                    \
            for (unsigned byte = 0; byte < width; byte++)                                          \
                for (size_t i = 0; i < rows; i++)                                                  \
                    out[i] |= (type)((uint64_t)planes[byte * rows + i] << 8 * byte);               \
        }                                                                                          \
    }                                                                                              \
    static void decode_delta_##type(type *out, const unsigned char *planes, unsigned width,        \
                                    size_t rows, uint64_t value) {                                 \
        const unsigned char *p0 = planes, *p1 = planes + rows, *p2 = planes + 2 * rows;            \
        for (size_t i = 0; i < rows; i++) {                                                        \
            uint64_t difference = 0;                                                               \
            if (width == 1)                                                                        \
                difference = p0[i];                                                                \
            else if (width == 2)                                                                   \
                difference = (uint64_t)p0[i] | (uint64_t)p1[i] << 8;                               \
            else if (width == 3)                                                                   \
                difference = (uint64_t)p0[i] | (uint64_t)p1[i] << 8 | (uint64_t)p2[i] << 16;       \
            else                                                                                   \
                for (unsigned byte = 0; byte < width; byte++)                                      \
                    difference |= (uint64_t)planes[byte * rows + i] << 8 * byte;                   \
            value += unzigzag(difference);                                                         \
            out[i] = (type)value;                                                                  \
        }                                                                                          \
    }                                                                                              \
    static void decode_##type(const struct chunk_entry *entry, const unsigned char *raw,           \
                              size_t rows, type *out) {                                            \
        if (!raw) /* a constant, or no bytes per row */                                            \
            for (size_t i = 0; i < rows; i++)                                                      \
                out[i] = (type)(entry->encoding == ENCODING_PLAIN ? 0 : entry->base);              \
        else if (entry->encoding == ENCODING_PLAIN)                                                \
            decode_plain_##type(out, raw, entry->width, rows);                                     \
        else                                                                                       \
            decode_delta_##type(out, raw, entry->width, rows, entry->base);                        \
    }
DECODE_LOOPS(uint8_t)
DECODE_LOOPS(uint32_t)
DECODE_LOOPS(uint64_t)

bool chunk_decode_column(struct chunk_decoder *decoder, const struct chunk_entry *entry,
                         const unsigned char *data, size_t rows, size_t size, void *values,
                         struct status *status) {
    const unsigned char *raw = NULL;
    if (entry->encoding != ENCODING_CONSTANT) {
        if (entry->encoding > ENCODING_DELTA || entry->width > 8 ||
            entry->raw_size != entry->width * rows)
            return status_fail(status, STATUS_INPUT, "a column has an unknown encoding");
        if (entry->width > 0 && !unpack(decoder, entry, data, &raw, status))
            return false;
    }
    if (size == 8)
        decode_uint64_t(entry, raw, rows, values);
    else if (size == 4)
        decode_uint32_t(entry, raw, rows, values);
    else
        decode_uint8_t(entry, raw, rows, values);
    return true;
}

bool chunk_decode_bytes(struct chunk_decoder *decoder, const struct chunk_entry *entry,
                        const unsigned char *data, struct text *bytes, struct status *status) {
    const unsigned char *raw;
    if (entry->encoding != ENCODING_BYTES)
        return status_fail(status, STATUS_INPUT, "a column of bytes was expected");
    if (!unpack(decoder, entry, data, &raw, status))
        return false;
    *bytes = (struct text){(const char *)raw, entry->raw_size};
    return true;
}

void chunk_decoder_finish(struct chunk_decoder *decoder) {
    ZSTD_freeDCtx(decoder->zstd);
    memory_free(decoder->raw);
    memset(decoder, 0, sizeof *decoder);
}
