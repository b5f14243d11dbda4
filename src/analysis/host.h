/* What was a host thread doing, and under which name? Answers queries for times and intervals of
 * one thread, in order of time; used by the gap analysis. */
#ifndef RIDGE_ANALYSIS_HOST_H
#define RIDGE_ANALYSIS_HOST_H

#include "analysis/model.h"
#include "analysis/states.h"

/* The driver's records of stream waits. */
struct wait_index {
    size_t *first;  /* by queue: its records, as positions in `rows`; [id + 1] = end */
    uint32_t *rows; /* of trace->wait by (queue, start) */
};

struct gap_totals;

/* The innermost range over time, per thread. */
struct host {
    const struct model *model;
    int64_t *change_time;
    uint32_t *change_range; /* row of the range, or NO_ROW: none */
    size_t *thread_first;   /* by thread: first change; [id + 1] = end */
    uint32_t *sample_order; /* rows of trace->sample by (thread, time); NULL: already in order */
    size_t *thread_samples; /* by thread */
    uint32_t *stands_for;   /* by stack: see analysis/stacks.h */
    struct states states;
    struct wait_index waits;         /* of queues, for all devices */
    const struct gap_totals *totals; /* see gaps_sum_threads(); NULL: none */
};

bool host_build(struct host *host, const struct model *model, struct status *status);
void host_finish(struct host *host);

/* State of the queries of one thread. Zero it, then query in order of time. */
struct host_cursor {
    bool started;
    size_t call, change, sample;
};

/* An interval of a thread: in a call (call != NO_ROW) or in host code. Host code is named by the
 * innermost range, else by the sampled function, else not at all. */
struct host_interval {
    int64_t start, end;
    uint32_t call;
    uint32_t range;    /* row, or NO_ROW */
    uint32_t function; /* string id of the sampled function, or 0 */
};

/* The next interval of `thread` from `start` on, clipped to `end`. start < end. */
struct host_interval host_next(const struct host *host, struct host_cursor *cursor, uint32_t thread,
                               int64_t start, int64_t end);

/* Whether ranges of the category describe what their thread does. */
bool range_is_host_code(unsigned category);
/* The row of the innermost such range of the thread at a time, or NO_ROW. */
uint32_t host_range_at(const struct host *host, uint32_t thread, int64_t time);

/* The function (a string id, or 0) of the thread's last sample in [from, until]. */
uint32_t host_function_before(const struct host *host, uint32_t thread, int64_t from,
                              int64_t until);

#endif
