/* Runs of a plan as one piece: the device's graph for a set of addresses, kept while they come
 * again. */
#ifndef RIDGE_TENSOR_REPLAY_H
#define RIDGE_TENSOR_REPLAY_H

#include "tensor/plan.h"

struct replay;

/* Queues the launches, by replaying a graph of them when the same ones came before. */
bool plan_replay(struct plan *plan, const struct launch *launches, struct status *status);
void plan_replay_destroy(struct replay *replay, ridge_device *device); /* takes NULL */

#endif
