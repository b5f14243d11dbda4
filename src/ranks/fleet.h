/* Many ranks by their reports (ridge report --format json), for jobs whose traces are too many to
 * open: one report is read at a time, and of each only its account, its steps and its kernels are
 * kept. What is between ranks, such as who waited for whom, is in traces only.
 */
#ifndef RIDGE_RANKS_FLEET_H
#define RIDGE_RANKS_FLEET_H

#include "base/intern.h"
#include "base/status.h"

enum { FLEET_KERNELS = 64 }; /* kept of each report: those with the most time come first */

struct fleet_rank {
    int64_t number; /* -1: unknown */
    int64_t world;  /* -1: unknown */
    uint32_t host, device, source;
    int64_t steps;  /* 0: unknown */
    int64_t window; /* of its device; 0: unknown */
    int64_t busy, communication, copy, idle;
    int64_t step_median; /* 0: unknown */
    size_t place;        /* in the order of reading */
};

/* A kernel on one rank. */
struct fleet_use {
    uint32_t kernel, rank; /* name; index in fleet->ranks */
    int64_t total;
    uint64_t count;
};

struct fleet_host {
    uint32_t host;
    size_t ranks;
    int64_t own;  /* median of its ranks, a step */
    double ratio; /* to the median of all hosts */
};

/* A kernel that takes longer on one rank than on the others. */
struct fleet_kernel {
    uint32_t kernel, rank; /* the slowest */
    size_t ranks;
    int64_t mean, typical; /* of a launch: there, and the median over the ranks */
    int64_t excess;        /* of all its launches */
};

struct fleet {
    struct intern names;
    struct fleet_rank *ranks;
    size_t rank_count, rank_capacity;
    struct fleet_use *uses;
    size_t use_count, use_capacity;
    /* Set by fleet_join(). */
    struct fleet_host *hosts; /* slowest first */
    size_t host_count, host_capacity;
    struct fleet_kernel *kernels; /* largest excess first */
    size_t kernel_count, kernel_capacity;
    int64_t world, step_median, own_median;
    size_t slowest; /* index of the rank with the most time outside communication; SIZE_MAX */
};

/* Whether the file is a report; false also if it cannot be read. */
bool fleet_is_report(const char *path);
bool fleet_add(struct fleet *fleet, const char *path, struct status *status);
bool fleet_join(struct fleet *fleet, struct status *status);
void fleet_finish(struct fleet *fleet);

/* Time outside communication, of a step if there are steps; -1: unknown. */
int64_t fleet_own_time(const struct fleet_rank *rank);

#endif
