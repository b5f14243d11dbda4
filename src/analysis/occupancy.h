/* How many warps of a multiprocessor can a kernel keep resident, and what is the limiting resource?
 * This is theoretical occupancy: from the launch's block size, registers and shared memory and the
 * device's limits, by the vendor's published allocation rules. Achieved occupancy may be lower (too
 * few blocks, tail effects), never higher. */
#ifndef RIDGE_ANALYSIS_OCCUPANCY_H
#define RIDGE_ANALYSIS_OCCUPANCY_H

#include "analysis/model.h"

/* The limiting resource. */
enum occupancy_limit {
    LIMIT_WARPS,     /* no warps are left for another block */
    LIMIT_BLOCKS,    /* the maximum number of blocks: they are small */
    LIMIT_REGISTERS, /* per thread */
    LIMIT_SHARED,    /* shared memory per block */
    OCCUPANCY_LIMITS
};
const char *occupancy_limit_name(unsigned limit); /* "warps", "blocks", "registers", "shared" */

/* Lower occupancy deserves a look. */
#define OCCUPANCY_TARGET 0.75

/* Resources of one multiprocessor and their allocation units. */
struct multiprocessor {
    uint32_t warp_size, warps, blocks;
    uint32_t registers, register_unit;             /* allocated per warp in multiples of the unit */
    uint32_t parts;                                /* partitions of the registers and warps */
    uint32_t shared, shared_unit, shared_reserved; /* bytes; the driver reserves some per block */
};

struct block_needs {
    uint64_t threads;
    uint32_t registers; /* per thread */
    uint64_t shared;    /* bytes, static and dynamic */
};

/* Resources by compute capability; values recorded in the trace take precedence over the table.
 * False for an unknown capability. */
bool multiprocessor_of(const struct trace *trace, uint32_t device, struct multiprocessor *has);

/* Resident warps and the limiting resource; 0 when not even one block fits, which means that the
 * trace does not describe the actual launch. */
uint32_t occupancy_warps(const struct multiprocessor *has, const struct block_needs *needs,
                         enum occupancy_limit *limit);

/* The occupancy of every kernel of a trace. */
struct occupancy {
    float *share;   /* by activity, 0 to 1; 0: unknown. NULL: of none */
    uint8_t *limit; /* enum occupancy_limit */
};

bool occupancy_find(const struct model *model, struct occupancy *occupancy, struct status *status);
void occupancy_finish(struct occupancy *occupancy);

#endif
