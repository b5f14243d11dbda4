/* SQL over a trace: a connection that can only read, with every table and view in it.
 *
 *   if (query_open(trace, &query, &status) &&
 *       query_prepare(query, "SELECT sum(duration) FROM kernel", &statement, &status))
 *       while (query_step(query, statement, &row, &status) && row) ...
 *   sqlite3_finalize(statement);
 *   query_close(query);
 *
 * Only in builds with SQLite (RIDGE_HAVE_SQLITE).
 */
#ifndef RIDGE_QUERY_QUERY_H
#define RIDGE_QUERY_QUERY_H

#include <stdbool.h>

#include "base/status.h"
#include "trace/reader.h"

struct query;
struct sqlite3_stmt;

/* The trace must outlive the query; no one else may load or reorder its columns meanwhile. */
bool query_open(struct trace *trace, struct query **query, struct status *status);
/* Accepts NULL. Finalize statements before. */
void query_close(struct query *query);

/* Prepares one statement, or `.tables`, `.schema` or `.schema TABLE`. */
bool query_prepare(struct query *query, const char *sql, struct sqlite3_stmt **statement,
                   struct status *status);
/* *row is whether there is a row to read with sqlite3_column_*(), false at the end. */
bool query_step(struct query *query, struct sqlite3_stmt *statement, bool *row,
                struct status *status);
/* Interrupts a running query_step(); safe in a signal handler. */
void query_interrupt(struct query *query);
/* Whether the last error was an interruption. */
bool query_interrupted(const struct query *query);

#endif
