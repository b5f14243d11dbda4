/* Independent tasks on several cores. */
#ifndef RIDGE_BASE_PARALLEL_H
#define RIDGE_BASE_PARALLEL_H

#include <stddef.h>

#include "base/status.h"

typedef bool (*parallel_task)(void *context, size_t index, struct status *status);

/* Runs task(context, i) for i = 0 .. count - 1 on a few threads, at most one per core, and waits
 * for all. On failure, false and the status of the failed task with the lowest number. Without
 * threads the caller's own does the work. */
bool parallel_run(size_t count, parallel_task task, void *context, struct status *status);

#endif
