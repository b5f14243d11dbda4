/* Where does the host wait for the device? Synchronizing calls by the range around them, and the
 * driver's own synchronization records. */
#ifndef RIDGE_ANALYSIS_SYNCS_H
#define RIDGE_ANALYSIS_SYNCS_H

#include "analysis/host.h"
#include "analysis/model.h"

struct sync_site {
    uint32_t call;  /* string id of the call's name */
    uint32_t range; /* string id of the innermost range around it; 0 = none */
    struct text call_text, range_text;
    uint64_t count;
    int64_t total, max;
};

struct syncs {
    uint64_t count; /* outermost calls of class sync */
    int64_t total;
    struct sync_site *sites; /* most time first */
    size_t site_count;
    uint64_t records[WAIT_KINDS]; /* the driver's records, by kind */
    int64_t record_time[WAIT_KINDS];
};

bool syncs_find(const struct model *model, const struct host *host,
                const struct selection *selection, struct syncs *syncs, struct status *status);
void syncs_finish(struct syncs *syncs);

#endif
