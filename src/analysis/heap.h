/* Which lines and functions allocate host memory, and what do they never free? And how much memory
 * did each process hold? From sampled allocations (ridge record --memory) and counters of resident
 * memory.
 */
#ifndef RIDGE_ANALYSIS_HEAP_H
#define RIDGE_ANALYSIS_HEAP_H

#include "analysis/model.h"

/* All allocations of one line of the program or, where lines are not known, of the same innermost
 * function. Bytes are estimates: sums of what the samples stand for. */
struct heap_site {
    uint32_t function; /* stack row; 0: unknown */
    uint64_t samples;
    uint64_t allocated;
    uint64_t kept; /* allocated in the steady part and never freed, of processes that did not end
                      before it */
    uint64_t peak, live; /* held at once; at the end */
};

struct heap_process {
    struct text name;    /* "python (4711)" */
    uint64_t peak, last; /* resident bytes; the last reading above zero */
    int64_t peak_time;
    uint64_t late;   /* at three quarters */
    uint64_t middle; /* at half of its readings' time */
    uint64_t floor;  /* the smallest after that */
};

struct heap {
    bool is_sampled;         /* allocations were recorded */
    bool is_snapshot;        /* all at one time: what was in use, without a history */
    struct heap_site *sites; /* most kept first, then most allocated */
    size_t site_count;
    uint64_t allocated, kept;
    int64_t steady; /* time at which the steady part begins: after a quarter of the run */
    struct heap_process *processes; /* most memory first */
    size_t process_count;
};

bool heap_find(const struct model *model, struct heap *heap, struct status *status);
void heap_finish(struct heap *heap);

#endif
