/* Where in a drawing does a label go so that it covers nothing? */
#ifndef RIDGE_BENCH_ROOFLINE_LABEL_PLACEMENT_H
#define RIDGE_BENCH_ROOFLINE_LABEL_PLACEMENT_H

#include <stddef.h>

#include "base/status.h"

struct box {
    double left, top, right, bottom;
};
struct segment {
    double x1, y1, x2, y2;
};

/* A zeroed one, with bounds set, is an empty drawing. */
struct label_space {
    struct box bounds;
    struct box *taken; /* nothing else may be there */
    size_t taken_count, taken_capacity;
    struct segment *lines; /* better not crossed */
    size_t line_count, line_capacity;
};

bool label_space_take(struct label_space *label_space, struct box box, struct status *status);
bool label_space_line(struct label_space *label_space, struct segment line, struct status *status);
/* Reserves a free box of that size near the point that covers as few lines as possible. *found
 * is false if there is none. */
bool label_place(struct label_space *label_space, double x, double y, double width, double height,
                 struct box *box, bool *found, struct status *status);
void label_space_finish(struct label_space *label_space);

bool box_overlaps(const struct box *a, const struct box *b);
bool box_crosses(const struct box *box, const struct segment *line);

#endif
