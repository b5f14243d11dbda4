/* Host memory that the driver copies from at full speed. OpenCL has no word for pinned memory; what
 * all vendors pin is a buffer made with CL_MEM_ALLOC_HOST_PTR, for as long as it is mapped.
 */
#include "base/memory.h"

#include "device/opencl/opencl.h"

static bool map(struct opencl_device *device, struct opencl_pinned *pinned, size_t bytes,
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
    if (!map(device, pinned, bytes > 0 ? bytes : 1, status)) {
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
