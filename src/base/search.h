/* Binary search, as C++'s partition_point: `predicate`, an expression of `index`, is true up to
 * some index of a range and false from there on. Moves `first` to the first index of [first, end)
 * where it is false, or to `end`.
 *
 *   size_t at = 0;
 *   PARTITION_POINT(at, count, i, times[i] < time);
 */
#ifndef RIDGE_BASE_SEARCH_H
#define RIDGE_BASE_SEARCH_H

#include <stddef.h>

#define PARTITION_POINT(first, end, index, predicate)                                              \
    do {                                                                                           \
        size_t search_end = (end);                                                                 \
        while ((first) < search_end) {                                                             \
            size_t index = (first) + (search_end - (first)) / 2;                                   \
            if (predicate)                                                                         \
                (first) = index + 1;                                                               \
            else                                                                                   \
                search_end = index;                                                                \
        }                                                                                          \
    } while (0)

#endif
