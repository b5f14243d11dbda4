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

/* A timeline that spans are drawn into, in the order of their starts. The cells are the caller's;
 * they are filled in when it is ended. */
struct timeline {
    struct window window;
    struct timeline_cell *cells;
    size_t count;
    int64_t kernels_reached, all_reached;
};
void timeline_begin(struct timeline *timeline, struct window window, struct timeline_cell *cells,
                    size_t count);
void timeline_add(struct timeline *timeline, int64_t start, int64_t end, bool kernel);
void timeline_end(struct timeline *timeline);

/* Fills `count` cells with the device's time in `window`. */
void timeline_draw(const struct model *model, uint32_t device, struct window window,
                   struct timeline_cell *cells, size_t count);

/* The character that stands for a cell: █▓▒░ for kernels by how much of it they fill, = and - for
 * copies where they prevail, · for a trace of either, blank for nothing; and which of these it is.
 */
enum timeline_look { LOOK_IDLE, LOOK_KERNELS, LOOK_COPIES };
const char *timeline_glyph(const struct timeline_cell *cell, enum timeline_look *look);

/* A window in the middle of `whole` that holds about `activities` activities, for a closer look;
 * false when there are too few. */
bool timeline_zoom(const struct model *model, uint32_t device, struct window whole,
                   size_t activities, struct window *zoom);

#endif
