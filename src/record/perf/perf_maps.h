/* The files perf-PID.map that recording makes Python write into /tmp: gone when they have been
 * read.
 */
#ifndef RIDGE_RECORD_PERF_PERF_MAPS_H
#define RIDGE_RECORD_PERF_PERF_MAPS_H

#include <stdint.h>

#include "base/map.h"

/* Removes those of processes in `pids` that have ended, as far as it is sure whose they are:
 * written by Python, made after `since` (seconds of CLOCK_REALTIME), this user's, and no link.
 * Gives how many. */
unsigned perf_maps_remove(const struct map *pids, int64_t since);

#endif
