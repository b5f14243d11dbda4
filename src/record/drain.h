/* A recording in progress: its sources, and when it starts and stops. */
#ifndef RIDGE_RECORD_DRAIN_H
#define RIDGE_RECORD_DRAIN_H

#include "record/trace_file.h"
#include "record/gpu_counters.h"
#include "record/perf/perf.h"
#include "record/perf/thread_poll.h"
#include "record/processes.h"
#include "record/record.h"
#include "record/spool_folder.h"
#include "record/spool_rows.h"

struct recording {
    const struct record_options *options;
    struct record_summary *summary;
    struct record_file file;
    struct trace_writer *writer;
    struct perf *perf;               /* NULL: not sampling */
    struct thread_poll *thread_poll; /* instead of perf; NULL: none */
    unsigned perf_interval;          /* milliseconds between drains; 0: PERF_DRAIN_INTERVAL_MS */
    struct spool_reader *reader;     /* NULL: no probe, or it was stopped */
    bool injects;                    /* the probe is loaded into the running process */
    bool has_no_probe;           /* no process has loaded the probe; once the reader is closed */
    struct spool_folder *folder; /* of the reader; NULL: none */
    struct map sampled;          /* pids of all sampled processes */
    struct processes processes;
    struct gpu_counters gpus;
    struct spool_rows rows;

    int64_t from, until;   /* CLOCK_MONOTONIC; INT64_MAX: no end */
    bool delayed;          /* --delay has not passed */
    bool stopped;          /* recording has ended */
    bool trimmed;          /* chunks were removed from the file */
    uint64_t trimmed_rows; /* events removed by --ring */
    unsigned polls;
    int64_t next_poll;   /* CLOCK_MONOTONIC */
    struct status error; /* the first error */
    struct status status;
};

/* --delay and --duration count from `started`. */
void drain_start(struct recording *recording, int64_t started);
/* Drains all sources, and starts or stops recording when it is time. */
void drain_poll(struct recording *recording);
/* Milliseconds until the next poll. */
unsigned drain_timeout(const struct recording *recording);
/* Ends the sessions of probes in processes that ridge has attached to, and takes what is left. */
void drain_finish_sessions(struct recording *recording);
/* The last poll, after all processes have ended or were released. */
void drain_end(struct recording *recording);

#endif
