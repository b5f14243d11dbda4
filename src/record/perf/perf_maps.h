/* Removes the files /tmp/perf-PID.map that Python writes because of the recording. */
#ifndef RIDGE_RECORD_PERF_PERF_MAPS_H
#define RIDGE_RECORD_PERF_PERF_MAPS_H

#include <stdint.h>

#include "base/map.h"

/* Removes the files of ended processes in `pids` that Python wrote, that were created after `since`
 * (seconds of CLOCK_REALTIME), belong to this user and have one link. Returns their number. */
unsigned perf_maps_remove(const struct map *pids, int64_t since);

#endif
