/* Empties the rings in time, whatever else the recorder is busy with: a thread copies what is in
 * them. Reading the symbols of one large library may take as long as it takes a ring to overflow.
 */
#ifndef RIDGE_RECORD_PERF_PERF_READER_H
#define RIDGE_RECORD_PERF_PERF_READER_H

#include <pthread.h>

#include "record/perf/perf_ring.h"

/* Which of perf_stack_sizes is in use. Zeroed, it is the largest. */
struct perf_stack_choice {
    unsigned index;
    unsigned reductions; /* how often a smaller size was chosen */
    int64_t calm_since;  /* a larger size would have fit since then */
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
    unsigned pause_max;
    int64_t due;             /* when the thread wanted to be woken; 0: it did not sleep */
    struct perf_batch taken; /* of perf_reader_take()'s thread */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    /* under the lock */
    bool stop;
    struct perf_batch copied;
    int64_t complete; /* all records before this time have been copied, CLOCK_MONOTONIC */
    uint64_t damaged;
    bool failed;    /* there was no memory */
    unsigned pause; /* milliseconds between two times; less while the rings fill quickly */
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
