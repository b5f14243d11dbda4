/* One case on one device, once: prepared, checked, timed, traced. */
#ifndef RIDGE_BENCH_RUN_CASE_H
#define RIDGE_BENCH_RUN_CASE_H

#include "bench/run.h"
#include "machine/health.h"

/* A device with what goes with it while experiments run there. */
struct run_stage {
    struct stage stage;
    const struct run_options *options;
    struct peer *peer; /* or NULL */
    struct health_watch *health;
};

/* Adds a round of the case to its result: the first time everything, later the times alone. What
 * the device cannot do (a type it lacks, too little memory) and a wrong output become the result's
 * problem; anything else fails. */
bool run_case(struct run_stage *run, const struct bench_case *work, struct result *result,
              struct status *status);

/* The same failure that the runtime's public functions left, in `status`; returns false. */
bool run_tensor_failed(struct status *status);

/* Does a few calls under the device's paused trace, and tells how long the device was busy with
 * one and how many kernels it ran. */
bool run_traced(struct run_stage *run, const struct bench_case *work, void *state,
                struct result *result, struct status *status);

#endif
