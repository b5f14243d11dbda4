/* The time of a call in a sweep over block or tile sizes, and of a quantized layer. */
#ifndef RIDGE_BENCH_EXPERIMENTS_SWEEP_H
#define RIDGE_BENCH_EXPERIMENTS_SWEEP_H

#include "bench/experiment.h"

/* Nanoseconds of a call: by the device's own clock on a GPU, where short kernels hide behind their
 * launches; 0 when it has no figures. */
double sweep_time(const struct stage *stage, const struct result *result);

#endif
