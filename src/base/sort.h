/* Sorting rows of columns: an order (a permutation of row numbers) is what comes out. */
#ifndef RIDGE_BASE_SORT_H
#define RIDGE_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The order of `count` rows by group (below `groups`; NULL: all are of one), then key ascending,
 * then `longer` descending, then row number. *order is NULL when the rows are in that order
 * already. `longer` may be NULL. Free with memory_free(). */
bool sort_rows(const uint32_t *group, uint32_t groups, const int64_t *key, const int64_t *longer,
               size_t count, uint32_t **order, struct status *status);

/* Sorts values ascending; quick when they are nearly so. */
bool sort_values(int64_t *values, size_t count, struct status *status);

/* Moves the value that would stand at position `nth` in ascending order there, and returns it;
 * smaller ones end up before it. nth < count. */
int64_t sort_select(int64_t *values, size_t count, size_t nth);

#endif
