/* Thread states where perf events are not available (a container's seccomp filter, macOS): the
 * times of all threads are read a hundred times a second, or less often when there are many
 * threads.
 *
 * The scheduler's own sums make the running and ready time of each thread exact. Their order within
 * one interval is not known. What a thread blocks in is known for waits that a poll has seen.
 */
#ifndef RIDGE_RECORD_PERF_THREAD_POLL_H
#define RIDGE_RECORD_PERF_THREAD_POLL_H

#include <sys/types.h>

#include "record/perf/perf_threads.h"

enum { THREAD_POLL_INTERVAL_MS = 10 };

struct thread_poll;

/* NULL when out of memory. */
struct thread_poll *thread_poll_create(pid_t root);
void thread_poll_destroy(struct thread_poll *poll); /* takes NULL */

/* Reads all threads of the tree and writes their states since the last time. */
bool thread_poll_read(struct thread_poll *poll, struct trace_writer *writer, struct status *status);
/* Ends all states. */
void thread_poll_finish(struct thread_poll *poll, struct trace_writer *writer);
/* Windows and captures are set here. */
struct perf_threads *thread_poll_threads(struct thread_poll *poll);

#endif
