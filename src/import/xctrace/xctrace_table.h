/* One document of `xctrace export`: rows of typed cells, read as a stream.
 *
 * The reader asks once per schema which columns are wanted, then hands over every row as that many
 * cells in that order. A cell is a number that names a value of the document, 0 being NULL (a
 * sentinel, a missing column, a reference that leads nowhere). Values that the document gave an id
 * stay until the end, the others until their row has been handled, so look at cells inside the
 * row function only.
 */
#ifndef RIDGE_IMPORT_XCTRACE_XCTRACE_TABLE_H
#define RIDGE_IMPORT_XCTRACE_XCTRACE_TABLE_H

#include "base/input.h"
#include "base/text.h"

struct xctrace_table;

struct xctrace_reader {
    /* The mnemonics of the columns wanted of this schema, NULL at the end; NULL to pass over its
     * rows. `run` is the position of the recording within the trace, 0 when the document is silent.
     */
    const char *const *(*schema)(void *context, struct text name, unsigned run);
    /* Returns false to stop: with a failed status as an error, with an untouched one in peace. */
    bool (*row)(void *context, const struct xctrace_table *table, const uint32_t *cells,
                struct status *status);
    void *context;
    uint64_t unresolved; /* references to ids that were not defined before; added to */
};

enum { XCTRACE_WANTED_MAX = 32 };

bool xctrace_table_read(struct input *input, struct xctrace_reader *reader, struct status *status);

/* The cell's text; of a composite cell (process, thread, label) its human form, of a stack frame or
 * binary its name. */
struct text xctrace_text(const struct xctrace_table *table, uint32_t cell);
struct text xctrace_tag(const struct xctrace_table *table, uint32_t cell);
/* The first child of that tag, or 0. */
uint32_t xctrace_child(const struct xctrace_table *table, uint32_t cell, const char *tag);
/* All children; valid until the row function returns. */
const uint32_t *xctrace_children(const struct xctrace_table *table, uint32_t cell, size_t *count);
/* The cell as a decimal integer; false when it is NULL or something else. */
bool xctrace_integer(const struct xctrace_table *table, uint32_t cell, uint64_t *value);

/* For messages: where the reader is. */
struct text xctrace_table_schema(const struct xctrace_table *table);
uint64_t xctrace_table_row(const struct xctrace_table *table); /* counted from 1 */
uint64_t xctrace_table_offset(const struct xctrace_table *table);

#endif
