/* The trace as an SQLite database: one SQL table for each table of the schema, with the same
 * columns. Enumerators and strings are text. Ids are rowids, or NULL for none. An unknown number of
 * bytes is NULL. Unsigned values from 2^63 on keep their bits and read as negative. The database is
 * built in one transaction, in the output's temporary file or, when the output is a pipe, in a file
 * of its own. docs/commands/export.md describes the result. */
#include "export/export.h"

#ifdef RIDGE_HAVE_SQLITE

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/temporary.h"
#include "base/text.h"

static bool sql_failed(sqlite3 *database, struct status *status) {
    int code = sqlite3_errcode(database);
    if (code == SQLITE_NOMEM)
        return status_no_memory(status);
    return status_fail(status, STATUS_IO, "cannot write the database: %s",
                       sqlite3_errmsg(database));
}

static bool execute(sqlite3 *database, const char *sql, struct status *status) {
    return sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK ||
           sql_failed(database, status);
}

/* The recording of each row, for tables that have a column for it. */
static const uint32_t *sessions_of(const struct trace *trace, enum trace_table table) {
    switch (table) {
    case TABLE_PROCESS:
        return trace->process_session;
    case TABLE_THREAD:
        return trace->thread_session;
    case TABLE_DEVICE:
        return trace->device_session;
    case TABLE_QUEUE:
        return trace->queue_session;
    default:
        return NULL;
    }
}

static const char *sql_type(enum trace_table table, unsigned column) {
    enum column_type type = trace_tables[table].columns[column].type;
    if (type == COLUMN_STRING || column_names(table, column))
        return "TEXT";
    return type == COLUMN_F64 ? "REAL" : "INTEGER";
}

static bool create_table(sqlite3 *database, const struct trace *trace, enum trace_table table,
                         struct status *status) {
    const struct table_info *info = &trace_tables[table];
    struct buffer sql = {0};
    buffer_printf(&sql, "CREATE TABLE \"%s\" (\n  id INTEGER PRIMARY KEY", info->name);
    for (unsigned i = 0; i < info->column_count; i++)
        buffer_printf(&sql, ",\n  \"%s\" %s", info->columns[i].name, sql_type(table, i));
    if (sessions_of(trace, table))
        buffer_string(&sql, ",\n  session INTEGER");
    buffer_string(&sql, ")");
    buffer_byte(&sql, 0);
    bool ok = buffer_ok(&sql, status) && execute(database, sql.data, status);
    buffer_finish(&sql);
    return ok;
}

static sqlite3_stmt *prepare_insert(sqlite3 *database, const struct trace *trace,
                                    enum trace_table table, struct status *status) {
    struct buffer sql = {0};
    unsigned values = trace_tables[table].column_count + 1 + (sessions_of(trace, table) != NULL);
    buffer_printf(&sql, "INSERT INTO \"%s\" VALUES (?", trace_tables[table].name);
    for (unsigned i = 1; i < values; i++)
        buffer_string(&sql, ",?");
    buffer_string(&sql, ")");
    buffer_byte(&sql, 0);
    sqlite3_stmt *insert = NULL;
    if (buffer_ok(&sql, status) &&
        sqlite3_prepare_v2(database, sql.data, -1, &insert, NULL) != SQLITE_OK)
        sql_failed(database, status);
    buffer_finish(&sql);
    return insert;
}

static int bind_text(sqlite3_stmt *insert, int at, struct text text) {
    return sqlite3_bind_text64(insert, at, text.length ? text.data : "", text.length, SQLITE_STATIC,
                               SQLITE_UTF8);
}

static int bind_cell(sqlite3_stmt *insert, int at, const struct trace *trace,
                     enum trace_table table, unsigned column, size_t row) {
    const struct column_info *info = &trace_tables[table].columns[column];
    uint64_t bits = export_cell(trace_column(trace, table, column), info, row);
    column_namer *names = column_names(table, column);
    double number;
    if (names && strcmp(names((unsigned)bits), "?") != 0)
        return bind_text(insert, at, text_of(names((unsigned)bits)));
    if (info->type == COLUMN_STRING)
        return bind_text(insert, at, trace_text(trace, (uint32_t)bits));
    if (info->type == COLUMN_F64) {
        memcpy(&number, &bits, sizeof number);
        return sqlite3_bind_double(insert, at, number);
    }
    bool none = info->type >= COLUMN_PROCESS ? bits == 0
                                             : info->type == COLUMN_U64 && bits == BYTES_UNKNOWN;
    return none ? sqlite3_bind_null(insert, at) : sqlite3_bind_int64(insert, at, (int64_t)bits);
}

static bool insert_row(sqlite3 *database, sqlite3_stmt *insert, const struct trace *trace,
                       enum trace_table table, size_t row, struct status *status) {
    const uint32_t *sessions = sessions_of(trace, table);
    unsigned columns = trace_tables[table].column_count;
    int code = sqlite3_bind_int64(insert, 1, (sqlite3_int64)row);
    for (unsigned column = 0; column < columns && code == SQLITE_OK; column++)
        code = bind_cell(insert, (int)column + 2, trace, table, column, row);
    if (sessions && code == SQLITE_OK)
        code = sqlite3_bind_int64(insert, (int)columns + 2, sessions[row]);
    if (code != SQLITE_OK || sqlite3_step(insert) != SQLITE_DONE)
        return sql_failed(database, status);
    sqlite3_reset(insert);
    return true;
}

static bool insert_rows(sqlite3 *database, sqlite3_stmt *insert, struct trace *trace,
                        enum trace_table table, struct status *status) {
    bool entities = table > TABLE_META && table < TABLE_ACTIVITY;
    bool ok = trace_load(trace, table, NULL, status);
    for (size_t row = entities; ok && row < trace_rows(trace, table); row++)
        ok = insert_row(database, insert, trace, table, row, status);
    if (table >= TABLE_ACTIVITY)
        export_unload(trace, table);
    return ok;
}

static bool write_table(sqlite3 *database, struct trace *trace, enum trace_table table,
                        struct status *status) {
    if (!create_table(database, trace, table, status))
        return false;
    sqlite3_stmt *insert = prepare_insert(database, trace, table, status);
    bool ok = insert && insert_rows(database, insert, trace, table, status);
    sqlite3_finalize(insert);
    return ok;
}

static bool write_database(struct trace *trace, const char *path, struct status *status) {
    sqlite3 *database = NULL;
    bool ok = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK ||
              sql_failed(database, status);
    /* A half-written file is thrown away, so no journal is needed. */
    ok = ok && execute(database,
                       "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
                       "PRAGMA application_id=0x72696467; BEGIN;"
                       "CREATE TABLE ridge_meta (version INTEGER);"
                       "INSERT INTO ridge_meta VALUES (1);",
                       status);
    for (unsigned table = 0; ok && table < TABLE_COUNT; table++)
        ok = write_table(database, trace, table, status);
    ok = ok && execute(database, "COMMIT", status);
    if (sqlite3_close(database) != SQLITE_OK && ok)
        ok = sql_failed(database, status);
    return ok;
}

static bool copy_file(int fd, struct output *output, struct status *status) {
    enum { PIECE = 64 * 1024 };
    char *piece = memory_allocate(PIECE, 1, status);
    if (!piece)
        return false;
    ssize_t length = 0;
    off_t at = 0;
    while (!output->failed && (length = pread(fd, piece, PIECE, at)) > 0) {
        output_write(output, piece, (size_t)length);
        at += length;
    }
    memory_free(piece);
    return length >= 0 || status_fail_errno(status, "cannot read the database back");
}

/* SQLite needs a file that it can seek in: build the database in a temporary one. */
static bool write_through_file(struct trace *trace, struct output *output, struct status *status) {
    char *name;
    int fd;
    if (!temporary_file(&name, &fd, status))
        return false;
    bool ok = write_database(trace, name, status) && copy_file(fd, output, status);
    temporary_remove(name);
    close(fd);
    return ok;
}

bool export_sqlite(struct trace *trace, const struct export_options *options, struct output *output,
                   struct status *status) {
    (void)options;
    if (output->temporary)
        return write_database(trace, output->temporary, status);
    return write_through_file(trace, output, status);
}

#else

bool export_sqlite(struct trace *trace, const struct export_options *options, struct output *output,
                   struct status *status) {
    (void)trace, (void)options, (void)output;
    return status_fail(status, STATUS_UNSUPPORTED,
                       "this build of ridge has no SQLite; install libsqlite3-dev and build again, "
                       "or choose another format");
}

#endif
