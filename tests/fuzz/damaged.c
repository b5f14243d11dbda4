/* Damaged .ridge files with valid checksums: the chunks of a sound file are decoded, edited as the
 * input decides, encoded again and read in every way that ridge reads a trace.
 *
 * Random bytes in a file only reach the checks of the reader. Edits of decoded rows reach what is
 * behind it: ids without an entity, traces without devices, threads or queues, times at the limits,
 * missing columns, unknown values, chunks twice, in another order or of another session. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "base/checksum.h"
#include "base/output.h"
#include "consume.h"
#include "targets.h"
#include "trace/chunk.h"

enum { EDITS_MAX = 24, PARTS_MAX = 96, ROWS_MAX = 4096, BYTES_MAX = 1 << 18, FILE_MAX = 10000 };
enum { CLAIMED_MAX = 5000 }; /* constant columns expand to that, so more only takes longer */

/* A chunk, decoded. Cells hold the bits of a value, whatever its type. */
struct part {
    struct chunk_header header;
    int table; /* enum trace_table, or -1 */
    size_t rows;
    unsigned column_count;
    struct cells {
        unsigned number;
        uint64_t *values;
    } columns[TABLE_COLUMNS_MAX];
    struct text *strings; /* of a chunk of strings, by row; else NULL */
    size_t claimed_rows;  /* what the header claims beyond `rows` */
    unsigned spoiled;     /* 1 + the byte of the directory that is changed after encoding */
    uint8_t spoil;
};

struct document {
    struct part parts[PARTS_MAX];
    size_t count;
};

/* Everything that one input allocates. */
static struct arena memory;

static void *take(size_t size) {
    struct status status = {0};
    void *bytes = arena_allocate(&memory, size + 1, &status);
    if (!bytes)
        fuzz_broken("%s", status.message);
    return bytes;
}

/* ---- reading the sound file ---- */

static int table_of(uint32_t type) {
    for (int table = 0; table < TABLE_COUNT; table++)
        if (trace_tables[table].fourcc == type)
            return table;
    return -1;
}

static size_t cell_size(const struct part *part, unsigned number) {
    if (part->table < 0)
        return 4;
    const struct table_info *info = &trace_tables[part->table];
    return number < info->column_count ? info->columns[number].size : 8;
}

static void widen(uint64_t *values, size_t rows, size_t size) {
    for (size_t i = rows; i-- > 0;) {
        uint64_t value = 0;
        memcpy(&value, (char *)values + i * size, size);
        values[i] = value;
    }
}

static void decode_strings(struct part *part, struct text bytes) {
    part->strings = take(part->rows * sizeof *part->strings);
    size_t at = 0;
    for (size_t i = 0; i < part->rows; i++) {
        size_t length = (size_t)part->columns[0].values[i];
        char *copy = take(length);
        memcpy(copy, bytes.data + at, length);
        part->strings[i] = (struct text){copy, length};
        at += length;
    }
}

static void decode_part(struct part *part, const unsigned char *body) {
    struct chunk_decoder decoder = {0};
    struct status status = {0};
    const unsigned char *data = body + (size_t)part->header.columns * CHUNK_ENTRY_SIZE;
    part->rows = part->header.rows;
    for (unsigned i = 0; i < part->header.columns; i++) {
        struct chunk_entry entry = chunk_read_entry(body, i);
        struct cells *cells = &part->columns[part->column_count];
        size_t size = cell_size(part, entry.column);
        struct text bytes;
        if (entry.encoding == ENCODING_BYTES) {
            if (!chunk_decode_bytes(&decoder, &entry, data, &bytes, &status))
                fuzz_broken("a base file: %s", status.message);
            decode_strings(part, bytes);
        } else if (part->column_count < TABLE_COLUMNS_MAX) {
            *cells = (struct cells){entry.column, take(part->rows * sizeof *cells->values)};
            if (!chunk_decode_column(&decoder, &entry, data, part->rows, size, cells->values,
                                     &status))
                fuzz_broken("a base file: %s", status.message);
            widen(cells->values, part->rows, size);
            part->column_count++;
        }
        data += entry.encoding == ENCODING_CONSTANT ? 0 : entry.stored_size;
    }
    chunk_decoder_finish(&decoder);
}

/* Adds the chunks of a file. */
static void decode(struct document *document, struct text file) {
    const unsigned char *bytes = (const unsigned char *)file.data;
    size_t most = document->count + PARTS_MAX / 3;
    for (size_t at = 0; at + CHUNK_HEADER_SIZE <= file.length && document->count < most &&
                        document->count < PARTS_MAX;) {
        struct part *part = &document->parts[document->count];
        memset(part, 0, sizeof *part);
        if (!chunk_read_header(bytes + at, &part->header) || part->header.rows > ROWS_MAX)
            break;
        part->table = table_of(part->header.type);
        decode_part(part, bytes + at + CHUNK_HEADER_SIZE);
        at += CHUNK_HEADER_SIZE + part->header.body_size;
        document->count++;
    }
}

/* ---- writing the damaged one ---- */

static void narrow(const uint64_t *values, size_t rows, size_t size, unsigned char *out) {
    for (size_t i = 0; i < rows; i++)
        memcpy(out + i * size, &values[i], size); /* little-endian, as the file is */
}

static void add_strings(struct chunk_builder *builder, const struct part *part) {
    struct buffer bytes = {0};
    uint32_t *lengths = take(part->rows * sizeof *lengths);
    for (size_t i = 0; i < part->rows; i++) {
        struct text text = part->strings[i];
        if (bytes.length + text.length > BYTES_MAX)
            text.length = 0;
        lengths[i] = (uint32_t)text.length;
        buffer_text(&bytes, text);
    }
    chunk_begin(builder, 2);
    chunk_add_column(builder, 0, lengths, sizeof *lengths, part->rows);
    chunk_add_bytes(builder, 1, bytes.data ? bytes.data : "", bytes.length);
    buffer_finish(&bytes);
}

static void add_columns(struct chunk_builder *builder, const struct part *part) {
    static unsigned char narrowed[ROWS_MAX * 8];
    chunk_begin(builder, part->rows ? part->column_count : 0);
    for (unsigned i = 0; i < part->column_count && part->rows; i++) {
        const struct cells *cells = &part->columns[i];
        size_t size = cell_size(part, cells->number);
        narrow(cells->values, part->rows, size, narrowed);
        chunk_add_column(builder, cells->number, narrowed, size, part->rows);
    }
}

static void encode_part(const struct part *part, int fd) {
    static struct chunk_builder builder;
    struct status status = {0};
    struct chunk_header header = part->header;
    if (!builder.bytes && !chunk_builder_init(&builder, ROWS_MAX, BYTES_MAX, 0, &status))
        fuzz_broken("%s", status.message);
    if (part->strings && part->rows)
        add_strings(&builder, part);
    else
        add_columns(&builder, part);
    header.rows = (uint32_t)(part->rows + part->claimed_rows);
    uint16_t version = header.version;
    chunk_seal(&builder, &header);
    size_t directory = (size_t)header.columns * CHUNK_ENTRY_SIZE;
    unsigned char *body = builder.bytes + CHUNK_HEADER_SIZE;
    if (part->spoiled && directory)
        body[(part->spoiled - 1) % directory] = part->spoil;
    header.version = version;
    header.body_checksum = checksum64(body, header.body_size);
    chunk_write_header(builder.bytes, &header);
    if (!output_write_fd(fd, builder.bytes, builder.length, &status))
        fuzz_broken("%s", status.message);
}

/* ---- edits ---- */

static const struct base_files *sound_files(void) {
    static struct base_files files;
    static int fd = -1;
    if (files.count == 0) {
        base_trace(fuzz_empty_file(&fd));
        base_add(&files, base_read(fd));
        base_add_folder(&files, "format", ".ridge", FILE_MAX);
        base_add_folder(&files, "fixtures", ".ridge", FILE_MAX);
        base_add_folder(&files, "corpus/traces", ".ridge", FILE_MAX);
    }
    return &files;
}

/* A value that suits the column's type, so that most files are still accepted. */
static uint64_t value_for(struct decisions *decisions, const struct part *part,
                          const struct cells *cells) {
    if (part->table < 0 || cells->number >= trace_tables[part->table].column_count)
        return decide_value(decisions);
    const struct column_info *info = &trace_tables[part->table].columns[cells->number];
    unsigned named = column_values((enum trace_table)part->table, cells->number);
    size_t choice = decide(decisions, 16);
    if (choice == 0)
        return decide_value(decisions);
    if (named)
        return decide(decisions, choice == 1 ? 256 : named);
    if (info->type >= COLUMN_STRING)
        return choice < 4 ? decide_value(decisions) : decide(decisions, 16);
    if (info->type == COLUMN_TIME && choice < 4)
        return (uint64_t)((int64_t)(decide_bits(decisions, 8) >> 3) - ((int64_t)1 << 60));
    if (info->type == COLUMN_TIME || strcmp(info->name, "duration") == 0)
        return choice < 6 ? decide_bits(decisions, 7) : decide_bits(decisions, 3);
    return decide_value(decisions);
}

static struct cells *choose_column(struct decisions *decisions, struct part *part) {
    return part->column_count && part->rows ? &part->columns[decide(decisions, part->column_count)]
                                            : NULL;
}

static void set_cells(struct decisions *decisions, struct part *part) {
    struct cells *cells = choose_column(decisions, part);
    if (!cells)
        return;
    size_t first = decide(decisions, part->rows), step = 1 + decide(decisions, 8);
    bool all = decide(decisions, 3) == 0, many = decide(decisions, 2);
    uint64_t value = value_for(decisions, part, cells);
    for (size_t i = all ? 0 : first; i < part->rows; i += step) {
        cells->values[i] = value;
        if (!all && !many)
            break;
    }
}

/* Another row's value, or the value and a small difference. */
static void shift_cells(struct decisions *decisions, struct part *part) {
    struct cells *cells = choose_column(decisions, part);
    if (!cells)
        return;
    size_t row = decide(decisions, part->rows), other = decide(decisions, part->rows);
    uint64_t by = decide_bits(decisions, 2);
    by <<= decide(decisions, 40);
    switch (decide(decisions, 4)) {
    case 0:
        cells->values[row] = cells->values[other];
        break;
    case 1:
        for (size_t i = row; i < part->rows; i++)
            cells->values[i] += by;
        break;
    case 2:
        for (size_t i = 0; i < part->rows; i++)
            cells->values[i] = cells->values[i] << by % 24;
        break;
    default:
        cells->values[row] = 0 - cells->values[row];
    }
}

static void copy_row(struct part *part, size_t from, size_t to) {
    for (unsigned i = 0; i < part->column_count; i++)
        part->columns[i].values[to] = part->columns[i].values[from];
    if (part->strings)
        part->strings[to] = part->strings[from];
}

static void drop_rows(struct decisions *decisions, struct part *part) {
    size_t first = decide(decisions, part->rows), step = 1 + decide(decisions, 4), kept = 0;
    bool keep_those = decide(decisions, 2);
    for (size_t i = 0; i < part->rows; i++) {
        bool chosen = i >= first && (i - first) % step == 0;
        if (chosen == keep_those)
            copy_row(part, i, kept++);
    }
    part->rows = kept;
}

static void grow(struct part *part, size_t rows) {
    for (unsigned i = 0; i < part->column_count; i++) {
        uint64_t *grown = take(rows * sizeof *grown);
        memcpy(grown, part->columns[i].values, part->rows * sizeof *grown);
        part->columns[i].values = grown;
    }
    if (part->strings) {
        struct text *grown = take(rows * sizeof *grown);
        memcpy(grown, part->strings, part->rows * sizeof *grown);
        part->strings = grown;
    }
}

/* The rows again and again, with one column counting up: many devices, threads, queues. */
static void repeat_rows(struct decisions *decisions, struct part *part) {
    size_t before = part->rows, times = 1 + decide(decisions, 60);
    unsigned counting = (unsigned)decide(decisions, part->column_count + 1);
    if (before == 0 || before * (times + 1) > ROWS_MAX / 8)
        return;
    grow(part, before * (times + 1));
    for (size_t i = before; i < before * (times + 1); i++) {
        copy_row(part, i - before, i);
        if (counting < part->column_count)
            part->columns[counting].values[i] += 1;
    }
    part->rows = before * (times + 1);
}

static void drop_column(struct decisions *decisions, struct part *part) {
    if (part->column_count == 0)
        return;
    size_t column = decide(decisions, part->column_count);
    part->columns[column] = part->columns[--part->column_count];
}

static void edit_string(struct decisions *decisions, struct part *part) {
    if (!part->strings || part->rows == 0)
        return;
    struct text *string = &part->strings[decide(decisions, part->rows)];
    string->data = decide_text(decisions, &string->length);
}

static void edit_header(struct decisions *decisions, struct part *part) {
    struct chunk_header *header = &part->header;
    switch (decide(decisions, 8)) {
    case 0:
        header->session = decide(decisions, 3);
        break;
    case 1:
        header->writer = decide(decisions, 3);
        break;
    case 2:
        header->sequence = (uint32_t)decide_value(decisions);
        break;
    case 3:
        header->first_id = decide(decisions, 2) ? decide_value(decisions) : decide(decisions, 16);
        break;
    case 4:
        part->claimed_rows = (size_t)decide_value(decisions) % CLAIMED_MAX;
        break;
    case 5:
        header->type = trace_tables[decide(decisions, TABLE_COUNT)].fourcc;
        break;
    case 6:
        header->time_first = (int64_t)decide_value(decisions);
        header->time_last = (int64_t)decide_value(decisions);
        break;
    default:
        part->spoiled = 1 + (unsigned)decide_bits(decisions, 2);
        part->spoil = (uint8_t)decide_bits(decisions, 1);
    }
}

static void remove_part(struct document *document, size_t index) {
    document->count--;
    memmove(&document->parts[index], &document->parts[index + 1],
            (document->count - index) * sizeof document->parts[0]);
}

/* A table without rows. */
static void remove_table(struct document *document, int table) {
    for (size_t i = document->count; i-- > 0;)
        if (document->parts[i].table == table)
            remove_part(document, i);
}

static void repeat_part(struct decisions *decisions, struct document *document, size_t index) {
    if (document->count == PARTS_MAX)
        return;
    struct part *copy = &document->parts[document->count++];
    *copy = document->parts[index];
    if (decide(decisions, 4))
        copy->header.sequence = (uint32_t)(1000 + document->count);
    grow(copy, copy->rows); /* its own cells */
}

static void swap_parts(struct decisions *decisions, struct document *document, size_t index) {
    size_t other = decide(decisions, document->count);
    struct part part = document->parts[index];
    document->parts[index] = document->parts[other];
    document->parts[other] = part;
}

/* Two recordings in one file, or two writers of one recording. */
static void join_file(struct decisions *decisions, struct document *document) {
    const struct base_files *files = sound_files();
    size_t before = document->count;
    uint64_t session = decide(decisions, 3), writer = decide(decisions, 3);
    decode(document, files->files[decide(decisions, files->count)]);
    for (size_t i = before; i < document->count; i++) {
        document->parts[i].header.writer += writer;
        document->parts[i].header.session += session;
    }
}

static void edit(struct decisions *decisions, struct document *document) {
    if (document->count == 0)
        return;
    size_t choice = decide(decisions, 24), index = decide(decisions, document->count);
    struct part *part = &document->parts[index];
    if (choice < 8)
        set_cells(decisions, part);
    else if (choice < 11)
        shift_cells(decisions, part);
    else if (choice < 13)
        drop_rows(decisions, part);
    else if (choice == 13)
        repeat_rows(decisions, part);
    else if (choice == 14)
        drop_column(decisions, part);
    else if (choice < 17)
        for (size_t i = 0; i < document->count; i++)
            edit_string(decisions, &document->parts[i]);
    else if (choice == 17)
        edit_header(decisions, part);
    else if (choice == 18)
        remove_part(document, index);
    else if (choice < 21)
        remove_table(document, (int)decide(decisions, TABLE_COUNT));
    else if (choice == 21)
        repeat_part(decisions, document, index);
    else if (choice == 22)
        swap_parts(decisions, document, index);
    else
        join_file(decisions, document);
}

/* ---- the target ---- */

int fuzz_damaged(const uint8_t *data, size_t size) {
    static struct document document;
    static int fd = -1;
    struct decisions decisions = {data, data + size};
    const struct base_files *files = sound_files();
    size_t choice = decide(&decisions, 2 * files->count);
    document.count = 0;
    decode(&document, files->files[choice < files->count ? choice : 0]);
    for (size_t i = decide(&decisions, EDITS_MAX); i > 0; i--)
        edit(&decisions, &document);
    fuzz_empty_file(&fd);
    for (size_t i = 0; i < document.count; i++)
        encode_part(&document.parts[i], fd);
    decisions = (struct decisions){data, data + size};
    if (lseek(fd, 0, SEEK_END) > 0)
        consume_trace(fd, &decisions);
    arena_finish(&memory);
    return 0;
}
