/* The tables of a trace as SQLite virtual tables, without a copy.
 *
 *   table_source_init(&source, trace, TABLE_ACTIVITY);
 *   sqlite3_create_module_v2(database, source.shown.name, &table_module, &source, NULL);
 *   ... "SELECT count(*) FROM activity" ...
 *   sqlite3_close(database);
 *   table_source_finish(&source);
 *
 * A column is loaded on first use; indexes are kept in the source. Only in builds with SQLite
 * (RIDGE_HAVE_SQLITE).
 */
#ifndef RIDGE_QUERY_TABLES_H
#define RIDGE_QUERY_TABLES_H

#include <sqlite3.h>
#include <stdbool.h>

#include "query/columns.h"
#include "query/index.h"
#include "trace/reader.h"

/* The source of one virtual table; the trace must outlive it. */
struct table_source {
    struct trace *trace;
    struct shown_table shown;

    /* private */
    uint32_t *launch; /* activity: row of the launching call */
    struct value_index by_value[SHOWN_COLUMNS_MAX];
    uint32_t *by_time; /* order of rows; NULL with time_sorted: in order */
    bool time_sorted;
};

void table_source_init(struct table_source *source, struct trace *trace, enum trace_table table);
void table_source_finish(struct table_source *source);
size_t table_source_rows(const struct table_source *source);

extern const sqlite3_module table_module;

#endif
