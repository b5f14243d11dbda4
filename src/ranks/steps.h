/* The steps of a job, rank by rank. Step 0 begins where the first complete one does. */
#ifndef RIDGE_RANKS_STEPS_H
#define RIDGE_RANKS_STEPS_H

#include "ranks/ranks.h"

/* Complete steps; 0: the job has none. */
size_t job_step_count(const struct job *job);
/* From the end of the collective before the step to the end of its last one, by the rank's clock.
 * False: the rank does not take part. */
bool job_step_window(const struct job *job, size_t rank, size_t step, struct interval *window);
/* The part of it in which the rank does not communicate, or computes meanwhile. */
int64_t job_step_own(const struct job *job, size_t rank, size_t step);

/* In which steps is the rank later than the lower median of the others? */
struct late_steps {
    size_t count;       /* of steps in which it is, by at least 5 % of their time */
    size_t worst;       /* the step with the most */
    int64_t worst_time; /* by so much */
};
bool job_late_steps(const struct job *job, size_t rank, struct late_steps *late,
                    struct status *status);

#endif
