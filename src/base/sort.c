/* Traces come mostly sorted: rows of one thread or device in time order, those of several mixed. So
 * a stable counting sort by group usually finishes the job; groups that are still out of order are
 * sorted by a bottom-up merge sort, which keeps equal rows in order. */
#include "base/sort.h"

#include <string.h>

#include "base/memory.h"

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
        if (keys->group[a] > keys->group[b] ||
            (keys->group[a] == keys->group[b] && !in_order(keys, a, b)))
            return false;
    }
    return true;
}

/* Where the next run of rows that are in order ends. */
static size_t run_end(const struct keys *keys, const uint32_t *rows, size_t at, size_t count) {
    for (at++; at < count && in_order(keys, rows[at - 1], rows[at]); at++)
        ;
    return at;
}

/* Merges neighbouring runs into the other array until one is left; runs that nature gave are not
 * torn apart, so nearly sorted rows take few passes. */
static void merge_sort(const struct keys *keys, uint32_t *rows, uint32_t *spare, size_t count) {
    uint32_t *from = rows, *to = spare;
    for (;;) {
        size_t runs = 0;
        for (size_t start = 0; start < count; runs++) {
            size_t middle = run_end(keys, from, start, count);
            size_t end = middle < count ? run_end(keys, from, middle, count) : count;
            size_t a = start, b = middle, at = start;
            while (a < middle && b < end)
                to[at++] = in_order(keys, from[a], from[b]) ? from[a++] : from[b++];
            memcpy(to + at, from + a, (middle - a) * sizeof *to);
            at += middle - a;
            memcpy(to + at, from + b, (end - b) * sizeof *to);
            start = end;
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
        if (runs <= 1)
            break;
    }
    if (from != rows)
        memcpy(rows, from, count * sizeof *rows);
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
    bool ok = rows && next;
    if (ok) {
        for (size_t i = 0; i < count; i++)
            next[group[i] + 1]++;
        for (uint32_t g = 0; g < groups; g++)
            next[g + 1] += next[g];
        for (size_t i = 0; i < count; i++)
            rows[next[group[i]]++] = (uint32_t)i;
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
        if (ok)
            merge_sort(&keys, rows + start, spare, end - start);
    }
    memory_free(spare);
    memory_free(next);
    if (!ok) {
        memory_free(rows);
        return false;
    }
    *order = rows;
    return true;
}

static size_t values_run_end(const int64_t *values, size_t at, size_t count) {
    for (at++; at < count && values[at - 1] <= values[at]; at++)
        ;
    return at;
}

bool sort_values(int64_t *values, size_t count, struct status *status) {
    if (count == 0 || values_run_end(values, 0, count) == count)
        return true;
    int64_t *spare = memory_allocate(count, sizeof *spare, status);
    if (!spare)
        return false;
    int64_t *from = values, *to = spare;
    for (;;) {
        size_t runs = 0;
        for (size_t start = 0; start < count; runs++) {
            size_t middle = values_run_end(from, start, count);
            size_t end = middle < count ? values_run_end(from, middle, count) : count;
            size_t a = start, b = middle, at = start;
            while (a < middle && b < end)
                to[at++] = from[a] <= from[b] ? from[a++] : from[b++];
            memcpy(to + at, from + a, (middle - a) * sizeof *to);
            at += middle - a;
            memcpy(to + at, from + b, (end - b) * sizeof *to);
            start = end;
        }
        int64_t *swap = from;
        from = to;
        to = swap;
        if (runs <= 1)
            break;
    }
    if (from != values)
        memcpy(values, from, count * sizeof *values);
    memory_free(spare);
    return true;
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
