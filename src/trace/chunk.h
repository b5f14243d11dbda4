/* The bytes of a .ridge file: chunk headers, and the encoding of columns.
 *
 * A file is a sequence of chunks and nothing else, so files can be concatenated, several processes
 * can append to one file, and a reader finds the next chunk after damage by its magic. All integers
 * are little-endian. docs/trace-format.md is the specification.
 */
#ifndef RIDGE_TRACE_CHUNK_H
#define RIDGE_TRACE_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/text.h"
#include "trace/schema.h"

enum {
    CHUNK_HEADER_SIZE = 88,
    CHUNK_ENTRY_SIZE = 24,
    CHUNK_VERSION = 1,
    CHUNK_ROWS_MAX = 1 << 20,
    CHUNK_COLUMNS_MAX = 256,
    CHUNK_BODY_MAX = 1 << 28,
};

extern const unsigned char chunk_magic[8];

#define CHUNK_STRINGS 0x4E525453u /* "STRN" */
#define CHUNK_END 0x20444E45u     /* "END " */

struct chunk_header {
    uint32_t type;
    uint16_t version, columns;
    uint64_t session, writer;
    uint32_t sequence, rows;
    uint64_t first_id;
    int64_t time_first, time_last;
    uint64_t body_size, body_checksum;
};

enum chunk_encoding {
    ENCODING_CONSTANT, /* every value is `base`; no bytes */
    ENCODING_PLAIN,    /* `width` byte planes of the values */
    ENCODING_DELTA,    /* `width` byte planes of zigzag differences; the first is from `base` */
    ENCODING_BYTES,    /* plain bytes */
};

struct chunk_entry {
    uint16_t column;
    uint8_t encoding, width;
    bool compressed; /* with zstd */
    uint32_t stored_size, raw_size;
    uint64_t base;
};

/* Builds chunks one after another; all memory is allocated by chunk_builder_init(). */
struct chunk_builder {
    unsigned char *bytes; /* header, directory, columns */
    size_t length, capacity;
    unsigned columns, columns_planned;
    unsigned char *planes;
    size_t planes_capacity;
    uint64_t *values;
    size_t rows_max;
    void *zstd; /* ZSTD_CCtx */
    int level;  /* 0: store without compressing */
};

bool chunk_builder_init(struct chunk_builder *builder, size_t rows_max, size_t bytes_max, int level,
                        struct status *status);
void chunk_builder_finish(struct chunk_builder *builder);
void chunk_begin(struct chunk_builder *builder, unsigned columns);
/* `rows` values of `size` bytes (1, 4 or 8) each. */
void chunk_add_column(struct chunk_builder *builder, unsigned column, const void *values,
                      size_t size, size_t rows);
void chunk_add_bytes(struct chunk_builder *builder, unsigned column, const void *bytes,
                     size_t length);
/* Completes the header with sizes and checksums; the chunk is builder->bytes/length. */
void chunk_seal(struct chunk_builder *builder, struct chunk_header *header);
/* Writes a header with its checksum: for copying a chunk under another session or writer. */
void chunk_write_header(unsigned char *bytes, const struct chunk_header *header);

/* Reading. `bytes` has at least CHUNK_HEADER_SIZE bytes; false when the header is not intact. */
bool chunk_read_header(const unsigned char *bytes, struct chunk_header *header);
struct chunk_entry chunk_read_entry(const unsigned char *body, unsigned index);

/* Whether to search for chunks inside one with a wrong checksum. Bytes may have been lost or
 * inserted in it, so other chunks may begin there. Overlapping chunks would cost quadratic time,
 * however: the search ends when `rejected` bytes of such chunks are many times those read. */
bool chunk_search_inside(uint64_t rejected, uint64_t bytes_read);

/* Decodes one column. */
struct chunk_decoder {
    void *zstd; /* ZSTD_DCtx, created on first use */
    unsigned char *raw;
    size_t raw_capacity;
};
/* `data` are the entry's stored bytes. Writes `rows` values of `size` bytes to `values`. */
bool chunk_decode_column(struct chunk_decoder *decoder, const struct chunk_entry *entry,
                         const unsigned char *data, size_t rows, size_t size, void *values,
                         struct status *status);
/* The bytes of an ENCODING_BYTES column, valid until the next call. */
bool chunk_decode_bytes(struct chunk_decoder *decoder, const struct chunk_entry *entry,
                        const unsigned char *data, struct text *bytes, struct status *status);
void chunk_decoder_finish(struct chunk_decoder *decoder);

#endif
