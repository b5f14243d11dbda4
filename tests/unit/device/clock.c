/* A device's clock against the host's. */
#include "../test.h"

#include "base/clock.h"
#include "device/clock.h"

/* A device whose clock is the host's plus an offset, in ticks of 10 ns and 36 bits. */
struct source {
    uint64_t first;
    int64_t start, errors[8];
    unsigned reads;
};

static bool read_source(void *of, struct clock_reading *reading, struct status *status) {
    struct source *source = of;
    int64_t now = clock_now();
    if (source->errors[source->reads % 8] < 0)
        return status_fail(status, STATUS_IO, "no clock");
    uint64_t ticks = source->first + (uint64_t)(now - source->start) / 10;
    *reading = (struct clock_reading){ticks & 0xFFFFFFFFFu, now, source->errors[source->reads % 8]};
    source->reads++;
    return true;
}

TEST(the_best_of_several_readings_of_a_clock_counts) {
    struct status status = {0};
    struct source source = {.start = clock_now(), .errors = {50, 40, 7, 30, 90, 80, 70, 60}};
    struct device_clock clock = {.bits = 36, .period = 10};
    CHECK_INT(device_clock_error(&clock), 0);
    CHECK_OK(device_clock_refresh(&clock, read_source, &source, &status), status);
    CHECK_INT(device_clock_error(&clock), 7);
    CHECK_INT(source.reads, 8);
    clock.later.host = clock_now() + 3600 * (int64_t)1000000000;
    CHECK_OK(device_clock_refresh(&clock, read_source, &source, &status), status);
    CHECK_INT(source.reads, 8); /* it is recent */
}

TEST(a_clock_that_cannot_be_read_is_not_read) {
    struct status status = {0};
    struct source source = {.errors = {-1}};
    struct device_clock clock = {0};
    CHECK(!device_clock_refresh(&clock, read_source, &source, &status));
    CHECK(!clock.read);
}

TEST(times_of_a_clock_survive_its_wrapping_around) {
    struct device_clock clock = {.bits = 36,
                                 .period = 10,
                                 .earlier = {0xFFFFFFFFF, 1000000, 5},
                                 .later = {0xFFFFFFFFF, 1000000, 5},
                                 .read = true};
    CHECK_INT(device_clock_to_host(&clock, 0xFFFFFFFFF), 1000000);
    CHECK_INT(device_clock_to_host(&clock, 99), 1001000);
    CHECK_INT(device_clock_to_host(&clock, 0xFFFFFFFFF - 100), 999000);
}

TEST(the_drift_between_two_readings_of_a_clock_is_spread_over_the_time_between) {
    struct device_clock clock = {
        .earlier = {1000, 50000, 3}, .later = {2000, 51100, 9}, .read = true};
    CHECK_INT(device_clock_to_host(&clock, 1000), 50000);
    CHECK_INT(device_clock_to_host(&clock, 1500), 50550);
    CHECK_INT(device_clock_to_host(&clock, 2000), 51100);
    CHECK_INT(device_clock_to_host(&clock, 2500), 51600);
    CHECK_INT(device_clock_to_host(&clock, 500), 49500);
    CHECK_INT(device_clock_error(&clock), 9);
}
