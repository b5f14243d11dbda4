/* What must a kernel do: how many bytes must it move, how many operations do, and of which kind?
 *
 * In this order of trust: what the trace says of the kernel itself (hardware counters, our own
 * runtime), what its framework operator means (aten::mm with its input shapes and types). Where
 * neither is known it is not known, and nothing is made up. One kernel of an operator that launched
 * several gets that operator's work only if it plainly does it (the product of aten::linear);
 * else the work is that of all its kernels together, and each has the part of it that
 * it has of their time.
 *
 * The roof of a kernel that was faster than memory allows is what it took: its data was in a cache.
 */
#ifndef RIDGE_ANALYSIS_WORK_H
#define RIDGE_ANALYSIS_WORK_H

#include "analysis/host.h"
#include "analysis/limits.h"

enum work_source { WORK_UNKNOWN, WORK_OPERATOR, WORK_TRACE };
enum kernel_bound { BOUND_UNKNOWN, BOUND_MEMORY, BOUND_COMPUTE, BOUND_LATENCY, KERNEL_BOUNDS };
const char *kernel_bound_name(unsigned bound); /* "unknown", "memory", "compute", "latency" */

/* Columns by activity; NULL: of none. */
struct work {
    double *bytes, *flops; /* 0: not known */
    uint8_t *source;       /* enum work_source */
    uint8_t *arithmetic;   /* enum device_limit: which units do the flops */
    float *roof_ns;        /* no kernel that does this can be faster; 0: not known */
    uint8_t *bound;        /* enum kernel_bound: what the roof is, or what else it waits for */
};

bool work_find(const struct model *model, const struct host *host, const struct limits *limits,
               struct work *work, struct status *status);
void work_finish(struct work *work);

#endif
