/* How much work is a kernel: how many bytes must it move, how many operations do, and of which
 * kind?
 *
 * In order of preference: the kernel's hardware counters, then what the trace records for the
 * kernel itself (ridge's own runtime; of Vulkan shaders an estimate, in which operations may be
 * missing), then what its framework operator means (aten::mm with its
 * input shapes and types), then what the launch of an element-wise kernel of PyTorch says: its
 * blocks cover the arrays, whose number and type are in its name, so the length is known to a
 * block. Otherwise it is unknown. If an operator launched several kernels, one of them gets the
 * operator's work only if it clearly does it (the product of aten::linear); else the work is split
 * among all of them by their time.
 *
 * A kernel is held against both roofs, memory and arithmetic, or against neither: one of them alone
 * would make every product memory-bound.
 *
 * The roof of a kernel that was faster than memory bandwidth allows is its own time: its data was
 * in a cache.
 */
#ifndef RIDGE_ANALYSIS_WORK_H
#define RIDGE_ANALYSIS_WORK_H

#include "analysis/host.h"
#include "analysis/kernel_counters.h"
#include "analysis/limits.h"

enum work_source {
    WORK_UNKNOWN,
    WORK_GEOMETRY,
    WORK_OPERATOR,
    WORK_SHADER, /* recorded, but an estimate */
    WORK_TRACE,
    WORK_COUNTED
};
enum kernel_bound { BOUND_UNKNOWN, BOUND_MEMORY, BOUND_COMPUTE, BOUND_LATENCY, KERNEL_BOUNDS };
const char *kernel_bound_name(unsigned bound); /* "unknown", "memory", "compute", "latency" */

/* Columns by activity; NULL: of none. */
struct work {
    double *bytes, *flops; /* 0: unknown */
    uint8_t *source;       /* enum work_source */
    uint8_t *arithmetic;   /* enum device_limit: the units that do the flops */
    float *roof_ns;        /* lower bound of the time for this work; 0: unknown */
    uint8_t *bound;        /* enum kernel_bound */
};

bool work_find(const struct model *model, const struct host *host, const struct limits *limits,
               const struct kernel_counters *counters, struct work *work, struct status *status);
void work_finish(struct work *work);

#endif
