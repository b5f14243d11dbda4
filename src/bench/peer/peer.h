/* The same work in another framework: a Python process that runs batches of calls on request and
 * reports their times. */
#ifndef RIDGE_BENCH_PEER_PEER_H
#define RIDGE_BENCH_PEER_PEER_H

#include <signal.h>

#include <ridge.h>

#include "base/status.h"

enum { PEER_INPUTS_MAX = 8, PEER_NUMBERS_MAX = 4 };

struct peer_input {
    enum ridge_dtype dtype; /* f32, f16, bf16: standard normal times scale; i32: below `scale` */
    unsigned rank;
    int64_t sizes[RIDGE_RANK_MAX];
    double scale;
};

struct peer_work {
    const char *name; /* of a function in peer.py: "softmax" */
    bool compiled;    /* by torch.compile, mx.compile; JAX always compiles */
    struct peer_input inputs[PEER_INPUTS_MAX];
    unsigned input_count;
    double numbers[PEER_NUMBERS_MAX]; /* the function's own: a scale, an epsilon */
    unsigned turns;                   /* sets of inputs that alternate */
};

struct peer;

/* `framework` is torch, mlx or jax; `device` one of ours: cpu, cuda:0, ... (MLX has its own GPU
 * and is on it where we are on metal). STATUS_UNSUPPORTED, with a remedy, if the interpreter
 * ($RIDGE_PYTHON or python3) lacks it or it cannot use the device. */
struct peer *peer_start(const char *framework, const char *device, struct status *status);
/* Timeouts in seconds: for loading, for preparing work including compilation, and for a batch
 * beyond its expected time. */
struct peer_patience {
    double start, prepare, batch;
};
extern const struct peer_patience peer_patience; /* what peer_start() has */
struct peer *peer_start_within(const char *framework, const char *device,
                               const struct peer_patience *patience, struct status *status);
/* Accepts NULL. */
void peer_stop(struct peer *peer);
/* From here on a request fails soon after *stop is not 0. */
void peer_watch(struct peer *peer, const volatile sig_atomic_t *stop);
const char *peer_description(const struct peer *peer); /* "PyTorch 2.11.0 on NVIDIA H200" */

/* Creates inputs and runs the work once. *has is false if it has no such function or type.
 *
 * If this or a batch fails with STATUS_UNSUPPORTED, the framework gave the reason and can do
 * other work; with another code the peer is gone, and every later request fails.
 */
bool peer_prepare(struct peer *peer, const struct peer_work *work, bool *has,
                  struct status *status);
/* For struct measured_work, with the peer as context. */
bool peer_batch(void *peer, unsigned calls, double *nanoseconds, struct status *status);

#endif
