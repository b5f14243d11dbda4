/* When was recording paused? A trace that was paused by the program, or limited to a capture range,
 * has holes in which nothing was recorded. That does not mean that nothing happened: holes are not
 * part of a device's window, of its idle time, or of the length of the run.
 *
 * A recorder writes a range RANGE_PAUSED of category overhead on a thread of the process for each
 * pause. With several processes, only the time in which all of them were paused counts.
 */
#ifndef RIDGE_ANALYSIS_PAUSES_H
#define RIDGE_ANALYSIS_PAUSES_H

#include "analysis/model.h"

struct pauses {
    struct selection *by_session; /* session_count + 1 of them */
    uint64_t count;               /* in the run */
    int64_t time;
};

bool pauses_find(const struct model *model, struct pauses *pauses, struct status *status);
void pauses_finish(struct pauses *pauses, const struct model *model);

/* How much of [start, end) was paused in that recording. */
int64_t pauses_within(const struct pauses *pauses, uint32_t session, int64_t start, int64_t end);

/* Removes paused time from a device's windows, except where recorded work ran on it (work launched
 * before a pause may run into it). */
bool pauses_leave_out(const struct pauses *pauses, const struct model *model, uint32_t device,
                      struct selection *selection, struct status *status);
/* Removes all paused time of every recording from host windows. */
bool pauses_leave_out_of_host(const struct pauses *pauses, const struct model *model,
                              struct selection *selection, struct status *status);

#endif
