/* Kernels that slow down while the run goes on, as they do when a device lowers its clock. */
#ifndef RIDGE_DIAGNOSE_DRIFT_H
#define RIDGE_DIAGNOSE_DRIFT_H

#include "diagnose/finding.h"

struct drift {
    double ratio; /* the last quarter against the first, over the kernels that slow down */
    double part;  /* of the kernel time that slows down */
    int64_t lost; /* beyond the pace of the fastest quarter */
};

/* Of the first judged device, whose kernels' grids are loaded. */
bool drift_find(const struct diagnose_source *source, struct drift *drift, struct status *status);

#endif
