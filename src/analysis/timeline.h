/* What does the timeline look like? Time cut into equal cells, each with how much of it was busy.
 */
#ifndef RIDGE_ANALYSIS_TIMELINE_H
#define RIDGE_ANALYSIS_TIMELINE_H

#include "analysis/model.h"

struct timeline_cell {
    int64_t busy;   /* some kernel ran */
    int64_t copy;   /* a copy or set ran and no kernel */
    int64_t length; /* of the cell: they differ by at most 1 ns */
};

/* Fills `count` cells with the device's time in `window`. */
void timeline_draw(const struct model *model, uint32_t device, struct window window,
                   struct timeline_cell *cells, size_t count);

/* A window in the middle of `whole` that holds about `activities` activities, for a closer look;
 * false when there are too few. */
bool timeline_zoom(const struct model *model, uint32_t device, struct window whole,
                   size_t activities, struct window *zoom);

#endif
