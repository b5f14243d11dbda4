/* Empties the rings in time, whatever else the recorder is busy with: a thread copies what is in
 * them. Reading the symbols of one large library may take as long as it takes a ring to overflow.
 */
#ifndef RIDGE_RECORD_PERF_READER_H
#define RIDGE_RECORD_PERF_READER_H

#include <pthread.h>

#include "record/perf_ring.h"

/* Not to be moved while it runs. Zeroed, it has not been started. */
struct perf_reader {
    struct perf_rings *rings;
    pthread_t thread;
    bool running;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    /* under the lock */
    bool stop;
    struct perf_batch copied;
    uint64_t damaged;
    bool failed;    /* there was no memory */
    unsigned pause; /* milliseconds between two times; less while the rings fill quickly */
};

/* Where there can be no thread, perf_reader_take() does its work. */
void perf_reader_start(struct perf_reader *reader, struct perf_rings *rings);
/* Adds all that was copied since to the batch, and how many records were damaged. False when there
 * was no memory for some. */
bool perf_reader_take(struct perf_reader *reader, struct perf_batch *batch, uint64_t *damaged,
                      struct status *status);
/* What is left in the rings is taken as ever. Takes one that was not started. */
void perf_reader_stop(struct perf_reader *reader);
void perf_reader_finish(struct perf_reader *reader);

#endif
