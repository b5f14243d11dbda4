/* In what order does work run? Queues are in order; events order them among each other. */
#include "device/opencl/opencl.h"

bool opencl_queues_create(struct opencl_device *device, bool profiling, struct status *status) {
    cl_bitfield properties = profiling ? CL_QUEUE_PROFILING_ENABLE : 0;
    cl_command_queue created[OPENCL_QUEUES + 1];
    unsigned count = 0;
    cl_int error = CL_SUCCESS;
    for (; count < OPENCL_QUEUES + 1; count++) {
        created[count] = device->driver->clCreateCommandQueue(device->context, device->place.device,
                                                              properties, &error);
        if (!opencl_check(error, "clCreateCommandQueue", status))
            break;
    }
    if (count < OPENCL_QUEUES + 1) {
        while (count > 0)
            device->driver->clReleaseCommandQueue(created[--count]);
        return false;
    }
    opencl_queues_release(device);
    for (unsigned i = 0; i < OPENCL_QUEUES; i++)
        device->queues[i] = created[i];
    device->side = created[OPENCL_QUEUES];
    device->profiling = profiling;
    return true;
}

void opencl_queues_release(struct opencl_device *device) {
    for (unsigned i = 0; i < OPENCL_QUEUES; i++)
        if (device->queues[i])
            device->driver->clReleaseCommandQueue(device->queues[i]);
    if (device->side)
        device->driver->clReleaseCommandQueue(device->side);
    device->side = NULL;
}

bool opencl_queue(struct opencl_device *device, unsigned number, cl_command_queue *queue,
                  struct status *status) {
    *queue = number < OPENCL_QUEUES ? device->queues[number] : NULL;
    return *queue || status_fail(status, STATUS_USAGE, "opencl:%u has queues 0 to %u, not %u",
                                 device->base.index, OPENCL_QUEUES - 1, number);
}

/* A driver may hold commands back until they are flushed, and a flush costs up to a third of a
 * launch. The first launches are flushed at once, so that the device has work, then every
 * eighth. */
bool opencl_submit(struct opencl_device *device, unsigned number, struct status *status) {
    enum { EVERY = 8 };
    unsigned launches = ++device->launches[number];
    if (launches % EVERY != 0 && (launches > EVERY || (launches & (launches - 1)) != 0))
        return true;
    return opencl_check(device->driver->clFlush(device->queues[number]), "clFlush", status);
}

/* The event of a command that was not submitted would never be reached. */
bool opencl_record(struct device *base, unsigned number, struct device_event *event,
                   struct status *status) {
    struct opencl_device *device = opencl_of(base);
    cl_command_queue queue;
    cl_event object = NULL;
    if (!opencl_queue(device, number, &queue, status) ||
        !opencl_check(device->driver->clEnqueueMarkerWithWaitList(queue, 0, NULL, &object),
                      "clEnqueueMarkerWithWaitList", status))
        return false;
    if (!opencl_check(device->driver->clFlush(queue), "clFlush", status)) {
        device->driver->clReleaseEvent(object);
        return false;
    }
    event->handle = (uintptr_t)object;
    return true;
}

void opencl_event_release(struct device *base, struct device_event event) {
    if (event.handle)
        opencl_of(base)->driver->clReleaseEvent((cl_event)(uintptr_t)event.handle);
}

/* A failed command, or an event that cannot be queried, will make no further progress. */
bool opencl_reached(struct device *base, struct device_event event) {
    cl_int state = CL_COMPLETE;
    if (!event.handle || opencl_of(base)->driver->clGetEventInfo(
                             (cl_event)(uintptr_t)event.handle, CL_EVENT_COMMAND_EXECUTION_STATUS,
                             sizeof state, &state, NULL) != CL_SUCCESS)
        return true;
    return state <= CL_COMPLETE;
}

bool opencl_order(struct device *base, unsigned number, struct device_event event,
                  struct status *status) {
    struct opencl_device *device = opencl_of(base);
    cl_event object = (cl_event)(uintptr_t)event.handle;
    cl_command_queue queue;
    if (!opencl_queue(device, number, &queue, status))
        return false;
    return !object ||
           opencl_check(device->driver->clEnqueueBarrierWithWaitList(queue, 1, &object, NULL),
                        "clEnqueueBarrierWithWaitList", status);
}

bool opencl_finish(struct device *base, struct status *status) {
    struct opencl_device *device = opencl_of(base);
    bool ok = true;
    for (unsigned i = 0; i < OPENCL_QUEUES; i++) {
        if (!opencl_check(device->driver->clFinish(device->queues[i]), "clFinish", status))
            ok = false;
        device->launches[i] = 0;
    }
    return ok;
}
