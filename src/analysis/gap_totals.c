/* Level 0 has a node for each block, and a node of the next level has the sums of two. Names
 * repeat, so the sums of many blocks are few. Where they do not, a level is as long as the one
 * below, and no more levels are built. */
#include "analysis/gap_totals.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/search.h"

enum { LENGTH_MAX = 8 }; /* of all levels, in charges of the first */

static void thread_totals_finish(struct thread_totals *thread) {
    memory_free(thread->boundaries);
    memory_free(thread->cursors);
    memory_free(thread->level_first);
    memory_free(thread->node_first);
    memory_free(thread->charges.list);
    memset(thread, 0, sizeof *thread);
}

void gap_totals_finish(struct gap_totals *totals) {
    for (size_t i = 0; i < totals->count && totals->threads; i++)
        thread_totals_finish(&totals->threads[i]);
    memory_free(totals->threads);
    memset(totals, 0, sizeof *totals);
}

bool host_charges_add(struct host_charges *charges, uint32_t kind, uint32_t name, int64_t time,
                      struct status *status) {
    if (!GROW(charges->list, &charges->capacity, charges->count + 1, status))
        return false;
    charges->list[charges->count++] =
        (struct host_charge){.kind = kind, .name = name, .pieces = time > 0, .time = time};
    return true;
}

static int compare(const struct host_charge *a, const struct host_charge *b) {
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static int by_kind_and_name(const void *a, const void *b) {
    return compare(a, b);
}

/* Appends to the last node, whose charges start at `first` and arrive in order. */
static bool append(struct host_charges *charges, size_t first, const struct host_charge *charge,
                   struct status *status) {
    struct host_charge *last = charges->count > first ? &charges->list[charges->count - 1] : NULL;
    if (last && compare(last, charge) == 0) {
        last->pieces += charge->pieces;
        last->time += charge->time;
        return true;
    }
    if (!GROW(charges->list, &charges->capacity, charges->count + 1, status))
        return false;
    charges->list[charges->count++] = *charge;
    return true;
}

static bool end_node(struct thread_totals *thread, struct status *status) {
    if (!GROW(thread->node_first, &thread->node_capacity, thread->node_count + 2, status))
        return false;
    thread->node_first[++thread->node_count] = thread->charges.count;
    return true;
}

static bool add_block(struct thread_totals *thread, struct host_charges *charges,
                      struct status *status) {
    size_t first = thread->charges.count;
    bool ok = true;
    if (charges->count)
        qsort(charges->list, charges->count, sizeof *charges->list, by_kind_and_name);
    for (size_t i = 0; i < charges->count && ok; i++)
        ok = append(&thread->charges, first, &charges->list[i], status);
    charges->count = 0;
    thread->blocks++;
    return ok && end_node(thread, status);
}

bool thread_totals_block(struct thread_totals *thread, int64_t time,
                         const struct thread_cursor *cursor, struct host_charges *charges,
                         struct status *status) {
    if (!GROW(thread->boundaries, &thread->boundary_capacity, thread->blocks + 2, status) ||
        !GROW(thread->cursors, &thread->cursor_capacity, thread->blocks + 2, status) ||
        !GROW(thread->node_first, &thread->node_capacity, 1, status))
        return false;
    bool is_first = thread->levels == 0;
    if (is_first)
        thread->node_first[0] = 0;
    thread->levels = 1;
    if (!is_first && !add_block(thread, charges, status))
        return false;
    thread->boundaries[thread->blocks] = time;
    thread->cursors[thread->blocks] = *cursor;
    return true;
}

/* A node with the charges of two nodes. */
static bool merge(struct thread_totals *thread, size_t left, size_t right, struct status *status) {
    struct host_charges *charges = &thread->charges;
    size_t first = charges->count, a = thread->node_first[left], b = thread->node_first[right];
    size_t a_end = thread->node_first[left + 1], b_end = thread->node_first[right + 1];
    bool ok = true;
    while ((a < a_end || b < b_end) && ok) {
        bool take_a =
            b == b_end || (a < a_end && compare(&charges->list[a], &charges->list[b]) <= 0);
        struct host_charge charge = charges->list[take_a ? a++ : b++];
        ok = append(charges, first, &charge, status);
    }
    return ok && end_node(thread, status);
}

/* Adds a level above the one whose nodes start at `below`. */
static bool add_level(struct thread_totals *thread, size_t below, size_t nodes,
                      struct status *status) {
    if (!GROW(thread->level_first, &thread->level_capacity, thread->levels + 1, status))
        return false;
    thread->level_first[thread->levels++] = thread->node_count;
    for (size_t i = 0; i + 1 < nodes; i += 2)
        if (!merge(thread, below + i, below + i + 1, status))
            return false;
    return true;
}

bool thread_totals_sum(struct thread_totals *thread, struct status *status) {
    if (thread->blocks == 0)
        return true;
    if (!GROW(thread->level_first, &thread->level_capacity, 1, status))
        return false;
    size_t below = 0, nodes = thread->blocks, limit = LENGTH_MAX * thread->charges.count;
    thread->level_first[0] = 0;
    while (nodes > 1 && thread->charges.count < limit) {
        size_t first = thread->node_count;
        if (!add_level(thread, below, nodes, status))
            return false;
        below = first;
        nodes /= 2;
    }
    return true;
}

size_t thread_totals_find(const struct thread_totals *thread, int64_t time) {
    size_t low = 0;
    PARTITION_POINT(low, thread->blocks, i, thread->boundaries[i] <= time);
    return low ? low - 1 : thread->blocks;
}

size_t thread_totals_node(const struct thread_totals *thread, size_t from, size_t until,
                          const struct host_charge **charges, size_t *count) {
    unsigned level = 0;
    while (level + 1 < thread->levels && from % ((size_t)2 << level) == 0 &&
           from + ((size_t)2 << level) <= until)
        level++;
    size_t node = thread->level_first[level] + (from >> level);
    *charges = thread->charges.list + thread->node_first[node];
    *count = thread->node_first[node + 1] - thread->node_first[node];
    return from + ((size_t)1 << level);
}
