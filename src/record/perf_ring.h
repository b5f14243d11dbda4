/* What the kernel is asked to watch, and how its records come out: one event and one ring of memory
 * for each processor.
 */
#ifndef RIDGE_RECORD_PERF_RING_H
#define RIDGE_RECORD_PERF_RING_H

#include "base/text.h"
#include "record/perf.h"

#ifdef __linux__
#include <linux/perf_event.h>

struct perf_ring {
    int fd;
    unsigned processor;
    struct perf_event_mmap_page *page; /* shared with the kernel; the records follow it */
    size_t bytes;                      /* of records; a power of two */
    uint64_t lost;                     /* records that its own records said were lost */
};

struct perf_rings {
    struct perf_ring *items;
    size_t count;
    bool user_only;   /* the kernel's own part of stacks is not for this user to see */
    bool counts_lost; /* events know how many records they lost (Linux 6.0) */
};

bool perf_rings_open(struct perf_rings *rings, pid_t target, const struct perf_options *options,
                     struct status *status);
void perf_rings_close(struct perf_rings *rings);
/* What was lost and no record has said: the kernel has room for such a record only when there is
 * room again, and at the end nothing comes any more. */
uint64_t perf_rings_lost(const struct perf_rings *rings);

/* A record, as it was copied out of a ring. */
struct perf_record {
    uint32_t type, misc;
    int64_t time;
    uint32_t pid, tid;
    unsigned processor;
    const uint8_t *body; /* what its type says; 8-byte aligned */
    size_t length;
};

/* Records of all rings, to be read in the order of their times. A zeroed one is empty. */
struct perf_batch {
    struct buffer bytes;
    int64_t *times;
    size_t *offsets;
    uint32_t *processors, *group; /* group: all zero, for sort_rows() */
    size_t count, capacity[4];
};

/* Takes what there is in a ring out of it. Records that have no form are dropped and counted.
 * `fullness` becomes the share of the ring that was used, if that is more. */
bool perf_batch_take(struct perf_batch *batch, struct perf_ring *ring, uint64_t *damaged,
                     double *fullness, struct status *status);
/* Copies all records of another batch. */
bool perf_batch_append(struct perf_batch *batch, const struct perf_batch *from,
                       struct status *status);
/* Copies a record of another batch. */
bool perf_batch_add(struct perf_batch *batch, const struct perf_batch *from, size_t index,
                    struct status *status);
struct perf_record perf_batch_record(const struct perf_batch *batch, size_t index);
void perf_batch_clear(struct perf_batch *batch);
void perf_batch_finish(struct perf_batch *batch);

#endif
#endif
