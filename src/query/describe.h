/* The tables, views and columns as tables themselves: `.tables` and `.schema` are statements over
 * ridge_tables (name, rows, meaning) and ridge_columns ("table", "column", type, meaning). */
#ifndef RIDGE_QUERY_DESCRIBE_H
#define RIDGE_QUERY_DESCRIBE_H

#include "base/text.h"
#include "query/tables.h"

/* Adds both to the database; `sources` has TABLE_COUNT. */
bool describe_add(sqlite3 *database, const struct table_source *sources, struct status *status);

/* The statement that a word such as ".tables" or ".schema activity" stands for, terminated. */
bool describe_statement(const char *words, struct buffer *sql, struct status *status);

/* "kernel, copy, launch, activity, ..." */
void describe_names(struct buffer *list);

#endif
