/* Traces are mostly sorted: rows of one thread or device in order of time, those of several
 * interleaved. A stable counting sort by group therefore usually suffices; in groups that are still
 * out of order, natural runs are merged pairwise, which is stable and fast when few rows are out of
 * place. */
#include "base/sort.h"

#include <string.h>

#include "base/memory.h"
#include "base/search.h"

struct keys {
    const uint32_t *group;
    const int64_t *key, *longer;
};

static bool in_order(const struct keys *keys, uint32_t a, uint32_t b) {
    if (keys->key[a] != keys->key[b])
        return keys->key[a] < keys->key[b];
    return !keys->longer || keys->longer[a] >= keys->longer[b];
}

static bool is_sorted(const struct keys *keys, size_t count) {
    for (size_t i = 1; i < count; i++) {
        uint32_t a = (uint32_t)i - 1, b = (uint32_t)i;
        uint32_t of_a = keys->group ? keys->group[a] : 0, of_b = keys->group ? keys->group[b] : 0;
        if (of_a > of_b || (of_a == of_b && !in_order(keys, a, b)))
            return false;
    }
    return true;
}

/* Natural runs: run r is starts[r] .. starts[r + 1]. */
struct runs {
    size_t *starts;
    size_t count, capacity;
};

static bool find_runs(const struct keys *keys, const uint32_t *rows, size_t count,
                      struct runs *runs, struct status *status) {
    runs->count = 0;
    for (size_t i = 0; i <= count; i++) {
        if (i > 0 && i < count && in_order(keys, rows[i - 1], rows[i]))
            continue;
        if (!GROW(runs->starts, &runs->capacity, runs->count + 1, status))
            return false;
        runs->starts[runs->count++] = i;
    }
    runs->count--; /* the last start is the end */
    return true;
}

/* The number of rows of from[0 .. count) that precede `row` when merged. */
static size_t count_before(const struct keys *keys, const uint32_t *from, size_t count,
                           uint32_t row) {
    size_t low = 0;
    PARTITION_POINT(low, count, i, in_order(keys, from[i], row));
    return low;
}

/* Merges two neighboring runs. Rows outside their overlap are copied without comparisons. */
static void merge(const struct keys *keys, const uint32_t *from, size_t start, size_t middle,
                  size_t end, uint32_t *to) {
    size_t a = start, b = middle, at = start;
    if (middle < end) {
        size_t head = count_before(keys, from + start, middle - start, from[middle]);
        memcpy(to + at, from + a, head * sizeof *to);
        a += head;
        at += head;
    }
    while (a < middle && b < end)
        to[at++] = in_order(keys, from[a], from[b]) ? from[a++] : from[b++];
    memcpy(to + at, from + a, (middle - a) * sizeof *to);
    at += middle - a;
    memcpy(to + at, from + b, (end - b) * sizeof *to);
}

static bool merge_sort(const struct keys *keys, uint32_t *rows, uint32_t *spare, size_t count,
                       struct runs *runs, struct status *status) {
    uint32_t *from = rows, *to = spare;
    if (!find_runs(keys, rows, count, runs, status))
        return false;
    while (runs->count > 1) {
        size_t kept = 0;
        for (size_t run = 0; run < runs->count; run += 2) {
            size_t start = runs->starts[run], middle = runs->starts[run + 1];
            size_t end = run + 2 <= runs->count ? runs->starts[run + 2] : middle;
            merge(keys, from, start, middle, end, to);
            runs->starts[kept++] = start;
        }
        runs->starts[kept] = count;
        runs->count = kept;
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != rows)
        memcpy(rows, from, count * sizeof *rows);
    return true;
}

bool sort_rows(const uint32_t *group, uint32_t groups, const int64_t *key, const int64_t *longer,
               size_t count, uint32_t **order, struct status *status) {
    struct keys keys = {group, key, longer};
    *order = NULL;
    if (count >= UINT32_MAX)
        return status_fail(status, STATUS_UNSUPPORTED, "more than 4 billion rows in one table");
    if (is_sorted(&keys, count))
        return true;
    uint32_t *rows = memory_allocate(count, sizeof *rows, status);
    size_t *next = memory_allocate((size_t)groups + 1, sizeof *next, status);
    uint32_t *spare = NULL;
    struct runs runs = {0};
    bool ok = rows && next;
    if (ok) {
        for (size_t i = 0; i < count; i++)
            next[(group ? group[i] : 0) + 1]++;
        for (uint32_t g = 0; g < groups; g++)
            next[g + 1] += next[g];
        for (size_t i = 0; i < count; i++)
            rows[next[group ? group[i] : 0]++] = (uint32_t)i;
    }
    /* next[g] is now the end of group g */
    for (uint32_t g = 0; g < groups && ok; g++) {
        size_t start = g ? next[g - 1] : 0, end = next[g];
        bool sorted = true;
        for (size_t i = start + 1; i < end && sorted; i++)
            sorted = in_order(&keys, rows[i - 1], rows[i]);
        if (sorted)
            continue;
        if (!spare)
            ok = (spare = memory_allocate(count, sizeof *spare, status)) != NULL;
        ok = ok && merge_sort(&keys, rows + start, spare, end - start, &runs, status);
    }
    memory_free(runs.starts);
    memory_free(spare);
    memory_free(next);
    if (!ok) {
        memory_free(rows);
        return false;
    }
    *order = rows;
    return true;
}

bool sort_values(int64_t *values, size_t count, struct status *status) {
    size_t sorted = 1;
    while (sorted < count && values[sorted - 1] <= values[sorted])
        sorted++;
    if (sorted >= count)
        return true;
    uint32_t *order = NULL;
    int64_t *copy = memory_allocate(count, sizeof *copy, status);
    bool ok = copy && sort_rows(NULL, 1, values, NULL, count, &order, status);
    if (ok) {
        memcpy(copy, values, count * sizeof *copy);
        for (size_t i = 0; i < count; i++)
            values[i] = copy[order[i]];
    }
    memory_free(order);
    memory_free(copy);
    return ok;
}

int64_t sort_select(int64_t *values, size_t count, size_t nth) {
    size_t low = 0, high = count - 1;
    while (low < high) {
        int64_t a = values[low], b = values[low + (high - low) / 2], c = values[high];
        int64_t pivot = a < b ? (b < c ? b : (a < c ? c : a)) : (a < c ? a : (b < c ? c : b));
        size_t left = low, right = high;
        for (;;) {
            while (values[left] < pivot)
                left++;
            while (values[right] > pivot)
                right--;
            if (left >= right)
                break;
            int64_t swap = values[left];
            values[left++] = values[right];
            values[right--] = swap;
        }
        /* [low, right] <= pivot <= [right + 1, high] */
        if (nth <= right)
            high = right;
        else
            low = right + 1;
    }
    return values[nth];
}
