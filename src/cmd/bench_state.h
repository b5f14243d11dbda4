/* The results so far of a run of `ridge bench`, saved for --resume. */
#ifndef RIDGE_CMD_BENCH_STATE_H
#define RIDGE_CMD_BENCH_STATE_H

#include "bench/run.h"

struct bench_state {
    struct buffer path; /* terminated; empty if there is no folder for it */
};

/* The state that belongs to runs of the same experiments, devices and options. */
void bench_state_open(struct bench_state *state, const struct run_options *options);
void bench_state_close(struct bench_state *state);

/* True and the results so far, if there are any. */
bool bench_state_load(const struct bench_state *state, struct result_set *set);
/* Errors here never fail a run: state that cannot be saved is dropped. */
void bench_state_keep(const struct bench_state *state, const struct result_set *set);
void bench_state_forget(const struct bench_state *state);

#endif
