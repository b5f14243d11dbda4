/* What the processors did for a tree of processes, by perf_event_open: stacks of all threads, when
 * each ran and when it was blocked, which programs and libraries were mapped where, and hardware
 * counters where the machine has them.
 *
 * One set of events for each processor, inherited by every child. Times are on CLOCK_MONOTONIC.
 */
#ifndef RIDGE_RECORD_PERF_PERF_H
#define RIDGE_RECORD_PERF_PERF_H

#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/status.h"
#include "record/captures.h"
#include "trace/writer.h"

enum perf_stacks {
    PERF_STACKS_DWARF, /* with a copy of each sample's stack; frame pointers where that cannot be */
    PERF_STACKS_FP
};

struct perf_options {
    unsigned rate; /* samples a second of each running thread; 0: no samples, only the states */
    enum perf_stacks stacks;
    bool counters; /* cycles, instructions, cache and branch misses */
};

enum { PERF_DRAIN_INTERVAL_MS = 100 };

struct perf;

/* Fails with STATUS_UNSUPPORTED and the step that mends it (perf_event_paranoid, a container's
 * seccomp filter, not Linux) when nothing can be watched. Hardware counters that are missing are no
 * failure: perf_counters_missing() says so. Events start with the target's exec. */
struct perf *perf_open(pid_t target, const struct perf_options *options, struct status *status);
void perf_close(struct perf *perf);                         /* takes NULL */
const char *perf_counters_missing(const struct perf *perf); /* a sentence, or NULL */

/* Takes what is in the rings and writes samples (with stacks symbolised, see
 * record/symbols/symbols.h), thread states, processes and threads. Call it PERF_PAUSE_MS after the
 * last time. */
bool perf_drain(struct perf *perf, struct trace_writer *writer, struct status *status);
/* Takes what is left, ends the states of threads that still run, and writes what the counters
 * counted, or why there are none (record/perf/perf_counters.h). */
bool perf_finish(struct perf *perf, struct trace_writer *writer, struct status *status);

/* Only samples and states from here to there are written; all of them if this is never called. */
void perf_set_window(struct perf *perf, int64_t from, int64_t until);

/* Only samples and states inside the captures are written. perf_drain() needs all captures that
 * began before it was called. */
void perf_set_captures(struct perf *perf, const struct captures *captures);

uint64_t perf_processes(const struct perf *perf); /* that did anything */
/* Adds the numbers of all processes that were seen. */
bool perf_list_processes(const struct perf *perf, struct map *pids, struct status *status);
uint64_t perf_samples(const struct perf *perf);
/* Samples in which Python's perf trampolines may have cost time; none where stacks do not show it.
 */
struct perf_python {
    uint64_t interpreted; /* in the interpreter's own code, while it ran a Python function */
    uint64_t trampolines; /* of these: in code that only trampolines run */
    bool is_exact;        /* `trampolines` can be told: the interpreter has symbols */
};
struct perf_python perf_python(const struct perf *perf);
uint64_t perf_lost(const struct perf *perf); /* records; the writer was told of them already */
/* What is incomplete, why, and what helps: after perf_finish(). NULL when there is no such note. */
enum { PERF_NOTES = 3 };
const char *perf_note(const struct perf *perf, unsigned index);

/* The row of a thread (made when first asked for) and of a process in the writer, shared with what
 * else writes about them. */
uint32_t perf_thread_row(struct perf *perf, struct trace_writer *writer, int64_t pid, int64_t tid);
/* After trace_writer_next_session(), whose ids start again; another writer is noticed anyway. */
void perf_reset_rows(struct perf *perf);

#endif
