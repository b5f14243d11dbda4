/* The tables and columns that SQL sees.
 *
 * Stored columns keep their names: strings and enumerators are text, unknown values NULL. Computed
 * columns are added: every table's id, an event's end, the call that launched an activity, and an
 * entity's recording. */
#ifndef RIDGE_QUERY_COLUMNS_H
#define RIDGE_QUERY_COLUMNS_H

#include "trace/schema.h"

enum shown_kind {
    SHOWN_STORED,  /* a column of the schema */
    SHOWN_ID,      /* row number: entities from 1, events and meta from 0 */
    SHOWN_END,     /* start + duration */
    SHOWN_LAUNCH,  /* id of the call that launched an activity */
    SHOWN_SESSION, /* number of the entity's recording, from 0 */
};

/* The stored value that means "none" and is shown as NULL. */
enum shown_absent { ABSENT_NEVER, ABSENT_ZERO, ABSENT_ALL_ONES };

struct shown_column {
    const char *name;
    const char *meaning; /* one line, no full stop */
    enum shown_kind kind;
    unsigned stored; /* SHOWN_STORED: column of the schema */
    enum shown_absent absent;
    column_namer *name_of; /* names of enumerators, or NULL */
};

enum { SHOWN_COLUMNS_MAX = TABLE_COLUMNS_MAX + 3 };

struct shown_table {
    enum trace_table table;
    const char *name;
    const char *meaning;
    unsigned column_count;
    struct shown_column columns[SHOWN_COLUMNS_MAX];
};

void shown_table_init(struct shown_table *shown, enum trace_table table);

/* "INTEGER", "TEXT" or "REAL". */
const char *shown_column_type(const struct shown_table *shown, unsigned column);

#endif
