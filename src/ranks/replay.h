/* How long would the job take with a change?
 *
 * The replay keeps, for each rank, the order of its operations and the time between them, without
 * the exposed communication. A rank continues after exposed communication when the operation
 * completes: its last member has arrived, and the transfer took as long as it did. Unchanged, the
 * replay gives the measured times.
 */
#ifndef RIDGE_RANKS_REPLAY_H
#define RIDGE_RANKS_REPLAY_H

#include "ranks/ranks.h"

struct job_change {
    size_t without_straggler; /* index of the rank that takes as long as the median of the others
                                 between collectives; SIZE_MAX: none */
    bool balanced;            /* every rank takes as long as the median */
    double faster;            /* transfers take 1/faster of their time; 0: as measured */
    double link;              /* transfers at this many bytes per second; 0: as measured */
    bool overlapped;          /* communication delays only the end of a step */
    const double *lane_scale; /* by rank: factor of the time between operations; NULL: 1 */
    const double *transfer_scale; /* by collective: factor of its transfer; NULL: 1 */
    uint32_t redistributed_at;    /* an operation, in job->names: its members take the mean of their
                                     times before it; 0: none */
};

/* The length of the job from the first shared collective to the last. False, with the status
 * unchanged, when the order of operations cannot be replayed. */
bool job_replay(const struct job *job, const struct job_change *change, int64_t *length,
                bool *possible, struct status *status);

/* What the job gains by the change; 0: nothing, or it cannot be replayed. */
bool job_gain(const struct job *job, const struct job_change *change, int64_t *gain,
              struct status *status);

#endif
