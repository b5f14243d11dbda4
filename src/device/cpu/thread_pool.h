/* The threads that run native kernels: made once, parked while there is nothing to do.
 *
 * One thread at a time gives work to a team and takes part in it as thread 0.
 */
#ifndef RIDGE_DEVICE_CPU_THREAD_POOL_H
#define RIDGE_DEVICE_CPU_THREAD_POOL_H

#include "device/device.h"

/* Fewer threads than asked for where the system gives no more; see thread_pool_threads(). */
struct thread_pool *thread_pool_create(unsigned threads, unsigned cores, struct status *status);
/* Takes NULL. */
void thread_pool_destroy(struct thread_pool *pool);
unsigned thread_pool_threads(const struct thread_pool *pool);

/* Sees to it that every thread's scratch has this many bytes. */
bool thread_pool_reserve_scratch(struct thread_pool *pool, size_t bytes, struct status *status);

/* Calls the function on as many threads as there are units (at most all) and returns when all have
 * returned. Takes buffers, scalars, context, units and shared from `call` and sets the rest. */
void thread_pool_run(struct thread_pool *pool, native_function *function,
                     const struct native_call *call);

#endif
