/* Ranges whose begin and end are two events: B and E on a thread, b and e of one asynchronous id.
 * Each key has its own stack: an end closes the youngest open begin of its key. */
#ifndef RIDGE_IMPORT_KINETO_KINETO_PAIRS_H
#define RIDGE_IMPORT_KINETO_KINETO_PAIRS_H

#include "base/map.h"
#include "trace/schema.h"

/* A zeroed struct is empty. */
struct open_ranges {
    struct open_range *ranges;
    size_t count, capacity;
    size_t free;    /* index + 1 of a range that can be used again */
    struct map top; /* by key: index + 1 of the youngest, 0 = none */
    uint64_t open;  /* begun and not ended yet */
};

/* `row` is kept with its start; its duration comes with the end. */
bool open_ranges_begin(struct open_ranges *ranges, uint64_t key, const struct row_range *row,
                       struct status *status);
/* The row of the youngest begin, or false when there is none. */
bool open_ranges_end(struct open_ranges *ranges, uint64_t key, struct row_range *row);
void open_ranges_finish(struct open_ranges *ranges);

#endif
