/* The perf events of a target and their ring buffers. Each CPU has one ring buffer, which its
 * events share: one event for mappings, names, forks and context switches, and one sampling event
 * per stack size, of which one at a time is enabled.
 */
#ifndef RIDGE_RECORD_PERF_PERF_RING_H
#define RIDGE_RECORD_PERF_PERF_RING_H

#include <pthread.h>

#include "base/text.h"
#include "record/perf/perf.h"
#include "record/perf/perf_attach.h"
#include "record/python/python_samples.h"

#ifdef __linux__
#include <linux/perf_event.h>

/* Bytes of user stack in a sample, largest first. The last is 0: the kernel follows frame pointers
 * instead. */
enum { PERF_STACK_SIZES = 4 };
extern const uint32_t perf_stack_sizes[PERF_STACK_SIZES];

struct perf_ring {
    int fd; /* mappings, names, forks, context switches; owns the ring buffer */
    int samplers[PERF_STACK_SIZES]; /* output goes to `fd`; -1: not open */
    unsigned processor;
    struct perf_event_mmap_page *page; /* shared with the kernel; the records follow it */
    size_t bytes;                      /* of records; a power of two */
    uint64_t lost;                     /* reported by PERF_RECORD_LOST */
};

struct perf_rings {
    struct perf_ring *items;
    size_t count;
    bool user_only;             /* kernel samples are not permitted */
    bool counts_lost;           /* PERF_FORMAT_LOST is supported (Linux 6.0) */
    unsigned stack_sizes;       /* usable perf_stack_sizes; 0 or 1: no choice */
    unsigned stack_size;        /* index of the enabled one */
    unsigned fill_ms;           /* time to fill a ring with the largest samples */
    struct perf_ring *switches; /* of events that sample the stack at context switches; may be
                                   NULL. They lose samples when they are full, and nothing else. */
    size_t switch_count;
    struct map switch_ids; /* of all events that sample context switches */
    int *attached;         /* events of further threads of a target that runs already */
    size_t attached_count, attached_capacity;
    bool limited; /* smaller than perf_ring_bytes(), because locked memory is limited */
};

/* The size of a ring buffer that holds half a second of samples, or less where memory is short: a
 * power of two. `memory` is that of the machine. */
size_t perf_ring_bytes(unsigned rate, size_t sample_bytes, unsigned processors, uint64_t memory);

bool perf_rings_open(struct perf_rings *rings, pid_t target, const struct perf_options *options,
                     struct status *status);
/* Adds the events of another existing thread. A thread that has ended is ignored. */
bool perf_rings_attach(struct perf_rings *rings, pid_t tid, const struct perf_options *options,
                       struct status *status);
void perf_rings_close(struct perf_rings *rings);
/* Whether the event samples context switches. */
bool perf_rings_is_switch(const struct perf_rings *rings, uint64_t id);
/* From now on samples have a stack copy of perf_stack_sizes[index]. During the call a thread may be
 * sampled with both sizes. The kernel can miss a thread that is being created: it keeps the size of
 * its creator until the size is set again. */
void perf_rings_set_stack_size(struct perf_rings *rings, unsigned index);
/* Lost records that no PERF_RECORD_LOST reported: the kernel writes that record only when there is
 * space again, which may never happen at the end. */
uint64_t perf_rings_lost(const struct perf_rings *rings);

/* A record copied out of a ring buffer. */
struct perf_record {
    uint32_t type, misc;
    int64_t time;
    uint64_t id; /* of the event */
    uint32_t pid, tid;
    unsigned processor;
    const uint8_t *body; /* depends on the type; 8-byte aligned */
    size_t length;
};

/* Records of all rings, to be sorted by time. Zero-initialized: empty. */
struct perf_batch {
    struct buffer bytes;
    int64_t *times;
    size_t *offsets;
    uint32_t *processors, *group; /* group: all zero, for sort_rows() */
    size_t count, capacity[4];
};

/* Moves all records out of a ring buffer. Malformed ones are dropped and counted. */
bool perf_batch_read_ring(struct perf_batch *batch, struct perf_ring *ring, uint64_t *damaged,
                          struct status *status);
double perf_ring_fullness(const struct perf_ring *ring); /* the used share */
/* Copies all records of another batch. */
bool perf_batch_append(struct perf_batch *batch, const struct perf_batch *from,
                       struct status *status);
/* Copies a record of another batch. */
bool perf_batch_add(struct perf_batch *batch, const struct perf_batch *from, size_t index,
                    struct status *status);
struct perf_record perf_batch_record(const struct perf_batch *batch, size_t index);
void perf_batch_clear(struct perf_batch *batch);
void perf_batch_finish(struct perf_batch *batch);

/* ---- Reader thread ----------------------------------------------------------------------- */

/* The choice among perf_stack_sizes. Zero-initialized: the largest size. */
struct perf_stack_choice {
    unsigned index;
    unsigned reductions; /* times that a smaller size was chosen */
    int64_t low_since;   /* time since when a larger size would fit */
};
/* The load that the reader measures. */
struct perf_load {
    double fullness;  /* the highest used share of a ring */
    unsigned late_ms; /* scheduling delay of the reader, measured or expected */
    unsigned fill_ms; /* time to fill a ring with samples of the largest size */
    size_t backlog;   /* bytes copied with this stack size that were not taken yet */
};
/* Chooses the largest of `sizes` stack sizes that fits the load when samples may soon be lost, and
 * the next larger one after a period of low load, which grows with each reduction. True when the
 * choice has changed. */
bool perf_stack_choice_update(struct perf_stack_choice *choice, unsigned sizes,
                              const struct perf_load *load, int64_t now);
/* The scheduling delay that a thread of normal priority must expect, from the text of
 * /proc/loadavg: 0 when it does not say. */
unsigned perf_expected_delay_ms(const char *loadavg, unsigned processors);

/* How many context switches are sampled: all of them where they are few, a part of the time where a
 * program switches a hundred thousand times per second. Zero-initialized: none yet. */
struct perf_switch_budget {
    bool paused;
    double left; /* samples that may still be taken */
    int64_t updated;
};
/* Subtracts `taken` samples. True when sampling is to be paused or resumed: see `paused`. */
bool perf_switch_budget_update(struct perf_switch_budget *budget, uint64_t taken, int64_t now);

/* Must not be moved while it runs. Zero-initialized: not started. */
struct perf_reader {
    struct perf_rings *rings;
    pthread_t thread;
    bool running;
    unsigned interval_max;
    int loadavg; /* /proc/loadavg; -1: not needed, the thread has a high priority */
    struct python_samples *python; /* or NULL */
    int64_t size_set;              /* when the stack size was changed; 0 once it was set again */
    int64_t wakeup_due;            /* when the thread should wake up; 0: it did not sleep */
    struct perf_batch taken;       /* swapped with `copied` by perf_reader_take() */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    /* protected by the lock: */
    bool stop;
    struct perf_batch copied;
    int64_t complete; /* all records before this time (CLOCK_MONOTONIC) were copied */
    uint64_t damaged;
    size_t of_other_sizes; /* bytes of `copied` from before the last change of the stack size */
    bool failed;           /* out of memory */
    unsigned interval; /* milliseconds between two reads; shorter while the rings fill quickly */
    struct perf_stack_choice choice;
    struct perf_switch_budget switches;
};

/* If the thread cannot be created, perf_reader_take() reads the rings itself. `python`, which may
 * be NULL, gets the threads of samples as soon as they are seen. */
void perf_reader_start(struct perf_reader *reader, struct perf_rings *rings,
                       struct python_samples *python);
/* Adds all copied records to the batch, and the number of damaged ones. `complete`: later calls add
 * no records before that time. False when out of memory. */
bool perf_reader_take(struct perf_reader *reader, struct perf_batch *batch, uint64_t *damaged,
                      int64_t *complete, struct status *status);
/* Stops the thread. perf_reader_take() still reads what is left in the rings. */
void perf_reader_stop(struct perf_reader *reader);
void perf_reader_finish(struct perf_reader *reader);

#endif
#endif
