/* What exists in a process tree when a recording attaches to it: threads and code mappings. perf
 * events tell only what changes later.
 */
#ifndef RIDGE_RECORD_PERF_PERF_ATTACH_H
#define RIDGE_RECORD_PERF_PERF_ATTACH_H

#include <stdint.h>
#include <sys/types.h>

#include "record/symbols/symbols.h"

struct perf_existing {
    pid_t pid;
    int64_t tid;
    int64_t asleep_since; /* it slept at this time (CLOCK_MONOTONIC); 0: it ran */
};

/* All threads of the process and its descendants, the process's main thread first. Free *list with
 * memory_free(). */
bool perf_attach_list(pid_t pid, struct perf_existing **list, size_t *count, struct status *status);
/* Adds the executable mappings of a process. Those that cannot be read are left out. */
bool perf_attach_mappings(pid_t pid, struct symbols *symbols, struct status *status);
/* Whether the thread sleeps. */
bool perf_attach_is_asleep(pid_t pid, pid_t tid);

#endif
