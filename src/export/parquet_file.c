/* Parquet's metadata is Thrift's compact protocol. A field begins with the difference of its number
 * from the one before, and its type; integers are zigzag varints; a structure ends with 0. Numbers
 * of fields, types and encodings are those of parquet.thrift.
 *
 * Apache's own library has no C interface, and its C++ interface changes with every release; see
 * ARCHITECTURE.md. */
#include "export/parquet_file.h"

#include <stdio.h>
#include <zstd.h>

#include "base/min_max.h"

/* ---- Thrift ---- */

enum thrift_type {
    THRIFT_TRUE = 1,
    THRIFT_FALSE = 2,
    THRIFT_I8 = 3,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_STRUCT = 12,
};

static void put_varint(struct buffer *bytes, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        buffer_byte(bytes, (char)(value | 0x80));
    buffer_byte(bytes, (char)value);
}

static void put_zigzag(struct buffer *bytes, int64_t value) {
    put_varint(bytes, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

/* `last` is the number of the field before in the same structure. */
static void put_field(struct buffer *bytes, int *last, int number, enum thrift_type type) {
    buffer_byte(bytes, (char)((number - *last) << 4 | (int)type));
    *last = number;
}

static void put_i32(struct buffer *bytes, int *last, int number, int32_t value) {
    put_field(bytes, last, number, THRIFT_I32);
    put_zigzag(bytes, value);
}

static void put_i64(struct buffer *bytes, int *last, int number, uint64_t value) {
    put_field(bytes, last, number, THRIFT_I64);
    put_zigzag(bytes, (int64_t)value);
}

static void put_bytes(struct buffer *bytes, struct text text) {
    put_varint(bytes, text.length);
    buffer_text(bytes, text);
}

static void put_binary(struct buffer *bytes, int *last, int number, struct text text) {
    put_field(bytes, last, number, THRIFT_BINARY);
    put_bytes(bytes, text);
}

static void put_list(struct buffer *bytes, int *last, int number, enum thrift_type type,
                     uint64_t count) {
    put_field(bytes, last, number, THRIFT_LIST);
    if (count < 15) {
        buffer_byte(bytes, (char)(count << 4 | type));
    } else {
        buffer_byte(bytes, (char)(0xf0 | (int)type));
        put_varint(bytes, count);
    }
}

static void put_stop(struct buffer *bytes) {
    buffer_byte(bytes, 0);
}

/* ---- pages ---- */

enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_RLE_DICTIONARY = 8 };
enum { CODEC_ZSTD = 6 };
enum { PAGE_ROWS = 1 << 17, ZSTD_LEVEL = 3 };

static void put_bytes_le(struct buffer *bytes, uint64_t value, unsigned size) {
    char little[8];
    for (unsigned i = 0; i < size; i++)
        little[i] = (char)(value >> 8 * i);
    buffer_append(bytes, little, size);
}

static bool compress(struct parquet_file *file, struct status *status) {
    size_t room = ZSTD_compressBound(file->page.length);
    if (!GROW(file->packed.data, &file->packed.capacity, room, status))
        return false;
    size_t size = ZSTD_compressCCtx(file->zstd, file->packed.data, room, file->page.data,
                                    file->page.length, ZSTD_LEVEL);
    if (ZSTD_isError(size))
        return status_fail(status, STATUS_IO, "cannot compress a page: %s",
                           ZSTD_getErrorName(size));
    file->packed.length = size;
    return true;
}

static void write_bytes(struct parquet_file *file, struct text bytes) {
    output_write(file->output, bytes.data, bytes.length);
    file->written += bytes.length;
}

/* What the metadata of a column chunk needs of its pages. */
struct chunk {
    uint64_t start, first_data; /* offsets in the file */
    uint64_t plain_bytes;       /* before compression, with headers */
    bool dictionary;
};

static void put_page_header(struct buffer *header, const struct parquet_file *file, int type,
                            size_t values, int encoding) {
    int last = 0, inner = 0;
    put_i32(header, &last, 1, type);
    put_i32(header, &last, 2, (int32_t)file->page.length);
    put_i32(header, &last, 3, (int32_t)file->packed.length);
    put_field(header, &last, type == PAGE_DATA ? 5 : 7, THRIFT_STRUCT);
    put_i32(header, &inner, 1, (int32_t)values);
    put_i32(header, &inner, 2, encoding);
    if (type == PAGE_DATA) {
        put_i32(header, &inner, 3, ENCODING_RLE); /* of definition levels */
        put_i32(header, &inner, 4, ENCODING_RLE); /* of repetition levels */
    }
    put_stop(header);
    put_stop(header);
}

/* Writes file->page as a page. */
static bool write_page(struct parquet_file *file, struct chunk *chunk, int type, size_t values,
                       int encoding, struct status *status) {
    struct buffer header = {0};
    if (!buffer_ok(&file->page, status))
        return false;
    if (file->page.length > INT32_MAX)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "the texts of a column exceed 2 GiB, the limit of a Parquet page");
    if (!compress(file, status))
        return false;
    put_page_header(&header, file, type, values, encoding);
    bool ok = buffer_ok(&header, status);
    if (ok) {
        write_bytes(file, buffer_as_text(&header));
        write_bytes(file, buffer_as_text(&file->packed));
        chunk->plain_bytes += header.length + file->page.length;
    }
    buffer_finish(&header);
    return ok;
}

static bool write_dictionary(struct parquet_file *file, struct chunk *chunk,
                             const struct intern *dictionary, struct status *status) {
    buffer_clear(&file->page);
    for (size_t id = 0; id < dictionary->count; id++) {
        put_bytes_le(&file->page, dictionary->texts[id].length, 4);
        buffer_text(&file->page, dictionary->texts[id]);
    }
    return write_page(file, chunk, PAGE_DICTIONARY, dictionary->count, ENCODING_PLAIN, status);
}

/* The hybrid of run lengths and bit packing, as one packed run of `width` bits each. */
struct packing {
    struct buffer *bytes;
    unsigned width, used;
    uint64_t pending;
};

static void pack_begin(struct packing *packing, struct buffer *bytes, unsigned width,
                       size_t values) {
    *packing = (struct packing){.bytes = bytes, .width = width};
    put_varint(bytes, (uint64_t)(values + 7) / 8 << 1 | 1);
}

static void pack(struct packing *packing, uint64_t value) {
    packing->pending |= value << packing->used;
    for (packing->used += packing->width; packing->used >= 8; packing->used -= 8) {
        buffer_byte(packing->bytes, (char)packing->pending);
        packing->pending >>= 8;
    }
}

/* Runs hold a multiple of 8 values. */
static void pack_end(struct packing *packing, size_t values) {
    for (; values % 8; values++)
        pack(packing, 0);
}

static unsigned index_width(size_t count) {
    unsigned width = 1;
    while (width < 32 && (size_t)1 << width < count)
        width++;
    return width;
}

static void put_definition_levels(struct buffer *page, const struct parquet_values *values,
                                  size_t first, size_t rows) {
    struct packing packing;
    size_t length_at = page->length;
    put_bytes_le(page, 0, 4);
    if (values->present) {
        pack_begin(&packing, page, 1, rows);
        for (size_t i = first; i < first + rows; i++)
            pack(&packing, values->present[i] != 0);
        pack_end(&packing, rows);
    } else {
        put_varint(page, (uint64_t)rows << 1);
        buffer_byte(page, 1);
    }
    if (page->failed)
        return;
    uint64_t length = page->length - length_at - 4;
    for (unsigned i = 0; i < 4; i++)
        page->data[length_at + i] = (char)(length >> 8 * i);
}

static size_t count_present(const struct parquet_values *values, size_t first, size_t rows) {
    size_t count = 0;
    if (!values->present)
        return rows;
    for (size_t i = first; i < first + rows; i++)
        count += values->present[i] != 0;
    return count;
}

static void put_indexes(struct buffer *page, const struct parquet_values *values, size_t first,
                        size_t rows) {
    struct packing packing;
    unsigned width = index_width(values->dictionary->count);
    size_t count = count_present(values, first, rows);
    buffer_byte(page, (char)width);
    pack_begin(&packing, page, width, count);
    for (size_t i = first; i < first + rows; i++)
        if (!values->present || values->present[i])
            pack(&packing, values->bits[i]);
    pack_end(&packing, count);
}

static bool write_data_page(struct parquet_file *file, struct chunk *chunk,
                            const struct parquet_values *values, size_t first, size_t rows,
                            struct status *status) {
    const struct parquet_schema *column = &file->columns[file->next];
    buffer_clear(&file->page);
    if (column->optional)
        put_definition_levels(&file->page, values, first, rows);
    if (chunk->dictionary)
        put_indexes(&file->page, values, first, rows);
    else
        for (size_t i = first; i < first + rows; i++)
            if (!values->present || values->present[i])
                put_bytes_le(&file->page, values->bits[i], column->type == PARQUET_U32 ? 4 : 8);
    return write_page(file, chunk, PAGE_DATA, rows,
                      chunk->dictionary ? ENCODING_RLE_DICTIONARY : ENCODING_PLAIN, status);
}

/* ---- metadata ---- */

enum { TYPE_INT32 = 1, TYPE_INT64 = 2, TYPE_DOUBLE = 5, TYPE_BYTE_ARRAY = 6 };
enum { CONVERTED_UTF8 = 0, CONVERTED_UINT_32 = 13, CONVERTED_UINT_64 = 14 };

static int physical_type(enum parquet_type type) {
    static const int types[] = {[PARQUET_I64] = TYPE_INT64,
                                [PARQUET_U64] = TYPE_INT64,
                                [PARQUET_U32] = TYPE_INT32,
                                [PARQUET_DOUBLE] = TYPE_DOUBLE,
                                [PARQUET_TEXT] = TYPE_BYTE_ARRAY};
    return types[type];
}

/* Maps an integer to unsigned order. */
static uint64_t ordered(enum parquet_type type, uint64_t bits) {
    return type == PARQUET_I64 ? bits ^ (uint64_t)1 << 63 : bits;
}

static void put_statistics(struct buffer *bytes, int *last, const struct parquet_schema *column,
                           const struct parquet_values *values) {
    enum parquet_type type = column->type;
    uint64_t low = UINT64_MAX, high = 0;
    size_t present = count_present(values, 0, values->rows);
    int inner = 0;
    put_field(bytes, last, 12, THRIFT_STRUCT);
    put_i64(bytes, &inner, 3, values->rows - present);
    if (present > 0 && type <= PARQUET_U32) {
        for (size_t i = 0; i < values->rows; i++)
            if (!values->present || values->present[i]) {
                low = MIN(low, ordered(type, values->bits[i]));
                high = MAX(high, ordered(type, values->bits[i]));
            }
        unsigned size = type == PARQUET_U32 ? 4 : 8;
        put_field(bytes, &inner, 5, THRIFT_BINARY);
        put_varint(bytes, size);
        put_bytes_le(bytes, ordered(type, high), size);
        put_field(bytes, &inner, 6, THRIFT_BINARY);
        put_varint(bytes, size);
        put_bytes_le(bytes, ordered(type, low), size);
    }
    put_stop(bytes);
}

static void put_chunk(struct parquet_file *file, const struct chunk *chunk,
                      const struct parquet_values *values) {
    const struct parquet_schema *column = &file->columns[file->next];
    struct buffer *bytes = &file->chunks;
    int outer = 0, last = 0;
    put_i64(bytes, &outer, 2, chunk->start);
    put_field(bytes, &outer, 3, THRIFT_STRUCT);
    put_i32(bytes, &last, 1, physical_type(column->type));
    put_list(bytes, &last, 2, THRIFT_I32, chunk->dictionary ? 3 : 2);
    put_zigzag(bytes, ENCODING_PLAIN);
    put_zigzag(bytes, ENCODING_RLE);
    if (chunk->dictionary)
        put_zigzag(bytes, ENCODING_RLE_DICTIONARY);
    put_list(bytes, &last, 3, THRIFT_BINARY, 1);
    put_bytes(bytes, text_of(column->name));
    put_i32(bytes, &last, 4, CODEC_ZSTD);
    put_i64(bytes, &last, 5, values->rows);
    put_i64(bytes, &last, 6, chunk->plain_bytes);
    put_i64(bytes, &last, 7, file->written - chunk->start);
    put_i64(bytes, &last, 9, chunk->first_data);
    if (chunk->dictionary)
        put_i64(bytes, &last, 11, chunk->start);
    put_statistics(bytes, &last, column, values);
    put_stop(bytes);
    put_stop(bytes);
    file->group_bytes += chunk->plain_bytes;
}

static void end_group(struct parquet_file *file, size_t rows) {
    int last = 0;
    put_list(&file->row_groups, &last, 1, THRIFT_STRUCT, file->count);
    buffer_text(&file->row_groups, buffer_as_text(&file->chunks));
    put_i64(&file->row_groups, &last, 2, file->group_bytes);
    put_i64(&file->row_groups, &last, 3, rows);
    put_stop(&file->row_groups);
    buffer_clear(&file->chunks);
    file->rows += rows;
    file->groups++;
    file->next = 0;
    file->group_bytes = 0;
}

static void put_column_schema(struct buffer *bytes, const struct parquet_schema *column) {
    int last = 0, logical = 0, integer = 0;
    enum parquet_type type = column->type;
    put_i32(bytes, &last, 1, physical_type(type));
    put_i32(bytes, &last, 3, column->optional);
    put_binary(bytes, &last, 4, text_of(column->name));
    if (type == PARQUET_U32 || type == PARQUET_U64) {
        put_i32(bytes, &last, 6, type == PARQUET_U32 ? CONVERTED_UINT_32 : CONVERTED_UINT_64);
        put_field(bytes, &last, 10, THRIFT_STRUCT);
        put_field(bytes, &logical, 10, THRIFT_STRUCT); /* INTEGER */
        put_field(bytes, &integer, 1, THRIFT_I8);
        buffer_byte(bytes, type == PARQUET_U32 ? 32 : 64);
        put_field(bytes, &integer, 2, THRIFT_FALSE); /* isSigned */
        put_stop(bytes);
        put_stop(bytes);
    } else if (type == PARQUET_TEXT) {
        put_i32(bytes, &last, 6, CONVERTED_UTF8);
        put_field(bytes, &last, 10, THRIFT_STRUCT);
        put_field(bytes, &logical, 1, THRIFT_STRUCT); /* STRING */
        put_stop(bytes);
        put_stop(bytes);
    }
    put_stop(bytes);
}

static void put_schema(struct buffer *bytes, int *last, const struct parquet_file *file) {
    int root = 0;
    put_list(bytes, last, 2, THRIFT_STRUCT, file->count + 1);
    put_binary(bytes, &root, 4, TEXT("schema"));
    put_i32(bytes, &root, 5, (int32_t)file->count);
    put_stop(bytes);
    for (unsigned i = 0; i < file->count; i++)
        put_column_schema(bytes, &file->columns[i]);
}

static void put_key_value(struct buffer *bytes, const char *key, const char *value) {
    int last = 0;
    put_binary(bytes, &last, 1, text_of(key));
    put_binary(bytes, &last, 2, text_of(value));
    put_stop(bytes);
}

static void put_footer(struct buffer *bytes, const struct parquet_file *file, const char *table,
                       const char *version) {
    int last = 0;
    char creator[64];
    snprintf(creator, sizeof creator, "ridge version %s", version);
    put_i32(bytes, &last, 1, 2); /* format version */
    put_schema(bytes, &last, file);
    put_i64(bytes, &last, 3, file->rows);
    put_list(bytes, &last, 4, THRIFT_STRUCT, file->groups);
    buffer_text(bytes, buffer_as_text(&file->row_groups));
    put_list(bytes, &last, 5, THRIFT_STRUCT, 2);
    put_key_value(bytes, "ridge.table", table);
    put_key_value(bytes, "ridge.schema", "1");
    put_binary(bytes, &last, 6, text_of(creator));
    put_list(bytes, &last, 7, THRIFT_STRUCT, file->count);
    for (unsigned i = 0; i < file->count; i++) {
        int order = 0;
        put_field(bytes, &order, 1, THRIFT_STRUCT); /* TYPE_ORDER: as the type defines */
        put_stop(bytes);
        put_stop(bytes);
    }
    put_stop(bytes);
}

/* ---- the file ---- */

bool parquet_begin(struct parquet_file *file, struct output *output,
                   const struct parquet_schema *columns, unsigned count, struct status *status) {
    *file = (struct parquet_file){.output = output, .columns = columns, .count = count};
    file->zstd = ZSTD_createCCtx();
    if (!file->zstd)
        return status_no_memory(status);
    write_bytes(file, TEXT("PAR1"));
    return true;
}

bool parquet_column(struct parquet_file *file, const struct parquet_values *values,
                    struct status *status) {
    struct chunk chunk = {.start = file->written};
    bool text = file->columns[file->next].type == PARQUET_TEXT;
    chunk.dictionary = text && values->dictionary->count > 0;
    bool ok = !chunk.dictionary || write_dictionary(file, &chunk, values->dictionary, status);
    chunk.first_data = file->written;
    for (size_t first = 0; ok && first < values->rows; first += PAGE_ROWS)
        ok = write_data_page(file, &chunk, values, first, MIN(values->rows - first, PAGE_ROWS),
                             status);
    if (!ok)
        return false;
    put_chunk(file, &chunk, values);
    if (++file->next == file->count)
        end_group(file, values->rows);
    return buffer_ok(&file->chunks, status) && buffer_ok(&file->row_groups, status);
}

bool parquet_end(struct parquet_file *file, const char *table, const char *version,
                 struct status *status) {
    struct buffer footer = {0};
    put_footer(&footer, file, table, version);
    put_bytes_le(&footer, footer.length, 4);
    buffer_text(&footer, TEXT("PAR1"));
    bool ok = buffer_ok(&footer, status);
    if (ok)
        write_bytes(file, buffer_as_text(&footer));
    buffer_finish(&footer);
    return ok;
}

void parquet_finish(struct parquet_file *file) {
    ZSTD_freeCCtx(file->zstd);
    buffer_finish(&file->page);
    buffer_finish(&file->packed);
    buffer_finish(&file->chunks);
    buffer_finish(&file->row_groups);
}
