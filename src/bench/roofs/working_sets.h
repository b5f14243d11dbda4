/* The curve of bandwidth over the size of the working set. */
#ifndef RIDGE_BENCH_ROOFS_WORKING_SETS_H
#define RIDGE_BENCH_ROOFS_WORKING_SETS_H

#include "bench/roofs/stream_kernels.h"

/* Measures the sizes between `innermost` bytes, whose figures are the roofs of cache, and twice the
 * area, whose figures are those of memory: both must have been measured. */
bool working_sets_measure(const struct roof_bench *bench, const struct stream_area *memory,
                          uint64_t innermost, struct status *status);

#endif
