/* Which lines of the program allocated the device memory that was in use at its peak? From sources
 * that record the caller of each allocation (snapshots of PyTorch's allocator). */
#ifndef RIDGE_ANALYSIS_MEMORY_LINES_H
#define RIDGE_ANALYSIS_MEMORY_LINES_H

#include "analysis/model.h"

/* Allocations of one line that are in use at the peak of their device. */
struct memory_line {
    uint32_t device;
    uint32_t frame; /* stack row: the innermost frame outside of libraries; 0: unknown */
    uint64_t bytes, count;
};

struct memory_lines {
    struct memory_line
        *lines; /* by device, most bytes first; none where callers are not recorded */
    size_t count;
    uint64_t *peak; /* by device: bytes in use */
};

bool memory_lines_find(const struct model *model, struct memory_lines *lines,
                       struct status *status);
void memory_lines_finish(struct memory_lines *lines);

#endif
