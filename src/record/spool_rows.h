/* Converts the records of the spool to rows of the trace.
 *
 * Pass spool_rows_handle() to spool_reader_drain(). Records may contain any bytes: invalid ones are
 * counted and skipped.
 */
#ifndef RIDGE_RECORD_SPOOL_ROWS_H
#define RIDGE_RECORD_SPOOL_ROWS_H

#include "record/apis.h"
#include "record/captures.h"
#include "record/gpu_counters.h"
#include "record/perf/perf.h"
#include "record/processes.h"
#include "record/spool_entities.h"
#include "record/spool_ranges.h"
#include "spool/spool.h"
#include "trace/writer.h"

struct spool_rows {
    struct spool_entities entities;
    struct spool_ranges ranges;
    int64_t from, until; /* events that begin outside are skipped */
    bool stopped;        /* --max-size is reached: all records are skipped */

    struct perf *perf; /* symbolizes the stacks of allocations; NULL: they are not recorded */

    uint64_t kernels, copies, calls, allocations;
    uint64_t invalid;         /* records with impossible times or fields */
    uint64_t skipped;         /* since `stopped` */
    uint64_t dropped;         /* reported by the probes */
    struct captures captures; /* with --capture-range */
    int64_t clock_error;      /* the largest reported; -1: none */
    struct intern metas;      /* key=value pairs already written */
    struct apis apis;
    char missing[200];    /* why CUDA is not recorded, or "" */
    char incomplete[200]; /* why a part of CUDA is not recorded, or "" */
    char python_off[200]; /* why Python lines are not recorded, or "" */
    char refused[80];     /* library of a profiler that could not use CUPTI, or "" */
    struct takeover {     /* of CUPTI, by the program's profiler */
        char library[80];
        int64_t first, last_end; /* first takeover, last return */
        uint64_t begun, ended;   /* numbers, over all processes */
    } takeover;
};

void spool_rows_init(struct spool_rows *rows, const struct spool_reader *reader,
                     struct trace_writer *writer, struct processes *processes,
                     struct gpu_counters *gpus);
spool_sink spool_rows_handle; /* context: struct spool_rows */
/* Before a drain: finds processes that have ended, whose records are therefore complete. The
 * program itself (`pid`) ended at `pid_ended`, unless that is 0; others are detected here. */
void spool_rows_find_ended(struct spool_rows *rows, int64_t pid, int64_t pid_ended, int64_t now);
/* After the drain: ends the open ranges and pauses of those processes. */
void spool_rows_close_ended(struct spool_rows *rows);
/* Ends everything that is still open at `time`, and writes the totals of all processes. */
void spool_rows_end(struct spool_rows *rows, int64_t time);
void spool_rows_finish(struct spool_rows *rows);
/* Nanoseconds that the probes measured inside the processes; -1: unknown. */
int64_t spool_rows_probe_cost(const struct spool_rows *rows);

#endif
