/* Other tools' SQLite databases, read as the hostile files that they may be.
 *
 * Nothing about a database is assumed: a table or a column that is absent reads as no rows or as
 * NULL. Only real tables are read, never views or virtual tables, and never in more rows than the
 * file can hold. A loop over a table is written
 *
 *   sqlite_rows_open(&rows, &source, "COPIES", "start end bytes", NULL, status);
 *   while (sqlite_rows_next(&rows, status))
 *       ... sqlite_rows_integer(&rows, 2, -1) ...          columns by their index in the list
 *   ok = sqlite_rows_close(&rows);
 *
 * A body that fails sets rows.failed, which ends the loop.
 */
#ifndef RIDGE_IMPORT_SQLITE_SOURCE_H
#define RIDGE_IMPORT_SQLITE_SOURCE_H

#include "import/import.h"

struct sqlite3;
struct sqlite3_stmt;

struct sqlite_source {
    struct sqlite3 *database;
    uint64_t bytes;      /* size of the file */
    uint64_t incomplete; /* events left out because a value that they need is missing */
    bool write_ahead;    /* a write-ahead log lies beside the file: its rows are not seen */
    struct status error; /* the first failure of a function that returns no status */
};

/* Whether these are the first bytes of a SQLite database. */
bool sqlite_source_detect(const unsigned char *head, size_t length);

/* Read-only and without touching anything beside the file. A gzip or zstd file is unpacked into a
 * temporary one first. */
bool sqlite_source_open(struct sqlite_source *source, const char *path, struct status *status);
/* Takes a zeroed one too. */
void sqlite_source_close(struct sqlite_source *source);

/* Whether there is a table of that name; views do not count. These return false on failure too:
 * sqlite_source_ok() and opening a table report it. */
bool sqlite_source_has_table(struct sqlite_source *source, const char *table);
bool sqlite_source_has_column(struct sqlite_source *source, const char *table, const char *column);
/* Whether there is a table or view whose name begins so. */
bool sqlite_source_has_prefix(struct sqlite_source *source, const char *prefix);
/* False, with its status, if anything failed since the database was opened. An importer calls it
 * last. */
bool sqlite_source_ok(const struct sqlite_source *source, struct status *status);
/* As sqlite_source_has_table, in *found. Fails when a view or a virtual table has that name:
 * reading it would run a query from the file. */
bool sqlite_source_find_table(struct sqlite_source *source, const char *table, bool *found,
                              struct status *status);
/* The names of the first tables, for a message: "a, b, c". */
void sqlite_source_list_tables(struct sqlite_source *source, char *list, size_t size);

/* Says in the trace what of the database is not in it. */
void sqlite_source_warn(const struct sqlite_source *source, struct trace_writer *writer);

struct sqlite_rows {
    struct sqlite_source *source;
    struct sqlite3_stmt *statement; /* NULL: there is no such table */
    const char *table;
    uint64_t row;     /* number of the current row in this scan, from 1 */
    uint64_t present; /* bit per column of the list: the table has it */
    bool failed;
};

/* Columns are separated by spaces, at most 64. `where` is a condition over columns that exist, or
 * NULL. Close it whatever it returns. */
bool sqlite_rows_open(struct sqlite_rows *rows, struct sqlite_source *source, const char *table,
                      const char *columns, const char *where, struct status *status);
/* False at the end and on failure. */
bool sqlite_rows_next(struct sqlite_rows *rows, struct status *status);
/* False if anything failed since it was opened. */
bool sqlite_rows_close(struct sqlite_rows *rows);

static inline bool sqlite_rows_has(const struct sqlite_rows *rows, unsigned column) {
    return rows->present >> column & 1;
}
/* The value if it is an integer, else `fallback`. */
int64_t sqlite_rows_integer(const struct sqlite_rows *rows, unsigned column, int64_t fallback);
/* The same, when it lies in 0 .. UINT32_MAX, else 0. */
uint32_t sqlite_rows_u32(const struct sqlite_rows *rows, unsigned column);
bool sqlite_rows_is_integer(const struct sqlite_rows *rows, unsigned column);
bool sqlite_rows_is_null(const struct sqlite_rows *rows, unsigned column);
/* Empty unless the value is text. Good until the next row. When out of memory, empty as well: the
 * next sqlite_rows_next() reports it. */
struct text sqlite_rows_text(const struct sqlite_rows *rows, unsigned column);
double sqlite_rows_number(const struct sqlite_rows *rows, unsigned column);

/* The times of the event in this row, whose first column is its start and whose second, for a span,
 * its end. False when the row is to be left out: it is counted, and where it is impossible and not
 * to be skipped, rows->failed is set. */
bool sqlite_rows_span(struct sqlite_rows *rows, const struct import_options *options,
                      struct trace_writer *writer, int64_t *start, int64_t *duration,
                      struct status *status);
bool sqlite_rows_time(struct sqlite_rows *rows, const struct import_options *options,
                      struct trace_writer *writer, int64_t *time, struct status *status);

#endif
