/* The recorded halves: the host's clock around the device's function, a stamp for its own times. */
#include "device/work.h"

#include "base/clock.h"

bool work_launch_recorded(struct device *device, struct recorder *recorder, unsigned queue,
                          const struct launch *launch, struct status *status) {
    struct device_stamp stamp = {0};
    int64_t start = clock_now();
    bool ok = device->ops->launch(device, queue, launch, &stamp, status);
    uint64_t correlation = recorder_call(recorder, CALLED_LAUNCH, start, ok, NULL);
    if (!ok)
        return false;
    const struct device_kernel *kernel = launch->kernel;
    struct row_activity row = {
        .kind = ACTIVITY_KERNEL,
        .name = recorder_string(recorder, kernel->name),
        .correlation = correlation,
        .grid_x = launch->grid[0],
        .grid_y = launch->grid[1],
        .grid_z = launch->grid[2],
        .block_x = launch->block[0],
        .block_y = launch->block[1],
        .block_z = launch->block[2],
        .registers = kernel->registers,
        .shared_static = kernel->shared_static,
        .shared_dynamic = launch->shared_bytes,
        .flops = launch->flops,
        .bytes = launch->bytes,
    };
    if (launch->detail)
        row.detail = recorder_string(recorder, launch->detail);
    recorder_activity(recorder, queue, &row, stamp);
    return true;
}

static bool copy_recorded(struct recorder *recorder, enum recorded_call call, int64_t start,
                          bool ok, unsigned queue, struct row_activity row,
                          struct device_stamp stamp) {
    row.correlation = recorder_call(recorder, call, start, ok, NULL);
    row.kind = ACTIVITY_COPY;
    if (ok)
        recorder_activity(recorder, queue, &row, stamp);
    return ok;
}

/* What the memory of a device is to the trace. */
static uint8_t memory_kind(const struct device *device) {
    return device->capabilities.host_memory ? MEMORY_PAGEABLE : MEMORY_DEVICE;
}

bool work_copy_in(struct device *device, struct recorder *recorder, unsigned queue,
                  struct device_memory to, size_t offset, const void *from, size_t bytes,
                  struct status *status) {
    if (!recorder)
        return device->ops->copy_in(device, queue, to, offset, from, bytes, NULL, status);
    struct device_stamp stamp = {0};
    int64_t start = clock_now();
    bool ok = device->ops->copy_in(device, queue, to, offset, from, bytes, &stamp, status);
    struct row_activity row = {
        .name = recorder_string(recorder, "copy to the device"),
        .bytes = bytes,
        .direction = COPY_HTOD,
        .from_memory = MEMORY_PAGEABLE,
        .to_memory = memory_kind(device),
    };
    return copy_recorded(recorder, CALLED_COPY_IN, start, ok, queue, row, stamp);
}

bool work_copy_out(struct device *device, struct recorder *recorder, unsigned queue, void *to,
                   struct device_memory from, size_t offset, size_t bytes, struct status *status) {
    if (!recorder)
        return device->ops->copy_out(device, queue, to, from, offset, bytes, NULL, status);
    struct device_stamp stamp = {0};
    int64_t start = clock_now();
    bool ok = device->ops->copy_out(device, queue, to, from, offset, bytes, &stamp, status);
    struct row_activity row = {
        .name = recorder_string(recorder, "copy to the host"),
        .bytes = bytes,
        .direction = COPY_DTOH,
        .from_memory = memory_kind(device),
        .to_memory = MEMORY_PAGEABLE,
    };
    return copy_recorded(recorder, CALLED_COPY_OUT, start, ok, queue, row, stamp);
}

bool work_copy_within(struct device *device, struct recorder *recorder, unsigned queue,
                      struct device_memory to, size_t to_offset, struct device_memory from,
                      size_t from_offset, size_t bytes, struct status *status) {
    if (!recorder)
        return device->ops->copy_within(device, queue, to, to_offset, from, from_offset, bytes,
                                        NULL, status);
    struct device_stamp stamp = {0};
    int64_t start = clock_now();
    bool ok = device->ops->copy_within(device, queue, to, to_offset, from, from_offset, bytes,
                                       &stamp, status);
    struct row_activity row = {
        .name = recorder_string(recorder, "copy within the device"),
        .bytes = bytes,
        .direction = COPY_DTOD,
        .from_memory = memory_kind(device),
        .to_memory = memory_kind(device),
    };
    return copy_recorded(recorder, CALLED_COPY_WITHIN, start, ok, queue, row, stamp);
}

bool work_load(struct device *device, struct recorder *recorder, const struct kernel_code *code,
               struct device_kernel **kernel, struct status *status) {
    if (!recorder)
        return device->ops->load(device, code, kernel, status);
    int64_t start = clock_now();
    bool ok = device->ops->load(device, code, kernel, status);
    recorder_call(recorder, CALLED_LOAD, start, ok, code->name);
    return ok;
}

bool work_wait(struct device *device, struct recorder *recorder, struct status *status) {
    if (!recorder)
        return device->ops->finish(device, status);
    int64_t start = clock_now();
    bool ok = device->ops->finish(device, status);
    recorder_call(recorder, CALLED_SYNCHRONIZE, start, ok, NULL);
    return ok;
}

bool work_allocate(struct device *device, struct recorder *recorder, size_t bytes,
                   struct device_memory *memory, struct status *status) {
    if (!recorder)
        return device->ops->allocate(device, bytes, memory, status);
    int64_t start = clock_now();
    bool ok = device->ops->allocate(device, bytes, memory, status);
    recorder_call(recorder, CALLED_ALLOCATE, start, ok, NULL);
    return ok;
}

void work_release(struct device *device, struct recorder *recorder, struct device_memory memory) {
    if (!recorder) {
        device->ops->release(device, memory);
        return;
    }
    int64_t start = clock_now();
    device->ops->release(device, memory);
    recorder_call(recorder, CALLED_RELEASE, start, true, NULL);
}

bool work_graph_replay(struct device *device, struct recorder *recorder, unsigned queue,
                       void *graph, const struct launch *launches, unsigned count,
                       struct status *status) {
    if (!recorder)
        return device->ops->graph_replay(device, queue, graph, status);
    for (unsigned i = 0; i < count; i++)
        if (!work_launch_recorded(device, recorder, queue, &launches[i], status))
            return false;
    return true;
}
