/* Which slices fit on one track: viewers need the slices of a track to nest.
 *
 * Give slices in order of start, the longer first. Each gets the lowest lane of its track on which
 * it lies wholly inside or wholly after what is there.
 */
#ifndef RIDGE_EXPORT_LANES_H
#define RIDGE_EXPORT_LANES_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/status.h"

/* Slices that no lane below this number can take go to it all the same: the viewer may draw those
 * wrongly. */
enum { LANES_MAX = 64 };

/* A zeroed one is empty. */
struct lanes {
    struct map tracks; /* track to its first lane, plus one */
    struct lane *lanes;
    size_t count, capacity;
};

bool lanes_place(struct lanes *lanes, uint64_t track, int64_t start, int64_t end, uint32_t *lane,
                 struct status *status);
void lanes_finish(struct lanes *lanes);

#endif
