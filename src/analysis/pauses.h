/* When was recording paused? A trace that a program paused, or that was kept to a capture range,
 * has holes in which nothing was recorded, which is not the same as nothing having happened: they
 * are no part of a device's window, of its idle time, or of the run's length.
 *
 * A recorder leaves a range RANGE_PAUSED of category overhead on a thread of the process for each.
 * Where several processes were recorded, only the time in which all of them were paused counts.
 */
#ifndef RIDGE_ANALYSIS_PAUSES_H
#define RIDGE_ANALYSIS_PAUSES_H

#include "analysis/model.h"

struct pauses {
    struct selection *by_session; /* session_count + 1 of them */
    uint64_t count;               /* inside the run */
    int64_t time;
};

bool pauses_find(const struct model *model, struct pauses *pauses, struct status *status);
void pauses_finish(struct pauses *pauses, const struct model *model);

/* How much of [start, end) of that recording was paused. */
int64_t pauses_within(const struct pauses *pauses, uint32_t session, int64_t start, int64_t end);

/* Takes out of a device's windows the paused time in which nothing of what was recorded ran on it
 * (work that was launched before a pause may run on into it). */
bool pauses_leave_out(const struct pauses *pauses, const struct model *model, uint32_t device,
                      struct selection *selection, struct status *status);
/* Takes all that was paused in every recording out of windows of the host's. */
bool pauses_leave_out_of_host(const struct pauses *pauses, const struct model *model,
                              struct selection *selection, struct status *status);

#endif
