#include "device/clock.h"

#include "base/clock.h"
#include "base/min_max.h"

enum { TRIES = 8 };
static const int64_t READING_AGE = 1000000000;

bool device_clock_refresh(struct device_clock *clock, device_clock_read *read, void *device,
                          struct status *status) {
    struct clock_reading best = {.error = INT64_MAX}, reading;
    if (clock->read && clock_now() - clock->later.host < READING_AGE)
        return true;
    for (unsigned i = 0; i < TRIES; i++) {
        if (!read(device, &reading, status))
            return false;
        if (reading.error < best.error)
            best = reading;
    }
    clock->earlier = clock->read ? clock->later : best;
    clock->later = best;
    clock->read = true;
    return true;
}

static double between(const struct device_clock *clock, uint64_t from, uint64_t to) {
    return (double)clock_ticks_between(from, to, clock->bits) *
           (clock->period > 0 ? clock->period : 1);
}

int64_t device_clock_to_host(const struct device_clock *clock, uint64_t ticks) {
    const struct clock_reading *a = &clock->earlier, *b = &clock->later;
    double since = between(clock, a->ticks, ticks), length = between(clock, a->ticks, b->ticks);
    double drift = (double)(b->host - a->host) - length;
    double share = length <= 0 || since <= 0 ? 0 : since >= length ? 1 : since / length;
    return a->host + (int64_t)(since + drift * share);
}

int64_t device_clock_error(const struct device_clock *clock) {
    return clock->read ? MAX(clock->earlier.error, clock->later.error) : 0;
}
