/* Where does a series change its level? E-divisive: the division with the largest energy distance
 * between its sides is kept if few permutations of the values have a larger one, and each side is
 * divided again. Nothing is assumed about the distribution. */
#ifndef RIDGE_COMPARE_CHANGE_POINTS_H
#define RIDGE_COMPARE_CHANGE_POINTS_H

#include <stddef.h>

#include "base/status.h"

/* The latest values that are examined, and the fewest between two changes. */
enum { CHANGE_POINTS_VALUES = 400, CHANGE_POINTS_SEGMENT = 4 };
#define CHANGE_POINTS_CHANCE 0.01

struct change_point {
    size_t at;            /* the first value of the new level */
    double before, after; /* medians of the segments on either side */
    double probability;
};

/* Free *points. In order of `at`. `count` is at most CHANGE_POINTS_VALUES. */
bool change_points_find(const double *values, size_t count, struct change_point **points,
                        size_t *found, struct status *status);

#endif
