/* Runs experiments: plans their cases on each device, measures them, asks what they mean. */
#ifndef RIDGE_BENCH_RUN_H
#define RIDGE_BENCH_RUN_H

#include "bench/experiment.h"

struct run_options {
    const struct experiment *const *experiments; /* NULL ends it */
    const char *const *devices;                  /* names; NULL ends it */
    struct bench_options bench;
    struct measure_plan measure;
    unsigned rounds;   /* times that all cases are gone through, anew each time; at least 1 */
    const char *peer;  /* torch, mlx, jax; or NULL */
    const char *trace; /* file for the traced calls; or NULL */
    bool quick_roofs, refresh_roofs;
    const struct result_set
        *done; /* results of an earlier run that need not be had again; or NULL */
    /* Told before each case (number, of how many) and before what else takes long (number 0); false
     * stops the run, which then fails. After each result `kept` has the set so far. NULL: nothing.
     */
    bool (*progress)(void *context, unsigned number, unsigned total, const char *what);
    bool (*kept)(void *context, const struct result_set *set, struct status *status);
    void *context;
};

/* On failure the set holds what was measured until then. */
bool run_experiments(const struct run_options *options, struct result_set *set,
                     struct status *status);

#endif
