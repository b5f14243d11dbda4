/* Orders, sorted values and order statistics against straightforward implementations. */
#include "../test.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/sort.h"

static uint32_t seed = 1;
static uint32_t random_below(uint32_t limit) {
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)seed * limit >> 32);
}

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Values that are random, nearly sorted, full of ties, or descending. */
static void fill(int64_t *values, size_t count, unsigned kind) {
    for (size_t i = 0; i < count; i++)
        values[i] = kind == 0   ? (int64_t)random_below(1000000) - 500000
                    : kind == 1 ? (int64_t)(i * 10 + random_below(15))
                    : kind == 2 ? (int64_t)random_below(3)
                                : (int64_t)(count - i);
}

TEST(values_come_out_sorted_whatever_order_they_had) {
    struct status status = {0};
    for (size_t count = 0; count < 300; count += 7)
        for (unsigned kind = 0; kind < 4; kind++) {
            int64_t values[300], expected[300];
            fill(values, count, kind);
            memcpy(expected, values, sizeof values);
            qsort(expected, count, sizeof *expected, compare);
            REQUIRE(sort_values(values, count, &status));
            CHECK(memcmp(values, expected, count * sizeof *values) == 0);
        }
}

TEST(the_nth_value_is_selected_without_sorting) {
    for (size_t count = 1; count < 200; count += 3)
        for (unsigned kind = 0; kind < 4; kind++) {
            int64_t values[200], expected[200];
            fill(values, count, kind);
            memcpy(expected, values, sizeof values);
            qsort(expected, count, sizeof *expected, compare);
            size_t nth = random_below((uint32_t)count);
            CHECK_INT(sort_select(values, count, nth), expected[nth]);
        }
}

TEST(rows_are_ordered_by_group_then_key_then_length_then_place) {
    struct status status = {0};
    enum { ROWS = 500, GROUPS = 4 };
    for (unsigned kind = 0; kind < 4; kind++) {
        uint32_t group[ROWS], *order;
        int64_t key[ROWS], longer[ROWS];
        fill(key, ROWS, kind);
        for (size_t i = 0; i < ROWS; i++) {
            group[i] = random_below(GROUPS);
            longer[i] = random_below(3);
        }
        REQUIRE(sort_rows(group, GROUPS, key, longer, ROWS, &order, &status));
        REQUIRE(order);
        for (size_t i = 1; i < ROWS; i++) {
            uint32_t a = order[i - 1], b = order[i];
            bool ordered = group[a] != group[b]     ? group[a] < group[b]
                           : key[a] != key[b]       ? key[a] < key[b]
                           : longer[a] != longer[b] ? longer[a] > longer[b]
                                                    : a < b;
            CHECK(ordered);
        }
        memory_free(order);
    }
}

TEST(rows_in_order_need_no_order) {
    struct status status = {0};
    uint32_t group[] = {0, 0, 1}, *order;
    int64_t key[] = {1, 2, 1};
    REQUIRE(sort_rows(group, 2, key, NULL, 3, &order, &status));
    CHECK(order == NULL);
}
