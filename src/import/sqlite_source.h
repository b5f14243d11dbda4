/* Reads SQLite databases of other tools, which may be hostile.
 *
 * Nothing about the schema is assumed: an absent table has no rows, an absent column is NULL. Only
 * real tables are read, never views or virtual tables. A loop over a table:
 *
 *   sqlite_rows_open(&rows, &source, "COPIES", "start end bytes", NULL, status);
 *   while (sqlite_rows_next(&rows, status))
 *       ... sqlite_rows_integer(&rows, 2, -1) ...          columns by position in the list
 *   ok = sqlite_rows_close(&rows);
 *
 * To stop after an error, the body sets rows.failed.
 */
#ifndef RIDGE_IMPORT_SQLITE_SOURCE_H
#define RIDGE_IMPORT_SQLITE_SOURCE_H

#include "import/import.h"

struct sqlite3;
struct sqlite3_stmt;

struct sqlite_source {
    struct sqlite3 *database;
    uint64_t bytes;      /* of the file */
    uint64_t incomplete; /* rows skipped because a timestamp is missing */
    bool write_ahead;    /* a write-ahead log exists beside the file; its rows are not read */
    struct status error; /* the first error of a function without a status */
};

/* Whether these are the first bytes of an SQLite database. */
bool sqlite_source_detect(const unsigned char *head, size_t length);

/* Opens a database read-only, without creating files beside it. A gzip or zstd file is decompressed
 * into a temporary file. */
bool sqlite_source_open(struct sqlite_source *source, const char *path, struct status *status);
/* Accepts a zeroed struct. */
void sqlite_source_close(struct sqlite_source *source);

/* Whether the table exists; views do not count. These return false on errors too, which
 * sqlite_source_ok() and opening a table report. */
bool sqlite_source_has_table(struct sqlite_source *source, const char *table);
bool sqlite_source_has_column(struct sqlite_source *source, const char *table, const char *column);
/* Whether a table or view has a name with this prefix. */
bool sqlite_source_has_prefix(struct sqlite_source *source, const char *prefix);
/* What follows `prefix` in the name of the first table (not view) that begins with it, and how many
 * begin so. Fails when there is none or it is too long for `suffix`. */
bool sqlite_source_find_suffix(struct sqlite_source *source, const char *prefix, char *suffix,
                               size_t size, uint64_t *count, struct status *status);
/* Returns the first error since the database was opened. Importers call it last. */
bool sqlite_source_ok(const struct sqlite_source *source, struct status *status);
/* sqlite_source_has_table() with a status. Fails for a view or virtual table of that name: reading
 * it would run a query from the file. */
bool sqlite_source_find_table(struct sqlite_source *source, const char *table, bool *found,
                              struct status *status);
/* The names of the first tables for a message: "a, b, c". */
void sqlite_source_list_tables(struct sqlite_source *source, char *list, size_t size);

/* Writes warnings about skipped rows and a write-ahead log. */
void sqlite_source_warn(const struct sqlite_source *source, struct trace_writer *writer);

struct sqlite_rows {
    struct sqlite_source *source;
    struct sqlite3_stmt *statement; /* NULL: no such table */
    const char *table;
    uint64_t row;     /* the current row, from 1 */
    uint64_t present; /* bit set of the columns that the table has */
    bool failed;
};

/* `columns` are separated by spaces, at most 64. `where` is a condition over existing columns, or
 * NULL. Call sqlite_rows_close() even after a failure. */
bool sqlite_rows_open(struct sqlite_rows *rows, struct sqlite_source *source, const char *table,
                      const char *columns, const char *where, struct status *status);
/* False at the end and on failure. */
bool sqlite_rows_next(struct sqlite_rows *rows, struct status *status);
/* False if anything failed since opening. */
bool sqlite_rows_close(struct sqlite_rows *rows);

static inline bool sqlite_rows_has(const struct sqlite_rows *rows, unsigned column) {
    return rows->present >> column & 1;
}
/* The value if it is an integer, else `fallback`. */
int64_t sqlite_rows_integer(const struct sqlite_rows *rows, unsigned column, int64_t fallback);
/* The value if it is an integer in 0..UINT32_MAX, else 0. */
uint32_t sqlite_rows_u32(const struct sqlite_rows *rows, unsigned column);
bool sqlite_rows_is_integer(const struct sqlite_rows *rows, unsigned column);
bool sqlite_rows_is_null(const struct sqlite_rows *rows, unsigned column);
/* Empty unless the value is text; valid until the next row. Also empty when out of memory, which
 * the next sqlite_rows_next() reports. */
struct text sqlite_rows_text(const struct sqlite_rows *rows, unsigned column);
double sqlite_rows_number(const struct sqlite_rows *rows, unsigned column);

/* The times of the event in this row: the first column is the start, the second the end. False for
 * a row to skip; it is counted, and rows->failed is set when it is invalid and not to be dropped.
 */
bool sqlite_rows_span(struct sqlite_rows *rows, const struct import_options *options,
                      struct trace_writer *writer, int64_t *start, int64_t *duration,
                      struct status *status);
bool sqlite_rows_time(struct sqlite_rows *rows, const struct import_options *options,
                      struct trace_writer *writer, int64_t *time, struct status *status);

#endif
