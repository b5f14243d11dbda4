/* Public functions of devices, queues, the pool and traces. */
#include <stdio.h>
#include <string.h>

#include "device/list.h"
#include "device/work.h"
#include "tensor/kernels.h"
#include "tensor/operation.h"

const char *ridge_version(void) {
    return RIDGE_VERSION;
}

size_t ridge_device_list(struct ridge_device_info *rows, size_t capacity) {
    return device_list(rows, capacity);
}

static bool no_device(void) {
    struct status *status = tensor_status();
    return status->code == STATUS_OK
               ? status_fail(status, STATUS_USAGE, "the device is NULL: was it opened?")
               : false;
}

ridge_device *ridge_device_open(const char *name) {
    struct status *status = tensor_status();
    ridge_device *device = memory_allocate(1, sizeof *device, status);
    if (!device)
        return NULL;
    if (device_open(name, &device->device, status) &&
        (device->pool = pool_create(device->device, status)) &&
        (device->kernels = kernel_store_create(status)) &&
        (device->plans = plan_store_create(status))) {
        snprintf(device->name, sizeof device->name, "%s:%u", device->device->ops->name,
                 device->device->index);
        return device;
    }
    ridge_device_close(device);
    return NULL;
}

void ridge_device_close(ridge_device *device) {
    if (!device)
        return;
    struct status ignored;
    if (device->device)
        device->device->ops->finish(device->device, &ignored);
    if (device->pool)
        pool_set_recorder(device->pool, NULL);
    recorder_finish(device->recorder, &ignored);
    recorder_finish(device->paused, &ignored);
    while (device->programs)
        ridge_program_release(device->programs);
    plan_store_destroy(device->plans);
    while (device->tensors)
        tensor_destroy(device->tensors);
    kernel_store_destroy(device->kernels);
    pool_destroy(device->pool);
    device_close(device->device);
    memory_free(device);
}

bool ridge_device_describe(const ridge_device *device, struct ridge_device_info *info) {
    if (!device)
        return no_device();
    const struct device_capabilities *capabilities = &device->device->capabilities;
    *info = (struct ridge_device_info){.usable = true};
    snprintf(info->name, sizeof info->name, "%s", device->name);
    snprintf(info->description, sizeof info->description, "%s", capabilities->description);
    snprintf(info->driver, sizeof info->driver, "%s", capabilities->driver);
    info->memory_bytes = capabilities->memory_bytes;
    info->compute_units = capabilities->compute_units;
    return true;
}

bool ridge_synchronize(ridge_device *device) {
    return device ? work_wait(device->device, device->recorder, tensor_status()) : no_device();
}

unsigned ridge_queue_count(const ridge_device *device) {
    return device ? device->device->capabilities.queues : 0;
}

static bool check_queue(const ridge_device *device, unsigned queue) {
    if (queue < device->device->capabilities.queues)
        return true;
    return status_fail(tensor_status(), STATUS_USAGE, "%s has queues 0 to %u, there is no queue %u",
                       device->name, device->device->capabilities.queues - 1, queue);
}

bool ridge_queue_use(ridge_device *device, unsigned queue) {
    if (!device)
        return no_device();
    if (!check_queue(device, queue))
        return false;
    device->queue = queue;
    return true;
}

bool ridge_queue_wait(ridge_device *device, unsigned queue) {
    if (!device)
        return no_device();
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
    ops->forget(device->device, event);
    return ok;
}

bool ridge_pool_stats(const ridge_device *device, struct ridge_pool_stats *stats) {
    if (!device)
        return no_device();
    pool_stats(device->pool, stats);
    return true;
}

bool ridge_pool_set_capacity(ridge_device *device, unsigned buffers_per_class) {
    return device ? pool_set_capacity(device->pool, buffers_per_class, tensor_status())
                  : no_device();
}

bool ridge_pool_shrink_to_fit(ridge_device *device, uint64_t bytes) {
    return device ? pool_shrink_to_fit(device->pool, bytes, tensor_status()) : no_device();
}

bool ridge_pool_clear(ridge_device *device) {
    return device ? pool_clear(device->pool, tensor_status()) : no_device();
}

bool ridge_pool_clear_size(ridge_device *device, uint64_t bytes) {
    return device ? pool_clear_size(device->pool, bytes, tensor_status()) : no_device();
}

bool ridge_trace_begin(ridge_device *device, const char *path) {
    if (!device)
        return no_device();
    struct status *status = tensor_status();
    if (device->recorder || device->paused)
        return status_fail(status, STATUS_USAGE, "%s is being traced already: end that trace first",
                           device->name);
    device->recorder = recorder_create(device->device, path, status);
    if (!device->recorder)
        return false;
    pool_set_recorder(device->pool, device->recorder);
    return true;
}

bool ridge_trace_end(ridge_device *device) {
    if (!device)
        return no_device();
    struct recorder *recorder = device->recorder ? device->recorder : device->paused;
    if (!recorder)
        return status_fail(tensor_status(), STATUS_USAGE, "%s is not being traced", device->name);
    pool_set_recorder(device->pool, NULL);
    device->recorder = device->paused = NULL;
    return recorder_finish(recorder, tensor_status());
}

bool ridge_trace_pause(ridge_device *device) {
    if (!device)
        return no_device();
    if (!device->recorder)
        return status_fail(tensor_status(), STATUS_USAGE, "%s %s", device->name,
                           device->paused ? "is paused already" : "is not being traced");
    pool_set_recorder(device->pool, NULL);
    recorder_pause(device->recorder);
    device->paused = device->recorder;
    device->recorder = NULL;
    return true;
}

bool ridge_trace_resume(ridge_device *device) {
    if (!device)
        return no_device();
    if (!device->paused)
        return status_fail(tensor_status(), STATUS_USAGE, "%s has no paused trace", device->name);
    device->recorder = device->paused;
    device->paused = NULL;
    recorder_resume(device->recorder);
    pool_set_recorder(device->pool, device->recorder);
    return true;
}

void ridge_range_begin(ridge_device *device, const char *name) {
    if (device && device->recorder)
        recorder_range_begin(device->recorder, name);
}

void ridge_range_end(ridge_device *device) {
    if (device && device->recorder)
        recorder_range_end(device->recorder);
}
