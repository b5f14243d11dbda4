/* When did a command run, on the host's clock?
 *
 * Drivers may be slower with profiling on, so the queues begin without it; the first time that a
 * time is wanted they are replaced by queues that keep times.
 *
 * OpenCL's times are of the device's own clock. Reading it between two readings of the host's gives
 * their distance, half the time between those two being the error. Clocks drift, so a second
 * reading is taken when the last one is older than a second, and times between two readings are
 * interpolated.
 */
#include <stdio.h>

#include "base/clock.h"
#include "device/opencl/opencl.h"

enum { TRIES = 8 };
static const int64_t READING_AGE = 1000000000;

static bool profiled(const struct opencl_driver *driver, cl_event event, cl_uint what,
                     int64_t *time, struct status *status) {
    cl_ulong value = 0;
    if (!opencl_check(driver->clGetEventProfilingInfo(event, what, sizeof value, &value, NULL),
                      "clGetEventProfilingInfo", status))
        return false;
    *time = (int64_t)value;
    return true;
}

/* OpenCL 2.1 can be asked for the time; many drivers have the function but not the clock. */
static bool ask_timer(struct opencl_device *device, int64_t *time) {
    cl_ulong ticks = 0, unused = 0;
    if (!device->driver->clGetDeviceAndHostTimer ||
        device->driver->clGetDeviceAndHostTimer(device->place.device, &ticks, &unused) !=
            CL_SUCCESS ||
        ticks == 0)
        return false;
    *time = (int64_t)ticks;
    return true;
}

/* Else a command of a few bytes ends somewhere between its being queued and its being awaited. */
static bool time_command(struct opencl_device *device, int64_t *time, struct status *status) {
    const struct opencl_driver *driver = device->driver;
    const cl_uint zero = 0;
    cl_event event = NULL;
    cl_int error = CL_SUCCESS;
    if (!device->scratch)
        device->scratch =
            driver->clCreateBuffer(device->context, CL_MEM_READ_WRITE, sizeof zero, NULL, &error);
    if (!opencl_check(error, "clCreateBuffer", status) ||
        !opencl_check(driver->clEnqueueFillBuffer(device->side, device->scratch, &zero, sizeof zero,
                                                  0, sizeof zero, 0, NULL, &event),
                      "clEnqueueFillBuffer", status))
        return false;
    bool ok = opencl_check(driver->clWaitForEvents(1, &event), "clWaitForEvents", status) &&
              profiled(driver, event, CL_PROFILING_COMMAND_END, time, status);
    driver->clReleaseEvent(event);
    return ok;
}

static bool read_clock(struct opencl_device *device, struct opencl_reading *best,
                       struct status *status) {
    best->error = INT64_MAX;
    for (unsigned i = 0; i < TRIES; i++) {
        int64_t time, before = clock_now();
        if (!ask_timer(device, &time)) {
            before = clock_now();
            if (!time_command(device, &time, status))
                return false;
        }
        int64_t width = clock_now() - before;
        if (width / 2 + 1 < best->error)
            *best = (struct opencl_reading){time, before + width / 2, width / 2 + 1};
    }
    return true;
}

static bool refresh(struct opencl_device *device, struct status *status) {
    struct opencl_clock *clock = &device->clock;
    if (clock->read && clock_now() - clock->later.host < READING_AGE)
        return true;
    struct opencl_reading reading;
    if (!read_clock(device, &reading, status))
        return false;
    clock->earlier = clock->read ? clock->later : reading;
    clock->later = reading;
    clock->read = true;
    return true;
}

static bool start_profiling(struct opencl_device *device, struct status *status) {
    struct status ignored;
    if (device->profiling)
        return true;
    /* work on the queues to come starts after what is on those that go */
    if (!opencl_finish(&device->base, status) || !opencl_queues_create(device, true, status))
        return false;
    /* All times will be between this reading and a later one. If it fails it is tried again, and
     * reported, when a time is asked for. */
    refresh(device, &ignored);
    return true;
}

bool opencl_stamp(struct opencl_device *device, struct device_stamp *stamp, cl_event *event,
                  cl_event **wanted, struct status *status) {
    *event = NULL;
    *wanted = stamp ? event : NULL;
    if (!stamp)
        return true;
    /* a command of no work has no event: this is then when it did nothing */
    *stamp = (struct device_stamp){.end = (uint64_t)clock_now()};
    return start_profiling(device, status);
}

static int64_t to_host(const struct opencl_clock *clock, int64_t time) {
    const struct opencl_reading *a = &clock->earlier, *b = &clock->later;
    int64_t offset = a->host - a->device, drift = (b->host - b->device) - offset;
    if (time >= b->device)
        offset += drift;
    else if (time > a->device)
        offset += (int64_t)((double)drift *
                            ((double)(time - a->device) / (double)(b->device - a->device)));
    return time + offset;
}

/* Launches may not have been submitted yet, and waiting for one does not see to it everywhere. */
static bool wait_for(struct opencl_device *device, cl_event event, struct status *status) {
    const struct device_event asked = {.handle = (uintptr_t)event};
    if (!opencl_reached(&device->base, asked))
        for (unsigned i = 0; i < OPENCL_QUEUES; i++)
            if (!opencl_check(device->driver->clFlush(device->queues[i]), "clFlush", status))
                return false;
    return opencl_check(device->driver->clWaitForEvents(1, &event), "clWaitForEvents", status);
}

bool opencl_resolve(struct device *base, struct device_stamp *stamp, int64_t *start, int64_t *end,
                    struct status *status) {
    struct opencl_device *device = opencl_of(base);
    cl_event event = (cl_event)(uintptr_t)stamp->begin;
    *start = *end = (int64_t)stamp->end;
    *stamp = (struct device_stamp){0};
    if (!event)
        return true;
    bool ok = wait_for(device, event, status) &&
              profiled(device->driver, event, CL_PROFILING_COMMAND_START, start, status) &&
              profiled(device->driver, event, CL_PROFILING_COMMAND_END, end, status) &&
              refresh(device, status);
    device->driver->clReleaseEvent(event);
    if (!ok)
        return false;
    *start = to_host(&device->clock, *start);
    *end = to_host(&device->clock, *end);
    return true;
}

/* Between two readings the error is at most the larger of theirs; before the first reading it is
 * not known yet, and 0. */
int64_t opencl_clock_error(struct device *base) {
    const struct opencl_clock *clock = &opencl_of(base)->clock;
    if (!clock->read)
        return 0;
    return clock->earlier.error > clock->later.error ? clock->earlier.error : clock->later.error;
}

void opencl_prepare_stamps(struct device *base, char *how, size_t capacity) {
    (void)base;
    snprintf(how, capacity, "profiled commands");
}
