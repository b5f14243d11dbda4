/* The parts of side_build() that have files of their own. */
#ifndef RIDGE_COMPARE_SIDE_PARTS_H
#define RIDGE_COMPARE_SIDE_PARTS_H

#include "compare/side.h"

/* Fills the counts of a unit; the units are known. */
bool side_count_units(struct side *side, struct status *status);

#endif
