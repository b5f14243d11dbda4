/* A recording while it goes on: everything that is drained into the trace, and when that starts and
 * stops.
 */
#ifndef RIDGE_RECORD_DRAIN_H
#define RIDGE_RECORD_DRAIN_H

#include "record/trace_file.h"
#include "record/gpu_counters.h"
#include "record/perf/perf.h"
#include "record/processes.h"
#include "record/record.h"
#include "record/spool_folder.h"
#include "record/spool_rows.h"

struct recording {
    const struct record_options *options;
    struct record_summary *summary;
    struct record_file file;
    struct trace_writer *writer;
    struct perf *perf;           /* NULL: nothing is sampled, or no more */
    struct spool_reader *reader; /* NULL: there is no probe, or it was told to stop */
    struct spool_folder *folder; /* of the reader; NULL: there was none */
    struct map sampled;          /* processes that were watched */
    struct processes processes;
    struct gpu_counters gpus;
    struct spool_rows rows;

    int64_t from, until;   /* CLOCK_MONOTONIC; INT64_MAX: to the end */
    bool delayed;          /* --delay is not over */
    bool stopped;          /* nothing more is recorded */
    bool trimmed;          /* the file has lost chunks */
    uint64_t trimmed_rows; /* by --ring */
    unsigned polls;
    int64_t next_poll;   /* CLOCK_MONOTONIC */
    struct status error; /* the first that kept something out of the trace */
    struct status status;
};

/* The options' times count from here. */
void drain_start(struct recording *recording, int64_t started);
/* Takes what there is and sees whether it is time to start or stop. */
void drain_poll(struct recording *recording);
/* Milliseconds until the next turn should come. */
unsigned drain_pause(const struct recording *recording);
/* The last turn, when all processes have ended or are let go. */
void drain_end(struct recording *recording);

#endif
