/* The first pass over the file indexes its columns and verifies checksums; the second decodes
 * strings and entities and merges those of all writers into one numbering. Sizes and ids in the
 * file are untrusted until checked.
 *
 * The file is read with pread(), never mapped: another process may truncate or overwrite it at any
 * time, and a mapping would then raise SIGBUS or change under the decoder. The first pass keeps a
 * checksum of each column; bytes read later are decoded only if they still match it.
 */
#include "trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "trace/chunk.h"
#include "trace/writer.h"

struct chunk_ref {
    struct chunk_header header;
    size_t columns;  /* index of the first into stored_columns; header.columns of them */
    uint32_t writer; /* index into writers */
    int table;       /* enum trace_table, or -1 */
};

/* The stored bytes of one column of one chunk. */
struct stored_column {
    struct chunk_entry entry;
    uint64_t offset; /* in the file */
    uint64_t checksum;
};

/* One per thread. */
struct column_decoder {
    struct chunk_decoder decoder;
    unsigned char *stored; /* as read from the file */
    size_t capacity;
};

/* Maps a writer's ids to the trace's. */
struct id_map {
    uint32_t *to;
    size_t count, capacity;
};

struct writer_state {
    uint64_t session, writer;
    uint32_t session_index;
    uint32_t sequences_seen, sequence_last;
    bool finished;
    int64_t clock_offset;
    struct id_map strings, entities[TABLE_ACTIVITY];
};

struct trace_file {
    int fd;
    uint64_t size;         /* when opened; later appends are not read */
    unsigned char *window; /* bytes of the chunk being indexed */
    size_t window_capacity;
    uint64_t rejected_bytes; /* of chunks with a wrong checksum */
    struct chunk_ref *chunks;
    size_t chunk_count, chunk_capacity;
    struct stored_column *columns;
    size_t column_count, column_capacity;
    uint64_t unused_ids; /* in the maps of all writers */
    struct writer_state *writers;
    size_t writer_capacity;
    struct map writer_by_id;
    struct map chunk_places; /* (writer, sequence) of the chunks seen */
    struct map entity_by_key;
    struct map session_by_id;
    size_t entity_capacity[TABLE_ACTIVITY][TABLE_COLUMNS_MAX], session_column_capacity[4];
    struct column_decoder decoder; /* for opening; columns loaded in parallel have their own */
    uint32_t *order[TABLE_COUNT];  /* of rows, set by trace_reorder() */
};

static const size_t columns_offset[TABLE_COUNT] = {
#define READER_OFFSET(table, TABLE, fourcc) offsetof(struct trace, table),
    TRACE_TABLES(READER_OFFSET)};

static size_t *row_count(struct trace *trace, unsigned table) {
    return (size_t *)((char *)trace + columns_offset[table]); /* `count` comes first */
}

static void **column_pointer(struct trace *trace, unsigned table, unsigned column) {
    return (void **)((char *)trace + columns_offset[table] +
                     trace_tables[table].columns[column].pointer_offset);
}

const void *trace_column(const struct trace *trace, enum trace_table table, unsigned column) {
    return *column_pointer((struct trace *)trace, table, column);
}

size_t trace_rows(const struct trace *trace, enum trace_table table) {
    return *row_count((struct trace *)trace, table);
}

bool trace_detect(const void *bytes, size_t length) {
    return length >= sizeof chunk_magic && memcmp(bytes, chunk_magic, sizeof chunk_magic) == 0;
}

static int table_of(uint32_t fourcc) {
    for (int table = 0; table < TABLE_COUNT; table++)
        if (trace_tables[table].fourcc == fourcc)
            return table;
    return -1;
}

static bool changed(struct status *status) {
    return status_fail(status, STATUS_INPUT,
                       "was truncated or overwritten while it was being read; try again when no "
                       "program writes to it");
}

static bool read_at(const struct trace_file *file, uint64_t offset, void *bytes, size_t length,
                    struct status *status) {
    while (length > 0) {
        ssize_t got = pread(file->fd, bytes, length, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return status_fail_errno(status, "cannot read it");
        if (got == 0)
            return changed(status);
        bytes = (char *)bytes + got;
        offset += (uint64_t)got;
        length -= (size_t)got;
    }
    return true;
}

/* ---- the index ---- */

static bool find_session(struct trace *trace, uint64_t session, uint32_t *index,
                         struct status *status) {
    struct trace_file *file = trace->file;
    const uint64_t *known = map_find(&file->session_by_id, session);
    if (known) {
        *index = (uint32_t)*known;
        return true;
    }
    *index = trace->session_count++;
    return map_set(&file->session_by_id, session, *index, status);
}

static bool find_writer(struct trace *trace, const struct chunk_header *header, uint32_t *index,
                        struct status *status) {
    struct trace_file *file = trace->file;
    uint64_t key = hash_u64(header->writer) ^ header->session;
    uint64_t *known = map_find(&file->writer_by_id, key);
    if (known) {
        *index = (uint32_t)*known;
        return true;
    }
    if (!GROW(file->writers, &file->writer_capacity, trace->writer_count + 1, status) ||
        !map_set(&file->writer_by_id, key, trace->writer_count, status))
        return false;
    struct writer_state *writer = &file->writers[trace->writer_count];
    memset(writer, 0, sizeof *writer);
    writer->session = header->session;
    writer->writer = header->writer;
    if (!find_session(trace, header->session, &writer->session_index, status))
        return false;
    *index = (uint32_t)trace->writer_count++;
    return true;
}

/* Records the positions and checksums of the columns of the chunk in the window. */
static bool index_columns(struct trace_file *file, const struct chunk_header *header,
                          uint64_t body_offset, struct status *status) {
    size_t at = (size_t)header->columns * CHUNK_ENTRY_SIZE;
    if (!GROW(file->columns, &file->column_capacity, file->column_count + header->columns, status))
        return false;
    for (unsigned i = 0; i < header->columns; i++) {
        struct chunk_entry entry = chunk_read_entry(file->window, i);
        if (entry.encoding == ENCODING_CONSTANT)
            entry.stored_size = 0;
        file->columns[file->column_count++] = (struct stored_column){
            entry, body_offset + at, checksum64(file->window + at, entry.stored_size)};
        at += entry.stored_size;
    }
    return true;
}

static bool index_chunk(struct trace *trace, const struct chunk_header *header,
                        uint64_t body_offset, struct status *status) {
    struct trace_file *file = trace->file;
    uint32_t index;
    if (!find_writer(trace, header, &index, status))
        return false;
    struct writer_state *writer = &file->writers[index];
    uint64_t place = (uint64_t)index << 32 | header->sequence;
    if (map_find(&file->chunk_places, place)) {
        trace->repeated_chunks++;
        return true;
    }
    if (!map_set(&file->chunk_places, place, 1, status))
        return false;
    writer->sequences_seen++;
    if (header->sequence > writer->sequence_last)
        writer->sequence_last = header->sequence;
    if (header->type == CHUNK_END) {
        writer->finished = true;
        return true;
    }
    int table = table_of(header->type);
    if (table < 0 && header->type != CHUNK_STRINGS) {
        trace->unknown_chunks++;
        return true;
    }
    if (!GROW(file->chunks, &file->chunk_capacity, file->chunk_count + 1, status))
        return false;
    file->chunks[file->chunk_count++] =
        (struct chunk_ref){*header, file->column_count, index, table};
    if (!index_columns(file, header, body_offset, status))
        return false;
    if (table >= TABLE_STACK || table == TABLE_META)
        *row_count(trace, (unsigned)table) += header->rows;
    return true;
}

/* The bytes of every entry must be inside the body. */
static bool directory_is_sound(const struct chunk_header *header, const unsigned char *body) {
    uint64_t at = (uint64_t)header->columns * CHUNK_ENTRY_SIZE;
    for (unsigned i = 0; i < header->columns; i++) {
        struct chunk_entry entry = chunk_read_entry(body, i);
        at += entry.encoding == ENCODING_CONSTANT ? 0 : entry.stored_size;
        if (at > header->body_size)
            return false;
    }
    return true;
}

/* The next position after `from` where a chunk may begin, or the end of the file. */
static bool find_magic(struct trace_file *file, uint64_t from, uint64_t *found,
                       struct status *status) {
    enum { BLOCK = 64 * 1024 };
    if (!GROW(file->window, &file->window_capacity, BLOCK, status))
        return false;
    while (file->size - from >= sizeof chunk_magic) {
        size_t length = file->size - from < BLOCK ? (size_t)(file->size - from) : BLOCK;
        size_t at = 0;
        if (!read_at(file, from, file->window, length, status))
            return false;
        for (; at + sizeof chunk_magic <= length; at++) {
            const unsigned char *hit = memchr(file->window + at, chunk_magic[0], length - at);
            at = hit ? (size_t)(hit - file->window) : length;
            if (hit && trace_detect(hit, length - at)) {
                *found = from + at;
                return true;
            }
        }
        /* the magic may start in the last bytes of this block */
        from += length - sizeof chunk_magic + 1;
    }
    *found = file->size;
    return true;
}

static bool read_header(struct trace_file *file, uint64_t at, struct chunk_header *header,
                        bool *intact, struct status *status) {
    unsigned char bytes[CHUNK_HEADER_SIZE];
    *intact = false;
    if (file->size - at < sizeof bytes)
        return true;
    if (!read_at(file, at, bytes, sizeof bytes, status))
        return false;
    *intact = chunk_read_header(bytes, header) &&
              header->body_size <= file->size - at - CHUNK_HEADER_SIZE;
    if (*intact && header->version > CHUNK_VERSION)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "written by a newer ridge (trace version %u, this one reads %u); "
                           "update ridge",
                           header->version, CHUNK_VERSION);
    return true;
}

/* Reads a chunk's body into the window and verifies it. */
static bool read_body(struct trace_file *file, uint64_t at, const struct chunk_header *header,
                      bool *intact, struct status *status) {
    size_t size = (size_t)header->body_size;
    if (!GROW(file->window, &file->window_capacity, size, status) ||
        !read_at(file, at, file->window, size, status))
        return false;
    *intact = checksum64(file->window, size) == header->body_checksum &&
              directory_is_sound(header, file->window);
    return true;
}

/* Counts the skipped bytes from `at` to the next chunk. */
static bool skip_damage(struct trace *trace, uint64_t at, uint64_t search_from, uint64_t *next,
                        struct status *status) {
    struct trace_file *file = trace->file;
    unsigned char magic[sizeof chunk_magic];
    size_t left = file->size - at < sizeof magic ? (size_t)(file->size - at) : sizeof magic;
    if (!read_at(file, at, magic, left, status) || !find_magic(file, search_from, next, status))
        return false;
    if (*next == file->size && trace_detect(magic, left))
        trace->truncated_bytes += *next - at;
    else
        trace->damaged_bytes += *next - at;
    return true;
}

/* Where to search for the next chunk after a damaged one at `at`. */
static uint64_t after_damage(struct trace_file *file, uint64_t at, uint64_t body_size) {
    file->rejected_bytes += body_size;
    return chunk_search_inside(file->rejected_bytes, file->size)
               ? at + 1
               : at + CHUNK_HEADER_SIZE + body_size;
}

static bool index_chunks(struct trace *trace, struct status *status) {
    struct trace_file *file = trace->file;
    uint64_t at = 0;
    while (at < file->size) {
        struct chunk_header header;
        uint64_t body = at + CHUNK_HEADER_SIZE;
        bool header_intact, intact = false;
        if (!read_header(file, at, &header, &header_intact, status) ||
            (header_intact && !read_body(file, body, &header, &intact, status)) ||
            (intact && !index_chunk(trace, &header, body, status)))
            return false;
        if (intact)
            at = body + header.body_size;
        else if (!skip_damage(trace, at,
                              after_damage(file, at, header_intact ? header.body_size : 0), &at,
                              status))
            return false;
    }
    return true;
}

static bool build_index(struct trace *trace, struct status *status) {
    struct trace_file *file = trace->file;
    bool ok = index_chunks(trace, status);
    memory_free(file->window);
    file->window = NULL;
    file->window_capacity = 0;
    if (!ok)
        return false;
    for (size_t i = 0; i < trace->writer_count; i++) {
        const struct writer_state *writer = &file->writers[i];
        trace->writers_unfinished += !writer->finished;
        if (writer->sequence_last + 1 > writer->sequences_seen)
            trace->missing_chunks += writer->sequence_last + 1 - writer->sequences_seen;
    }
    return true;
}

/* ---- columns ---- */

/* NULL when the chunk lacks the column. */
static const struct stored_column *find_column(const struct trace_file *file,
                                               const struct chunk_ref *chunk, unsigned column) {
    const struct stored_column *stored = file->columns + chunk->columns;
    for (unsigned i = 0; i < chunk->header.columns; i++)
        if (stored[i].entry.column == column)
            return &stored[i];
    return NULL;
}

/* Reads a column's bytes into decoder->stored. */
static bool read_column(const struct trace_file *file, struct column_decoder *decoder,
                        const struct stored_column *stored, struct status *status) {
    size_t size = stored->entry.stored_size;
    if (!GROW(decoder->stored, &decoder->capacity, size, status) ||
        !read_at(file, stored->offset, decoder->stored, size, status))
        return false;
    return checksum64(decoder->stored, size) == stored->checksum || changed(status);
}

static void column_decoder_finish(struct column_decoder *decoder) {
    chunk_decoder_finish(&decoder->decoder);
    memory_free(decoder->stored);
}

static const struct id_map *map_for(const struct writer_state *writer, enum column_type type) {
    switch (type) {
    case COLUMN_STRING:
        return &writer->strings;
    case COLUMN_PROCESS:
        return &writer->entities[TABLE_PROCESS];
    case COLUMN_THREAD:
        return &writer->entities[TABLE_THREAD];
    case COLUMN_DEVICE:
        return &writer->entities[TABLE_DEVICE];
    case COLUMN_QUEUE:
        return &writer->entities[TABLE_QUEUE];
    case COLUMN_STACK:
        return &writer->entities[TABLE_STACK];
    default:
        return NULL;
    }
}

static void apply_map(const struct id_map *map, uint32_t *values, size_t rows) {
    for (size_t i = 0; i < rows; i++)
        values[i] = values[i] < map->count ? map->to[values[i]] : 0;
}

static bool is_time(int64_t time) {
    return time <= TRACE_TIME_LIMIT && time >= -TRACE_TIME_LIMIT;
}

/* Enumerators are used as array indexes. Values of later versions become the first one where that
 * means "unknown" or "other". */
static bool check_values(enum trace_table table, unsigned column, uint8_t *values, size_t rows,
                         struct status *status) {
    unsigned known = column_values(table, column);
    if (known == 0)
        return true;
    const char *first = column_names(table, column)(0);
    bool has_unknown = strcmp(first, "unknown") == 0 || strcmp(first, "other") == 0;
    for (size_t i = 0; i < rows; i++) {
        if (values[i] < known)
            continue;
        if (!has_unknown)
            return status_fail(status, STATUS_INPUT,
                               "a value (%u) is unknown to this version of ridge", values[i]);
        values[i] = 0;
    }
    return true;
}

static bool decode_chunk_column(const struct trace *trace, struct column_decoder *decoder,
                                const struct chunk_ref *chunk, unsigned column, void *values,
                                struct status *status) {
    const struct column_info *info = &trace_tables[chunk->table].columns[column];
    const struct writer_state *writer = &trace->file->writers[chunk->writer];
    const struct stored_column *stored = find_column(trace->file, chunk, column);
    size_t rows = chunk->header.rows;
    if (!stored) {
        memset(values, 0, rows * info->size); /* written before the column existed */
        return true;
    }
    if (!read_column(trace->file, decoder, stored, status) ||
        !chunk_decode_column(&decoder->decoder, &stored->entry, decoder->stored, rows, info->size,
                             values, status))
        return false;
    const struct id_map *map = map_for(writer, info->type);
    if (map)
        apply_map(map, values, rows);
    else if (info->type == COLUMN_TIME) {
        int64_t *times = values;
        for (size_t i = 0; i < rows; i++) {
            if (is_time(times[i]))
                times[i] += writer->clock_offset;
            if (!is_time(times[i]))
                return status_fail(status, STATUS_INPUT, "a time is out of range");
        }
    } else if (info->type == COLUMN_I64 && strcmp(info->name, "duration") == 0) {
        const int64_t *durations = values;
        for (size_t i = 0; i < rows; i++)
            if (durations[i] < 0 || durations[i] > TRACE_TIME_LIMIT)
                return status_fail(status, STATUS_INPUT, "a duration is out of range");
    } else if (info->type == COLUMN_U8) {
        return check_values(chunk->table, column, values, rows, status);
    }
    return true;
}

/* Replaces `values` by a reordered copy. */
static bool reorder_column(const uint32_t *order, size_t rows, size_t size, void **values,
                           struct status *status) {
    void *sorted = memory_allocate(rows, size, status);
    if (!sorted)
        return false;
    for (size_t i = 0; i < rows; i++) {
        if (size == 8)
            ((uint64_t *)sorted)[i] = ((const uint64_t *)*values)[order[i]];
        else if (size == 4)
            ((uint32_t *)sorted)[i] = ((const uint32_t *)*values)[order[i]];
        else
            ((uint8_t *)sorted)[i] = ((const uint8_t *)*values)[order[i]];
    }
    memory_free(*values);
    *values = sorted;
    return true;
}

static bool load_column(struct trace *trace, unsigned table, unsigned column,
                        struct status *status) {
    void **pointer = column_pointer(trace, table, column);
    if (*pointer)
        return true;
    size_t size = trace_tables[table].columns[column].size;
    char *values = memory_allocate(*row_count(trace, table), size, status);
    struct column_decoder decoder = {0};
    size_t at = 0;
    bool ok = values != NULL;
    for (size_t i = 0; i < trace->file->chunk_count && ok; i++) {
        const struct chunk_ref *chunk = &trace->file->chunks[i];
        if (chunk->table != (int)table)
            continue;
        ok = decode_chunk_column(trace, &decoder, chunk, column, values + at * size, status);
        at += chunk->header.rows;
    }
    column_decoder_finish(&decoder);
    if (!ok) {
        memory_free(values);
        return false;
    }
    *pointer = values;
    const uint32_t *order = trace->file->order[table];
    return !order || reorder_column(order, *row_count(trace, table), size, pointer, status);
}

/* Columns of one table to load or reorder, each a separate task. */
struct column_work {
    struct trace *trace;
    enum trace_table table;
    unsigned columns[TABLE_COLUMNS_MAX];
    size_t count;
};

static bool reorder_task(void *context, size_t index, struct status *status) {
    struct column_work *work = context;
    unsigned column = work->columns[index];
    return reorder_column(work->trace->file->order[work->table],
                          *row_count(work->trace, work->table),
                          trace_tables[work->table].columns[column].size,
                          column_pointer(work->trace, work->table, column), status);
}

bool trace_reorder(struct trace *trace, enum trace_table table, uint32_t *order,
                   struct status *status) {
    struct column_work work = {.trace = trace, .table = table};
    trace->file->order[table] = order;
    for (unsigned column = 0; column < trace_tables[table].column_count; column++)
        if (*column_pointer(trace, table, column))
            work.columns[work.count++] = column;
    return parallel_run(work.count, reorder_task, &work, status);
}

static bool load_task(void *context, size_t index, struct status *status) {
    struct column_work *work = context;
    unsigned column = work->columns[index];
    return load_column(work->trace, work->table, column, status) ||
           status_context(status, "column %s.%s", trace_tables[work->table].name,
                          trace_tables[work->table].columns[column].name);
}

static bool names_column(const char *columns, const char *name) {
    while (*columns) {
        size_t length = strcspn(columns, " ");
        if (strlen(name) == length && memcmp(columns, name, length) == 0)
            return true;
        columns += length;
        columns += strspn(columns, " ");
    }
    return false;
}

bool trace_load(struct trace *trace, enum trace_table table, const char *columns,
                struct status *status) {
    const struct table_info *info = &trace_tables[table];
    struct column_work work = {.trace = trace, .table = table};
    if (table < TABLE_ACTIVITY)
        return true; /* loaded on opening */
    for (unsigned column = 0; column < info->column_count; column++)
        if (!columns || names_column(columns, info->columns[column].name))
            work.columns[work.count++] = column;
    return parallel_run(work.count, load_task, &work, status);
}

void trace_unload(struct trace *trace, enum trace_table table, const char *column) {
    const struct table_info *info = &trace_tables[table];
    for (unsigned i = 0; i < info->column_count && table >= TABLE_ACTIVITY; i++)
        if (strcmp(info->columns[i].name, column) == 0) {
            void **pointer = column_pointer(trace, table, i);
            memory_free(*pointer);
            *pointer = NULL;
        }
}

/* ---- strings and entities ---- */

/* Ids are consecutive unless chunks are lost. `unused` counts the missing ones, which use memory
 * but no bytes of the file. */
static bool map_id(struct id_map *map, uint64_t id, uint32_t to, uint64_t *unused,
                   struct status *status) {
    enum { UNUSED_IDS_MAX = 64 << 20 };
    size_t before = map->count;
    *unused += id > before ? id - before : 0;
    if (id >= UINT32_MAX || *unused > UNUSED_IDS_MAX)
        return status_fail(status, STATUS_INPUT, "ids are not consecutive");
    if (id >= before) {
        if (!GROW(map->to, &map->capacity, id + 1, status))
            return false;
        memset(map->to + before, 0, (id + 1 - before) * sizeof *map->to);
        map->count = id + 1;
    }
    map->to[id] = to;
    return true;
}

static bool load_strings(struct trace *trace, const struct chunk_ref *chunk,
                         struct status *status) {
    struct trace_file *file = trace->file;
    struct column_decoder *decoder = &file->decoder;
    struct id_map *map = &file->writers[chunk->writer].strings;
    const struct stored_column *stored_lengths = find_column(file, chunk, 0);
    const struct stored_column *stored_bytes = find_column(file, chunk, 1);
    size_t rows = chunk->header.rows;
    if (!stored_lengths || !stored_bytes)
        return status_fail(status, STATUS_INPUT, "a chunk of strings lacks a column");
    uint32_t *lengths = memory_allocate(rows, sizeof *lengths, status);
    struct text bytes;
    bool ok = lengths && read_column(file, decoder, stored_lengths, status) &&
              chunk_decode_column(&decoder->decoder, &stored_lengths->entry, decoder->stored, rows,
                                  sizeof *lengths, lengths, status) &&
              read_column(file, decoder, stored_bytes, status) &&
              chunk_decode_bytes(&decoder->decoder, &stored_bytes->entry, decoder->stored, &bytes,
                                 status);
    size_t at = 0;
    for (size_t i = 0; i < rows && ok; i++) {
        uint32_t id;
        if (lengths[i] > bytes.length - at) {
            ok = status_fail(status, STATUS_INPUT, "a string reaches beyond its chunk");
            break;
        }
        struct text string = lengths[i] ? (struct text){bytes.data + at, lengths[i]} : TEXT("");
        ok = intern_add(&trace->strings, string, &id, status) &&
             map_id(map, chunk->header.first_id + i, id, &file->unused_ids, status);
        at += lengths[i];
    }
    memory_free(lengths);
    return ok;
}

static uint32_t **session_column(struct trace *trace, unsigned table) {
    switch (table) {
    case TABLE_PROCESS:
        return &trace->process_session;
    case TABLE_THREAD:
        return &trace->thread_session;
    case TABLE_DEVICE:
        return &trace->device_session;
    default:
        return &trace->queue_session;
    }
}

/* The key that identifies an entity within a session; 0: rows are always distinct. */
static uint64_t entity_key(unsigned table, const void *row, uint32_t session) {
    uint64_t parts[8] = {table, session};
    if (table == TABLE_PROCESS) {
        const struct row_process *process = row;
        parts[2] = process->pid;
        parts[3] = process->host;
    } else if (table == TABLE_THREAD) {
        const struct row_thread *thread = row;
        parts[2] = thread->process;
        parts[3] = (uint64_t)thread->tid;
    } else if (table == TABLE_DEVICE) {
        const struct row_device *device = row;
        parts[2] = device->uuid ? 0 : device->index;
        parts[3] = device->uuid ? 0 : device->label;
        parts[4] = device->uuid;
    } else {
        const struct row_queue *queue = row;
        parts[2] = queue->device;
        parts[3] = queue->process;
        parts[4] = queue->context;
        parts[5] = (uint64_t)queue->stream;
    }
    uint64_t key = checksum64(parts, sizeof parts);
    return key ? key : 1;
}

static bool add_entity(struct trace *trace, unsigned table, const void *row, uint32_t session,
                       uint32_t *id, struct status *status) {
    struct trace_file *file = trace->file;
    const struct table_info *info = &trace_tables[table];
    uint64_t key = entity_key(table, row, session);
    uint64_t *known = row ? map_find(&file->entity_by_key, key) : NULL;
    size_t *count = row_count(trace, table);
    *id = known ? (uint32_t)*known : (uint32_t)*count;
    for (unsigned column = 0; column < info->column_count; column++) {
        char **values = (char **)column_pointer(trace, table, column);
        size_t size = info->columns[column].size;
        const char *value = (const char *)row + info->columns[column].row_offset;
        static const char zero[8];
        if (known && memcmp(value, zero, size) == 0)
            continue; /* later rows fill in missing fields and never clear them */
        if (!known && !memory_grow((void **)values, &file->entity_capacity[table][column],
                                   *count + 1, size, status))
            return false;
        memcpy(*values + *id * size, value, size);
    }
    if (known)
        return true;
    uint32_t **sessions = session_column(trace, table);
    if (!GROW(*sessions, &file->session_column_capacity[table - TABLE_PROCESS], *count + 1,
              status) ||
        !map_set(&file->entity_by_key, key, *id, status))
        return false;
    (*sessions)[*id] = session;
    (*count)++;
    return true;
}

static bool load_entities(struct trace *trace, const struct chunk_ref *chunk,
                          struct status *status) {
    struct writer_state *writer = &trace->file->writers[chunk->writer];
    unsigned table = (unsigned)chunk->table;
    const struct table_info *info = &trace_tables[table];
    size_t rows = chunk->header.rows;
    void *columns[TABLE_COLUMNS_MAX] = {0};
    bool ok = true;
    for (unsigned column = 0; column < info->column_count && ok; column++) {
        columns[column] = memory_allocate(rows, info->columns[column].size, status);
        ok = columns[column] && decode_chunk_column(trace, &trace->file->decoder, chunk, column,
                                                    columns[column], status);
    }
    for (size_t i = 0; i < rows && ok; i++) {
        _Alignas(8) char row[sizeof(struct row_device)];
        uint32_t id;
        memset(row, 0, sizeof row);
        for (unsigned column = 0; column < info->column_count; column++) {
            size_t size = info->columns[column].size;
            memcpy(row + info->columns[column].row_offset, (char *)columns[column] + i * size,
                   size);
        }
        ok = add_entity(trace, table, row, writer->session_index, &id, status) &&
             map_id(&writer->entities[table], chunk->header.first_id + i, id,
                    &trace->file->unused_ids, status);
    }
    for (unsigned column = 0; column < info->column_count; column++)
        memory_free(columns[column]);
    return ok;
}

/* Row 0 of every entity table is "none". */
static bool add_none_rows(struct trace *trace, struct status *status) {
    static const char none[sizeof(struct row_device)];
    for (unsigned table = TABLE_PROCESS; table < TABLE_STACK; table++) {
        uint32_t id;
        if (!add_entity(trace, table, none, UINT32_MAX, &id, status))
            return false;
    }
    return true;
}

/* Stacks are not merged, only renumbered: chunk by chunk after row 0. */
static bool load_stacks(struct trace *trace, struct status *status) {
    struct trace_file *file = trace->file;
    const struct table_info *info = &trace_tables[TABLE_STACK];
    size_t count = trace->stack.count + 1, at = 1;
    for (size_t i = 0; i < file->chunk_count; i++) {
        const struct chunk_ref *chunk = &file->chunks[i];
        if (chunk->table != TABLE_STACK)
            continue;
        struct id_map *map = &file->writers[chunk->writer].entities[TABLE_STACK];
        for (size_t row = 0; row < chunk->header.rows; row++)
            if (!map_id(map, chunk->header.first_id + row, (uint32_t)(at + row), &file->unused_ids,
                        status))
                return false;
        at += chunk->header.rows;
    }
    for (unsigned column = 0; column < info->column_count; column++) {
        uint32_t *values = memory_allocate(count, sizeof *values, status);
        if (!values)
            return false;
        *column_pointer(trace, TABLE_STACK, column) = values;
        at = 1;
        for (size_t i = 0; i < file->chunk_count; i++) {
            const struct chunk_ref *chunk = &file->chunks[i];
            if (chunk->table != TABLE_STACK)
                continue;
            if (!decode_chunk_column(trace, &file->decoder, chunk, column, values + at, status))
                return false;
            at += chunk->header.rows;
        }
    }
    trace->stack.count = count;
    for (size_t i = 1; i < count; i++)
        if (trace->stack.parent[i] >= i)
            return status_fail(status, STATUS_INPUT, "a stack's caller comes after it");
    return true;
}

static bool apply_clocks(struct trace *trace, struct status *status) {
    size_t at = 0;
    trace->meta_session =
        memory_allocate(trace->meta.count + 1, sizeof *trace->meta_session, status);
    if (!trace->meta_session)
        return false;
    for (size_t i = 0; i < trace->file->chunk_count; i++) {
        const struct chunk_ref *chunk = &trace->file->chunks[i];
        if (chunk->table != TABLE_META)
            continue;
        for (size_t row = 0; row < chunk->header.rows; row++, at++) {
            trace->meta_session[at] = trace->file->writers[chunk->writer].session_index;
            if (text_is(trace_text(trace, trace->meta.key[at]), META_CLOCK_OFFSET)) {
                int64_t *offset = &trace->file->writers[chunk->writer].clock_offset;
                if (!text_to_i64(trace_text(trace, trace->meta.value[at]), offset) ||
                    *offset > TRACE_TIME_LIMIT || *offset < -TRACE_TIME_LIMIT)
                    return status_fail(status, STATUS_INPUT, "the clock offset is not a time");
            }
        }
    }
    return true;
}

static bool load_names(struct trace *trace, struct status *status) {
    struct trace_file *file = trace->file;
    uint32_t none;
    if (!intern_add(&trace->strings, TEXT(""), &none, status) || !add_none_rows(trace, status))
        return false;
    for (size_t i = 0; i < trace->writer_count; i++) {
        struct writer_state *writer = &file->writers[i];
        if (!map_id(&writer->strings, 0, 0, &file->unused_ids, status))
            return false;
        for (unsigned table = 0; table < TABLE_ACTIVITY; table++)
            if (!map_id(&writer->entities[table], 0, 0, &file->unused_ids, status))
                return false;
    }
    for (size_t i = 0; i < file->chunk_count; i++)
        if (file->chunks[i].header.type == CHUNK_STRINGS &&
            !load_strings(trace, &file->chunks[i], status))
            return false;
    if (!load_column(trace, TABLE_META, 0, status) || !load_column(trace, TABLE_META, 1, status) ||
        !apply_clocks(trace, status))
        return false;
    for (int table = TABLE_PROCESS; table < TABLE_STACK; table++)
        for (size_t i = 0; i < file->chunk_count; i++)
            if (file->chunks[i].table == table && !load_entities(trace, &file->chunks[i], status))
                return false;
    return load_stacks(trace, status);
}

/* ---- opening and closing ---- */

static bool examine(struct trace *trace, int fd, struct status *status) {
    struct stat info;
    if (fstat(fd, &info) != 0)
        return status_fail_errno(status, "cannot examine it");
    if (!S_ISREG(info.st_mode))
        return status_fail(status, STATUS_INPUT, "is not a regular file");
    if (info.st_size == 0)
        return status_fail(status, STATUS_INPUT, "is empty");
    trace->file->size = (uint64_t)info.st_size;
    trace->file_bytes = (uint64_t)info.st_size;
    trace->file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3); /* after the standard streams */
    if (trace->file->fd < 0)
        return status_fail_errno(status, "cannot open");
    unsigned char magic[sizeof chunk_magic];
    bool is_trace = trace->file->size >= sizeof magic;
    if (is_trace && !read_at(trace->file, 0, magic, sizeof magic, status))
        return false;
    if (!is_trace || !trace_detect(magic, sizeof magic))
        return status_fail(status, STATUS_INPUT, "is not a ridge trace");
    return true;
}

bool trace_open_fd(int fd, const char *name, struct trace **out, struct status *status) {
    struct trace *trace = memory_allocate(1, sizeof *trace, status);
    *status = (struct status){0};
    if (trace)
        trace->file = memory_allocate(1, sizeof *trace->file, status);
    if (!trace || !trace->file) {
        memory_free(trace);
        return status_no_memory(status);
    }
    trace->file->fd = -1;
    bool ok = examine(trace, fd, status) && build_index(trace, status);
    if (ok && trace->writer_count == 0)
        ok =
            status_fail(status, STATUS_INPUT,
                        "contains no complete chunk: the recorder ended before writing one, or the "
                        "file is truncated");
    if (!ok || !load_names(trace, status)) {
        trace_close(trace);
        return status_context(status, "%s", name);
    }
    *out = trace;
    return true;
}

bool trace_open(const char *path, struct trace **trace, struct status *status) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return status_fail_errno(status, "cannot open %s", path);
    bool ok = trace_open_fd(fd, path, trace, status);
    close(fd);
    return ok;
}

/* Event tables have a time in their first column of that type; -1: none. */
static int time_column(unsigned table) {
    for (unsigned column = 0; column < trace_tables[table].column_count; column++)
        if (trace_tables[table].columns[column].type == COLUMN_TIME)
            return (int)column;
    return -1;
}

/* Whether one of the chunk's events starts in the window. */
static bool chunk_is_in(struct trace *trace, const struct chunk_ref *chunk, unsigned column,
                        const int64_t window[2], bool *inside, struct status *status) {
    size_t rows = chunk->header.rows;
    int64_t *times = memory_allocate(rows, sizeof *times, status);
    bool ok =
        times && decode_chunk_column(trace, &trace->file->decoder, chunk, column, times, status);
    *inside = false;
    for (size_t i = 0; i < rows && ok && !*inside; i++)
        *inside = times[i] >= window[0] && times[i] < window[1];
    memory_free(times);
    return ok;
}

bool trace_open_part(const struct trace *whole, int64_t start, int64_t end, struct trace **part,
                     struct status *status) {
    const int64_t window[2] = {start, end};
    struct trace *trace;
    if (!trace_open_fd(whole->file->fd, "the trace", &trace, status))
        return false;
    struct trace_file *file = trace->file;
    size_t kept = 0;
    bool ok = true;
    for (size_t i = 0; i < file->chunk_count && ok; i++) {
        const struct chunk_ref *chunk = &file->chunks[i];
        bool inside = true;
        int column = chunk->table >= TABLE_ACTIVITY ? time_column((unsigned)chunk->table) : -1;
        if (column >= 0)
            ok = chunk_is_in(trace, chunk, (unsigned)column, window, &inside, status);
        if (!inside)
            *row_count(trace, (unsigned)chunk->table) -= chunk->header.rows;
        else
            file->chunks[kept++] = *chunk;
    }
    file->chunk_count = kept;
    if (!ok) {
        trace_close(trace);
        return false;
    }
    *part = trace;
    return true;
}

void trace_close(struct trace *trace) {
    if (!trace)
        return;
    struct trace_file *file = trace->file;
    for (unsigned table = 0; table < TABLE_COUNT; table++)
        for (unsigned column = 0; column < trace_tables[table].column_count; column++)
            memory_free(*column_pointer(trace, table, column));
    for (size_t i = 0; i < trace->writer_count; i++) {
        memory_free(file->writers[i].strings.to);
        for (unsigned table = 0; table < TABLE_ACTIVITY; table++)
            memory_free(file->writers[i].entities[table].to);
    }
    for (unsigned table = 0; table < TABLE_COUNT; table++)
        memory_free(file->order[table]);
    memory_free(trace->meta_session);
    memory_free(trace->process_session);
    memory_free(trace->thread_session);
    memory_free(trace->device_session);
    memory_free(trace->queue_session);
    intern_finish(&trace->strings);
    map_finish(&file->writer_by_id);
    map_finish(&file->session_by_id);
    map_finish(&file->chunk_places);
    map_finish(&file->entity_by_key);
    column_decoder_finish(&file->decoder);
    memory_free(file->window);
    memory_free(file->columns);
    memory_free(file->writers);
    memory_free(file->chunks);
    if (file->fd >= 0)
        close(file->fd);
    memory_free(file);
    memory_free(trace);
}

struct text trace_meta(const struct trace *trace, const char *key) {
    for (size_t i = 0; i < trace->meta.count; i++)
        if (text_is(trace_text(trace, trace->meta.key[i]), key))
            return trace_text(trace, trace->meta.value[i]);
    return TEXT("");
}

struct text trace_session_meta(const struct trace *trace, uint32_t session, const char *key) {
    for (size_t i = 0; i < trace->meta.count; i++)
        if (trace->meta_session[i] == session &&
            text_is(trace_text(trace, trace->meta.key[i]), key))
            return trace_text(trace, trace->meta.value[i]);
    return TEXT("");
}

int64_t trace_meta_sum(const struct trace *trace, const char *key) {
    int64_t sum = 0, value;
    for (size_t i = 0; i < trace->meta.count; i++)
        if (text_is(trace_text(trace, trace->meta.key[i]), key) &&
            text_to_i64(trace_text(trace, trace->meta.value[i]), &value) &&
            __builtin_add_overflow(sum, value, &sum))
            sum = INT64_MAX;
    return sum;
}
