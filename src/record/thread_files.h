/* Times and waits of a thread of another process of the same user: /proc on Linux, libproc on
 * macOS. On other systems nothing is known.
 */
#ifndef RIDGE_RECORD_THREAD_FILES_H
#define RIDGE_RECORD_THREAD_FILES_H

#include <stdint.h>

#include "record/blocking.h"

/* Nanoseconds since the thread started; -1: unknown. */
struct thread_times {
    int64_t running, ready; /* exact; macOS does not count `ready` */
    int64_t user, kernel;   /* multiples of a clock tick, usually 10 ms; 1 us on macOS */
};

/* False when the thread has ended. */
bool thread_files_times(int64_t pid, int64_t tid, struct thread_times *times);
/* What the thread blocks in. False when it runs, has ended, or may not be inspected. */
bool thread_files_block(int64_t pid, int64_t tid, struct blocking *blocking);
/* Zero-terminated. False when the thread has no name or has ended. */
bool thread_files_name(int64_t pid, int64_t tid, char *name, size_t capacity);

#endif
