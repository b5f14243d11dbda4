/* Sorts rows of columns. The result is an order: a permutation of row numbers. */
#ifndef RIDGE_BASE_SORT_H
#define RIDGE_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The order of `count` rows by group (below `groups`; NULL: a single group), then key ascending,
 * then `longer` descending (may be NULL), then row number. *order is NULL when the rows are already
 * in that order. Free with memory_free(). */
bool sort_rows(const uint32_t *group, uint32_t groups, const int64_t *key, const int64_t *longer,
               size_t count, uint32_t **order, struct status *status);

/* Sorts values ascending; fast when they are nearly sorted. */
bool sort_values(int64_t *values, size_t count, struct status *status);

/* Partially sorts so that the value of rank `nth` is at that position, and returns it; smaller
 * values end up before it. nth < count. */
int64_t sort_select(int64_t *values, size_t count, size_t nth);

#endif
