/* Checks the output of a workload; also for other case kinds that end in an operation of a
 * workload. */
#ifndef RIDGE_BENCH_WORKLOADS_WORKLOAD_CHECK_H
#define RIDGE_BENCH_WORKLOADS_WORKLOAD_CHECK_H

#include "bench/workloads/workload.h"

/* Compares elements of `output`, spread over it, with the workload's reference for `inputs`. *error
 * is the largest difference relative to the largest value; more than rounding explains is
 * STATUS_INPUT, with the element, what it is and what it should be. Waits for the device. */
bool workload_check(const struct workload *workload, const struct workload_shape *shape,
                    ridge_tensor *const *inputs, ridge_tensor *output, double *error,
                    struct status *status);

#endif
