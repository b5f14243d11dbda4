/* What bounds a kernel, judged by the times of its halves. */
#ifndef RIDGE_BENCH_EXPERIMENTS_MEMORY_VS_COMPUTE_H
#define RIDGE_BENCH_EXPERIMENTS_MEMORY_VS_COMPUTE_H

enum bound { BOUND_BALANCED, BOUND_MEMORY, BOUND_COMPUTE, BOUND_UNCLEAR };

/* From the times of reading alone, computing alone and both. A half explains the whole when it
 * takes about as long. When both do, the longer one counts if it is clearly longer; when neither
 * does, if it is much longer. A half much longer than the whole makes it unclear. */
enum bound bound_of(double read_ns, double compute_ns, double full_ns);

/* The part of the shorter half that is hidden behind the other one, 0 to 1. */
double bound_overlap(double read_ns, double compute_ns, double full_ns);

#endif
