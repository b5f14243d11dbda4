/* What a run of `ridge bench` has measured so far, kept so that --resume can go on from there. */
#ifndef RIDGE_CMD_BENCH_STATE_H
#define RIDGE_CMD_BENCH_STATE_H

#include "bench/run.h"

struct bench_state {
    struct buffer path; /* terminated; empty when there is no place to keep it */
};

/* The state that belongs to runs of the same experiments, devices and options. */
void bench_state_open(struct bench_state *state, const struct run_options *options);
void bench_state_close(struct bench_state *state);

/* True and the results so far, if there are any. */
bool bench_state_load(const struct bench_state *state, struct result_set *set);
/* Nothing here can fail a run: what cannot be kept is not kept. */
void bench_state_keep(const struct bench_state *state, const struct result_set *set);
void bench_state_forget(const struct bench_state *state);

#endif
