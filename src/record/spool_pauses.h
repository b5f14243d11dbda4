/* When was nothing of a process recorded? With --capture-range the probe tells when it stops and
 * when it goes on; the trace has a range RANGE_PAUSED for each such time, which no figure counts.
 */
#ifndef RIDGE_RECORD_SPOOL_PAUSES_H
#define RIDGE_RECORD_SPOOL_PAUSES_H

#include "record/spool_events.h"

bool spool_take_paused(const struct spool_origin *origin, const struct spool_paused *paused);
/* The process has ended at that time: so has its pause. */
void spool_pause_end(struct spool_rows *rows, struct spool_place_process *member, int64_t time);

#endif
