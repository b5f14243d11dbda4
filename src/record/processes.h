/* Which processes does the recorded program consist of, and how much memory do they hold?
 *
 * One row a process, whoever sees it first: the spool, or the walk down the tree of children that
 * is taken ten times a second (less often when the tree is large: it must not cost more than a
 * hundredth of a processor).
 */
#ifndef RIDGE_RECORD_PROCESSES_H
#define RIDGE_RECORD_PROCESSES_H

#include <stdint.h>

#include "base/map.h"
#include "trace/writer.h"

/* A zeroed one is empty but for the writer. */
struct processes {
    struct trace_writer *writer;
    struct map rows;       /* pid -> row */
    struct process *alive; /* those found by the last walk */
    size_t alive_count, alive_capacity;
    int64_t next_walk; /* CLOCK_MONOTONIC */
    int64_t last_sum;
    uint64_t count; /* all that were ever seen */
};

/* The row of a process; its name is told again whenever it may have changed, as by exec. */
uint32_t processes_row(struct processes *processes, int64_t pid, struct text name);
/* Walks and writes what memory is resident as counters: of all processes, and of each. */
bool processes_sample(struct processes *processes, int64_t now, struct status *status);
void processes_finish(struct processes *processes);

#endif
