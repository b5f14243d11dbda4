/* The recorded threads and their scheduler states.
 *
 * A thread has a state from its first record to its last, without gaps: running, ready (preempted)
 * or blocked. Unprivileged users get no wakeup events, so the time between wakeup and running
 * counts as blocked.
 */
#ifndef RIDGE_RECORD_PERF_PERF_THREADS_H
#define RIDGE_RECORD_PERF_PERF_THREADS_H

#include <stdint.h>

#include "base/map.h"
#include "base/text.h"
#include "record/captures.h"
#include "record/thread_files.h"
#include "trace/writer.h"

enum { THREAD_NAME_SIZE = 16 }; /* TASK_COMM_LEN */

/* What a thread blocks in; ids are of the trace. Zeroed: unknown. */
struct perf_block {
    enum blocked_on on;
    uint32_t call, stack;
};

/* The state of a thread as /proc reported it at one time. */
struct perf_poll {
    int64_t time;
    struct blocking blocking;
};
enum { PERF_POLLS = 64 }; /* of more time than records are deferred */

struct perf_thread {
    int64_t pid, tid;
    char name[THREAD_NAME_SIZE];
    uint32_t row; /* of the trace; 0: not written yet */
    bool alive;   /* the following state is valid */
    enum thread_state state;
    int64_t since;
    uint32_t processor;
    struct perf_block block;            /* of a blocked thread */
    struct perf_block next;             /* sampled since it runs: where it is about to block */
    struct perf_poll polls[PERF_POLLS]; /* a ring; `poll_count` is never reset */
    unsigned poll_count;
    struct thread_times times; /* as last written */
    bool has_run;              /* since the times were read */
    int64_t sampled_at;        /* time and stack size of its last sample */
    uint64_t sampled_size;
};

/* Zero-initialized: empty. */
struct perf_threads {
    struct perf_thread *items;
    size_t count, capacity;
    struct map by_tid;
    struct map process_rows;         /* by pid */
    int64_t last;                    /* time of the last change */
    int64_t from, until;             /* window to write; until 0: all */
    const struct captures *captures; /* write only inside these; NULL: all */
};

void perf_threads_finish(struct perf_threads *threads);

static inline bool perf_threads_in_window(const struct perf_threads *threads, int64_t time) {
    return (threads->until == 0 || (time >= threads->from && time < threads->until)) &&
           (!threads->captures || captures_contain(threads->captures, time));
}

/* Finds or adds a thread. NULL when out of memory. Valid until the next one is added. */
struct perf_thread *perf_threads_find(struct perf_threads *threads, int64_t pid, int64_t tid,
                                      struct status *status);
void perf_thread_rename(struct perf_threads *threads, struct perf_thread *thread,
                        struct trace_writer *writer, struct text name);
/* Writes the row of the current state, and begins another state. */
void perf_thread_set_state(struct perf_threads *threads, struct perf_thread *thread,
                           struct trace_writer *writer, enum thread_state state, uint32_t processor,
                           int64_t time);
void perf_thread_end_state(struct perf_threads *threads, struct perf_thread *thread,
                           struct trace_writer *writer, int64_t time);
/* Ends the states of all remaining threads. */
void perf_threads_end_states(struct perf_threads *threads, struct trace_writer *writer,
                             int64_t time);

/* Reads /proc where the thread's block is unknown. */
void perf_thread_poll_block(struct perf_thread *thread, int64_t now);
/* Reads the thread's CPU times if it has run, and writes them. */
void perf_thread_poll_times(struct perf_threads *threads, struct perf_thread *thread,
                            struct trace_writer *writer, int64_t now);

uint32_t perf_thread_row_of(struct perf_threads *threads, struct perf_thread *thread,
                            struct trace_writer *writer);
/* For another writer: rows are written again when needed. */
void perf_threads_reset_rows(struct perf_threads *threads);

#endif
