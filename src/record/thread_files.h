/* What /proc tells about a thread of another process. Needs no privilege for one's own processes.
 * On systems without /proc nothing is known.
 */
#ifndef RIDGE_RECORD_THREAD_FILES_H
#define RIDGE_RECORD_THREAD_FILES_H

#include <stdint.h>

#include "record/blocking.h"

/* Nanoseconds since the thread started; -1: unknown. */
struct thread_times {
    int64_t running, ready; /* exact */
    int64_t user, kernel;   /* multiples of a clock tick, usually 10 ms */
};

/* False when the thread has ended. */
bool thread_files_times(int64_t pid, int64_t tid, struct thread_times *times);
/* What the thread blocks in. False when it runs, has ended, or may not be inspected. */
bool thread_files_block(int64_t pid, int64_t tid, struct blocking *blocking);

#endif
