/* The energy distance of a division needs three sums of absolute differences; moving the division
 * by one value changes each by the differences of that value, so that all divisions of a segment
 * take one pass over the pairs. Permutations come from a fixed generator: a series always has the
 * same answer. */
#include "compare/change_points.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/statistics.h"

enum { PERMUTATIONS = 499 };

struct search {
    const double *values;
    double *shuffled, *sorted;
    struct change_point *points;
    size_t found, capacity;
    uint64_t state;
};

/* The division of values[0..count) with the largest scaled energy distance; 0 when too short. */
static double best_division(const double *values, size_t count, size_t *at) {
    double left = 0, right = 0, between = 0, best = 0; /* sums over pairs */
    *at = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            right += fabs(values[i] - values[k]);
    for (size_t n = 1; n < count; n++) {
        double to_left = 0, to_right = 0, moved = values[n - 1];
        for (size_t k = 0; k + 1 < n; k++)
            to_left += fabs(values[k] - moved);
        for (size_t k = n; k < count; k++)
            to_right += fabs(values[k] - moved);
        left += to_left;
        right -= to_right;
        between += to_right - to_left;
        size_t m = count - n;
        if (n < CHANGE_POINTS_SEGMENT || m < CHANGE_POINTS_SEGMENT)
            continue;
        double a = (double)n, b = (double)m;
        double distance = 2 * between / (a * b) - 2 * left / (a * a) - 2 * right / (b * b);
        double scaled = distance * a * b / (a + b);
        if (scaled > best) {
            best = scaled;
            *at = n;
        }
    }
    return best;
}

static void shuffle(struct search *search, const double *values, size_t count) {
    memcpy(search->shuffled, values, count * sizeof *values);
    for (size_t i = count; i-- > 1;) {
        search->state = search->state * 6364136223846793005u + 1442695040888963407u;
        size_t k = (size_t)((search->state >> 33) % (i + 1));
        double kept = search->shuffled[i];
        search->shuffled[i] = search->shuffled[k];
        search->shuffled[k] = kept;
    }
}

/* The share of permutations that divide at least as well; stops when it is too large. */
static double chance_of(struct search *search, const double *values, size_t count, double best) {
    unsigned larger = 0, allowed = (unsigned)(CHANGE_POINTS_CHANCE * (PERMUTATIONS + 1));
    size_t at;
    for (unsigned i = 0; i < PERMUTATIONS; i++) {
        shuffle(search, values, count);
        larger += best_division(search->shuffled, count, &at) >= best;
        if (larger >= allowed)
            return 1;
    }
    return (double)(larger + 1) / (PERMUTATIONS + 1);
}

/* Divides first..end, then its parts: a stack of segments, as recursion would follow the input. */
static bool divide_all(struct search *search, size_t count, struct status *status) {
    struct segment {
        size_t first, end;
    } *stack = memory_allocate(count + 1, sizeof *stack, status);
    size_t depth = 0;
    if (!stack)
        return false;
    stack[depth++] = (struct segment){0, count};
    bool ok = true;
    while (depth > 0 && ok) {
        struct segment segment = stack[--depth];
        const double *values = search->values + segment.first;
        size_t at, length = segment.end - segment.first;
        double best = best_division(values, length, &at);
        if (at == 0 || best <= 0)
            continue;
        double chance = chance_of(search, values, length, best);
        if (chance > CHANGE_POINTS_CHANCE)
            continue;
        ok = GROW(search->points, &search->capacity, search->found + 1, status);
        if (!ok)
            break;
        search->points[search->found++] =
            (struct change_point){.at = segment.first + at, .probability = chance};
        stack[depth++] = (struct segment){segment.first, segment.first + at};
        stack[depth++] = (struct segment){segment.first + at, segment.end};
    }
    memory_free(stack);
    return ok;
}

static int by_place(const void *a, const void *b) {
    const struct change_point *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static double median_of(struct search *search, size_t first, size_t end) {
    memcpy(search->sorted, search->values + first, (end - first) * sizeof *search->sorted);
    statistics_sort(search->sorted, end - first);
    return statistics_quantile(search->sorted, end - first, 0.5);
}

static void measure_levels(struct search *search, size_t count) {
    for (size_t i = 0; i < search->found; i++) {
        size_t first = i ? search->points[i - 1].at : 0,
               end = i + 1 < search->found ? search->points[i + 1].at : count;
        search->points[i].before = median_of(search, first, search->points[i].at);
        search->points[i].after = median_of(search, search->points[i].at, end);
    }
}

bool change_points_find(const double *values, size_t count, struct change_point **points,
                        size_t *found, struct status *status) {
    struct search search = {.values = values, .state = 1};
    search.shuffled = memory_allocate(count + 1, sizeof *search.shuffled, status);
    search.sorted = memory_allocate(count + 1, sizeof *search.sorted, status);
    bool ok = search.shuffled && search.sorted && divide_all(&search, count, status);
    if (ok) {
        if (search.found)
            qsort(search.points, search.found, sizeof *search.points, by_place);
        measure_levels(&search, count);
    } else {
        memory_free(search.points);
        search.points = NULL;
        search.found = 0;
    }
    memory_free(search.shuffled);
    memory_free(search.sorted);
    *points = search.points;
    *found = search.found;
    return ok;
}
