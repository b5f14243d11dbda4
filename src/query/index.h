/* Indexes over a column: rows by value, and rows by time. Without them a join over millions of rows
 * would be quadratic. */
#ifndef RIDGE_QUERY_INDEX_H
#define RIDGE_QUERY_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/status.h"

#define INDEX_NO_ROW UINT32_MAX

/* Rows by value. A zeroed struct is empty. */
struct value_index {
    uint32_t *next; /* by row: the next row with the same value, or INDEX_NO_ROW */
    /* The first row of each value: an array for dense values, else a map. */
    uint32_t *dense; /* by value - min */
    uint64_t min, dense_count;
    struct map sparse;
};

/* Indexes rows first..count of unsigned integers of `size` bytes (1, 4 or 8). */
bool value_index_build(struct value_index *index, const void *values, size_t size, size_t first,
                       size_t count, struct status *status);
/* The first row with the value; the rest follow through index->next in ascending order. */
uint32_t value_index_find(const struct value_index *index, uint64_t value);
void value_index_finish(struct value_index *index);

/* The positions *from .. *to in `order` (NULL: row order) of times from `low` to `high` inclusive.
 */
void time_order_find(const int64_t *times, const uint32_t *order, size_t count, int64_t low,
                     int64_t high, size_t *from, size_t *to);

/* The value of a row in a column of `size` bytes per value. */
static inline uint64_t index_value(const void *values, size_t size, size_t row) {
    if (size == 8)
        return ((const uint64_t *)values)[row];
    if (size == 4)
        return ((const uint32_t *)values)[row];
    return ((const uint8_t *)values)[row];
}

#endif
