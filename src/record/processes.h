/* The processes of the recorded program and their resident memory.
 *
 * Each process has one row, whether the spool or the walk of the process tree finds it first. The
 * tree is walked ten times a second, or less often when it is large, so that the walk uses at most
 * 1 % of a CPU.
 */
#ifndef RIDGE_RECORD_PROCESSES_H
#define RIDGE_RECORD_PROCESSES_H

#include <stdint.h>

#include "base/job_place.h"
#include "base/map.h"
#include "record/apis.h"
#include "trace/writer.h"

/* Zero-initialized except for the writer. */
struct processes {
    struct trace_writer *writer;
    int64_t root;          /* the tree's root, if it is not the recorder's child; 0: it is */
    struct map rows;       /* pid -> row */
    struct process *alive; /* found by the last walk */
    size_t alive_count, alive_capacity;
    int64_t next_walk; /* CLOCK_MONOTONIC */
    int64_t last_sum;
    uint64_t count;    /* of all processes so far */
    struct apis *apis; /* that they load; or NULL */
};

/* The row of a process. Call it again when the name has changed, for instance by exec. */
uint32_t processes_row(struct processes *processes, int64_t pid, struct text name);
/* Adds the place in a distributed job to the row of the process. */
void processes_place(struct processes *processes, int64_t pid, struct job_place place);
/* Walks the tree and writes the resident memory of each process and of all as counters. */
bool processes_sample(struct processes *processes, int64_t now, struct status *status);
void processes_finish(struct processes *processes);

#endif
