/* When did work run, on the host's clock?
 *
 * Metal has times of whole command buffers: seconds of mach_absolute_time(), which stands still
 * while the machine sleeps, while CLOCK_MONOTONIC may not. Reading one between two readings of the
 * other gives the offset, with half the time between as its error. A launch with a stamp gets a
 * command buffer of its own. Counter sample buffers would give times of encoders, but some systems
 * return zeros for them.
 */
#include <stdio.h>

#include "base/clock.h"
#include "device/metal/metal.h"

static int64_t mach_now(const struct metal_library *library) {
    struct metal_timebase base = {1, 1};
    library->mach_timebase_info(&base);
    uint64_t ticks = library->mach_absolute_time(), denom = base.denom ? base.denom : 1;
    return (int64_t)(ticks / denom * base.numer + ticks % denom * base.numer / denom);
}

static bool read_clock(void *of, struct clock_reading *reading, struct status *status) {
    const struct metal_device *device = of;
    int64_t before = clock_now(), mach = mach_now(device->library);
    int64_t half = (clock_now() - before) / 2;
    (void)status;
    *reading = (struct clock_reading){(uint64_t)mach, before + half, half + 1};
    return true;
}

static void refresh(struct metal_device *device) {
    struct status none;
    device_clock_refresh(&device->clock, read_clock, device, &none);
}

/* Times that are known already have an end; else `begin` is a command buffer. */
void metal_stamp_host(struct device_stamp *stamp, int64_t start) {
    if (stamp)
        *stamp = (struct device_stamp){.begin = (uint64_t)start, .end = (uint64_t)clock_now()};
}

static bool buffer_times(struct metal_device *device, metal_id buffer, int64_t *start, int64_t *end,
                         struct status *status) {
    const struct metal_library *library = device->library;
    SEND(library, wait, buffer);
    if (SEND(library, status, buffer) == MTL_COMMAND_BUFFER_ERROR)
        return metal_fail(library, SEND(library, error, buffer), STATUS_IO, "the GPU failed",
                          status);
    double first = SEND(library, gpu_start, buffer), last = SEND(library, gpu_end, buffer);
    if (!(first > 0) || last < first)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "Metal reports no times for command buffers on this system");
    refresh(device);
    *start = device_clock_to_host(&device->clock, (uint64_t)(first * 1e9));
    *end = device_clock_to_host(&device->clock, (uint64_t)(last * 1e9));
    return true;
}

bool metal_resolve(struct device *base, struct device_stamp *stamp, int64_t *start, int64_t *end,
                   struct status *status) {
    struct metal_device *device = metal_of(base);
    struct device_stamp taken = *stamp;
    *stamp = (struct device_stamp){0};
    *start = (int64_t)taken.begin;
    *end = (int64_t)taken.end;
    if (taken.end != 0 || taken.begin == 0)
        return true;
    metal_id buffer = (metal_id)(uintptr_t)taken.begin;
    void *pool = device->library->objc_autoreleasePoolPush();
    bool ok = buffer_times(device, buffer, start, end, status);
    SEND(device->library, release, buffer);
    device->library->objc_autoreleasePoolPop(pool);
    return ok;
}

int64_t metal_clock_error(struct device *base) {
    return device_clock_error(&metal_of(base)->clock);
}

void metal_prepare_stamps(struct device *base, char *how, size_t capacity) {
    refresh(metal_of(base));
    snprintf(how, capacity, "GPU times of command buffers, one for each launch");
}
