/* The OpenCL device: OpenCL 1.2 and later, of any vendor, through one context per open device.
 *
 * Devices of all platforms share one numbering, GPUs first. Open devices are independent of
 * each other. count() and probe() cache nothing, so devices that appear or disappear are
 * noticed.
 */
#include "device/opencl/opencl.h"

#include "base/memory.h"

void opencl_link_add(struct opencl_link **list, struct opencl_link *link) {
    link->next = *list;
    link->place = list;
    if (link->next)
        link->next->place = &link->next;
    *list = link;
}

void opencl_link_remove(struct opencl_link *link) {
    *link->place = link->next;
    if (link->next)
        link->next->place = link->place;
}

static bool count_devices(unsigned *count, struct status *status) {
    const struct opencl_driver *driver;
    struct opencl_place *places;
    *count = 0;
    if (!opencl_driver(&driver, status) || !opencl_places(driver, &places, count, status))
        return false;
    memory_free(places);
    return true;
}

static bool find_place(const struct opencl_driver *driver, unsigned index,
                       struct opencl_place *place, struct status *status) {
    struct opencl_place *places;
    unsigned count;
    if (!opencl_places(driver, &places, &count, status))
        return false;
    if (index < count)
        *place = places[index];
    memory_free(places);
    return index < count ||
           status_fail(status, STATUS_USAGE, "opencl:%u does not exist; the last one is opencl:%u",
                       index, count - 1);
}

static bool probe(unsigned index, struct device_capabilities *capabilities, struct status *status) {
    const struct opencl_driver *driver;
    struct opencl_place place;
    struct opencl_traits traits;
    *capabilities = (struct device_capabilities){.language = LANGUAGE_OPENCL};
    return opencl_driver(&driver, status) && find_place(driver, index, &place, status) &&
           opencl_describe(driver, &place, capabilities, &traits, status);
}

static bool create_context(struct opencl_device *device, struct status *status) {
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)device->place.platform, 0};
    cl_int error = CL_SUCCESS;
    device->context =
        device->driver->clCreateContext(properties, 1, &device->place.device, NULL, NULL, &error);
    return opencl_check(error, "clCreateContext", status);
}

static void free_kernel(struct opencl_device *device, struct opencl_link *link) {
    struct opencl_kernel *kernel =
        (struct opencl_kernel *)((char *)link - offsetof(struct opencl_kernel, link));
    opencl_unload(&device->base, &kernel->base);
}

static void close_device(struct device *base) {
    struct opencl_device *device = opencl_of(base);
    struct status ignored;
    if (!device)
        return;
    if (device->side)
        opencl_finish(base, &ignored);
    while (device->graphs)
        opencl_graph_destroy(base, device->graphs);
    while (device->kernels)
        free_kernel(device, device->kernels);
    while (device->memories)
        opencl_release(base, (struct device_memory){.handle = (uintptr_t)device->memories});
    while (device->pinned)
        opencl_host_release(base, ((struct opencl_pinned *)device->pinned)->memory);
    if (device->scratch)
        device->driver->clReleaseMemObject(device->scratch);
    opencl_queues_release(device);
    if (device->context)
        device->driver->clReleaseContext(device->context);
    memory_free(device);
}

static bool open_device(unsigned index, struct device **opened, struct status *status) {
    struct opencl_device *device = memory_allocate(1, sizeof *device, status);
    if (!device)
        return false;
    device->base.ops = &device_opencl;
    device->base.index = index;
    if (!opencl_driver(&device->driver, status) ||
        !find_place(device->driver, index, &device->place, status) ||
        !opencl_describe(device->driver, &device->place, &device->base.capabilities,
                         &device->traits, status) ||
        !create_context(device, status) || !opencl_queues_create(device, false, status)) {
        close_device(&device->base);
        return status_context(status, "opencl:%u", index);
    }
    *opened = &device->base;
    return true;
}

const struct device_ops device_opencl = {
    .name = "opencl",
    .count = count_devices,
    .probe = probe,
    .open = open_device,
    .close = close_device,
    .allocate = opencl_allocate,
    .release = opencl_release,
    .host_allocate = opencl_host_allocate,
    .host_release = opencl_host_release,
    .copy_in = opencl_copy_in,
    .copy_out = opencl_copy_out,
    .copy_within = opencl_copy_within,
    .load = opencl_load,
    .unload = opencl_unload,
    .launch = opencl_launch,
    .graph_create = opencl_graph_create,
    .graph_replay = opencl_graph_replay,
    .graph_destroy = opencl_graph_destroy,
    .record = opencl_record,
    .event_release = opencl_event_release,
    .reached = opencl_reached,
    .order = opencl_order,
    .finish = opencl_finish,
    .resolve = opencl_resolve,
    .clock_error = opencl_clock_error,
    .prepare_stamps = opencl_prepare_stamps,
};
