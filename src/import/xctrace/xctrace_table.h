/* A streaming parser for one document of `xctrace export`: rows of typed cells.
 *
 * The parser requests the columns of each schema once, then passes every row as that many cells in
 * that order. A cell is the number of a value of the document; 0 is NULL (a sentinel, a missing
 * column, an undefined reference). Values with an id live until the end, the others until their row
 * has been handled, so use cells only inside the row function. */
#ifndef RIDGE_IMPORT_XCTRACE_XCTRACE_TABLE_H
#define RIDGE_IMPORT_XCTRACE_XCTRACE_TABLE_H

#include "base/input.h"
#include "base/text.h"

struct xctrace_table;

struct xctrace_reader {
    /* The mnemonics of the requested columns of this schema, ending with NULL; NULL to skip its
     * rows. `run` is the index of the recording in the trace, 0 when the document has none. */
    const char *const *(*schema)(void *context, struct text name, unsigned run);
    /* Returns false to stop, with an error if status is set. */
    bool (*row)(void *context, const struct xctrace_table *table, const uint32_t *cells,
                struct status *status);
    void *context;
    uint64_t unresolved; /* references to undefined ids; added to */
};

enum { XCTRACE_WANTED_MAX = 32 };

bool xctrace_table_read(struct input *input, struct xctrace_reader *reader, struct status *status);

/* The cell's text: for a composite cell (process, thread, label) its formatted value, for a stack
 * frame or binary its name. */
struct text xctrace_text(const struct xctrace_table *table, uint32_t cell);
struct text xctrace_tag(const struct xctrace_table *table, uint32_t cell);
/* The first child with that tag, or 0. */
uint32_t xctrace_child(const struct xctrace_table *table, uint32_t cell, const char *tag);
/* All children; valid until the row function returns. */
const uint32_t *xctrace_children(const struct xctrace_table *table, uint32_t cell, size_t *count);
/* The cell as a decimal integer; false when it is NULL or not one. */
bool xctrace_integer(const struct xctrace_table *table, uint32_t cell, uint64_t *value);

/* The position of the parser, for messages. */
struct text xctrace_table_schema(const struct xctrace_table *table);
uint64_t xctrace_table_row(const struct xctrace_table *table); /* counted from 1 */
uint64_t xctrace_table_offset(const struct xctrace_table *table);

#endif
