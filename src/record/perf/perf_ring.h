/* The perf events of a target and their ring buffers. Each processor has one ring buffer. Its
 * events share it: one for mappings, names, forks and context switches, and one for samples with
 * each size of stack copy, of which one at a time is enabled.
 */
#ifndef RIDGE_RECORD_PERF_PERF_RING_H
#define RIDGE_RECORD_PERF_PERF_RING_H

#include <pthread.h>

#include "base/text.h"
#include "record/perf/perf.h"

#ifdef __linux__
#include <linux/perf_event.h>

/* Bytes of user stack in a sample, largest first. */
enum { PERF_STACK_SIZES = 3 };
extern const uint32_t perf_stack_sizes[PERF_STACK_SIZES];

struct perf_ring {
    int fd; /* mappings, names, forks, context switches; owns the ring buffer */
    int samplers[PERF_STACK_SIZES]; /* output goes to `fd`; -1: not open */
    unsigned processor;
    struct perf_event_mmap_page *page; /* shared with the kernel; the records follow it */
    size_t bytes;                      /* of records; a power of two */
    uint64_t lost;                     /* records that its own records said were lost */
};

struct perf_rings {
    struct perf_ring *items;
    size_t count;
    bool user_only;       /* the kernel's own part of stacks is not for this user to see */
    bool counts_lost;     /* events know how many records they lost (Linux 6.0) */
    unsigned stack_sizes; /* how many of perf_stack_sizes can be used; 0 or 1: no choice */
    unsigned stack_size;  /* index of the one in use */
    unsigned fill_ms;     /* how long a ring takes to fill with the largest samples */
    bool limited;         /* smaller than perf_ring_bytes(): locked memory is limited */
};

/* Bytes of a ring buffer that holds half a second of samples, or less where memory is short.
 * `memory` is the machine's. A power of two. */
size_t perf_ring_bytes(unsigned rate, size_t sample_bytes, unsigned processors, uint64_t memory);

bool perf_rings_open(struct perf_rings *rings, pid_t target, const struct perf_options *options,
                     struct status *status);
void perf_rings_close(struct perf_rings *rings);
/* Samples of all threads bring a stack copy of perf_stack_sizes[index] from here on. Until it
 * returns a thread may be sampled with both sizes. */
void perf_rings_set_stack_size(struct perf_rings *rings, unsigned index);
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
bool perf_batch_read_ring(struct perf_batch *batch, struct perf_ring *ring, uint64_t *damaged,
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

/* ---- Reader thread --------------------------------------------------------------------------- */

/* Which of perf_stack_sizes is in use. Zeroed, it is the largest. */
struct perf_stack_choice {
    unsigned index;
    unsigned reductions; /* how often a smaller size was chosen */
    int64_t low_since;   /* a larger size would have fit since then */
};
/* What the reader knows after it has emptied the rings. */
struct perf_load {
    double fullness;  /* the highest share of a ring that was in use */
    unsigned late_ms; /* how late it was scheduled */
    unsigned fill_ms; /* how long a ring takes to fill with samples of the largest size */
    size_t backlog;   /* bytes of records that nobody has taken yet */
};
/* Chooses the next smaller of `sizes` stack sizes when samples may be lost soon, and a larger one
 * again after a calm time, which grows with each reduction. True when the choice has changed. */
bool perf_stack_choice_update(struct perf_stack_choice *choice, unsigned sizes,
                              const struct perf_load *load, int64_t now);

/* Not to be moved while it runs. Zeroed, it has not been started. */
struct perf_reader {
    struct perf_rings *rings;
    pthread_t thread;
    bool running;
    unsigned interval_max;
    int64_t wakeup_due;      /* when the thread wanted to be woken; 0: it did not sleep */
    struct perf_batch taken; /* of perf_reader_take()'s thread */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    /* under the lock */
    bool stop;
    struct perf_batch copied;
    int64_t complete; /* all records before this time have been copied, CLOCK_MONOTONIC */
    uint64_t damaged;
    bool failed;       /* there was no memory */
    unsigned interval; /* milliseconds between two times; less while the rings fill quickly */
    struct perf_stack_choice choice;
};

/* Where there can be no thread, perf_reader_take() does its work. */
void perf_reader_start(struct perf_reader *reader, struct perf_rings *rings);
/* Adds all that was copied since to the batch, and how many records were damaged. `complete`: later
 * calls add no records stamped before that time. False when there was no memory for some. */
bool perf_reader_take(struct perf_reader *reader, struct perf_batch *batch, uint64_t *damaged,
                      int64_t *complete, struct status *status);
/* What is left in the rings is taken as ever. Takes one that was not started. */
void perf_reader_stop(struct perf_reader *reader);
void perf_reader_finish(struct perf_reader *reader);

#endif
#endif
