/* What the processors' own counters say of the recorded processes: cycles, instructions, how often
 * the caches and the branch predictor missed; of all processes together, and of each.
 */
#ifndef RIDGE_RECORD_PERF_PERF_COUNTERS_H
#define RIDGE_RECORD_PERF_PERF_COUNTERS_H

#include <sys/types.h>

#include "base/map.h"
#include "trace/writer.h"

enum { PERF_COUNTERS = 8 };

struct perf_counter_kind {
    const char *name;
    uint32_t type; /* these two as perf_event_open() has them */
    uint64_t config;
};
extern const struct perf_counter_kind perf_hardware_counters[PERF_COUNTERS];

/* perf_counters_open() begins one, perf_counters_close() ends it; a zeroed one may be closed. */
struct perf_counters {
    const struct perf_counter_kind *kinds; /* NULL: not open */
    pid_t target;
    bool user_only;
    int fds[PERF_COUNTERS];             /* of all processes; -1: the machine has no such counter */
    struct followed_process *processes; /* all but the target itself */
    size_t process_count, process_capacity;
    struct map by_pid;
    char missing[200]; /* why there is none at all; "" */
};

/* Before the target executes; `kinds` are PERF_COUNTERS of them. */
void perf_counters_open(struct perf_counters *counters, pid_t target,
                        const struct perf_counter_kind *kinds);
void perf_counters_close(struct perf_counters *counters);

/* A process has come into being, or has ended. One that did both before anybody could tell counts
 * for the target itself. */
void perf_counters_add_process(struct perf_counters *counters, pid_t pid);
void perf_counters_end_process(struct perf_counters *counters, pid_t pid);

/* Meta "counter.NAME" and a counter row at `time` for all processes together; "counter.PID.NAME"
 * for each where there are several. "counter.missing" where there is nothing. */
void perf_counters_write(const struct perf_counters *counters, struct trace_writer *writer,
                         int64_t time);

#endif
