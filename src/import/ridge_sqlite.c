/* The databases that `ridge export --format sqlite` writes, read back column by column as the
 * schema names them. A column that is absent counts as zero, so databases of older and newer
 * versions read too; ids lead to whatever rows have them. */
#include "import/import.h"

#ifdef RIDGE_HAVE_SQLITE

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "import/row.h"
#include "import/sqlite_source.h"

/* Each recording is one pass over the database: this many, or as many as read this many bytes. */
enum { SESSIONS_MAX = 4096, SESSIONS_ALWAYS = 64, APPLICATION_ID_AT = 68 };
#define PASSES_BYTES_MAX ((uint64_t)8 << 30)

struct restore {
    struct sqlite_source source;
    const struct import_options *options;
    struct trace_writer *writer;
    struct status *status;
    uint32_t session;                    /* the one being read */
    bool has_format;                     /* the database says what the trace was made from */
    struct map ids[TABLE_ACTIVITY];      /* the database's to the writer's, of this session */
    struct map sessions[TABLE_ACTIVITY]; /* of every id */
    bool seen[SESSIONS_MAX];             /* recordings that have an entity */
};

/* "id start duration …" */
static bool list_columns(enum trace_table table, struct buffer *list, struct status *status) {
    const struct table_info *info = &trace_tables[table];
    buffer_clear(list);
    buffer_string(list, "id session");
    for (unsigned i = 0; i < info->column_count; i++)
        buffer_printf(list, " %s", info->columns[i].name);
    buffer_byte(list, 0);
    return buffer_ok(list, status);
}
enum { AT_ID, AT_SESSION, AT_COLUMNS };

static bool invalid(struct restore *restore, const struct sqlite_rows *rows, const char *why) {
    return status_fail(restore->status, STATUS_INPUT,
                       "row %" PRIu64 " of table %s has %s; --skip-invalid drops such events",
                       rows->row, rows->table, why);
}

static uint64_t number_of(const struct sqlite_rows *rows, unsigned at, enum column_type type) {
    double number;
    uint64_t bits;
    if (type == COLUMN_F64) {
        number = sqlite_rows_is_null(rows, at) ? (double)NAN : sqlite_rows_number(rows, at);
        memcpy(&bits, &number, sizeof bits);
        return sqlite_rows_has(rows, at) ? bits : 0;
    }
    bool unknown = type == COLUMN_U64 && sqlite_rows_has(rows, at) && sqlite_rows_is_null(rows, at);
    return unknown ? BYTES_UNKNOWN : (uint64_t)sqlite_rows_integer(rows, at, 0);
}

static void read_cell(struct restore *restore, const struct sqlite_rows *rows,
                      struct import_row *row, unsigned column) {
    enum column_type type = trace_tables[row->table].columns[column].type;
    unsigned at = AT_COLUMNS + column;
    int target = import_row_target(type);
    struct text text = sqlite_rows_text(rows, at);
    if (type == COLUMN_STRING || (text.length && column_names(row->table, column))) {
        import_row_set_text(row, column, restore->writer, text);
        return;
    }
    uint64_t bits = number_of(rows, at, type);
    if (target >= 0) {
        uint64_t *known = map_find(&restore->ids[target], bits);
        bits = known ? *known : 0;
    }
    import_row_set(row, column, bits);
}

/* Which recording a row of events belongs to: that of the first entity that it names. */
static uint32_t session_of(const struct restore *restore, const struct sqlite_rows *rows,
                           enum trace_table table) {
    const struct table_info *info = &trace_tables[table];
    for (unsigned i = 0; i < info->column_count; i++) {
        int target = import_row_target(info->columns[i].type);
        uint64_t id = (uint64_t)sqlite_rows_integer(rows, AT_COLUMNS + i, 0);
        if (target < 0 || target == TABLE_STACK || id == 0)
            continue;
        const uint64_t *known = map_find(&restore->sessions[target], id);
        if (known)
            return (uint32_t)*known;
    }
    return 0;
}

static bool keep_row(struct restore *restore, const struct sqlite_rows *rows,
                     const struct import_row *row) {
    const char *why;
    if (!import_row_valid(row, &why)) {
        if (!restore->options->skip_invalid)
            return invalid(restore, rows, why);
        trace_writer_dropped(restore->writer, 1);
        return true;
    }
    uint32_t id = import_row_write(row, restore->writer);
    if (row->table > TABLE_META && row->table < TABLE_ACTIVITY)
        return map_set(&restore->ids[row->table], (uint64_t)sqlite_rows_integer(rows, AT_ID, 0), id,
                       restore->status);
    return true;
}

static bool belongs(const struct restore *restore, const struct sqlite_rows *rows,
                    enum trace_table table) {
    if (table == TABLE_META)
        return restore->session == 0;
    if (table == TABLE_STACK)
        return true;
    if (table < TABLE_ACTIVITY)
        return sqlite_rows_u32(rows, AT_SESSION) == restore->session;
    return session_of(restore, rows, table) == restore->session;
}

static bool read_table(struct restore *restore, enum trace_table table) {
    struct sqlite_rows rows;
    struct buffer columns = {0};
    if (!list_columns(table, &columns, restore->status)) {
        buffer_finish(&columns);
        return false;
    }
    sqlite_rows_open(&rows, &restore->source, trace_tables[table].name, columns.data, NULL,
                     restore->status);
    while (!trace_writer_failed(restore->writer) && sqlite_rows_next(&rows, restore->status)) {
        struct import_row row;
        if (!belongs(restore, &rows, table))
            continue;
        import_row_begin(&row, table);
        for (unsigned i = 0; i < trace_tables[table].column_count; i++)
            read_cell(restore, &rows, &row, i);
        rows.failed = !keep_row(restore, &rows, &row);
        restore->has_format |=
            table == TABLE_META && text_is(sqlite_rows_text(&rows, AT_COLUMNS), META_SOURCE_FORMAT);
    }
    buffer_finish(&columns);
    return sqlite_rows_close(&rows);
}

/* Whether so many recordings can be read in reasonable time. */
static bool check_passes(struct restore *restore) {
    uint64_t sessions = 0;
    for (unsigned i = 0; i < SESSIONS_MAX; i++)
        sessions += restore->seen[i];
    if (sessions <= SESSIONS_ALWAYS || restore->source.bytes <= PASSES_BYTES_MAX / sessions)
        return true;
    return status_fail(restore->status, STATUS_UNSUPPORTED,
                       "holds %" PRIu64 " recordings in %" PRIu64 " bytes, too many to read back; "
                       "use the trace that it was exported from",
                       sessions, restore->source.bytes);
}

/* Notes the recording of every entity. */
static bool read_sessions(struct restore *restore) {
    restore->seen[0] = true;
    for (unsigned table = TABLE_PROCESS; table < TABLE_STACK; table++) {
        struct sqlite_rows rows;
        sqlite_rows_open(&rows, &restore->source, trace_tables[table].name, "id session", NULL,
                         restore->status);
        while (sqlite_rows_next(&rows, restore->status)) {
            uint32_t session = sqlite_rows_u32(&rows, AT_SESSION);
            if (session >= SESSIONS_MAX)
                rows.failed =
                    !status_fail(restore->status, STATUS_UNSUPPORTED,
                                 "row %" PRIu64 " of table %s is of recording %u; at most %d "
                                 "recordings are read",
                                 rows.row, rows.table, session, SESSIONS_MAX);
            else if (!map_set(&restore->sessions[table],
                              (uint64_t)sqlite_rows_integer(&rows, AT_ID, 0), session,
                              restore->status))
                rows.failed = true;
            if (!rows.failed)
                restore->seen[session] = true;
        }
        if (!sqlite_rows_close(&rows))
            return false;
    }
    return check_passes(restore);
}

static bool read_recording(struct restore *restore) {
    for (unsigned table = 0; table < TABLE_ACTIVITY; table++)
        map_finish(&restore->ids[table]);
    for (unsigned table = 0; table < TABLE_COUNT; table++)
        if (!read_table(restore, table))
            return false;
    return true;
}

static bool check_version(struct restore *restore) {
    struct sqlite_rows rows;
    int64_t version = 0;
    sqlite_rows_open(&rows, &restore->source, "ridge_meta", "version", NULL, restore->status);
    while (sqlite_rows_next(&rows, restore->status))
        version = sqlite_rows_integer(&rows, 0, 0);
    if (!sqlite_rows_close(&rows))
        return false;
    if (version > 1)
        return status_fail(restore->status, STATUS_UNSUPPORTED,
                           "exported by a newer ridge (version %" PRId64 ", this one reads 1); "
                           "update ridge",
                           version);
    return version == 1 ||
           status_fail(restore->status, STATUS_INPUT,
                       "has no version in table ridge_meta; only databases that `ridge export "
                       "--format sqlite` wrote are read");
}

static bool run(const struct import_source *source, const struct import_options *options,
                struct trace_writer *writer, struct status *status) {
    struct restore restore = {.options = options, .writer = writer, .status = status};
    bool ok = sqlite_source_open(&restore.source, source->path, status) &&
              check_version(&restore) && read_sessions(&restore);
    for (; ok && restore.session < SESSIONS_MAX; restore.session++) {
        if (!restore.seen[restore.session])
            continue;
        if (restore.session > 0)
            trace_writer_next_session(writer);
        ok = read_recording(&restore);
    }
    ok = ok && sqlite_source_ok(&restore.source, status);
    if (ok && !restore.has_format)
        trace_writer_meta(writer, META_SOURCE_FORMAT, TEXT("ridge-sqlite"));
    for (unsigned table = 0; table < TABLE_ACTIVITY; table++) {
        map_finish(&restore.ids[table]);
        map_finish(&restore.sessions[table]);
    }
    sqlite_source_close(&restore.source);
    return ok;
}

static int detect(const struct import_source *source) {
    static const unsigned char mark[4] = {'r', 'i', 'd', 'g'};
    if (source->is_folder || !sqlite_source_recognise(source->head, source->head_length))
        return 0;
    if (source->head_length >= APPLICATION_ID_AT + 4 &&
        memcmp(source->head + APPLICATION_ID_AT, mark, sizeof mark) == 0)
        return 3;
    struct text head = {(const char *)source->head, source->head_length};
    return text_find(head, "CREATE TABLE ridge_meta") >= 0 ? 3 : 0;
}

const struct importer import_ridge_sqlite = {
    .format = "ridge-sqlite",
    .detect = detect,
    .run = run,
};

#else

static int detect(const struct import_source *source) {
    struct text head = {(const char *)source->head, source->head_length};
    return !source->is_folder && text_starts(head, "SQLite format 3") &&
                   text_find(head, "CREATE TABLE ridge_meta") >= 0
               ? 3
               : 0;
}

const struct importer import_ridge_sqlite = {
    .format = "ridge-sqlite",
    .detect = detect,
    .missing = "SQLite",
};

#endif
