/* How reliable are the results? What was lost or truncated, and what contradicts itself. */
#ifndef RIDGE_ANALYSIS_DATA_QUALITY_H
#define RIDGE_ANALYSIS_DATA_QUALITY_H

#include "analysis/pauses.h"

struct data_quality {
    uint64_t dropped;    /* events lost by the recorder or importer */
    uint64_t unfinished; /* writers without an end mark: the recorder was stopped or killed */
    uint64_t missing_chunks, repeated_chunks, damaged_bytes, truncated_bytes, unknown_chunks;
    uint64_t without_launch_early; /* activities launched before recording began: expected */
    uint64_t without_launch;       /* other activities without a launch record */
    uint64_t starts_before_launch; /* activities that start before the call that launched them */
    int64_t starts_before_worst;   /* the largest such difference */
    uint64_t zero_length;          /* kernels of 0 ns: the clock is too coarse */
    uint64_t queue_overlaps; /* kernels that start before the previous one of their queue ends */
    uint64_t pauses;         /* of the recording, intended: excluded from all results */
    int64_t paused;          /* their time */
    bool clock_error_known;
    int64_t clock_error;          /* bound of device time against host time */
    bool mixed_clocks;            /* several recordings without a common clock */
    bool no_calls;                /* no API calls were recorded: causes of gaps are unknown */
    bool no_bytes;                /* copies of unknown size */
    struct text truncated_source; /* why the source is truncated, or empty */
    struct text *warnings;        /* from the source; texts belong to the trace */
    size_t warning_count;
};

bool data_quality_find(const struct model *model, const struct pauses *pauses,
                       struct data_quality *quality, struct status *status);
void data_quality_finish(struct data_quality *quality);
/* Whether nothing makes the results doubtful. */
bool data_quality_is_clean(const struct data_quality *quality);

#endif
