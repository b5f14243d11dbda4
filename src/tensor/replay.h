/* Replays a plan as a device graph, cached for recurring sets of addresses. */
#ifndef RIDGE_TENSOR_REPLAY_H
#define RIDGE_TENSOR_REPLAY_H

#include "tensor/plan.h"

struct replay;

/* Enqueues the launches, by replaying a graph if the same ones occurred before. */
bool plan_replay(struct plan *plan, const struct launch *launches, struct status *status);
void plan_replay_destroy(struct replay *replay, ridge_device *device); /* accepts NULL */

#endif
