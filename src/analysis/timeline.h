/* The timeline as equal cells of time, each with its busy share. */
#ifndef RIDGE_ANALYSIS_TIMELINE_H
#define RIDGE_ANALYSIS_TIMELINE_H

#include "analysis/model.h"

struct timeline_cell {
    int64_t busy;   /* some kernel ran */
    int64_t copy;   /* a copy or set ran, and no kernel */
    int64_t length; /* of the cell; cells differ by at most 1 ns */
};

/* A timeline into which intervals are drawn in order of start. The cells belong to the caller and
 * are complete after timeline_end(). */
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

/* The character for a cell: █▓▒░ for kernels by the share they fill, = and - for copies where they
 * prevail, · for a trace of either, blank for idle. */
enum timeline_look { LOOK_IDLE, LOOK_KERNELS, LOOK_COPIES };
const char *timeline_glyph(const struct timeline_cell *cell, enum timeline_look *look);

/* A window in the middle of `whole` with about `activities` activities; false when there are too
 * few. */
bool timeline_zoom(const struct model *model, uint32_t device, struct window whole,
                   size_t activities, struct window *zoom);

#endif
