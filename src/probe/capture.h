/* Is what happens now to be recorded? Always, unless the recorder wants only what happens between
 * cudaProfilerStart() and cudaProfilerStop(), or inside NVTX ranges of one name.
 *
 * Work is told of long after it was asked for, so it is the correlation of the call that decides
 * about it. Captures may nest and overlap between threads: from the first's begin to the last's end
 * is one window.
 */
#ifndef RIDGE_PROBE_CAPTURE_H
#define RIDGE_PROBE_CAPTURE_H

#include "probe/probe.h"

/* Before anything is recorded. */
void capture_start(const struct probe_options *options);

bool capture_is_on(void);
/* A call has this correlation; ids only grow. */
void capture_saw_call(uint32_t correlation);
/* Whether work with this correlation was asked for while a capture was on. */
bool capture_has(uint32_t correlation);

/* cudaProfilerStart() and -Stop(); nothing where another kind is wanted. */
void capture_profiler(bool begins);
/* Whether the range with this name is one that captures. */
bool capture_is_range(struct spool_lane *lane, uint32_t name);
void capture_range(bool begins);

#endif
