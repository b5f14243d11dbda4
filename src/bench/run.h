/* Runs experiments: plans their cases on each device, measures them and draws conclusions. */
#ifndef RIDGE_BENCH_RUN_H
#define RIDGE_BENCH_RUN_H

#include <signal.h>

#include "bench/experiment.h"

struct run_options {
    const struct experiment *const *experiments; /* NULL ends it */
    const char *const *devices;                  /* names; NULL ends it */
    struct bench_options bench;
    struct measure_plan measure;
    unsigned rounds;      /* number of times that all cases are measured; at least 1 */
    const char *peer;     /* torch, mlx, jax; or NULL */
    struct output *trace; /* gets the traced calls of all devices; or NULL */
    bool quick_roofs, refresh_roofs;
    const struct result_set *done;     /* of an earlier run, to be continued; or NULL */
    const struct result_set *only;     /* only the lines in it, if not NULL */
    const volatile sig_atomic_t *stop; /* the run fails soon after this is not 0; or NULL */
    /* Called before each case (number and total on this device) and before other long steps
     * (number 0). May be NULL. */
    void (*progress)(void *context, unsigned number, unsigned total, const char *what);
    /* Called with the set after each round of a case. May be NULL. */
    bool (*kept)(void *context, const struct result_set *set, struct status *status);
    void *context;
};

/* Opens the device; the roofs are left to the caller. End with ridge_device_close(). */
bool stage_open(struct stage *stage, const char *device, const struct bench_options *options,
                struct status *status);

/* Moves the runtime's error into `status`; returns false. */
bool run_tensor_failed(struct status *status);

/* On failure the set has the results so far. */
bool run_experiments(const struct run_options *options, struct result_set *set,
                     struct status *status);

#endif
