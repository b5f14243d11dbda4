/* Sums of a run's host time by cause along the chains of calls that run_call_before() makes, so
 * that a long gap is split without a walk over its calls. */
#ifndef RIDGE_WHATIF_CALL_SUMS_H
#define RIDGE_WHATIF_CALL_SUMS_H

#include "whatif/run.h"

/* The cause of idle time while a thread is in the call. */
enum gap_cause call_cause(const struct replay *replay, uint32_t call);

/* A zeroed one is not built: call_sums_skip() does nothing. */
struct call_sums {
    const struct run *run;
    uint32_t *depth; /* by call: calls before it; UNKNOWN_DEPTH while building */
    uint32_t *jump;  /* by call: one before it, so that any is reached in O(log n) steps */
    int64_t *time;   /* by call and cause: from the first call of its chain to its start */
};

bool call_sums_build(struct call_sums *sums, const struct run *run, struct status *status);
void call_sums_finish(struct call_sums *sums);
/* From the start of `call` back to the first call of its chain that starts after `start`: adds the
 * time between the two and returns that call. */
uint32_t call_sums_skip(const struct call_sums *sums, uint32_t call, int64_t start, int64_t *cause);

#endif
