/* Buffers, pinned host memory, and copies to, from and between buffers. */
#include "base/memory.h"

#include "base/format.h"
#include "device/opencl/opencl.h"

/* Drivers allocate a buffer on the device when it is first used, and only then report a full
 * device. Writing its last byte, on an otherwise idle queue, makes them allocate it here. */
static bool make_resident(struct opencl_device *device, cl_mem object, size_t bytes,
                          struct status *status) {
    const struct opencl_driver *driver = device->driver;
    const unsigned char zero = 0;
    return opencl_check(driver->clEnqueueFillBuffer(device->side, object, &zero, sizeof zero,
                                                    bytes - 1, sizeof zero, 0, NULL, NULL),
                        "clEnqueueFillBuffer", status) &&
           opencl_check(driver->clFinish(device->side), "clFinish", status);
}

/* Drivers use different errors for this: a buffer that cannot be allocated is always
 * STATUS_MEMORY. */
static bool no_room(struct opencl_device *device, size_t bytes, struct status *status) {
    char wanted[FORMAT_SIZE], largest[FORMAT_SIZE], all[FORMAT_SIZE];
    status_context(
        status, "cannot allocate a buffer of %s on opencl:%u (%s in total, at most %s per buffer)",
        format_bytes(bytes, wanted), device->base.index,
        format_bytes(device->base.capabilities.memory_bytes, all),
        format_bytes(device->traits.allocation_max, largest));
    status->code = STATUS_MEMORY;
    return false;
}

static bool create_buffer(struct opencl_device *device, size_t bytes, cl_mem *object,
                          struct status *status) {
    cl_int error = CL_SUCCESS;
    if (bytes > device->base.capabilities.memory_bytes)
        return status_fail(status, STATUS_MEMORY, "that is more than the device has");
    *object =
        device->driver->clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    if (!opencl_check(error, "clCreateBuffer", status))
        return false;
    if (make_resident(device, *object, bytes, status))
        return true;
    device->driver->clReleaseMemObject(*object);
    return false;
}

bool opencl_allocate(struct device *base, size_t bytes, struct device_memory *memory,
                     struct status *status) {
    struct opencl_device *device = opencl_of(base);
    struct opencl_memory *made = memory_allocate(1, sizeof *made, status);
    if (!made)
        return false;
    if (!create_buffer(device, bytes ? bytes : 1, &made->object, status)) {
        memory_free(made);
        return no_room(device, bytes, status);
    }
    opencl_link_add(&device->memories, &made->link);
    *memory = (struct device_memory){.handle = (uintptr_t)made, .bytes = bytes};
    return true;
}

void opencl_release(struct device *base, struct device_memory memory) {
    struct opencl_memory *made = (struct opencl_memory *)(uintptr_t)memory.handle;
    if (!made)
        return;
    opencl_link_remove(&made->link);
    opencl_of(base)->driver->clReleaseMemObject(
        made->object); /* once queued work no longer needs it */
    memory_free(made);
}

/* OpenCL has no pinned memory by name. All vendors pin a buffer created with CL_MEM_ALLOC_HOST_PTR
 * for as long as it is mapped. */
static bool map_pinned(struct opencl_device *device, struct opencl_pinned *pinned, size_t bytes,
                       struct status *status) {
    const struct opencl_driver *driver = device->driver;
    cl_int error = CL_SUCCESS;
    pinned->object = driver->clCreateBuffer(
        device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &error);
    if (!opencl_check(error, "clCreateBuffer", status))
        return false;
    pinned->memory =
        driver->clEnqueueMapBuffer(device->side, pinned->object, true, CL_MAP_READ | CL_MAP_WRITE,
                                   0, bytes, 0, NULL, NULL, &error);
    if (opencl_check(error, "clEnqueueMapBuffer", status))
        return true;
    driver->clReleaseMemObject(pinned->object);
    return false;
}

bool opencl_host_allocate(struct device *base, size_t bytes, void **memory, struct status *status) {
    struct opencl_device *device = opencl_of(base);
    struct opencl_pinned *pinned = memory_allocate(1, sizeof *pinned, status);
    if (!pinned)
        return false;
    if (!map_pinned(device, pinned, bytes > 0 ? bytes : 1, status)) {
        memory_free(pinned);
        return status_context(status, "%zu bytes of pinned memory", bytes);
    }
    opencl_link_add(&device->pinned, &pinned->link);
    *memory = pinned->memory;
    return true;
}

void opencl_host_release(struct device *base, void *memory) {
    struct opencl_device *device = opencl_of(base);
    for (struct opencl_link *link = device->pinned; memory && link; link = link->next) {
        struct opencl_pinned *pinned = (struct opencl_pinned *)link;
        if (pinned->memory != memory)
            continue;
        opencl_link_remove(link);
        device->driver->clEnqueueUnmapMemObject(device->side, pinned->object, memory, 0, NULL,
                                                NULL);
        device->driver->clReleaseMemObject(pinned->object); /* once it is unmapped */
        memory_free(pinned);
        return;
    }
}

static bool in_bounds(struct device_memory memory, size_t offset, size_t bytes, const char *what,
                      struct status *status) {
    if (offset <= memory.bytes && bytes <= memory.bytes - offset)
        return true;
    return status_fail(status, STATUS_USAGE, "%s %zu bytes at %zu of a buffer of %zu", what, bytes,
                       offset, memory.bytes);
}

/* The common start of all copies. */
static bool begin_copy(struct opencl_device *device, unsigned number, cl_command_queue *queue,
                       struct device_stamp *stamp, cl_event *event, cl_event **wanted,
                       struct status *status) {
    return opencl_stamp(device, stamp, event, wanted, status) &&
           opencl_queue(device, number, queue, status);
}

static bool end_copy(cl_int error, const char *call, struct device_stamp *stamp, cl_event event,
                     struct status *status) {
    if (!opencl_check(error, call, status))
        return false;
    if (stamp)
        stamp->begin = (uintptr_t)event;
    return true;
}

bool opencl_copy_in(struct device *base, unsigned number, struct device_memory to, size_t offset,
                    const void *from, size_t bytes, struct device_stamp *stamp,
                    struct status *status) {
    struct opencl_device *device = opencl_of(base);
    cl_command_queue queue;
    cl_event event, *wanted;
    if (!in_bounds(to, offset, bytes, "cannot copy in", status) ||
        !begin_copy(device, number, &queue, stamp, &event, &wanted, status))
        return false;
    if (bytes == 0)
        return true;
    cl_int error = device->driver->clEnqueueWriteBuffer(queue, opencl_object(to), true, offset,
                                                        bytes, from, 0, NULL, wanted);
    return end_copy(error, "clEnqueueWriteBuffer", stamp, event, status);
}

bool opencl_copy_out(struct device *base, unsigned number, void *to, struct device_memory from,
                     size_t offset, size_t bytes, struct device_stamp *stamp,
                     struct status *status) {
    struct opencl_device *device = opencl_of(base);
    cl_command_queue queue;
    cl_event event, *wanted;
    if (!in_bounds(from, offset, bytes, "cannot copy out", status) ||
        !begin_copy(device, number, &queue, stamp, &event, &wanted, status))
        return false;
    if (bytes == 0)
        return opencl_check(device->driver->clFinish(queue), "clFinish", status);
    device->launches[number] = 0;
    cl_int error = device->driver->clEnqueueReadBuffer(queue, opencl_object(from), true, offset,
                                                       bytes, to, 0, NULL, wanted);
    return end_copy(error, "clEnqueueReadBuffer", stamp, event, status);
}

bool opencl_copy_within(struct device *base, unsigned number, struct device_memory to,
                        size_t to_offset, struct device_memory from, size_t from_offset,
                        size_t bytes, struct device_stamp *stamp, struct status *status) {
    struct opencl_device *device = opencl_of(base);
    cl_command_queue queue;
    cl_event event, *wanted;
    if (!in_bounds(to, to_offset, bytes, "cannot copy to", status) ||
        !in_bounds(from, from_offset, bytes, "cannot copy from", status) ||
        !begin_copy(device, number, &queue, stamp, &event, &wanted, status))
        return false;
    if (bytes == 0)
        return true;
    cl_int error =
        device->driver->clEnqueueCopyBuffer(queue, opencl_object(from), opencl_object(to),
                                            from_offset, to_offset, bytes, 0, NULL, wanted);
    return end_copy(error, "clEnqueueCopyBuffer", stamp, event, status);
}
