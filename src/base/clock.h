/* The time of a clock in nanoseconds. */
#ifndef RIDGE_BASE_CLOCK_H
#define RIDGE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_read(clockid_t clock) {
    struct timespec time = {0};
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The monotonic clock: the clock of all intervals and of every recorded event. On macOS it is Mach
 * absolute time, as GPU times are; CLOCK_MONOTONIC counts microseconds there. */
static inline int64_t clock_now(void) {
#ifdef __APPLE__
    return (int64_t)clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
#else
    return clock_read(CLOCK_MONOTONIC);
#endif
}

/* From one count of ticks to another, for a counter that wraps around at `bits` bits (0: 64). */
static inline int64_t clock_ticks_between(uint64_t from, uint64_t to, unsigned bits) {
    unsigned unused = bits > 0 && bits < 64 ? 64 - bits : 0;
    return (int64_t)((to - from) << unused) >> unused;
}

/* Likewise, where about `expected` ticks lie between the two: the counter may have wrapped around
 * any number of times. */
static inline int64_t clock_ticks_about(uint64_t from, int64_t expected, uint64_t to,
                                        unsigned bits) {
    return expected + clock_ticks_between(from + (uint64_t)expected, to, bits);
}

#endif
