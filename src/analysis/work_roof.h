/* How fast could a kernel be that does so much, and what holds it back? */
#ifndef RIDGE_ANALYSIS_WORK_ROOF_H
#define RIDGE_ANALYSIS_WORK_ROOF_H

#include "analysis/kernel_traits.h"
#include "analysis/work.h"

/* Fills roof_ns and bound of every kernel; the other columns are there. `traits` are by string. */
bool work_find_roofs(const struct model *model, const struct limits *limits,
                     struct kernel_traits *traits, struct work *work, struct status *status);

#endif
