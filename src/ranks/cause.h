/* Why is a rank later than the others? Its own time is compared with the median of the others, part
 * by part. */
#ifndef RIDGE_RANKS_CAUSE_H
#define RIDGE_RANKS_CAUSE_H

#include "ranks/ranks.h"

enum late_kind {
    LATE_UNKNOWN,
    LATE_SLOWER,    /* the same work takes longer: kernels with the same thread blocks */
    LATE_LONGER,    /* the same functions or kernels take longer; whether they do more is unknown */
    LATE_MORE_WORK, /* more kernels or thread blocks, or a function that the others do not run */
    LATE_INPUT,     /* loading input */
    LATE_COLLECTOR, /* garbage collection */
    LATE_SLEEP,     /* it sleeps */
    LATE_BLOCKED,   /* it is blocked otherwise */
    LATE_PROCESSOR, /* it has no processor */
    LATE_HOST,      /* its device waits for host code */
    LATE_COPY,      /* its device copies */
    LATE_KINDS
};
/* "slower", "more-work", ...; for JSON. */
const char *cause_name(enum late_kind kind);

struct rank_cause {
    enum late_kind kind;
    int64_t excess;                /* time beyond the median of the others, of all causes */
    int64_t explained;             /* by this cause */
    uint32_t label;                /* function or kernel, in job->names; 0: none */
    uint32_t place;                /* "file:line"; 0: unknown */
    uint8_t blocked_on;            /* of LATE_BLOCKED: enum blocked_on */
    double ratio;                  /* of LATE_SLOWER and LATE_LONGER: of its time to the typical */
    uint64_t count, typical_count; /* of LATE_MORE_WORK with kernels: how many; else 0 */
    uint64_t blocks, typical_blocks; /* likewise thread blocks */
    double clock_mhz, typical_mhz;   /* of LATE_SLOWER: of the devices, if they differ; else 0 */
};

bool cause_find(const struct job *job, size_t rank, struct rank_cause *cause,
                struct status *status);

#endif
