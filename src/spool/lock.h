/* A spin lock with a timeout.
 *
 * Its holder may be preempted, or may be a thread of the parent that does not exist after fork().
 * Unlike a mutex it has a timeout, is not a cancellation point, and can be reset.
 */
#ifndef RIDGE_SPOOL_LOCK_H
#define RIDGE_SPOOL_LOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"
#include "spool/spool.h"

/* False after one second. */
static inline bool lock_acquire(_Atomic uint32_t *lock) {
    const int64_t timeout_ns = 1000000000;
    int64_t deadline = 0;
    for (;;) {
        uint32_t expected = 0;
        if (atomic_compare_exchange_weak_explicit(lock, &expected, 1, memory_order_acquire,
                                                  memory_order_relaxed))
            return true;
        int64_t now = clock_now();
        if (deadline == 0)
            deadline = now + timeout_ns;
        if (now > deadline)
            return false;
        sched_yield();
    }
}

static inline void lock_release(_Atomic uint32_t *lock) {
    atomic_store_explicit(lock, 0, memory_order_release);
}

#endif
