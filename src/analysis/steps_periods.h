/* Steps of a run in which nothing marks them: a sequence of activities that repeats. */
#ifndef RIDGE_ANALYSIS_STEPS_PERIODS_H
#define RIDGE_ANALYSIS_STEPS_PERIODS_H

#include "analysis/steps.h"

/* Adds the turns of the loop that has most of the device's work, if there is one. False when memory
 * does not suffice. */
bool steps_find_periods(const struct model *model, struct steps *steps, struct status *status);

bool steps_add(struct steps *steps, size_t *capacity, struct step step, struct status *status);

#endif
