/* The thread pool that runs native kernels. Workers are created once and parked while idle.
 *
 * One thread at a time uses a pool; it takes part in the run as thread 0.
 */
#ifndef RIDGE_DEVICE_CPU_THREAD_POOL_H
#define RIDGE_DEVICE_CPU_THREAD_POOL_H

#include "device/device.h"

/* Creates fewer threads than requested if the system has no more; see thread_pool_threads(). */
struct thread_pool *thread_pool_create(unsigned threads, unsigned cores, struct status *status);
/* Accepts NULL. */
void thread_pool_destroy(struct thread_pool *pool);
unsigned thread_pool_threads(const struct thread_pool *pool);

/* Grows every thread's scratch memory to at least `bytes`. */
bool thread_pool_reserve_scratch(struct thread_pool *pool, size_t bytes, struct status *status);

/* Calls the function on as many threads as there are units (at most all) and returns when all have
 * returned. A thread that is not awake when the caller's own call returns is left out. Takes buffers, scalars, context, units and shared from `call` and sets the rest. */
void thread_pool_run(struct thread_pool *pool, native_function *function,
                     const struct native_call *call);

#endif
