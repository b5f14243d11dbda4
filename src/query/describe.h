/* The lists of tables and columns: `.tables` and `.schema` are statements over the views
 * ridge_tables (name, rows, meaning) and ridge_columns ("table", "column", type, meaning). */
#ifndef RIDGE_QUERY_DESCRIBE_H
#define RIDGE_QUERY_DESCRIBE_H

#include "base/text.h"
#include "query/tables.h"

/* Creates both views; `sources` has TABLE_COUNT elements. */
bool describe_add(sqlite3 *database, const struct table_source *sources, struct status *status);

/* The SQL statement of a command such as ".tables" or ".schema activity". */
bool describe_statement(const char *words, struct buffer *sql, struct status *status);

/* "kernel, copy, launch, activity, ..." */
void describe_names(struct buffer *list);

#endif
