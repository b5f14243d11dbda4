/* How much time did the host spend in API calls, by class and by name? */
#ifndef RIDGE_ANALYSIS_CALLS_H
#define RIDGE_ANALYSIS_CALLS_H

#include "analysis/model.h"

struct call_name {
    uint32_t name;
    struct text text;
    unsigned class;
    uint64_t count;
    int64_t total, min, median, max;
};

struct calls {
    uint64_t count;
    int64_t total; /* outermost calls only: no time counted twice */
    uint64_t class_count[CALL_CLASSES];
    int64_t class_time[CALL_CLASSES]; /* outermost calls only; sums to total */
    struct call_name *names;          /* every call, most time first */
    size_t name_count;
    /* Calls whose exact name means that they only wait (…Synchronize). */
    uint64_t syncs;
    int64_t sync_time;
};

/* Calls that start inside the selection (NULL: anywhere). */
bool calls_find(const struct model *model, const struct selection *selection, struct calls *calls,
                struct status *status);
void calls_finish(struct calls *calls);

#endif
