/* What did the trace know that ridge exported as a Chrome trace? Rows are read by the schema, one
 * at a time. An entity may only name one that came before it; other references are left out, as are
 * columns that this version does not know. */
#include "import/kineto/kineto_own.h"

#include <inttypes.h>

#include "import/row.h"

/* A row as it stands in the file. */
struct own_row {
    struct {
        bool is_number;
        int64_t number;
        struct scan_string string; /* raw.data is NULL when the column is absent or a number */
    } columns[TABLE_COLUMNS_MAX];
    int64_t pid, tid;
    bool has_pid, has_tid;
};

/* Rows by their position in the file's lists. */
struct own {
    struct kineto_rows *rows;
    struct map ids; /* table << 32 | position */
    struct buffer key;
    uint32_t counts[TABLE_ACTIVITY];
};

static const char *scan_column(struct scan *scan, const char *at, enum trace_table table,
                               struct text key, struct own_row *row) {
    if (text_is(key, OWN_PID))
        return scan_integer(scan, at, &row->pid, &row->has_pid);
    if (text_is(key, OWN_TID))
        return scan_integer(scan, at, &row->tid, &row->has_tid);
    int column = import_row_column(table, key);
    if (column < 0)
        return scan_skip(scan, at);
    if (trace_tables[table].columns[column].type != COLUMN_STRING)
        return scan_integer(scan, at, &row->columns[column].number,
                            &row->columns[column].is_number);
    return *at == '"' ? scan_string(scan, at, &row->columns[column].string) : scan_skip(scan, at);
}

static const char *scan_row(struct scan *scan, const char *at, enum trace_table table,
                            struct own_row *row) {
    bool closed;
    *row = (struct own_row){0};
    at = scan_first_member(at, &closed);
    while (!closed) {
        struct text key;
        if (!(at = scan_key(scan, at, &key)) || !(at = scan_column(scan, at, table, key, row)) ||
            !(at = scan_next_member(scan, at, &closed)))
            return NULL;
    }
    return at;
}

static uint64_t id_key(int table, uint64_t position) {
    return (uint64_t)table << 32 | (position & UINT32_MAX);
}

static uint32_t referred(const struct own *own, int table, int64_t position) {
    const uint64_t *id = position > 0 && position <= UINT32_MAX
                             ? map_find(&own->ids, id_key(table, (uint64_t)position))
                             : NULL;
    return id ? (uint32_t)*id : 0;
}

static void fill(struct own *own, const struct own_row *from, struct import_row *row) {
    const struct table_info *info = &trace_tables[row->table];
    for (unsigned column = 0; column < info->column_count; column++) {
        int target = import_row_target(info->columns[column].type);
        int64_t number = from->columns[column].number;
        if (from->columns[column].string.raw.data)
            import_row_set(row, column, rows_string(own->rows, &from->columns[column].string));
        else if (from->columns[column].is_number)
            import_row_set(row, column,
                           target >= 0 ? referred(own, target, number) : (uint64_t)number);
    }
}

/* The file is not the one that the trace came from, and offsets are part of the times. */
static bool is_left_out(const struct own_row *row) {
    struct text key = row->columns[0].string.raw;
    return key.length == 0 || text_is(key, META_CLOCK_OFFSET) || text_is(key, META_SOURCE_FILE);
}

static bool add_row(struct own *own, enum trace_table table, const struct own_row *from,
                    struct status *status) {
    struct places *places = &own->rows->places;
    struct event_id pid = {.number = from->pid}, tid = {.number = from->tid};
    struct import_row row;
    import_row_begin(&row, table);
    if (table == TABLE_META && is_left_out(from))
        return true;
    fill(own, from, &row);
    uint32_t id = import_row_write(&row, own->rows->writer);
    if (table == TABLE_DEVICE && from->has_pid)
        places_adopt_device(places, &pid, &row.of.device, id);
    else if (table == TABLE_THREAD && from->has_pid && from->has_tid)
        places_adopt_thread(places, &pid, &tid, &row.of.thread, id);
    else if (table == TABLE_QUEUE && from->has_pid && from->has_tid)
        places_adopt_queue(places, &pid, &tid, &row.of.queue, id);
    if (places->failed) {
        *status = places->why;
        return false;
    }
    return table == TABLE_META ||
           map_set(&own->ids, id_key(table, ++own->counts[table]), id, status);
}

static bool read_row(struct own *own, enum trace_table table, struct status *status) {
    struct scan *scan = own->rows->scan;
    struct own_row row;
    const char *after;
    if (*scan->at != '{')
        return scan_unexpected(scan, "a row (an object)", status);
    while (!(after = scan_row(scan, scan->at, table, &row)))
        if (!scan_more(scan, "a row", status))
            return false;
    if (!add_row(own, table, &row, status))
        return false;
    scan->at = after;
    return true;
}

static bool read_table(struct own *own, enum trace_table table, struct status *status) {
    struct scan *scan = own->rows->scan;
    bool more, ok = scan_enter(scan, ']', &more, status);
    while (ok && more && !trace_writer_failed(own->rows->writer))
        ok = read_row(own, table, status) && scan_next(scan, ']', &more, status);
    return ok;
}

static bool read_layout(struct own *own, struct status *status) {
    struct scan *scan = own->rows->scan;
    const char *after;
    int64_t layout = 0;
    bool is_number = false;
    while (!(after = scan_integer(scan, scan->at, &layout, &is_number)))
        if (!scan_more(scan, "a number", status))
            return false;
    scan->at = after;
    return layout <= OWN_LAYOUT_VERSION || status_fail(status, STATUS_UNSUPPORTED,
                                                       "exported by a newer ridge (layout %" PRId64
                                                       ", this one reads %d); update ridge",
                                                       layout, OWN_LAYOUT_VERSION);
}

static bool read_member(struct own *own, struct status *status) {
    struct scan *scan = own->rows->scan;
    struct text key;
    if (!scan_key_copy(scan, &own->key, &key, status))
        return false;
    if (text_is(key, OWN_LAYOUT))
        return read_layout(own, status);
    for (unsigned table = 0; table < TABLE_STACK; table++)
        if (*scan->at == '[' && text_is(key, trace_tables[table].name))
            return read_table(own, table, status);
    return json_skip(scan, status);
}

bool own_read(struct kineto_rows *rows, struct status *status) {
    struct own own = {.rows = rows};
    rows->own = true;
    bool more, ok = scan_enter(rows->scan, '}', &more, status);
    while (ok && more && !trace_writer_failed(rows->writer))
        ok = read_member(&own, status) && scan_next(rows->scan, '}', &more, status);
    map_finish(&own.ids);
    buffer_finish(&own.key);
    return ok;
}
