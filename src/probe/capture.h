/* Is what happens now to be recorded? Always, unless the recorder wants only what happens between
 * cudaProfilerStart() and cudaProfilerStop(), or inside NVTX ranges of one name, or nothing of the
 * first seconds; or when a profiler of the program's own keeps us from hearing of CUDA.
 *
 * Work is told of long after it was asked for, so it is the correlation of the call that decides
 * about it. Captures may nest and overlap between threads: from the first's begin to the last's end
 * is one window. What lies between windows is told as a pause, as it is not known to be idle.
 */
#ifndef RIDGE_PROBE_CAPTURE_H
#define RIDGE_PROBE_CAPTURE_H

#include "probe/probe.h"

/* Before anything is recorded. */
void capture_start(const struct probe_options *options);
/* In a child of fork(), whose pauses are its own. */
void capture_forked(void);
/* A process's first lane says, when there is one, that the process is paused. */
void capture_put_state(struct spool_lane *lane);

bool capture_is_on(void);
/* Whether what begins at this time is late enough. */
bool capture_has_started(int64_t time);
/* A call has this correlation; ids only grow. */
void capture_call_seen(uint32_t correlation);
/* Whether work with this correlation was asked for while a capture was on. */
bool capture_includes(uint32_t correlation);

/* CUDA is not heard of from here on, whatever is captured; or it is again. In turns. The lane may
 * be NULL. */
void capture_suspend(struct spool_lane *lane, bool begins);

/* cudaProfilerStart() and -Stop(); nothing where another kind is wanted. The lane may be NULL. */
void capture_profiler(struct spool_lane *lane, bool begins);
/* Whether the range with this name is one that captures. */
bool capture_is_range(struct spool_lane *lane, uint32_t name);
void capture_range(struct spool_lane *lane, bool begins);

#endif
