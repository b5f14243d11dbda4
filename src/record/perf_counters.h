/* What the processors' own counters say of the recorded processes: cycles, instructions, how often
 * the caches and the branch predictor missed.
 */
#ifndef RIDGE_RECORD_PERF_COUNTERS_H
#define RIDGE_RECORD_PERF_COUNTERS_H

#include <sys/types.h>

#include "trace/writer.h"

enum { PERF_COUNTERS = 8 };

struct perf_counters {
    int fds[PERF_COUNTERS]; /* -1: the machine has no such counter */
    char missing[200];      /* why there is none at all; "" */
};

void perf_counters_open(struct perf_counters *counters, pid_t target);
void perf_counters_close(struct perf_counters *counters);
/* Totals of all processes, as meta "counter.NAME" and as counter rows at `time`. */
void perf_counters_write(const struct perf_counters *counters, struct trace_writer *writer,
                         int64_t time);

#endif
