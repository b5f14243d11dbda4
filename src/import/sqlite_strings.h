/* String tables of a database (StringIds, rocpd_string) as strings of the trace. A string is looked
 * up on first use. */
#ifndef RIDGE_IMPORT_SQLITE_STRINGS_H
#define RIDGE_IMPORT_SQLITE_STRINGS_H

#include "base/intern.h"
#include "base/map.h"
#include "import/sqlite_source.h"

/* A zeroed struct has no strings. */
struct sqlite_strings {
    struct sqlite_source *source;
    struct trace_writer *writer;
    const char *table;
    struct map known; /* the database's id -> the trace's string */

    struct sqlite3_stmt *lookup; /* if the id is the primary key; else all are loaded: */
    struct map loaded;           /* the database's id -> id in `texts` */
    struct intern texts;
};

/* `table` has the columns id and `value`; it may be absent. Call sqlite_strings_close() even after
 * a failure. */
bool sqlite_strings_open(struct sqlite_strings *strings, struct sqlite_source *source,
                         struct trace_writer *writer, const char *table, const char *value,
                         struct status *status);
void sqlite_strings_close(struct sqlite_strings *strings);

/* The text of an id, empty when it is unknown; valid until the next call. */
bool sqlite_strings_text(struct sqlite_strings *strings, int64_t id, struct text *text,
                         struct status *status);
/* The string id in the trace. */
bool sqlite_strings_get(struct sqlite_strings *strings, int64_t id, uint32_t *string,
                        struct status *status);
/* The string id of a column that has either an id or the text itself; 0 for any other value. */
bool sqlite_strings_column(struct sqlite_strings *strings, const struct sqlite_rows *rows,
                           unsigned column, uint32_t *string, struct status *status);

#endif
