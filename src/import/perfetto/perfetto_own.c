/* Ridge's own Perfetto exports, row by row: the category of an event names its table, annotations
 * are its columns, and the track tells the entity. import/perfetto/perfetto_layout.h is the
 * agreement. What does not keep to it (a file edited by hand) fails; nothing is guessed. */
#include "import/perfetto/perfetto.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"

enum { RECORDINGS_MAX = 4096 };

static const size_t row_size[TABLE_COUNT] = {
#define ROW_SIZE(table, TABLE, fourcc) sizeof(struct row_##table),
    TRACE_TABLES(ROW_SIZE)};

static bool damaged(struct perfetto_import *import, const char *what) {
    return status_fail(import->status, STATUS_INPUT,
                       "the packet at byte %" PRIu64 " %s; the file was changed after ridge wrote "
                       "it: export the trace again",
                       import->offset, what);
}

bool perfetto_is_header(const struct perfetto_import *import, const struct perfetto_event *event) {
    return event->type == TYPE_INSTANT &&
           text_is(intern_text(&import->texts, event->category), PERFETTO_HEADER);
}

static int table_named(struct text name) {
    for (int table = 0; table < TABLE_COUNT; table++)
        if (text_is(name, trace_tables[table].name))
            return table;
    return -1;
}

/* The column that an annotation is called after, plus one; 0 when it is none. */
static unsigned column_named(struct perfetto_import *import, unsigned table, uint32_t name) {
    uint64_t key = (uint64_t)table << 32 | name;
    uint64_t *known = map_find(&import->columns, key);
    if (known)
        return (unsigned)*known;
    int column = import_row_column(table, intern_text(&import->texts, name));
    struct status ignored;
    map_set(&import->columns, key, (uint64_t)(column + 1), &ignored);
    return (unsigned)(column + 1);
}

static uint32_t entity(const struct perfetto_import *import, int table, uint64_t id) {
    const uint64_t *known = map_find(&import->entities[table], id);
    return known ? (uint32_t)*known : 0;
}

static void set_column(struct perfetto_import *import, struct import_row *row, unsigned column,
                       const struct perfetto_annotation *value) {
    enum column_type type = trace_tables[row->table].columns[column].type;
    int target = import_row_target(type);
    if (value->field == ANNOTATION_STRING || value->field == ANNOTATION_STRING_ID) {
        if (!import_row_set_text(row, column, import->writer, value->text) &&
            text_is(value->text, PERFETTO_UNKNOWN) && type == COLUMN_U64)
            import_row_set(row, column, BYTES_UNKNOWN);
    } else if (target >= 0) {
        import_row_set(row, column, entity(import, target, value->bits));
    } else if (type != COLUMN_STRING) {
        import_row_set(row, column, value->bits);
    }
}

/* Fills the row from the annotations; *id and *number are -1 when absent. */
static void read_columns(struct perfetto_import *import, const struct perfetto_packet *packet,
                         const struct perfetto_event *event, struct import_row *row, int64_t *id,
                         int64_t *number) {
    struct protobuf message = protobuf_of(event->message);
    struct protobuf_field field;
    *id = *number = -1;
    while (protobuf_next(&message, &field)) {
        if (field.number != EVENT_ANNOTATION || field.type != PROTOBUF_BYTES)
            continue;
        struct perfetto_annotation value;
        perfetto_annotation(import, packet->sequence, field.bytes, &value);
        unsigned column = column_named(import, row->table, value.name);
        struct text name = intern_text(&import->texts, value.name);
        if (column)
            set_column(import, row, column - 1, &value);
        else if (text_is(name, PERFETTO_ID))
            *id = (int64_t)value.bits;
        else if (text_is(name, PERFETTO_ROW))
            *number = (int64_t)value.bits;
    }
}

static bool hold_row(struct perfetto_import *import, const struct import_row *row, int64_t number) {
    struct held_rows *held = &import->held[row->table];
    size_t size = row_size[row->table];
    if (!memory_grow((void **)&held->rows, &held->rows_capacity, held->count + 1, size,
                     import->status) ||
        !GROW(held->numbers, &held->numbers_capacity, held->count + 1, import->status))
        return false;
    memcpy(held->rows + held->count * size, &row->of, size);
    held->numbers[held->count++] = number;
    return true;
}

static bool write_held(struct perfetto_import *import, unsigned table) {
    struct held_rows *held = &import->held[table];
    if (held->count == 0)
        return true;
    uint32_t *order = NULL, *group = memory_allocate(held->count, sizeof *group, import->status);
    bool ok =
        group && sort_rows(group, 1, held->numbers, NULL, held->count, &order, import->status);
    struct import_row row;
    for (size_t i = 0; ok && i < held->count && !trace_writer_failed(import->writer); i++) {
        size_t at = order ? order[i] : i;
        import_row_begin(&row, table);
        memcpy(&row.of, held->rows + at * row_size[table], row_size[table]);
        import_row_write(&row, import->writer);
    }
    memory_free(order);
    memory_free(group);
    held->count = 0;
    return ok;
}

bool perfetto_own_end(struct perfetto_import *import) {
    if (import->has_pending)
        return damaged(import, "lacks the end of the slice before it");
    for (unsigned table = 0; table < TABLE_COUNT; table++)
        if (!write_held(import, table))
            return false;
    return true;
}

bool perfetto_own_header(struct perfetto_import *import, const struct perfetto_packet *packet,
                         const struct perfetto_event *event) {
    struct protobuf message = protobuf_of(event->message);
    struct protobuf_field field;
    uint64_t version = 0;
    if (!perfetto_own_end(import))
        return false;
    if (import->has_own || import->has_foreign) {
        if (!perfetto_close_slices(import))
            return false;
        if (++import->recordings > RECORDINGS_MAX)
            return damaged(import, "begins one recording more than the 4096 that are read");
        trace_writer_next_session(import->writer);
        for (size_t i = 0; i < import->track_count; i++)
            import->tracks[i].thread = 0;
        map_finish(&import->places);
    }
    for (unsigned table = 0; table < TABLE_ACTIVITY; table++)
        map_finish(&import->entities[table]);
    import->own_offset = 0;
    while (protobuf_next(&message, &field)) {
        struct perfetto_annotation value;
        if (field.number != EVENT_ANNOTATION || field.type != PROTOBUF_BYTES)
            continue;
        perfetto_annotation(import, packet->sequence, field.bytes, &value);
        struct text name = intern_text(&import->texts, value.name);
        if (text_is(name, PERFETTO_VERSION))
            version = value.bits;
        else if (text_is(name, PERFETTO_OFFSET))
            import->own_offset = (int64_t)value.bits;
    }
    if (version > PERFETTO_LAYOUT_VERSION)
        return status_fail(import->status, STATUS_UNSUPPORTED,
                           "exported by a newer ridge (layout %" PRIu64 ", this one reads %d); "
                           "update ridge",
                           version, PERFETTO_LAYOUT_VERSION);
    if (import->own_offset > 0 || import->own_offset < -TRACE_TIME_LIMIT)
        return damaged(import, "has an impossible time offset");
    packet->sequence->own = true;
    import->has_own = true;
    return true;
}

/* The text of an event's own name goes to the column `name`, for tables that have one. */
static void set_name(struct perfetto_import *import, struct import_row *row, uint32_t text) {
    int column = import_row_column(row->table, TEXT("name"));
    if (column >= 0)
        import_row_set(row, (unsigned)column, perfetto_string(import, text));
}

/* The column of the entity whose track this is. */
static void set_track(struct perfetto_import *import, struct import_row *row, uint64_t track) {
    unsigned kind = track_kind(track);
    bool queue = kind == TABLE_ACTIVITY || kind == TABLE_WAIT || kind == TABLE_RANGE;
    int column = import_row_column(row->table, queue ? TEXT("queue") : TEXT("thread"));
    int target = queue ? TABLE_QUEUE : TABLE_THREAD;
    if (column >= 0)
        import_row_set(row, (unsigned)column, entity(import, target, track_id(track)));
}

static bool deliver(struct perfetto_import *import, const struct import_row *row, int64_t number) {
    bool drop;
    if (!perfetto_check_row(import, row, &drop))
        return false;
    if (drop)
        return true;
    if (number >= 0)
        return hold_row(import, row, number);
    import_row_write(row, import->writer);
    return true;
}

static bool read_entity(struct perfetto_import *import, const struct perfetto_packet *packet,
                        const struct perfetto_event *event, enum trace_table table) {
    struct import_row row;
    int64_t id, number;
    import_row_begin(&row, table);
    read_columns(import, packet, event, &row, &id, &number);
    if (table == TABLE_META) {
        import->has_format |= text_is(intern_text(&import->texts, event->name), META_SOURCE_FORMAT);
        import_row_set(&row, 0, perfetto_string(import, event->name));
        import_row_write(&row, import->writer);
        return true;
    }
    if (id <= 0)
        return damaged(import, "describes an entity without an id");
    return map_set(&import->entities[table], (uint64_t)id, import_row_write(&row, import->writer),
                   import->status);
}

static bool read_counter(struct perfetto_import *import, const struct perfetto_event *event,
                         struct import_row *row, int64_t number) {
    const struct perfetto_track *track = perfetto_track(import, event->track);
    if (!track)
        return false;
    row->of.counter.device = entity(import, TABLE_DEVICE, track_lane(event->track));
    row->of.counter.name = perfetto_string(import, track->name);
    row->of.counter.value = event->value;
    return deliver(import, row, number);
}

static bool end_slice(struct perfetto_import *import, const struct perfetto_event *event,
                      int64_t time) {
    if (!import->has_pending || import->pending_track != event->track)
        return damaged(import, "ends a slice that the packet before it did not begin");
    import->has_pending = false;
    int64_t start = (int64_t)import_row_get(&import->pending, 0), duration;
    if (__builtin_sub_overflow(time, start, &duration))
        duration = INT64_MAX;
    import_row_set(&import->pending, 1, (uint64_t)duration);
    return deliver(import, &import->pending, import->pending_number);
}

static bool read_row(struct perfetto_import *import, const struct perfetto_packet *packet,
                     const struct perfetto_event *event, enum trace_table table, int64_t time) {
    struct import_row row;
    int64_t id, number;
    bool slice = strcmp(trace_tables[table].columns[1].name, "duration") == 0;
    if (slice != (event->type == TYPE_BEGIN))
        return damaged(import, "has an event of the wrong type for its table");
    import_row_begin(&row, table);
    set_track(import, &row, event->track);
    read_columns(import, packet, event, &row, &id, &number);
    import_row_set(&row, 0, (uint64_t)time);
    if (table == TABLE_COUNTER)
        return read_counter(import, event, &row, number);
    set_name(import, &row, event->name);
    if (!slice)
        return deliver(import, &row, number);
    import->pending = row;
    import->has_pending = true;
    import->pending_track = event->track;
    import->pending_number = number;
    return true;
}

bool perfetto_own_event(struct perfetto_import *import, const struct perfetto_packet *packet,
                        const struct perfetto_event *event) {
    int64_t time;
    if (__builtin_add_overflow(packet->time, import->own_offset, &time))
        time = INT64_MAX;
    if (event->type == TYPE_END)
        return end_slice(import, event, time);
    if (import->has_pending)
        return damaged(import, "comes where the end of a slice was due");
    if (track_kind(event->track) == TRACK_ALLOCATED)
        return true;
    int table = table_named(intern_text(&import->texts, event->category));
    if (table < 0)
        return damaged(import, "is of no table");
    if (table < TABLE_ACTIVITY)
        return read_entity(import, packet, event, (enum trace_table)table);
    return read_row(import, packet, event, (enum trace_table)table, time);
}
