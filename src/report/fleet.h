/* Prints many ranks that were joined by their reports. */
#ifndef RIDGE_REPORT_FLEET_H
#define RIDGE_REPORT_FLEET_H

#include "base/output.h"
#include "ranks/fleet.h"

bool fleet_text(const struct fleet *fleet, unsigned width, struct output *output,
                struct status *status);
bool fleet_json(const struct fleet *fleet, struct output *output, struct status *status);

#endif
