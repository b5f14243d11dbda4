/* How much memory was in use at most, and how much came and went? */
#ifndef RIDGE_ANALYSIS_MEMORY_USE_H
#define RIDGE_ANALYSIS_MEMORY_USE_H

#include "analysis/model.h"

struct memory_use { /* of one device, or of the host */
    uint64_t allocations, frees;
    uint64_t allocated_bytes, freed_bytes; /* churn: all that came, all that went */
    uint64_t high_water;                   /* most in use at once */
    int64_t high_water_time;
    uint64_t reserved_max; /* most held by the allocator, where told */
    bool absolute;         /* the source told totals; else counted from 0 at the trace's start */
};

/* Over what happened inside the selection (NULL: anywhere); what was in use when it began counts
 * for the high water. by_device[id], [0] is the host; trace->device.count of them. Free with
 * memory_free(). */
bool memory_use_find(const struct model *model, const struct selection *selection,
                     struct memory_use **by_device, struct status *status);

#endif
