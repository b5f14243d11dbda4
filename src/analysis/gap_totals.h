/* Sums of what a thread did, by cause and name, over blocks of consecutive intervals of host time.
 * A tree of these sums gives those of a long gap without a walk over its intervals: when one thread
 * launches for thousands of devices, the gaps of each device span its launches for all others. */
#ifndef RIDGE_ANALYSIS_GAP_TOTALS_H
#define RIDGE_ANALYSIS_GAP_TOTALS_H

#include "analysis/host.h"

/* Host time of one kind under one name. */
struct host_charge {
    uint32_t kind, name;
    uint64_t pieces; /* intervals */
    int64_t time;
};

/* A list of charges. A zeroed one is empty. */
struct host_charges {
    struct host_charge *list;
    size_t count, capacity;
};

struct thread_cursor {
    struct host_cursor host;
    struct state_cursor state;
};

enum { GAP_BLOCK = 32 }; /* intervals */

/* One thread. A zeroed one has no blocks. */
struct thread_totals {
    int64_t *boundaries;           /* block i is [boundaries[i], boundaries[i + 1]) */
    struct thread_cursor *cursors; /* at the start of each block */
    size_t blocks, boundary_capacity, cursor_capacity;
    unsigned levels;
    size_t *level_first; /* by level: its first node. A node of level n holds 2^n blocks */
    size_t *node_first;  /* by node: its first charge; [node + 1] = end */
    size_t level_capacity, node_count, node_capacity;
    struct host_charges charges; /* of each node, by (kind, name) */
};

struct gap_totals {
    struct thread_totals *threads; /* by thread */
    size_t count;
};

void gap_totals_finish(struct gap_totals *totals);

/* Starts the next block, or ends the last one. Adds the charges of the block before, and clears
 * them. */
bool thread_totals_block(struct thread_totals *thread, int64_t time,
                         const struct thread_cursor *cursor, struct host_charges *charges,
                         struct status *status);
/* Builds the sums of several blocks, once all blocks are added. */
bool thread_totals_sum(struct thread_totals *thread, struct status *status);

/* The last block that starts at or before `time`, or the number of blocks if there is none. */
size_t thread_totals_find(const struct thread_totals *thread, int64_t time);
/* The largest node that starts with block `from` and ends at or before block `until`: sets its
 * charges and returns the block behind it. from < until. */
size_t thread_totals_node(const struct thread_totals *thread, size_t from, size_t until,
                          const struct host_charge **charges, size_t *count);

bool host_charges_add(struct host_charges *charges, uint32_t kind, uint32_t name, int64_t time,
                      struct status *status);

#endif
