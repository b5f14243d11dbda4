/* When did a command run, on the host's clock?
 *
 * Drivers may be slower with profiling, so queues start without it. The first stamp replaces them
 * by queues with profiling.
 *
 * OpenCL's times are of the device's clock. It is read between two readings of the host's clock,
 * with half the time between these as the error.
 */
#include <stdio.h>

#include "base/clock.h"
#include "device/opencl/opencl.h"

static bool profiled(const struct opencl_driver *driver, cl_event event, cl_uint what,
                     int64_t *time, struct status *status) {
    cl_ulong value = 0;
    if (!opencl_check(driver->clGetEventProfilingInfo(event, what, sizeof value, &value, NULL),
                      "clGetEventProfilingInfo", status))
        return false;
    *time = (int64_t)value;
    return true;
}

/* OpenCL 2.1 can report the device's time; many drivers have the function but no clock. */
static bool query_timer(struct opencl_device *device, int64_t *time) {
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

static bool read_clock(void *of, struct clock_reading *reading, struct status *status) {
    struct opencl_device *device = of;
    int64_t time, before = clock_now();
    if (!query_timer(device, &time)) {
        before = clock_now();
        if (!time_command(device, &time, status))
            return false;
    }
    int64_t half = (clock_now() - before) / 2;
    *reading = (struct clock_reading){(uint64_t)time, before + half, half + 1};
    return true;
}

static bool refresh(struct opencl_device *device, struct status *status) {
    return device_clock_refresh(&device->clock, read_clock, device, status);
}

static bool start_profiling(struct opencl_device *device, struct status *status) {
    struct status ignored;
    if (device->profiling)
        return true;
    /* work on the new queues starts after that on the old ones */
    if (!opencl_finish(&device->base, status) || !opencl_queues_create(device, true, status))
        return false;
    /* All times will lie between this reading and a later one. If it fails, it is retried
     * and reported when a time is requested. */
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

/* Launches may not be submitted yet, and with some drivers waiting does not submit them. */
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
    *start = device_clock_to_host(&device->clock, (uint64_t)*start);
    *end = device_clock_to_host(&device->clock, (uint64_t)*end);
    return true;
}

int64_t opencl_clock_error(struct device *base) {
    return device_clock_error(&opencl_of(base)->clock);
}

void opencl_prepare_stamps(struct device *base, char *how, size_t capacity) {
    (void)base;
    snprintf(how, capacity, "profiled commands");
}
