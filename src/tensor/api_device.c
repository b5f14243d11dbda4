/* Public functions of devices, queues, the pool and traces. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "device/device.h"
#include "device/work.h"
#include "tensor/gradient/tape.h"
#include "tensor/kernels.h"
#include "tensor/operation.h"

const char *ridge_version(void) {
    return RIDGE_VERSION;
}

size_t ridge_device_list(struct ridge_device_info *rows, size_t capacity) {
    return device_list(rows, rows ? capacity : 0);
}

/* Also of a device of which not all could be opened. */
static void close_parts(ridge_device *device) {
    struct status ignored;
    if (device->device)
        device->device->ops->finish(device->device, &ignored);
    if (device->pool)
        pool_set_recorder(device->pool, NULL);
    recorder_finish(device->recorder, &ignored);
    recorder_finish(device->paused, &ignored);
    region_destroy(device->region);
    while (device->programs)
        compiled_destroy(device->programs);
    while (device->optimizers)
        optimizer_destroy(device->optimizers);
    tape_destroy(device->tape);
    plan_store_destroy(device->plans);
    while (device->tensors)
        tensor_destroy(device->tensors);
    kernel_store_destroy(device->kernels);
    pool_destroy(device->pool);
    device_close(device->device);
}

static ridge_device *open_device(const struct ridge_device_options *options) {
    struct status *status = tensor_status();
    ridge_device *device = memory_allocate(1, sizeof *device, status);
    if (!device)
        return NULL;
    if (device_open_with(options, &device->device, status) &&
        (device->pool = pool_create(device->device, status)) &&
        (device->kernels = kernel_store_create(status)) &&
        (device->plans = plan_store_create(status))) {
        pool_set_limit(device->pool, options->memory_limit);
        snprintf(device->name, sizeof device->name, "%s:%u", device->device->ops->name,
                 device->device->index);
        return device;
    }
    close_parts(device);
    memory_free(device);
    return NULL;
}

ridge_device *ridge_device_open(const char *name) {
    return open_device(&(struct ridge_device_options){.name = name});
}

ridge_device *ridge_device_open_with(const struct ridge_device_options *options) {
    static const struct ridge_device_options defaults;
    return open_device(options ? options : &defaults);
}

/* A closed device stays allocated, so that its handle is recognized. */
static void keep_closed(ridge_device *device) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static ridge_device *closed;
    *device = (ridge_device){.closed = true};
    pthread_mutex_lock(&lock);
    device->next_closed = closed;
    closed = device;
    pthread_mutex_unlock(&lock);
}

void ridge_device_close(ridge_device *device) {
    if (!device || !device_check(device, "ridge_device_close"))
        return;
    if (device->compiling) {
        status_fail(tensor_status(), STATUS_USAGE,
                    "ridge_device_close: a function is being compiled on %s", device->name);
        return;
    }
    exports_collect(device);
    if (device->exports) {
        status_fail(tensor_status(), STATUS_USAGE,
                    "ridge_device_close: other libraries use memory of %s through DLPack (exports: "
                    "%u)",
                    device->name, device->exports);
        return;
    }
    close_parts(device);
    keep_closed(device);
}

bool ridge_device_describe(const ridge_device *device, struct ridge_device_info *info) {
    if (!device_check(device, "ridge_device_describe"))
        return false;
    if (!info)
        return tensor_null("ridge_device_describe", "memory for the description");
    const struct device_capabilities *capabilities = &device->device->capabilities;
    *info = (struct ridge_device_info){.usable = true};
    snprintf(info->name, sizeof info->name, "%s", device->name);
    snprintf(info->description, sizeof info->description, "%s", capabilities->description);
    snprintf(info->driver, sizeof info->driver, "%s", capabilities->driver);
    info->memory_bytes = capabilities->memory_bytes;
    info->compute_units = capabilities->units_assumed ? 0
                          : capabilities->threads     ? capabilities->threads
                                                      : capabilities->compute_units;
    return true;
}

bool ridge_synchronize(ridge_device *device) {
    if (!device_check(device, "ridge_synchronize"))
        return false;
    exports_collect(device);
    return work_wait(device->device, device->recorder, tensor_status());
}

unsigned ridge_queue_count(const ridge_device *device) {
    return device_check(device, "ridge_queue_count") ? device->device->capabilities.queues : 0;
}

static bool check_queue(const ridge_device *device, unsigned queue) {
    if (queue < device->device->capabilities.queues)
        return true;
    return status_fail(tensor_status(), STATUS_USAGE,
                       "%s has queues 0 to %u; queue %u does not exist", device->name,
                       device->device->capabilities.queues - 1, queue);
}

bool ridge_queue_use(ridge_device *device, unsigned queue) {
    if (!device_check(device, "ridge_queue_use"))
        return false;
    if (!check_queue(device, queue))
        return false;
    device->queue = queue;
    return true;
}

bool ridge_queue_wait(ridge_device *device, unsigned queue) {
    if (!device_check(device, "ridge_queue_wait"))
        return false;
    if (!check_queue(device, queue))
        return false;
    if (queue == device->queue)
        return true;
    struct device_event event;
    struct status *status = tensor_status();
    const struct device_ops *ops = device->device->ops;
    if (!ops->record(device->device, queue, &event, status))
        return false;
    bool ok = ops->order(device->device, device->queue, event, status);
    ops->event_release(device->device, event);
    return ok;
}

bool ridge_pool_stats(const ridge_device *device, struct ridge_pool_stats *stats) {
    if (!device_check(device, "ridge_pool_stats"))
        return false;
    if (!stats)
        return tensor_null("ridge_pool_stats", "memory for the figures");
    pool_stats(device->pool, stats);
    return true;
}

bool ridge_pool_set_capacity(ridge_device *device, unsigned buffers_per_class) {
    return device_check(device, "ridge_pool_set_capacity") &&
           pool_set_capacity(device->pool, buffers_per_class, tensor_status());
}

bool ridge_pool_shrink_to_fit(ridge_device *device, uint64_t bytes) {
    return device_check(device, "ridge_pool_shrink_to_fit") &&
           pool_shrink_to_fit(device->pool, bytes, tensor_status());
}

bool ridge_pool_clear(ridge_device *device) {
    return device_check(device, "ridge_pool_clear") && pool_clear(device->pool, tensor_status());
}

bool ridge_pool_clear_size(ridge_device *device, uint64_t bytes) {
    return device_check(device, "ridge_pool_clear_size") &&
           pool_clear_size(device->pool, bytes, tensor_status());
}

/* Whether the device is there, and no region is being timed. */
static bool check_trace(ridge_device *device, const char *name) {
    if (!device_check(device, name))
        return false;
    return !device->region ||
           status_fail(tensor_status(), STATUS_USAGE,
                       "%s: a region of %s is being timed: end it first", name, device->name);
}

bool ridge_trace_begin(ridge_device *device, const char *path) {
    if (!check_trace(device, "ridge_trace_begin"))
        return false;
    if (!path)
        return tensor_null("ridge_trace_begin", "path");
    struct status *status = tensor_status();
    if (device->recorder || device->paused)
        return status_fail(status, STATUS_USAGE, "%s is already being traced: end that trace first",
                           device->name);
    device->recorder = recorder_create(device->device, path, status);
    if (!device->recorder)
        return false;
    pool_set_recorder(device->pool, device->recorder);
    return true;
}

bool ridge_trace_end(ridge_device *device) {
    if (!check_trace(device, "ridge_trace_end"))
        return false;
    struct recorder *recorder = device->recorder ? device->recorder : device->paused;
    if (!recorder)
        return status_fail(tensor_status(), STATUS_USAGE, "%s is not being traced", device->name);
    pool_set_recorder(device->pool, NULL);
    device->recorder = device->paused = NULL;
    return recorder_finish(recorder, tensor_status());
}

bool ridge_trace_pause(ridge_device *device) {
    if (!check_trace(device, "ridge_trace_pause"))
        return false;
    if (!device->recorder)
        return status_fail(tensor_status(), STATUS_USAGE, "%s %s", device->name,
                           device->paused ? "is already paused" : "is not being traced");
    pool_set_recorder(device->pool, NULL);
    recorder_pause(device->recorder);
    device->paused = device->recorder;
    device->recorder = NULL;
    return true;
}

bool ridge_trace_resume(ridge_device *device) {
    if (!check_trace(device, "ridge_trace_resume"))
        return false;
    if (!device->paused)
        return status_fail(tensor_status(), STATUS_USAGE, "%s has no paused trace", device->name);
    device->recorder = device->paused;
    device->paused = NULL;
    recorder_resume(device->recorder);
    pool_set_recorder(device->pool, device->recorder);
    return true;
}

void ridge_range_begin(ridge_device *device, const char *name) {
    if (!device_check(device, "ridge_range_begin"))
        return;
    if (!name)
        tensor_null("ridge_range_begin", "name");
    else if (device->recorder)
        recorder_range_begin(device->recorder, name);
}

void ridge_range_end(ridge_device *device) {
    if (device_check(device, "ridge_range_end") && device->recorder)
        recorder_range_end(device->recorder);
}
