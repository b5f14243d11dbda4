/* How many of a multiprocessor's warps can a kernel keep resident, and what allows no more?
 *
 * Theoretical occupancy: from the launch's block, registers and shared memory and from the device's
 * limits, as the vendor publishes how they are handed out. What a kernel reaches may be less (too
 * few blocks, uneven ends), never more.
 */
#ifndef RIDGE_ANALYSIS_OCCUPANCY_H
#define RIDGE_ANALYSIS_OCCUPANCY_H

#include "analysis/model.h"

/* What allows no more blocks at once. */
enum occupancy_limit {
    LIMIT_WARPS,  /* all of the multiprocessor's warps are taken, or a block more needs too many */
    LIMIT_BLOCKS, /* the number of blocks: they are small */
    LIMIT_REGISTERS, /* of each thread */
    LIMIT_SHARED,    /* shared memory of each block */
    OCCUPANCY_LIMITS
};
const char *occupancy_limit_name(unsigned limit); /* "warps", "blocks", "registers", "shared" */

/* What is below the part of it that users should look for a reason for. */
#define OCCUPANCY_TARGET 0.75

/* What one multiprocessor has, and in which units it is handed out. */
struct multiprocessor {
    uint32_t warp_size, warps, blocks;
    uint32_t registers, register_unit; /* a warp gets a multiple of the unit */
    uint32_t parts;                    /* that have a part of the registers and of the warps each */
    uint32_t shared, shared_unit,
        shared_reserved; /* bytes; the driver reserves some of each block */
};

struct block_needs {
    uint64_t threads;
    uint32_t registers; /* of a thread */
    uint64_t shared;    /* bytes, static and dynamic */
};

/* What a device of this compute capability has; the values that the trace has of the device itself
 * are believed before the table's. False when it is of no capability that is known. */
bool multiprocessor_of(const struct trace *trace, uint32_t device, struct multiprocessor *has);

/* Resident warps, and what limits them; 0 when not even one block fits, which means that something
 * else was launched than the trace says. */
uint32_t occupancy_warps(const struct multiprocessor *has, const struct block_needs *needs,
                         enum occupancy_limit *limit);

/* The occupancy of every kernel of a trace. */
struct occupancy {
    float *share;   /* by activity, 0 to 1; 0: not known. NULL: of none */
    uint8_t *limit; /* enum occupancy_limit */
};

bool occupancy_find(const struct model *model, struct occupancy *occupancy, struct status *status);
void occupancy_finish(struct occupancy *occupancy);

#endif
