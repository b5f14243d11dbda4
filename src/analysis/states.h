/* Was a thread running, ready to run, or blocked? The scheduler's records of each thread in order
 * of time; time without a record is unknown. */
#ifndef RIDGE_ANALYSIS_STATES_H
#define RIDGE_ANALYSIS_STATES_H

#include "analysis/model.h"

/* In addition to the states of trace/schema.h: not recorded. */
enum { STATE_UNKNOWN = STATE_KINDS, STATES };
/* "running", "ready", "blocked", "unknown" */
const char *states_name(unsigned state);

struct states {
    const struct trace *trace;
    uint32_t *order;      /* rows of trace->state by (thread, start); NULL: already in order */
    size_t *thread_first; /* by thread; [id + 1] = end */
};

bool states_build(struct states *states, const struct model *model, struct status *status);
void states_finish(struct states *states);

/* Whether the states of any thread were recorded. */
static inline bool states_known(const struct states *states) {
    return states->trace && states->trace->state.count > 0;
}

/* An interval of a thread in one state. */
struct state_interval {
    int64_t start, end;
    unsigned state;
    int64_t since;  /* when the state began; `start` if unknown */
    int64_t before; /* when the preceding state began; `since` if unknown */
};

/* State of the queries of one thread. Zero it, then query in order of time. */
struct state_cursor {
    bool started;
    size_t row;
};

/* The next interval of `thread` from `start` on, clipped to `end`. start < end. Where rows overlap,
 * which only happens in damaged traces, the earlier one wins. */
struct state_interval states_next(const struct states *states, struct state_cursor *cursor,
                                  uint32_t thread, int64_t start, int64_t end);

#endif
