/* Rows go into fixed column buffers; a full buffer becomes a chunk. The strings and entities that a
 * chunk may refer to are written before it, so that any prefix of the file is consistent. */
#include "trace/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "base/memory.h"
#include "base/output.h"
#include "trace/chunk.h"

enum {
    EVENT_ROWS = 16384, /* rows of an event table per chunk */
    ENTITY_ROWS = 1024,
    STRING_ROWS = 4096,
    STRING_BYTES = 1 << 20, /* of one chunk; also the longest string kept */
    CACHE_SLOTS = 1 << 17,
    CACHE_BYTES = 16 << 20,
};

/* A cache of string ids: when full it starts over, and a text that recurs gets a second id, which
 * the reader merges with the first. */
struct string_cache {
    struct cache_slot {
        uint64_t hash;
        uint32_t id, offset, length;
    } * slots;
    char *bytes;
    size_t count, used;
};

struct trace_writer {
    int fd;
    struct trace_writer_options options;
    uint32_t sequence;
    bool failed;
    struct status why;
    struct chunk_builder builder;
    struct string_cache cache;
    uint32_t *string_lengths;
    char *string_bytes;
    size_t string_rows, string_used;
    uint32_t string_next; /* id of the next new string */
    uint64_t drops;
    uint64_t written[TABLE_COUNT];
    /* Column buffers of EVENT_ROWS or ENTITY_ROWS values; count = pending rows. */
#define WRITER_COLUMNS(table, TABLE, fourcc) struct columns_##table table;
    TRACE_TABLES(WRITER_COLUMNS)
};

static const size_t columns_offset[TABLE_COUNT] = {
#define WRITER_OFFSET(table, TABLE, fourcc) offsetof(struct trace_writer, table),
    TRACE_TABLES(WRITER_OFFSET)};

static size_t *pending_rows(struct trace_writer *writer, unsigned table) {
    return (size_t *)((char *)writer + columns_offset[table]); /* `count` comes first */
}

static void **column_pointer(struct trace_writer *writer, unsigned table, unsigned column) {
    return (void **)((char *)writer + columns_offset[table] +
                     trace_tables[table].columns[column].pointer_offset);
}

static size_t rows_max(unsigned table) {
    return table < TABLE_ACTIVITY ? ENTITY_ROWS : EVENT_ROWS;
}

struct trace_writer *trace_writer_create(int fd, const struct trace_writer_options *options,
                                         struct status *status) {
    struct trace_writer *writer = memory_allocate(1, sizeof *writer, status);
    if (!writer)
        return NULL;
    writer->fd = fd;
    writer->options = *options;
    writer->string_next = 1;
    writer->string_lengths = memory_allocate(STRING_ROWS, sizeof(uint32_t), status);
    writer->string_bytes = memory_allocate(STRING_BYTES, 1, status);
    writer->cache.slots = memory_allocate(CACHE_SLOTS, sizeof *writer->cache.slots, status);
    writer->cache.bytes = memory_allocate(CACHE_BYTES, 1, status);
    if (!writer->string_lengths || !writer->string_bytes || !writer->cache.slots ||
        !writer->cache.bytes ||
        !chunk_builder_init(&writer->builder, EVENT_ROWS, STRING_BYTES, options->level, status)) {
        trace_writer_destroy(writer);
        return NULL;
    }
    return writer;
}

void trace_writer_destroy(struct trace_writer *writer) {
    if (!writer)
        return;
    for (unsigned table = 0; table < TABLE_COUNT; table++)
        for (unsigned column = 0; column < trace_tables[table].column_count; column++)
            memory_free(*column_pointer(writer, table, column));
    chunk_builder_finish(&writer->builder);
    memory_free(writer->string_lengths);
    memory_free(writer->string_bytes);
    memory_free(writer->cache.slots);
    memory_free(writer->cache.bytes);
    memory_free(writer);
}

static void send_chunk(struct trace_writer *writer, struct chunk_header *header) {
    header->session = writer->options.session;
    header->writer = writer->options.writer;
    header->sequence = writer->sequence++;
    chunk_seal(&writer->builder, header);
    if (!output_write_fd(writer->fd, writer->builder.bytes, writer->builder.length, &writer->why))
        writer->failed = true;
}

static void flush_strings(struct trace_writer *writer) {
    if (writer->string_rows == 0)
        return;
    struct chunk_header header = {
        .type = CHUNK_STRINGS,
        .rows = (uint32_t)writer->string_rows,
        .first_id = writer->string_next - writer->string_rows,
    };
    chunk_begin(&writer->builder, 2);
    chunk_add_column(&writer->builder, 0, writer->string_lengths, sizeof(uint32_t),
                     writer->string_rows);
    chunk_add_bytes(&writer->builder, 1, writer->string_bytes, writer->string_used);
    if (!writer->failed)
        send_chunk(writer, &header);
    writer->string_rows = writer->string_used = 0;
}

/* The time span of a chunk of events, for readers that need only a part. */
static void find_span(struct trace_writer *writer, unsigned table, size_t rows,
                      struct chunk_header *header) {
    const struct table_info *info = &trace_tables[table];
    if (info->columns[0].type != COLUMN_TIME)
        return;
    const int64_t *time = *column_pointer(writer, table, 0);
    const int64_t *duration = NULL;
    if (strcmp(info->columns[1].name, "duration") == 0)
        duration = *column_pointer(writer, table, 1);
    header->time_first = INT64_MAX;
    header->time_last = INT64_MIN;
    for (size_t i = 0; i < rows; i++) {
        int64_t end = time[i];
        if (duration && __builtin_add_overflow(end, duration[i], &end))
            end = INT64_MAX;
        if (time[i] < header->time_first)
            header->time_first = time[i];
        if (end > header->time_last)
            header->time_last = end;
    }
}

static void flush_table(struct trace_writer *writer, unsigned table) {
    size_t rows = *pending_rows(writer, table);
    if (rows == 0)
        return;
    /* entities refer to entities of earlier tables only */
    for (unsigned entity = 0; entity < table && entity < TABLE_ACTIVITY; entity++)
        flush_table(writer, entity);
    flush_strings(writer);
    struct chunk_header header = {
        .type = trace_tables[table].fourcc,
        .rows = (uint32_t)rows,
        .first_id = writer->written[table] + 1,
    };
    find_span(writer, table, rows, &header);
    const struct table_info *info = &trace_tables[table];
    chunk_begin(&writer->builder, info->column_count);
    for (unsigned column = 0; column < info->column_count; column++)
        chunk_add_column(&writer->builder, column, *column_pointer(writer, table, column),
                         info->columns[column].size, rows);
    if (!writer->failed)
        send_chunk(writer, &header);
    writer->written[table] += rows;
    *pending_rows(writer, table) = 0;
}

/* Ensures space for one row; false when it must be dropped. */
static bool make_room(struct trace_writer *writer, unsigned table) {
    if (*column_pointer(writer, table, 0) == NULL) {
        const struct table_info *info = &trace_tables[table];
        for (unsigned column = 0; column < info->column_count && !writer->failed; column++) {
            void *values =
                memory_allocate(rows_max(table), info->columns[column].size, &writer->why);
            *column_pointer(writer, table, column) = values;
            writer->failed |= values == NULL;
        }
    } else if (*pending_rows(writer, table) == rows_max(table)) {
        flush_table(writer, table);
    }
    return !writer->failed;
}

#define STORE_COLUMN(name, type) columns->name[columns->count] = row->name;
#define WRITE_FUNCTION(table, TABLE, fourcc)                                                       \
    uint32_t trace_write_##table(struct trace_writer *writer, const struct row_##table *row) {     \
        struct columns_##table *columns = &writer->table;                                          \
        if (!make_room(writer, TABLE_##TABLE))                                                     \
            return 0;                                                                              \
        TABLE##_COLUMNS(STORE_COLUMN) columns->count++;                                            \
        return (uint32_t)(writer->written[TABLE_##TABLE] + columns->count);                        \
    }
TRACE_TABLES(WRITE_FUNCTION)

uint32_t trace_writer_string(struct trace_writer *writer, struct text text) {
    struct string_cache *cache = &writer->cache;
    if (text.length == 0 || writer->failed)
        return 0;
    if (text.length > STRING_BYTES)
        text.length = STRING_BYTES;
    uint64_t hash = checksum64(text.data, text.length);
    size_t at = hash & (CACHE_SLOTS - 1);
    for (; cache->slots[at].id != 0; at = (at + 1) & (CACHE_SLOTS - 1)) {
        const struct cache_slot *slot = &cache->slots[at];
        if (slot->hash == hash && slot->length == text.length &&
            memcmp(cache->bytes + slot->offset, text.data, text.length) == 0)
            return slot->id;
    }
    if (cache->count >= CACHE_SLOTS / 4 * 3 || CACHE_BYTES - cache->used < text.length) {
        memset(cache->slots, 0, CACHE_SLOTS * sizeof *cache->slots);
        cache->count = cache->used = 0;
        at = hash & (CACHE_SLOTS - 1);
    }
    if (writer->string_rows == STRING_ROWS || STRING_BYTES - writer->string_used < text.length)
        flush_strings(writer);

    cache->slots[at] = (struct cache_slot){hash, writer->string_next, (uint32_t)cache->used,
                                           (uint32_t)text.length};
    memcpy(cache->bytes + cache->used, text.data, text.length);
    cache->used += text.length;
    cache->count++;
    memcpy(writer->string_bytes + writer->string_used, text.data, text.length);
    writer->string_used += text.length;
    writer->string_lengths[writer->string_rows++] = (uint32_t)text.length;
    return writer->string_next++;
}

void trace_writer_meta(struct trace_writer *writer, const char *key, struct text value) {
    struct row_meta row = {
        .key = trace_writer_string(writer, text_of(key)),
        .value = trace_writer_string(writer, value),
    };
    trace_write_meta(writer, &row);
}

uint32_t trace_writer_string_of(struct trace_writer *writer, const struct buffer *buffer) {
    if (!writer->failed && buffer->failed)
        writer->failed = !status_no_memory(&writer->why);
    return trace_writer_string(writer, buffer_as_text(buffer));
}

void trace_writer_meta_of(struct trace_writer *writer, const char *key,
                          const struct buffer *value) {
    struct row_meta row = {
        .key = trace_writer_string(writer, text_of(key)),
        .value = trace_writer_string_of(writer, value),
    };
    trace_write_meta(writer, &row);
}

void trace_writer_meta_integer(struct trace_writer *writer, const char *key, int64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    trace_writer_meta(writer, key, text_of(digits));
}

void trace_writer_dropped(struct trace_writer *writer, uint64_t events) {
    writer->drops += events;
}

void trace_writer_flush(struct trace_writer *writer) {
    for (unsigned table = 0; table < TABLE_COUNT; table++)
        flush_table(writer, table);
    flush_strings(writer);
}

static void end_session(struct trace_writer *writer) {
    if (writer->drops)
        trace_writer_meta_integer(writer, META_DROPS, (int64_t)writer->drops);
    writer->drops = 0;
    trace_writer_flush(writer);
    if (writer->failed)
        return;
    uint32_t types[TABLE_COUNT];
    for (unsigned table = 0; table < TABLE_COUNT; table++)
        types[table] = trace_tables[table].fourcc;
    struct chunk_header header = {.type = CHUNK_END, .rows = TABLE_COUNT};
    chunk_begin(&writer->builder, 2);
    chunk_add_column(&writer->builder, 0, types, sizeof types[0], TABLE_COUNT);
    chunk_add_column(&writer->builder, 1, writer->written, sizeof writer->written[0], TABLE_COUNT);
    send_chunk(writer, &header);
}

bool trace_writer_finish(struct trace_writer *writer, struct status *status) {
    end_session(writer);
    if (writer->failed)
        *status = writer->why;
    return !writer->failed;
}

void trace_writer_next_session(struct trace_writer *writer) {
    struct string_cache *cache = &writer->cache;
    end_session(writer);
    memset(cache->slots, 0, CACHE_SLOTS * sizeof *cache->slots);
    cache->count = cache->used = 0;
    memset(writer->written, 0, sizeof writer->written);
    writer->string_next = 1;
    writer->sequence = 0;
    writer->options.session = hash_u64(writer->options.session + 1);
}

bool trace_writer_failed(const struct trace_writer *writer) {
    return writer->failed;
}
