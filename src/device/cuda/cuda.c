/* The CUDA device: opens and closes it, and is its table of functions. */
#include "device/cuda/cuda.h"

#include <stdatomic.h>

#include "base/memory.h"

static bool count_devices(unsigned *count, struct status *status) {
    *count = 0;
    return cuda_initialize(count, status) != NULL;
}

/* The driver and its name for device `index`. */
static const struct cuda_driver *find_device(unsigned index, cuda_ordinal *ordinal,
                                             struct status *status) {
    unsigned count;
    const struct cuda_driver *driver = cuda_initialize(&count, status);
    if (!driver)
        return NULL;
    if (index >= count) {
        status_fail(status, STATUS_USAGE, "cuda:%u does not exist: this machine has %u CUDA GPU%s",
                    index, count, count == 1 ? "" : "s");
        return NULL;
    }
    cuda_result result = driver->cuDeviceGet(ordinal, (int)index);
    if (result != CUDA_SUCCEEDED) {
        cuda_driver_failed(driver, result, "cuDeviceGet", status);
        return NULL;
    }
    return driver;
}

static bool probe(unsigned index, struct device_capabilities *capabilities, struct status *status) {
    cuda_ordinal ordinal;
    *capabilities = (struct device_capabilities){.language = LANGUAGE_CUDA};
    const struct cuda_driver *driver = find_device(index, &ordinal, status);
    return driver && cuda_describe(driver, ordinal, capabilities, status);
}

static bool create_streams(struct cuda_device *cuda, struct status *status) {
    for (unsigned i = 0; i < CUDA_QUEUES; i++)
        if (!CUDA_CALL(cuda, status, cuStreamCreate, &cuda->streams[i], CUDA_STREAM_NON_BLOCKING))
            return false;
    return CUDA_CALL(cuda, status, cuStreamCreate, &cuda->side, CUDA_STREAM_NON_BLOCKING);
}

static void destroy_streams(struct cuda_device *cuda) {
    for (unsigned i = 0; i < CUDA_QUEUES; i++)
        if (cuda->streams[i])
            cuda->driver->cuStreamDestroy(cuda->streams[i]);
    if (cuda->side)
        cuda->driver->cuStreamDestroy(cuda->side);
}

static void close_device(struct device *device) {
    struct cuda_device *cuda = cuda_of(device);
    struct status ignored;
    if (cuda->context) {
        cuda->driver->cuCtxSetCurrent(cuda->context); /* also of a lost device */
        cuda_generation_here = cuda->generation;
        cuda_wait(cuda, &ignored);
        activity_finish(cuda);
        while (cuda->replays)
            cuda_graph_destroy(device, cuda->replays);
        while (cuda->kernels)
            cuda_unload(device, &cuda->kernels->base);
        cuda_staging_finish(cuda);
        while (cuda->pinned)
            cuda_host_release(device, cuda->pinned->memory);
        cuda_events_finish(cuda, &cuda->marks);
        cuda_events_finish(cuda, &cuda->times);
        cuda_release_all(cuda);
        destroy_streams(cuda);
        if (cuda->blas_handle)
            cuda->blas->cublasLtDestroy(cuda->blas_handle);
        cuda->driver->cuCtxSetCurrent(NULL);
        cuda_generation_here = 0;
        cuda->driver->cuDevicePrimaryCtxRelease(cuda->ordinal);
    }
    session_device_closed();
    memory_free(cuda);
}

static bool cuda_start(struct cuda_device *cuda, struct status *status) {
    static _Atomic uint64_t generations;
    struct status no_blas;
    cuda->generation = atomic_fetch_add(&generations, 1) + 1;
    cuda->marks.flags = CUDA_EVENT_NO_TIMING;
    cuda->times.flags = CUDA_EVENT_TIMING;
    if (!cuda_describe(cuda->driver, cuda->ordinal, &cuda->base.capabilities, status) ||
        !CUDA_CALL(cuda, status, cuDevicePrimaryCtxRetain, &cuda->context, cuda->ordinal) ||
        !cuda_enter(cuda, status) || !create_streams(cuda, status))
        return false;
    cuda->blas = cuda_blas(&no_blas);
    cuda->base.capabilities.library_matmul = cuda->blas != NULL;
    return true;
}

static bool open_device(unsigned index, struct device **device, struct status *status) {
    cuda_ordinal ordinal;
    const struct cuda_driver *driver = find_device(index, &ordinal, status);
    if (!driver)
        return false;
    struct cuda_device *cuda = memory_allocate(1, sizeof *cuda, status);
    if (!cuda)
        return false;
    session_device_opened();
    cuda->base.ops = &device_cuda;
    cuda->base.index = index;
    cuda->driver = driver;
    cuda->ordinal = ordinal;
    if (!cuda_start(cuda, status)) {
        close_device(&cuda->base);
        return false;
    }
    *device = &cuda->base;
    return true;
}

static bool cuda_finish(struct device *device, struct status *status) {
    struct cuda_device *cuda = cuda_of(device);
    return cuda_enter(cuda, status) && cuda_wait(cuda, status);
}

const struct device_ops device_cuda = {
    .name = "cuda",
    .count = count_devices,
    .probe = probe,
    .open = open_device,
    .close = close_device,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .host_allocate = cuda_host_allocate,
    .host_release = cuda_host_release,
    .copy_in = cuda_copy_in,
    .copy_out = cuda_copy_out,
    .copy_within = cuda_copy_within,
    .load = cuda_load,
    .unload = cuda_unload,
    .launch = cuda_launch,
    .graph_create = cuda_graph_create,
    .graph_replay = cuda_graph_replay,
    .graph_destroy = cuda_graph_destroy,
    .record = cuda_record,
    .event_release = cuda_event_release,
    .reached = cuda_reached,
    .order = cuda_order,
    .finish = cuda_finish,
    .resolve = cuda_resolve,
    .clock_error = cuda_clock_error,
    .prepare_stamps = cuda_prepare_stamps,
};
