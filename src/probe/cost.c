/* What does the probe cost its host? One entry of many is timed and stands for the others, as
 * timing them all would cost about as much as what is timed.
 */
#include "base/clock.h"
#include "probe/probe.h"

#include <stdatomic.h>
#include <stdio.h>

enum { TELL_EVERY_NS = 100000000, INTERRUPTED_NS = 100000 };

static _Atomic int64_t total, told_at;

static void tell(struct probe_thread *thread, int64_t cost) {
    char number[32];
    int length = snprintf(number, sizeof number, "%lld", (long long)cost);
    probe_meta(thread, "probe.cost_ns", (struct text){number, (size_t)length});
}

/* An entry this long is one that lost its processor, and stands for itself alone. */
void cost_add(struct probe_thread *thread) {
    int64_t now = clock_now(), took = now - thread->entered_at;
    thread->entered_at = 0;
    if (took < INTERRUPTED_NS)
        took *= COST_MEASURED;
    int64_t cost = atomic_fetch_add(&total, took) + took, last = atomic_load(&told_at);
    if (now - last > TELL_EVERY_NS && atomic_compare_exchange_strong(&told_at, &last, now))
        tell(thread, cost);
}

void cost_count(int64_t took) {
    atomic_fetch_add_explicit(&total, took, memory_order_relaxed);
}

void cost_end(void) {
    struct probe_thread *thread = atomic_load(&total) > 0 ? probe_enter() : NULL;
    if (!thread)
        return;
    tell(thread, atomic_load(&total));
    probe_leave(thread);
}

void cost_forget(void) {
    atomic_store(&total, 0);
    atomic_store(&told_at, 0);
}
