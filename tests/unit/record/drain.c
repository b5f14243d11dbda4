/* The intervals between polls. Time that passes during a test only makes an interval shorter. */
#include "base/clock.h"
#include "record/drain.h"

#include <string.h>

#include "../test.h"

enum { MS = 1000000 };
#define HOUR (3600000 * (int64_t)MS)

static struct recording *recording_at(int64_t next_poll) {
    static struct recording recording;
    memset(&recording, 0, sizeof recording);
    recording.next_poll = next_poll;
    recording.until = INT64_MAX;
    return &recording;
}

/* Only its address is looked at. */
static struct perf *some_samples(void) {
    static char samples;
    return (struct perf *)(void *)&samples;
}

TEST(the_next_turn_of_a_recorder_that_is_late_comes_in_a_millisecond) {
    struct recording *recording = recording_at(clock_now() - 50 * MS);
    CHECK_INT(drain_timeout(recording), 1);
    recording = recording_at(clock_now() + HOUR);
    recording->until = clock_now() - 50 * MS;
    CHECK_INT(drain_timeout(recording), 1);
}

TEST(samples_are_drained_in_time_however_far_the_next_turn_is) {
    struct recording *recording = recording_at(clock_now() + HOUR);
    CHECK(drain_timeout(recording) > PERF_DRAIN_INTERVAL_MS + 1);
    recording->perf = some_samples();
    CHECK_INT(drain_timeout(recording), PERF_DRAIN_INTERVAL_MS + 1);
    recording = recording_at(clock_now() + 10 * MS);
    recording->perf = some_samples();
    CHECK(drain_timeout(recording) <= 11);
}

TEST(a_recorder_wakes_when_the_recording_starts_and_ends) {
    struct recording *recording = recording_at(clock_now() + HOUR);
    recording->from = clock_now() + 20 * MS;
    recording->until = clock_now() + HOUR;
    CHECK(drain_timeout(recording) > 21);
    recording->delayed = true;
    CHECK(drain_timeout(recording) <= 21);
    recording = recording_at(clock_now() + HOUR);
    recording->until = clock_now() + 20 * MS;
    CHECK(drain_timeout(recording) <= 21);
    recording->stopped = true;
    CHECK(drain_timeout(recording) > 21);
}
