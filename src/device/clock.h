/* A device's clock against the host's.
 *
 * A reading takes both together, with a bound of its error. Clocks drift, so another one is taken
 * when the last is older than a second, and times between two readings are interpolated.
 */
#ifndef RIDGE_DEVICE_CLOCK_H
#define RIDGE_DEVICE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* The device's clock was `ticks` when the host's was `host`, give or take `error` nanoseconds. */
struct clock_reading {
    uint64_t ticks;
    int64_t host, error;
};

/* All zero: a clock in nanoseconds, not read yet. */
struct device_clock {
    unsigned bits;                       /* of the counter, which wraps around; 0: 64 */
    double period;                       /* nanoseconds per tick; 0: 1 */
    struct clock_reading earlier, later; /* the same until a second one was taken */
    bool read;
};

typedef bool device_clock_read(void *device, struct clock_reading *reading, struct status *status);

/* Reads the clock, if that is due: the best of a few readings. */
bool device_clock_refresh(struct device_clock *clock, device_clock_read *read, void *device,
                          struct status *status);
/* A time of the device on the host's clock. */
int64_t device_clock_to_host(const struct device_clock *clock, uint64_t ticks);
/* The larger error of the two readings: between them it is no larger. 0 before the first. */
int64_t device_clock_error(const struct device_clock *clock);

#endif
