/* Differences between readings of counters that wrap around. */
#include "../test.h"

#include "base/clock.h"

enum { BITS = 36 };
#define RANGE ((uint64_t)1 << BITS)

TEST(a_counter_that_wraps_around_goes_on) {
    CHECK_INT(clock_ticks_between(RANGE - 10, 20, BITS), 30);
    CHECK_INT(clock_ticks_between(20, RANGE - 10, BITS), -30);
    CHECK_INT(clock_ticks_between(UINT64_MAX - 9, 20, 0), 30);
}

TEST(a_counter_may_wrap_around_many_times_between_two_readings) {
    const int64_t distances[] = {0, 5, (int64_t)RANGE / 2 + 7, (int64_t)RANGE * 3 - 1, -1000};
    for (unsigned i = 0; i < sizeof distances / sizeof *distances; i++)
        for (int64_t wrong = -1000000; wrong <= 1000000; wrong += 500000) {
            uint64_t from = RANGE - 100, to = (from + (uint64_t)distances[i]) % RANGE;
            CHECK_INT(clock_ticks_about(from, distances[i] + wrong, to, BITS), distances[i]);
        }
}
