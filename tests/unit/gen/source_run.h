/* Runs generated kernels on a device, with arrays as inputs and outputs. */
#ifndef RIDGE_TESTS_UNIT_GEN_SOURCE_RUN_H
#define RIDGE_TESTS_UNIT_GEN_SOURCE_RUN_H

#include "native_run.h"

#include "base/array.h"
#include "device/device.h"

/* The devices that run source code; those that this machine does not have are left out. */
static inline struct device *source_device(unsigned *index) {
    static const char *const names[] = {"opencl", "cuda"};
    while (*index < ARRAY_COUNT(names)) {
        struct device *device = NULL;
        struct status status = {0};
        if (device_open(names[(*index)++], &device, &status))
            return device;
    }
    return NULL;
}

/*   FOR_EACH_SOURCE_DEVICE(device) { ... }   and the test is skipped when there is none. */
#define FOR_EACH_SOURCE_DEVICE(device)                                                             \
    unsigned device_index_ = 0, devices_seen_ = 0;                                                 \
    for (struct device *device = source_device(&device_index_);                                    \
         device || (devices_seen_ == 0 && (test_skip("no OpenCL or CUDA device here"), false));    \
         device_close(device), device = source_device(&device_index_), devices_seen_++)

struct source_array {
    void *data;
    size_t bytes;
    size_t offset; /* in the device's memory, so that addresses are not better than they must be */
};

static inline bool source_run(struct device *device, const struct kernel_request *request,
                              const struct source_array *arrays, unsigned count,
                              struct status *status) {
    const struct device_ops *ops = device->ops;
    struct kernel_generated generated = {0};
    struct device_kernel *kernel = NULL;
    struct launch_buffer buffers[LAUNCH_BUFFERS_MAX] = {0};
    bool ok = kernel_generate(&request->spec, &device->capabilities, &generated, status) &&
              ops->load(device, &generated.code, &kernel, status);
    for (unsigned i = 0; i < count && ok; i++) {
        buffers[i].offset = arrays[i].offset;
        ok = ops->allocate(device, arrays[i].bytes + arrays[i].offset + 1, &buffers[i].memory,
                           status) &&
             ops->copy_in(device, 0, buffers[i].memory, arrays[i].offset, arrays[i].data,
                          arrays[i].bytes, NULL, status);
    }
    struct launch launch = {
        .kernel = kernel,
        .grid = {request->grid[0], request->grid[1], request->grid[2]},
        .block = {request->block[0], request->block[1], request->block[2]},
        .shared_bytes = request->shared_bytes,
        .buffer_count = count,
        .scalar_count = request->scalar_count,
        .buffers = buffers,
        .scalars = request->scalars,
    };
    ok = ok && ops->launch(device, 0, &launch, NULL, status);
    for (unsigned i = 0; i < count && ok; i++)
        ok = ops->copy_out(device, 0, arrays[i].data, buffers[i].memory, arrays[i].offset,
                           arrays[i].bytes, NULL, status);
    for (unsigned i = 0; i < count; i++)
        if (buffers[i].memory.handle)
            ops->release(device, buffers[i].memory);
    if (kernel)
        ops->unload(device, kernel);
    kernel_generated_finish(&generated);
    return ok;
}

#endif
