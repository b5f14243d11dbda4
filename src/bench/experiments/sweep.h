/* Evaluates a sweep over block or tile sizes: which is best, and how much it matters. */
#ifndef RIDGE_BENCH_EXPERIMENTS_SWEEP_H
#define RIDGE_BENCH_EXPERIMENTS_SWEEP_H

#include "bench/experiment.h"

/* Nanoseconds of a call: by the device's own clock on a GPU, where short kernels hide behind their
 * launches; 0 when it has no figures. */
double sweep_time(const struct stage *stage, const struct result *result);

/* Adds a finding `key` for each run of neighbouring results with the same label: which of them, by
 * numbers[number], is the fastest. `noun` is what is swept: "block", "tile". */
bool sweep_conclude(const struct stage *stage, const struct result *results, size_t count,
                    unsigned number, const char *key, const char *noun, struct result_set *set,
                    struct status *status);

#endif
