/* Was a thread running, ready to run, or blocked? What the system's scheduler told of each thread,
 * in order of time; a interval that it told nothing of is unknown. */
#ifndef RIDGE_ANALYSIS_STATES_H
#define RIDGE_ANALYSIS_STATES_H

#include "analysis/model.h"

/* Beside the states of trace/schema.h: what was not recorded. */
enum { STATE_UNKNOWN = STATE_KINDS, STATES };
/* "running", "ready", "blocked", "unknown" */
const char *states_name(unsigned state);

struct states {
    const struct trace *trace;
    uint32_t *order;      /* rows of trace->state by (thread, start); NULL: as they are */
    size_t *thread_first; /* by thread; [id + 1] = end */
};

bool states_build(struct states *states, const struct model *model, struct status *status);
void states_finish(struct states *states);

/* Whether the states of any thread were recorded. */
static inline bool states_known(const struct states *states) {
    return states->trace && states->trace->state.count > 0;
}

/* A part of a thread's time in one state. */
struct state_interval {
    int64_t start, end;
    unsigned state;
    int64_t since;  /* when the state began; of unknown ones `start` */
    int64_t before; /* when the state directly before it began; `since` where that is not known */
};

/* Position of one thread's questions; zero it, then ask in order of time. */
struct state_cursor {
    bool started;
    size_t row;
};

/* The next interval of `thread` from `start` on, ending at `end` at the latest. start < end. Where
 * rows overlap, which only damage brings about, the one that began first is believed. */
struct state_interval states_next(const struct states *states, struct state_cursor *cursor,
                                  uint32_t thread, int64_t start, int64_t end);

#endif
