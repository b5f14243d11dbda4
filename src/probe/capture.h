/* Decides whether an event is recorded. With --capture-range only events between
 * cudaProfilerStart() and cudaProfilerStop(), or inside NVTX ranges of one name, are recorded; with
 * --delay none before its end. While another profiler uses CUPTI, recording is suspended.
 *
 * Records of device work arrive long after the launch, so the launch's correlation id decides.
 * Captures may nest and overlap between threads: one window lasts from the first begin to the last
 * end. The time between windows is reported as a pause, because it is not known to be idle.
 */
#ifndef RIDGE_PROBE_CAPTURE_H
#define RIDGE_PROBE_CAPTURE_H

#include "probe/probe.h"

/* Before anything is recorded. */
void capture_start(const struct probe_options *options);
/* In a child of fork(), which reports its own pauses. */
void capture_forked(void);
/* Reports in the process's first lane that it is paused, if it is. */
void capture_put_state(struct spool_lane *lane);

bool capture_is_on(void);
/* Whether `time` is after --delay. */
bool capture_has_started(int64_t time);
/* Takes the correlation id of a call; ids only grow. */
void capture_call_seen(uint32_t correlation);
/* Whether work with this correlation id was launched inside a capture. */
bool capture_includes(uint32_t correlation);

/* Another profiler begins or ends its use of CUPTI; calls alternate. The lane may be NULL. */
void capture_suspend(struct spool_lane *lane, bool begins);

/* cudaProfilerStart() and cudaProfilerStop(). The lane may be NULL. */
void capture_profiler(struct spool_lane *lane, bool begins);
/* Whether ranges with this name capture. */
bool capture_is_range(struct spool_lane *lane, uint32_t name);
void capture_range(struct spool_lane *lane, bool begins);

#endif
