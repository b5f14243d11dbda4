/* What does the trace itself show that its devices can do? Lower bounds of rates and upper bounds
 * of latencies, for limits.c to use where nothing better is known.
 */
#ifndef RIDGE_ANALYSIS_LIMITS_SEEN_H
#define RIDGE_ANALYSIS_LIMITS_SEEN_H

#include "analysis/limits.h"

/* Takes the value if it is one and comes from a better source than what is there. */
void limits_offer(struct limits *limits, enum device_limit limit, double value,
                  enum limit_source source);

/* Offers what was seen to every device's limits, by device id. */
bool limits_add_seen(const struct model *model, struct limits *by_device, struct status *status);

#endif
