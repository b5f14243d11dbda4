/* Under which names did the host spend a cause's time? Tallied by string id while the gaps are
 * walked, then listed with most time first. */
#ifndef RIDGE_ANALYSIS_GAP_NAMES_H
#define RIDGE_ANALYSIS_GAP_NAMES_H

#include "trace/reader.h"

/* What host code (or call) filled idle time, by name. */
struct gap_name {
    uint32_t name; /* string id; 0 = no range and no sample there */
    struct text text;
    uint64_t gaps; /* stretches */
    int64_t time;
};

struct gap_names {
    struct gap_name *list; /* most time first */
    size_t count;
};

/* By string id. A zeroed tally of which nothing was asked may be finished. */
struct name_tally {
    int64_t *time;
    uint32_t *stretches;
};

bool name_tally_init(struct name_tally *tally, const struct trace *trace, struct status *status);
void name_tally_finish(struct name_tally *tally);
static inline void name_tally_add(struct name_tally *tally, uint32_t name, int64_t time) {
    tally->time[name] += time;
    tally->stretches[name] += time > 0;
}

bool gap_names_list(struct gap_names *names, const struct name_tally *tally,
                    const struct trace *trace, struct status *status);
void gap_names_finish(struct gap_names *names);

#endif
