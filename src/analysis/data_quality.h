/* How far can the figures be believed? What was lost, cut, or contradicts itself. */
#ifndef RIDGE_ANALYSIS_DATA_QUALITY_H
#define RIDGE_ANALYSIS_DATA_QUALITY_H

#include "analysis/pauses.h"

struct data_quality {
    uint64_t dropped;    /* events that the recorder or importer says it lost */
    uint64_t unfinished; /* writers that never finished: the recorder was stopped or killed */
    uint64_t missing_chunks, repeated_chunks, damaged_bytes, truncated_bytes, unknown_chunks;
    uint64_t without_launch_early; /* activities launched before recording began: expected */
    uint64_t without_launch;       /* other activities without a launch record */
    uint64_t starts_before_launch; /* activities that start before the call that launched them */
    int64_t starts_before_worst;   /* by how much at most */
    uint64_t zero_length;          /* kernels of 0 ns: the clock is too coarse for them */
    uint64_t queue_overlaps; /* kernels that start before the previous one of their queue ends */
    uint64_t pauses;         /* of the recording, by intent: no figure counts them */
    int64_t paused;          /* their time */
    bool clock_error_known;
    int64_t clock_error;          /* bound of device time against host time */
    bool mixed_clocks;            /* several recordings without a common clock */
    bool no_calls;                /* no API calls recorded: causes of gaps cannot be known */
    bool no_bytes;                /* copies of unknown size */
    struct text truncated_source; /* why the source is cut, or empty */
    struct text *warnings;        /* from the source; texts belong to the trace */
    size_t warning_count;
};

bool data_quality_find(const struct model *model, const struct pauses *pauses,
                       struct data_quality *quality, struct status *status);
void data_quality_finish(struct data_quality *quality);
/* Whether anything found makes a figure doubtful. */
bool data_quality_is_clean(const struct data_quality *quality);

#endif
