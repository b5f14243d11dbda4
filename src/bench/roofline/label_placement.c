/* Greedy placement: each label tries eight directions, then the same directions further out, and
 * so on; the cheapest free position is used. For a few dozen labels a better algorithm makes no
 * visible difference. */
#include "bench/roofline/label_placement.h"

#include <math.h>

#include "base/array.h"
#include "base/memory.h"

enum { RINGS = 7 };
static const double NEAREST = 8, RING_STEP = 13, CROSSING_COST = 1.2;

bool label_space_take(struct label_space *label_space, struct box box, struct status *status) {
    if (!GROW(label_space->taken, &label_space->taken_capacity, label_space->taken_count + 1,
              status))
        return false;
    label_space->taken[label_space->taken_count++] = box;
    return true;
}

bool label_space_line(struct label_space *label_space, struct segment line, struct status *status) {
    if (!GROW(label_space->lines, &label_space->line_capacity, label_space->line_count + 1, status))
        return false;
    label_space->lines[label_space->line_count++] = line;
    return true;
}

void label_space_finish(struct label_space *label_space) {
    memory_free(label_space->taken);
    memory_free(label_space->lines);
    *label_space = (struct label_space){0};
}

bool box_overlaps(const struct box *a, const struct box *b) {
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

/* Liang-Barsky: the part of the line between `from` and `to` is inside so far. */
static bool clip(double start, double step, double low, double high, double *from, double *to) {
    if (step == 0)
        return start >= low && start <= high;
    double a = (low - start) / step, b = (high - start) / step;
    *from = fmax(*from, fmin(a, b));
    *to = fmin(*to, fmax(a, b));
    return *from <= *to;
}

bool box_crosses(const struct box *box, const struct segment *line) {
    double from = 0, to = 1;
    return clip(line->x1, line->x2 - line->x1, box->left, box->right, &from, &to) &&
           clip(line->y1, line->y2 - line->y1, box->top, box->bottom, &from, &to);
}

static bool is_free(const struct label_space *label_space, const struct box *box) {
    const struct box *bounds = &label_space->bounds;
    if (box->left < bounds->left || box->right > bounds->right || box->top < bounds->top ||
        box->bottom > bounds->bottom)
        return false;
    for (size_t i = 0; i < label_space->taken_count; i++)
        if (box_overlaps(box, &label_space->taken[i]))
            return false;
    return true;
}

static double crossings(const struct label_space *label_space, const struct box *box) {
    double count = 0;
    for (size_t i = 0; i < label_space->line_count; i++)
        count += box_crosses(box, &label_space->lines[i]);
    return count;
}

/* The box of that size whose nearest side or corner is `distance` away, in one of eight directions:
 * across -1 is left of the point, 1 right of it; down -1 above, 1 below. */
static struct box box_beside(double x, double y, double width, double height, int across, int down,
                             double distance) {
    double diagonal = across && down ? distance * 0.7 : distance;
    double left = across > 0 ? x + diagonal : across < 0 ? x - diagonal - width : x - width / 2;
    double top = down > 0 ? y + diagonal : down < 0 ? y - diagonal - height : y - height / 2;
    return (struct box){left, top, left + width, top + height};
}

bool label_place(struct label_space *label_space, double x, double y, double width, double height,
                 struct box *box, bool *found, struct status *status) {
    static const int sides[][2] = {{1, 0},   {-1, 0}, {1, -1}, {1, 1},
                                   {-1, -1}, {-1, 1}, {0, -1}, {0, 1}};
    double min = INFINITY;
    for (unsigned ring = 0; ring < RINGS && ring < min; ring++)
        for (unsigned side = 0; side < ARRAY_COUNT(sides); side++) {
            struct box candidate = box_beside(x, y, width, height, sides[side][0], sides[side][1],
                                              NEAREST + ring * RING_STEP);
            double cost = ring + side * 0.01;
            if (cost >= min || !is_free(label_space, &candidate))
                continue;
            cost += CROSSING_COST * crossings(label_space, &candidate);
            if (cost < min) {
                min = cost;
                *box = candidate;
            }
        }
    *found = isfinite(min);
    return !*found || label_space_take(label_space, *box, status);
}
