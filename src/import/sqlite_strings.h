/* The texts that a database keeps once and names by number (StringIds, rocpd_string), as strings of
 * the trace. A text is looked up when it is first asked for, so that those nobody asks for cost
 * nothing.
 */
#ifndef RIDGE_IMPORT_SQLITE_STRINGS_H
#define RIDGE_IMPORT_SQLITE_STRINGS_H

#include "base/intern.h"
#include "base/map.h"
#include "import/sqlite_source.h"

/* A zeroed one has no texts. */
struct sqlite_strings {
    struct sqlite_source *source;
    struct trace_writer *writer;
    const char *table;
    struct map known; /* the database's id -> the trace's string */

    struct sqlite3_stmt *lookup; /* where the id is the table's key; else all texts are loaded: */
    struct map loaded;           /* the database's id -> id in `texts` */
    struct intern texts;
};

/* `table` has the columns id and `value`; it may be absent. Close it whatever this returns. */
bool sqlite_strings_open(struct sqlite_strings *strings, struct sqlite_source *source,
                         struct trace_writer *writer, const char *table, const char *value,
                         struct status *status);
void sqlite_strings_close(struct sqlite_strings *strings);

/* The text itself, empty when there is none of that id; good until the next call. */
bool sqlite_strings_text(struct sqlite_strings *strings, int64_t id, struct text *text,
                         struct status *status);
/* The trace's string for it. */
bool sqlite_strings_get(struct sqlite_strings *strings, int64_t id, uint32_t *string,
                        struct status *status);
/* The same for a column that holds either such an id or the text itself; 0 for anything else. */
bool sqlite_strings_column(struct sqlite_strings *strings, const struct sqlite_rows *rows,
                           unsigned column, uint32_t *string, struct status *status);

#endif
