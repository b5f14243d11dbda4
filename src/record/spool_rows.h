/* What the probes in the recorded processes tell becomes rows of the trace.
 *
 * Hand spool_rows_take() to spool_reader_drain(). Records may hold any bytes: those that make no
 * sense are counted and left out.
 */
#ifndef RIDGE_RECORD_SPOOL_ROWS_H
#define RIDGE_RECORD_SPOOL_ROWS_H

#include "record/captures.h"
#include "record/gpu_counters.h"
#include "record/processes.h"
#include "record/spool_entities.h"
#include "record/spool_ranges.h"
#include "spool/spool.h"
#include "trace/writer.h"

struct spool_rows {
    struct spool_entities entities;
    struct spool_ranges ranges;
    int64_t from, until; /* what begins outside is left out */
    bool stopped;        /* the file is full: all is left out and counted */

    uint64_t kernels, copies, calls;
    uint64_t invalid;         /* times that cannot be, fields that no probe writes */
    uint64_t skipped;         /* after `stopped` */
    uint64_t dropped;         /* by the sources themselves, as they tell */
    struct captures captures; /* of all processes, with --capture-range */
    int64_t clock_error;      /* the largest that was told; -1: none */
    struct intern metas;      /* key=value that are written already */
    char missing[200];        /* why CUDA could not be recorded, or "" */
    char refused[80];         /* the program's own profiler, which could not have CUPTI, or "" */
    struct takeover {         /* of CUPTI, by the program's own profiler */
        char library[80];
        int64_t first, last_end; /* when it was first taken, and last given back */
        uint64_t begun, ended;   /* in all processes */
    } takeover;
};

void spool_rows_init(struct spool_rows *rows, const struct spool_reader *reader,
                     struct trace_writer *writer, struct processes *processes,
                     struct gpu_counters *gpus);
spool_sink spool_rows_handle; /* with the spool_rows as context */
/* Before a drain: which processes have ended, so that all they wrote is there? The program itself
 * (`pid`) ended at `pid_ended`, if that is not 0; of others it is seen when they are looked at. */
void spool_rows_find_ended(struct spool_rows *rows, int64_t pid, int64_t pid_ended, int64_t now);
/* After it: ends what those left open. */
void spool_rows_close_ended(struct spool_rows *rows);
/* Ends all that is still open at `time`, and writes what all processes together told. */
void spool_rows_end(struct spool_rows *rows, int64_t time);
void spool_rows_finish(struct spool_rows *rows);
/* Nanoseconds that the probes spent in the processes, as they measured it; -1: they did not. */
int64_t spool_rows_probe_cost(const struct spool_rows *rows);

#endif
