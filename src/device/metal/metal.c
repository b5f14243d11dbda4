/* The Metal device: GPUs of Apple and, on older Macs, of others, through the Objective-C runtime.
 *
 * Devices are numbered as the system lists them, the default device first.
 */
#include "device/metal/metal.h"

#include "base/memory.h"

void metal_link_add(struct metal_link **list, struct metal_link *link) {
    link->next = *list;
    link->place = list;
    if (link->next)
        link->next->place = &link->next;
    *list = link;
}

void metal_link_remove(struct metal_link *link) {
    *link->place = link->next;
    if (link->next)
        link->next->place = link->place;
}

/* Device `index`, owned by the caller, or NULL if it is not among the `count` that there are. The
 * default device is 0; the others follow in the order of the list. */
static metal_id find_device(const struct metal_library *library, unsigned index, unsigned *count) {
    metal_id first = library->MTLCreateSystemDefaultDevice(), found = NULL;
    metal_id all = library->MTLCopyAllDevices ? library->MTLCopyAllDevices() : NULL;
    metal_uint listed = all ? SEND(library, array_count, all) : 0;
    *count = first ? 1 : 0;
    if (first && index == 0)
        found = SEND(library, retain, first);
    for (metal_uint i = 0; i < listed; i++) {
        metal_id device = SEND(library, object_at, all, i);
        if (device == first)
            continue;
        if ((*count)++ == index)
            found = SEND(library, retain, device);
    }
    if (all)
        SEND(library, release, all);
    if (first)
        SEND(library, release, first);
    return found;
}

static bool count_devices(unsigned *count, struct status *status) {
    const struct metal_library *library;
    *count = 0;
    if (!metal_library(&library, status))
        return false;
    void *pool = library->objc_autoreleasePoolPush();
    metal_id device = find_device(library, 0, count);
    if (device)
        SEND(library, release, device);
    library->objc_autoreleasePoolPop(pool);
    return *count > 0 || status_fail(status, STATUS_UNSUPPORTED, "this Mac has no Metal device");
}

static bool no_device(unsigned index, unsigned count, struct status *status) {
    if (count == 0)
        return status_fail(status, STATUS_UNSUPPORTED, "this Mac has no Metal device");
    return status_fail(status, STATUS_USAGE, "metal:%u does not exist; the last one is metal:%u",
                       index, count - 1);
}

static bool probe(unsigned index, struct device_capabilities *capabilities, struct status *status) {
    const struct metal_library *library;
    unsigned count;
    *capabilities = (struct device_capabilities){.language = LANGUAGE_METAL};
    if (!metal_library(&library, status))
        return false;
    void *pool = library->objc_autoreleasePoolPush();
    metal_id device = find_device(library, index, &count);
    if (device) {
        metal_describe(library, device, capabilities);
        SEND(library, release, device);
    }
    library->objc_autoreleasePoolPop(pool);
    return device || no_device(index, count, status);
}

static void free_lists(struct metal_device *device) {
    while (device->graphs)
        metal_graph_destroy(&device->base, device->graphs);
    while (device->kernels) {
        struct metal_kernel *kernel =
            (struct metal_kernel *)((char *)device->kernels - offsetof(struct metal_kernel, link));
        metal_unload(&device->base, &kernel->base);
    }
    while (device->pipelines)
        metal_pipeline_free(device, device->pipelines);
    while (device->memories)
        metal_release(&device->base, (struct device_memory){.handle = (uintptr_t)device->memories});
    while (device->hosts)
        metal_host_release(&device->base, ((struct metal_host *)device->hosts)->memory);
}

static void close_device(struct device *base) {
    struct metal_device *device = metal_of(base);
    struct status ignored;
    if (!device)
        return;
    const struct metal_library *library = device->library;
    if (device->device) {
        metal_finish(base, &ignored);
        void *pool = library->objc_autoreleasePoolPush();
        free_lists(device);
        metal_queues_release(device);
        if (device->options)
            SEND(library, release, device->options);
        SEND(library, release, device->device);
        library->objc_autoreleasePoolPop(pool);
    }
    memory_free(device);
}

static bool fill_device(struct metal_device *device, unsigned index, struct status *status) {
    unsigned count;
    device->device = find_device(device->library, index, &count);
    if (!device->device)
        return no_device(index, count, status);
    metal_describe(device->library, device->device, &device->base.capabilities);
    device->buffer_max = SEND(device->library, buffer_length_max, device->device);
    return metal_options_create(device, status) && metal_queues_create(device, status);
}

static bool open_device(unsigned index, struct device **opened, struct status *status) {
    const struct metal_library *library;
    if (!metal_library(&library, status))
        return false;
    struct metal_device *device = memory_allocate(1, sizeof *device, status);
    if (!device)
        return false;
    device->base.ops = &device_metal;
    device->base.index = index;
    device->library = library;
    void *pool = library->objc_autoreleasePoolPush();
    bool ok = fill_device(device, index, status);
    library->objc_autoreleasePoolPop(pool);
    if (!ok) {
        close_device(&device->base);
        return status_context(status, "metal:%u", index);
    }
    *opened = &device->base;
    return true;
}

const struct device_ops device_metal = {
    .name = "metal",
    .count = count_devices,
    .probe = probe,
    .open = open_device,
    .close = close_device,
    .allocate = metal_allocate,
    .release = metal_release,
    .host_allocate = metal_host_allocate,
    .host_release = metal_host_release,
    .copy_in = metal_copy_in,
    .copy_out = metal_copy_out,
    .copy_within = metal_copy_within,
    .load = metal_load,
    .unload = metal_unload,
    .launch = metal_launch,
    .graph_create = metal_graph_create,
    .graph_replay = metal_graph_replay,
    .graph_destroy = metal_graph_destroy,
    .record = metal_record,
    .event_release = metal_event_release,
    .reached = metal_reached,
    .order = metal_order,
    .finish = metal_finish,
    .resolve = metal_resolve,
    .clock_error = metal_clock_error,
    .prepare_stamps = metal_prepare_stamps,
};
