/* Databases are opened read-only and immutable, so that no journal is read or created, in SQLite's
 * defensive mode. Tables are scanned in rowid order by plain SELECTs of the columns that exist. A
 * damaged b-tree can make a small file appear endless, so a scan returns at most as many rows as
 * fit into the file. */
#include "import/sqlite_source.h"

bool sqlite_source_detect(const unsigned char *head, size_t length) {
    return length >= 16 && memcmp(head, "SQLite format 3", 16) == 0;
}

#ifdef RIDGE_HAVE_SQLITE

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/input.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/temporary.h"

enum {
    HEADER_BYTES = 100,
    ROW_BYTES_MIN = 4,        /* cell pointer, size and key */
    VALUE_BYTES_MIN = 1 << 20 /* values can be as long as the file, and at least this */
};

static bool database_failed(struct sqlite_source *source, const char *doing,
                            struct status *status) {
    int code = sqlite3_errcode(source->database);
    if (code == SQLITE_NOMEM)
        return status_no_memory(status);
    return status_fail(status, code == SQLITE_IOERR ? STATUS_IO : STATUS_INPUT,
                       "the SQLite database is damaged or unreadable: %s while %s; export it again",
                       sqlite3_errmsg(source->database), doing);
}

/* For functions without a status. */
static void keep_first_error(struct sqlite_source *source, const char *doing) {
    if (source->error.code == STATUS_OK)
        database_failed(source, doing, &source->error);
}

bool sqlite_source_ok(const struct sqlite_source *source, struct status *status) {
    if (source->error.code != STATUS_OK)
        *status = source->error;
    return source->error.code == STATUS_OK;
}

/* Escapes the characters that are special in a "file:" URI. */
static bool build_address(struct buffer *address, const char *path, struct status *status) {
    buffer_string(address, path[0] == '/' ? "file://" : "file:");
    for (const char *at = path; *at; at++)
        if (*at == '%' || *at == '?' || *at == '#')
            buffer_printf(address, "%%%02X", (unsigned char)*at);
        else
            buffer_byte(address, *at);
    buffer_string(address, "?mode=ro&immutable=1");
    buffer_byte(address, '\0');
    return buffer_ok(address, status);
}

static bool open_database(struct sqlite_source *source, const char *path, struct status *status) {
    struct buffer address = {0};
    bool ok = build_address(&address, path, status);
    if (ok && sqlite3_open_v2(address.data, &source->database,
                              SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
                              NULL) != SQLITE_OK)
        ok = source->database ? database_failed(source, "opening it", status)
                              : status_no_memory(status);
    buffer_finish(&address);
    return ok;
}

static bool restrict_database(struct sqlite_source *source, struct status *status) {
    sqlite3 *database = source->database;
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
#ifdef SQLITE_DBCONFIG_TRUSTED_SCHEMA
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
#endif
#ifdef SQLITE_DBCONFIG_ENABLE_VIEW
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
#endif
    uint64_t value_bytes_max = source->bytes < VALUE_BYTES_MIN ? VALUE_BYTES_MIN : source->bytes;
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH,
                  value_bytes_max > INT32_MAX ? INT32_MAX : (int)value_bytes_max);
    sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(database, SQLITE_LIMIT_TRIGGER_DEPTH, 0);
    if (sqlite3_exec(database,
                     "PRAGMA cell_size_check=ON; PRAGMA query_only=ON; "
                     "PRAGMA mmap_size=0" /* a mapped file that is truncated raises SIGBUS */,
                     NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(database, "SELECT 1 FROM sqlite_master LIMIT 1", NULL, NULL, NULL) !=
            SQLITE_OK)
        return database_failed(source, "reading its schema", status);
    return true;
}

static uint32_t big_endian(const unsigned char *bytes, unsigned count) {
    uint32_t value = 0;
    for (unsigned i = 0; i < count; i++)
        value = value << 8 | bytes[i];
    return value;
}

/* SQLite opens a truncated file, and fails only when a table reaches into the missing pages. The
 * header has the number of pages, unless an old writer did not update it. */
static bool check_length(int fd, uint64_t bytes, struct status *status) {
    unsigned char header[HEADER_BYTES];
    if (pread(fd, header, sizeof header, 0) != (ssize_t)sizeof header)
        return status_fail(status, STATUS_INPUT,
                           "truncated: the SQLite database ends inside its header; copy it again");
    uint64_t page_bytes = big_endian(header + 16, 2), pages = big_endian(header + 28, 4);
    bool count_is_kept = big_endian(header + 24, 4) == big_endian(header + 92, 4);
    if (page_bytes == 1)
        page_bytes = 65536;
    if (count_is_kept && bytes < pages * page_bytes)
        return status_fail(status, STATUS_INPUT,
                           "truncated: the SQLite database has %llu of its %llu bytes; copy or "
                           "export it again",
                           (unsigned long long)bytes, (unsigned long long)(pages * page_bytes));
    return true;
}

static bool find_write_ahead_log(struct sqlite_source *source, const char *path,
                                 struct status *status) {
    struct buffer name = {0};
    struct stat found;
    buffer_printf(&name, "%s-wal%c", path, '\0');
    bool ok = buffer_ok(&name, status);
    source->write_ahead = ok && stat(name.data, &found) == 0 && found.st_size > 0;
    buffer_finish(&name);
    return ok;
}

static bool copy_decompressed(const char *path, int fd, uint64_t *bytes, struct status *status) {
    struct input input;
    if (!input_open(&input, path, status))
        return false;
    bool ok = true;
    while (ok) {
        if (input.length > 0) {
            ok = output_write_fd(fd, input.data, input.length, status);
            input_consume(&input, input.length);
        }
        if (input.at_end)
            break;
        ok = ok && input_more(&input, 1 << 24, status);
    }
    *bytes = input.offset;
    input_close(&input);
    return ok;
}

/* SQLite cannot read streams. The temporary file is unlinked once it is open. */
static bool open_decompressed(struct sqlite_source *source, const char *path,
                              struct status *status) {
    char *name;
    int fd;
    if (!temporary_file(&name, &fd, status))
        return false;
    bool ok = copy_decompressed(path, fd, &source->bytes, status) &&
              check_length(fd, source->bytes, status) && open_database(source, name, status) &&
              restrict_database(source, status);
    close(fd);
    temporary_remove(name);
    return ok;
}

static bool read_head(const char *path, bool *plain, uint64_t *bytes, struct status *status) {
    unsigned char head[16];
    struct stat found;
    bool ok = true;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &found) != 0) {
        status_fail_errno(status, "cannot open");
        if (fd >= 0)
            close(fd);
        return false;
    }
    ssize_t length = S_ISREG(found.st_mode) ? read(fd, head, sizeof head) : 0;
    *plain = length == sizeof head && sqlite_source_detect(head, sizeof head);
    *bytes = (uint64_t)found.st_size;
    if (*plain)
        ok = check_length(fd, *bytes, status);
    close(fd);
    return ok;
}

bool sqlite_source_open(struct sqlite_source *source, const char *path, struct status *status) {
    bool plain;
    *source = (struct sqlite_source){0};
    if (!read_head(path, &plain, &source->bytes, status))
        return false;
    bool ok = plain ? open_database(source, path, status) && restrict_database(source, status)
                    : open_decompressed(source, path, status);
    ok = ok && (!plain || find_write_ahead_log(source, path, status));
    if (!ok)
        sqlite_source_close(source);
    return ok;
}

void sqlite_source_close(struct sqlite_source *source) {
    sqlite3_close(source->database);
    source->database = NULL;
}

static bool query_has_row(struct sqlite_source *source, const char *query, const char *argument) {
    sqlite3_stmt *statement = NULL;
    int code = SQLITE_ERROR;
    if (sqlite3_prepare_v2(source->database, query, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_bind_text(statement, 1, argument, -1, SQLITE_STATIC) == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        keep_first_error(source, "reading its schema");
    sqlite3_finalize(statement);
    return code == SQLITE_ROW;
}

/* Views and virtual tables have no root page. */
bool sqlite_source_has_table(struct sqlite_source *source, const char *table) {
    return query_has_row(source,
                         "SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND "
                         "name = ?1 COLLATE NOCASE",
                         table);
}

bool sqlite_source_find_table(struct sqlite_source *source, const char *table, bool *found,
                              struct status *status) {
    *found = sqlite_source_has_table(source, table);
    bool is_view =
        !*found && query_has_row(source,
                                 "SELECT 1 FROM sqlite_master WHERE type IN ('table', 'view') "
                                 "AND name = ?1 COLLATE NOCASE",
                                 table);
    if (is_view)
        return status_fail(
            status, STATUS_UNSUPPORTED,
            "%s is a view or a virtual table of the SQLite database, and ridge does not run "
            "queries that a file contains; replace it with a table (CREATE TABLE t AS "
            "SELECT * FROM %s) or export the trace again",
            table, table);
    return sqlite_source_ok(source, status);
}

/* Sets rows->present for the columns that the table has. */
static bool find_columns(struct sqlite_rows *rows, const char *columns, struct status *status) {
    struct sqlite_source *source = rows->source;
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(source->database, "SELECT name FROM pragma_table_info(?1)", -1,
                           &statement, NULL) != SQLITE_OK ||
        sqlite3_bind_text(statement, 1, rows->table, -1, SQLITE_STATIC) != SQLITE_OK) {
        sqlite3_finalize(statement);
        return database_failed(source, "reading a table's columns", status);
    }
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        unsigned index = 0;
        if (!name)
            break;
        for (const char *at = columns; *at; index++) {
            size_t length = strcspn(at, " ");
            if (sqlite3_strnicmp(name, at, (int)length) == 0 && name[length] == '\0')
                rows->present |= (uint64_t)1 << index;
            at += length + (at[length] == ' ');
        }
    }
    bool ok = code == SQLITE_DONE || database_failed(source, "reading a table's columns", status);
    sqlite3_finalize(statement);
    return ok;
}

bool sqlite_source_has_column(struct sqlite_source *source, const char *table, const char *column) {
    struct sqlite_rows rows = {.source = source, .table = table};
    struct status status = {0};
    if (!sqlite_source_has_table(source, table))
        return false;
    if (!find_columns(&rows, column, &status) && source->error.code == STATUS_OK)
        source->error = status;
    return sqlite_rows_has(&rows, 0);
}

bool sqlite_source_has_prefix(struct sqlite_source *source, const char *prefix) {
    return query_has_row(source,
                         "SELECT 1 FROM sqlite_master WHERE type IN ('table', 'view') AND "
                         "substr(name, 1, length(?1)) = ?1 COLLATE NOCASE",
                         prefix);
}

bool sqlite_source_find_suffix(struct sqlite_source *source, const char *prefix, char *suffix,
                               size_t size, uint64_t *count, struct status *status) {
    sqlite3_stmt *statement = NULL;
    *count = 0;
    suffix[0] = 0;
    if (sqlite3_prepare_v2(source->database,
                           "SELECT substr(name, length(?1) + 1) FROM sqlite_master WHERE "
                           "type = 'table' AND substr(name, 1, length(?1)) = ?1 ORDER BY name",
                           -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_bind_text(statement, 1, prefix, -1, SQLITE_STATIC) != SQLITE_OK) {
        sqlite3_finalize(statement);
        return database_failed(source, "reading its schema", status);
    }
    bool fits = true;
    while (sqlite3_step(statement) == SQLITE_ROW)
        if ((*count)++ == 0) {
            const unsigned char *found = sqlite3_column_text(statement, 0);
            fits = found && (size_t)snprintf(suffix, size, "%s", (const char *)found) < size;
        }
    sqlite3_finalize(statement);
    if (*count > 0 && fits)
        return true;
    return status_fail(status, STATUS_INPUT, "has no table %s that ridge can read", prefix);
}

void sqlite_source_list_tables(struct sqlite_source *source, char *list, size_t size) {
    sqlite3_stmt *statement = NULL;
    size_t used = 0;
    list[0] = '\0';
    if (sqlite3_prepare_v2(source->database,
                           "SELECT substr(name, 1, 40) FROM sqlite_master WHERE type = 'table' "
                           "AND name NOT LIKE 'sqlite_%' LIMIT 5",
                           -1, &statement, NULL) != SQLITE_OK)
        return;
    while (sqlite3_step(statement) == SQLITE_ROW && used < size) {
        const unsigned char *name = sqlite3_column_text(statement, 0);
        int length = snprintf(list + used, size - used, "%s%s", used ? ", " : "",
                              name ? (const char *)name : "?");
        used += length > 0 ? (size_t)length : 0;
    }
    sqlite3_finalize(statement);
}

void sqlite_source_warn(const struct sqlite_source *source, struct trace_writer *writer) {
    char warning[96];
    if (source->incomplete > 0) {
        snprintf(warning, sizeof warning, "skipped rows without a timestamp: %llu",
                 (unsigned long long)source->incomplete);
        trace_writer_meta(writer, META_WARNING, text_of(warning));
    }
    if (source->write_ahead)
        trace_writer_meta(
            writer, META_WARNING,
            TEXT("a write-ahead log (-wal) exists beside the database; its rows are not in this "
                 "trace; close the program that writes it and import again"));
}

static bool build_select(const struct sqlite_rows *rows, const char *columns, const char *where,
                         struct buffer *query, struct status *status) {
    unsigned index = 0;
    buffer_string(query, "SELECT ");
    for (const char *at = columns; *at; index++) {
        int length = (int)strcspn(at, " ");
        buffer_string(query, index ? ", " : "");
        if (sqlite_rows_has(rows, index))
            buffer_printf(query, "\"%.*s\"", length, at);
        else
            buffer_string(query, "NULL");
        at += length + (at[length] == ' ');
    }
    /* NOT INDEXED: an index may disagree with its table in a damaged file. */
    buffer_printf(query, " FROM main.\"%s\" NOT INDEXED%s%s%c", rows->table, where ? " WHERE " : "",
                  where ? where : "", '\0');
    return buffer_ok(query, status);
}

bool sqlite_rows_open(struct sqlite_rows *rows, struct sqlite_source *source, const char *table,
                      const char *columns, const char *where, struct status *status) {
    bool found;
    *rows = (struct sqlite_rows){.source = source, .table = table};
    rows->failed = !sqlite_source_find_table(source, table, &found, status);
    if (rows->failed || !found)
        return !rows->failed;
    struct buffer query = {0};
    bool ok =
        find_columns(rows, columns, status) && build_select(rows, columns, where, &query, status);
    if (ok &&
        sqlite3_prepare_v2(source->database, query.data, -1, &rows->statement, NULL) != SQLITE_OK)
        ok = database_failed(source, "reading a table", status) ||
             status_context(status, "table %s", table);
    buffer_finish(&query);
    rows->failed = !ok;
    return ok;
}

bool sqlite_rows_next(struct sqlite_rows *rows, struct status *status) {
    if (rows->failed || !rows->statement)
        return false;
    rows->failed = !sqlite_source_ok(rows->source, status);
    if (rows->failed)
        return false;
    int code = sqlite3_step(rows->statement);
    if (code == SQLITE_DONE)
        return false;
    rows->row++;
    if (code != SQLITE_ROW)
        rows->failed = !database_failed(rows->source, "reading its rows", status);
    else if (rows->row > rows->source->bytes / ROW_BYTES_MIN)
        rows->failed = !status_fail(status, STATUS_INPUT,
                                    "the SQLite database is damaged: it has more rows than its "
                                    "size allows; export it again");
    if (rows->failed)
        status_context(status, "table %s, row %llu", rows->table, (unsigned long long)rows->row);
    return !rows->failed;
}

bool sqlite_rows_close(struct sqlite_rows *rows) {
    sqlite3_finalize(rows->statement);
    rows->statement = NULL;
    return !rows->failed;
}

bool sqlite_rows_is_integer(const struct sqlite_rows *rows, unsigned column) {
    return sqlite3_column_type(rows->statement, (int)column) == SQLITE_INTEGER;
}

bool sqlite_rows_is_null(const struct sqlite_rows *rows, unsigned column) {
    return sqlite3_column_type(rows->statement, (int)column) == SQLITE_NULL;
}

int64_t sqlite_rows_integer(const struct sqlite_rows *rows, unsigned column, int64_t fallback) {
    return sqlite_rows_is_integer(rows, column) ? sqlite3_column_int64(rows->statement, (int)column)
                                                : fallback;
}

uint32_t sqlite_rows_u32(const struct sqlite_rows *rows, unsigned column) {
    int64_t value = sqlite_rows_integer(rows, column, 0);
    return value >= 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

struct text sqlite_rows_text(const struct sqlite_rows *rows, unsigned column) {
    if (sqlite3_column_type(rows->statement, (int)column) != SQLITE_TEXT)
        return TEXT("");
    const unsigned char *data = sqlite3_column_text(rows->statement, (int)column);
    int length = sqlite3_column_bytes(rows->statement, (int)column);
    if (!data)
        keep_first_error(rows->source, "reading a text");
    return data && length > 0 ? (struct text){(const char *)data, (size_t)length} : TEXT("");
}

double sqlite_rows_number(const struct sqlite_rows *rows, unsigned column) {
    return sqlite3_column_double(rows->statement, (int)column);
}

static bool skip_incomplete(struct sqlite_rows *rows, struct trace_writer *writer) {
    rows->source->incomplete++;
    trace_writer_dropped(writer, 1);
    return false;
}

static bool reject_time(struct sqlite_rows *rows, const struct import_options *options,
                        struct trace_writer *writer, const char *what, int64_t value,
                        struct status *status) {
    if (options->skip_invalid) {
        trace_writer_dropped(writer, 1);
        return false;
    }
    rows->failed = true;
    return status_fail(status, STATUS_INPUT,
                       "table %s, row %llu: the event %s (%lld ns); --skip-invalid drops such "
                       "events",
                       rows->table, (unsigned long long)rows->row, what, (long long)value);
}

/* An hour: longer than the start of any capture, shorter than an overflowed or made-up time. */
#define SQLITE_TIME_EARLY ((int64_t)3600 * 1000000000)

bool sqlite_rows_time(struct sqlite_rows *rows, const struct import_options *options,
                      struct trace_writer *writer, int64_t *time, struct status *status) {
    if (!sqlite_rows_is_integer(rows, 0))
        return skip_incomplete(rows, writer);
    *time = sqlite3_column_int64(rows->statement, 0);
    /* events that were running when the capture began start before 0 */
    if (*time < -SQLITE_TIME_EARLY || *time > TRACE_TIME_LIMIT)
        return reject_time(rows, options, writer, "starts at an invalid time", *time, status);
    return true;
}

bool sqlite_rows_span(struct sqlite_rows *rows, const struct import_options *options,
                      struct trace_writer *writer, int64_t *start, int64_t *duration,
                      struct status *status) {
    if (!sqlite_rows_has(rows, 0) || !sqlite_rows_has(rows, 1)) {
        rows->failed = true;
        return status_fail(
            status, STATUS_INPUT,
            "table %s has no start and end columns, so ridge cannot read this export", rows->table);
    }
    if (!sqlite_rows_is_integer(rows, 1))
        return skip_incomplete(rows, writer);
    if (!sqlite_rows_time(rows, options, writer, start, status))
        return false;
    int64_t end = sqlite3_column_int64(rows->statement, 1);
    if (end > TRACE_TIME_LIMIT)
        return reject_time(rows, options, writer, "ends at an invalid time", end, status);
    if (end < *start)
        return reject_time(rows, options, writer, "ends before it starts", end, status);
    *duration = end - *start;
    return true;
}

#endif
