/* Rows with equal values form a chain in ascending order; only the head of the chain is looked up.
 * Correlation, entity and string ids are usually small and dense, so heads are in an array;
 * otherwise they are in a hash map. */
#include "query/index.h"

#include <string.h>

#include "base/memory.h"

static bool build_dense(struct value_index *index, const void *values, size_t size, size_t first,
                        size_t count, struct status *status) {
    index->dense = memory_allocate((size_t)index->dense_count, sizeof *index->dense, status);
    if (!index->dense)
        return false;
    memset(index->dense, 0xFF, (size_t)index->dense_count * sizeof *index->dense);
    for (size_t row = count; row-- > first;) {
        uint32_t *head = &index->dense[index_value(values, size, row) - index->min];
        index->next[row] = *head;
        *head = (uint32_t)row;
    }
    return true;
}

static bool build_sparse(struct value_index *index, const void *values, size_t size, size_t first,
                         size_t count, struct status *status) {
    for (size_t row = count; row-- > first;) {
        uint64_t value = index_value(values, size, row);
        const uint64_t *head = map_find(&index->sparse, value);
        index->next[row] = head ? (uint32_t)*head : INDEX_NO_ROW;
        if (!map_set(&index->sparse, value, row, status))
            return false;
    }
    return true;
}

bool value_index_build(struct value_index *index, const void *values, size_t size, size_t first,
                       size_t count, struct status *status) {
    uint64_t min = UINT64_MAX, max = 0;
    *index = (struct value_index){0};
    index->next = memory_allocate(count, sizeof *index->next, status);
    if (!index->next)
        return false;
    if (count <= first)
        return true;
    for (size_t row = first; row < count; row++) {
        uint64_t value = index_value(values, size, row);
        min = value < min ? value : min;
        max = value > max ? value : max;
    }
    bool ok;
    if (max - min < 4 * (uint64_t)count + 1024) {
        index->min = min;
        index->dense_count = max - min + 1;
        ok = build_dense(index, values, size, first, count, status);
    } else {
        ok = build_sparse(index, values, size, first, count, status);
    }
    if (!ok)
        value_index_finish(index);
    return ok;
}

uint32_t value_index_find(const struct value_index *index, uint64_t value) {
    if (index->dense) {
        uint64_t at = value - index->min;
        return at < index->dense_count ? index->dense[at] : INDEX_NO_ROW;
    }
    const uint64_t *head = map_find(&index->sparse, value);
    return head ? (uint32_t)*head : INDEX_NO_ROW;
}

void value_index_finish(struct value_index *index) {
    memory_free(index->next);
    memory_free(index->dense);
    map_finish(&index->sparse);
    *index = (struct value_index){0};
}

/* The first position with a time above `bound`, or at it if `equal`. */
static size_t position_of(const int64_t *times, const uint32_t *order, size_t count, int64_t bound,
                          bool equal) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int64_t time = times[order ? order[middle] : middle];
        if (time > bound || (equal && time == bound))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void time_order_find(const int64_t *times, const uint32_t *order, size_t count, int64_t low,
                     int64_t high, size_t *from, size_t *to) {
    *from = position_of(times, order, count, low, true);
    *to = position_of(times, order, count, high, false);
    if (*to < *from)
        *to = *from;
}
