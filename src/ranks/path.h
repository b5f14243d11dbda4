/* The critical path of a job: from its end back through the ranks that the others waited for. */
#ifndef RIDGE_RANKS_PATH_H
#define RIDGE_RANKS_PATH_H

#include "ranks/ranks.h"

/* The parts sum to the length of the job's window, up to the error of the clocks. */
struct job_path {
    int64_t *own;      /* by rank: the path is in its time outside communication */
    int64_t transfer;  /* in transfers */
    int64_t unmatched; /* in exposed communication of which the other ranks are not known */
    int64_t length;
};

bool job_path_find(const struct job *job, struct job_path *path, struct status *status);
void job_path_finish(struct job_path *path);

#endif
