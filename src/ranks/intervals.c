/* Sets of intervals: sorted, disjoint lists, as unions of what a rank did. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/min_max.h"
#include "base/search.h"
#include "ranks/ranks.h"

bool intervals_add(struct intervals *set, int64_t start, int64_t end, struct status *status) {
    if (start >= end)
        return true;
    if (set->count > 0 && set->list[set->count - 1].end >= start &&
        set->list[set->count - 1].start <= start) {
        set->list[set->count - 1].end = MAX(set->list[set->count - 1].end, end);
        return true;
    }
    if (!GROW(set->list, &set->capacity, set->count + 1, status))
        return false;
    set->list[set->count++] = (struct interval){start, end};
    return true;
}

static int by_start(const void *a, const void *b) {
    const struct interval *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* Sorts intervals that were added in any order, and merges those that touch. */
void intervals_sort(struct intervals *set) {
    size_t kept = 0;
    bool sorted = true;
    for (size_t i = 1; i < set->count && sorted; i++)
        sorted = set->list[i - 1].start <= set->list[i].start;
    if (!sorted)
        qsort(set->list, set->count, sizeof *set->list, by_start);
    for (size_t i = 0; i < set->count; i++) {
        if (kept > 0 && set->list[i].start <= set->list[kept - 1].end)
            set->list[kept - 1].end = MAX(set->list[kept - 1].end, set->list[i].end);
        else
            set->list[kept++] = set->list[i];
    }
    set->count = kept;
}

bool intervals_subtract(const struct intervals *from, const struct intervals *what,
                        struct intervals *result, struct status *status) {
    size_t at = 0;
    for (size_t i = 0; i < from->count; i++) {
        int64_t start = from->list[i].start, end = from->list[i].end;
        while (at < what->count && what->list[at].end <= start)
            at++;
        for (size_t k = at; k < what->count && what->list[k].start < end; k++) {
            if (!intervals_add(result, start, what->list[k].start, status))
                return false;
            start = MAX(start, what->list[k].end);
        }
        if (!intervals_add(result, start, end, status))
            return false;
    }
    return true;
}

int64_t intervals_overlap(const struct intervals *set, const struct intervals *other,
                          struct interval window) {
    int64_t sum = 0;
    size_t i = 0, k = 0;
    while (i < set->count && k < other->count) {
        int64_t start = MAX(MAX(set->list[i].start, other->list[k].start), window.start);
        int64_t end = MIN(MIN(set->list[i].end, other->list[k].end), window.end);
        sum += end > start ? end - start : 0;
        if (set->list[i].end < other->list[k].end)
            i++;
        else
            k++;
    }
    return sum;
}

int64_t intervals_length(const struct intervals *set, struct interval window) {
    int64_t sum = 0;
    size_t at = 0;
    PARTITION_POINT(at, set->count, i, set->list[i].end <= window.start);
    for (; at < set->count && set->list[at].start < window.end; at++)
        sum += MIN(set->list[at].end, window.end) - MAX(set->list[at].start, window.start);
    return sum;
}

void intervals_finish(struct intervals *set) {
    memory_free(set->list);
    *set = (struct intervals){0};
}
