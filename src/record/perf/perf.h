/* CPU samples, thread states, mappings and hardware counters of a process tree, by
 * perf_event_open().
 *
 * One set of events per CPU, inherited by every child. Times are on CLOCK_MONOTONIC.
 */
#ifndef RIDGE_RECORD_PERF_PERF_H
#define RIDGE_RECORD_PERF_PERF_H

#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/status.h"
#include "record/apis.h"
#include "record/captures.h"
#include "trace/writer.h"

enum perf_stacks {
    PERF_STACKS_DWARF, /* unwind a copy of the stack; frame pointers where that is not supported */
    PERF_STACKS_FP
};

struct perf_options {
    unsigned rate; /* samples per second of each running thread; 0: only thread states */
    enum perf_stacks stacks;
    bool attach;   /* the target runs already: record its threads and its descendants' */
    bool counters; /* cycles, instructions, cache and branch misses */
};

enum { PERF_DRAIN_INTERVAL_MS = 100 };

struct perf;

/* Fails with STATUS_UNSUPPORTED and a remedy when perf events are not available
 * (perf_event_paranoid, a seccomp filter, not Linux). Missing hardware counters are not a failure,
 * see perf_counters_missing(). Events start with the target's exec. */
struct perf *perf_open(pid_t target, const struct perf_options *options, struct status *status);
/* With ring buffers that are open already, which it takes over: tests fill them. Linux only. */
struct perf_rings;
struct perf *perf_open_rings(struct perf_rings *rings, const struct perf_options *options,
                             struct status *status);
void perf_close(struct perf *perf);                         /* takes NULL */
const char *perf_counters_missing(const struct perf *perf); /* the reason, or NULL */

/* Reads the ring buffers and writes samples (symbolized, see symbols/symbols.h), thread states and
 * times, processes and threads. Call it every perf_drain_interval_ms(). */
unsigned perf_drain_interval_ms(const struct perf *perf); /* at most PERF_DRAIN_INTERVAL_MS */
bool perf_drain(struct perf *perf, struct trace_writer *writer, struct status *status);
/* Reads the remaining records, ends the states of running threads, and writes the hardware
 * counters, or why there are none (perf_counters.h). */
bool perf_finish(struct perf *perf, struct trace_writer *writer, struct status *status);

/* Writes only samples and states in this window. Default: all. */
void perf_set_window(struct perf *perf, int64_t from, int64_t until);

/* Reports the libraries of all processes. */
void perf_watch_libraries(struct perf *perf, struct apis *apis);

/* Writes only samples and states inside the captures. All captures that began before a call of
 * perf_drain() must be known to it. */
void perf_set_captures(struct perf *perf, const struct captures *captures);

uint64_t perf_processes(const struct perf *perf); /* with at least one record */
/* Adds the pids of all processes. */
bool perf_list_processes(const struct perf *perf, struct map *pids, struct status *status);
uint64_t perf_samples(const struct perf *perf);
/* Samples in which Python's perf trampolines may have cost time; zero when unknown. */
struct perf_python {
    uint64_t interpreted; /* in the interpreter, while it ran a Python function */
    uint64_t trampolines; /* of these: in code that only runs with trampolines */
    bool is_exact;        /* `trampolines` is known: the interpreter has symbols */
};
struct perf_python perf_python(const struct perf *perf);
uint64_t perf_lost(const struct perf *perf); /* records; already counted by the writer */
/* After perf_finish(): what is incomplete, why, and the remedy. NULL when there is no such note. */
enum { PERF_NOTES = 6 };
const char *perf_note(const struct perf *perf, unsigned index);

/* The row of a thread, for other sources that write about it. */
uint32_t perf_thread_row(struct perf *perf, struct trace_writer *writer, int64_t pid, int64_t tid);
/* The row of a stack of user addresses, innermost first. */
uint32_t perf_stack_row(struct perf *perf, struct trace_writer *writer, int64_t pid,
                        const uint64_t *addresses, size_t count);
/* After trace_writer_next_session(), which restarts the ids. A change of writer is detected. */
void perf_reset_rows(struct perf *perf);

#endif
