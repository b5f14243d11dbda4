/* What was the peak memory use, and how much was allocated and freed? */
#ifndef RIDGE_ANALYSIS_MEMORY_USE_H
#define RIDGE_ANALYSIS_MEMORY_USE_H

#include "analysis/model.h"

struct memory_use { /* of one device, or of the host */
    uint64_t allocations, frees;
    uint64_t allocated_bytes, freed_bytes; /* churn */
    uint64_t high_water;                   /* peak use */
    int64_t high_water_time;
    uint64_t reserved_max; /* peak held by the allocator, if recorded */
    /* Allocations after which the memory held by the allocator is known, and was before; of those,
     * the ones for which it did not grow: served from memory that it kept. */
    uint64_t compared, reused;
    bool absolute; /* the source has totals; else counted from 0 at the start of the trace */
};

/* Over the selection (NULL: the whole trace); memory in use at its start counts toward the peak.
 * by_device[id], [0] is the host; trace->device.count of them. Free with memory_free(). */
bool memory_use_find(const struct model *model, const struct selection *selection,
                     struct memory_use **by_device, struct status *status);

#endif
