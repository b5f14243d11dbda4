/* Walks the calling thread's Python frames many times: the library that tests/long/python-walks
 * loads into Python. */
#include "base/clock.h"
#include "probe/probe.h"
#include "trace/schema.h"

#define EXPORT __attribute__((visibility("default")))

/* Returns the number of walks that found a stack. */
EXPORT long walk(long count);
long walk(long count) {
    long found = 0;
    if (!probe_start())
        return -1;
    for (long i = 0; i < count; i++) {
        struct probe_thread *thread = probe_enter();
        if (!thread)
            continue;
        found += probe_stack(thread, CALL_LAUNCH) != 0;
        probe_leave(thread);
    }
    return found;
}

/* Nanoseconds of one walk, without entering the probe. */
EXPORT double cost(long count);
double cost(long count) {
    struct probe_thread *thread = probe_start() ? probe_enter() : NULL;
    if (!thread)
        return -1;
    int64_t start = clock_now();
    for (long i = 0; i < count; i++)
        probe_stack(thread, CALL_LAUNCH);
    double each = (double)(clock_now() - start) / (double)count;
    probe_leave(thread);
    return each;
}
