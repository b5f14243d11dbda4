/* Hardware counters of the recorded processes: cycles, instructions, cache and branch misses, for
 * all processes together and for each.
 */
#ifndef RIDGE_RECORD_PERF_PERF_COUNTERS_H
#define RIDGE_RECORD_PERF_PERF_COUNTERS_H

#include <sys/types.h>

#include "base/map.h"
#include "trace/writer.h"

enum { PERF_COUNTERS = 8 };

struct perf_counter_kind {
    const char *name;
    uint32_t type; /* of perf_event_attr, as is config */
    uint64_t config;
};
extern const struct perf_counter_kind perf_hardware_counters[PERF_COUNTERS];

/* Zero-initialized: closed. */
struct perf_counters {
    const struct perf_counter_kind *kinds; /* NULL: not open */
    pid_t target;
    bool user_only;
    int fds[PERF_COUNTERS];             /* of all processes; -1: not available */
    struct followed_process *processes; /* except the target */
    size_t process_count, process_capacity;
    struct map by_pid;
    char missing[200]; /* why there are no counters, or "" */
};

/* Before the target's exec. `kinds` has PERF_COUNTERS elements. */
void perf_counters_open(struct perf_counters *counters, pid_t target,
                        const struct perf_counter_kind *kinds);
void perf_counters_close(struct perf_counters *counters);

/* A process has started, or has ended. A process that ended before it was added counts for the
 * target. */
void perf_counters_add_process(struct perf_counters *counters, pid_t pid);
void perf_counters_end_process(struct perf_counters *counters, pid_t pid);

/* Writes meta "counter.NAME" and a counter row at `time` for all processes together, and
 * "counter.PID.NAME" for each if there are several; "counter.missing" if there are no counters. */
void perf_counters_write(const struct perf_counters *counters, struct trace_writer *writer,
                         int64_t time);

#endif
