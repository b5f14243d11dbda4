/* Loads kernels and launches them. A launch adds next to nothing to the driver's own: no
 * allocation, no lookup. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/cuda/compile.h"
#include "device/cuda/cuda.h"

static void unlink_kernel(struct cuda_device *cuda, struct cuda_kernel *kernel) {
    if (kernel->previous)
        kernel->previous->next = kernel->next;
    else
        cuda->kernels = kernel->next;
    if (kernel->next)
        kernel->next->previous = kernel->previous;
}

static void link_kernel(struct cuda_device *cuda, struct cuda_kernel *kernel) {
    kernel->next = cuda->kernels;
    if (kernel->next)
        kernel->next->previous = kernel;
    cuda->kernels = kernel;
}

static bool read_attributes(struct cuda_device *cuda, struct cuda_kernel *kernel,
                            uint32_t shared_max, struct status *status) {
    int registers = 0, shared = 0;
    cuda_function function = kernel->function;
    if (!CUDA_CALL(cuda, status, cuFuncGetAttribute, &registers, CUDA_FUNCTION_REGISTERS,
                   function) ||
        !CUDA_CALL(cuda, status, cuFuncGetAttribute, &shared, CUDA_FUNCTION_SHARED, function))
        return false;
    kernel->base.registers = registers > 0 ? (uint32_t)registers : 0;
    kernel->base.shared_static = shared > 0 ? (uint32_t)shared : 0;
    uint64_t all = (uint64_t)kernel->base.shared_static + shared_max;
    if (all > cuda->base.capabilities.shared_max)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "it needs %llu bytes of shared memory, and a block has at most %u",
                           (unsigned long long)all, cuda->base.capabilities.shared_max);
    return shared_max == 0 || CUDA_CALL(cuda, status, cuFuncSetAttribute, function,
                                        CUDA_FUNCTION_DYNAMIC_SHARED, (int)shared_max);
}

static bool load_source(struct cuda_device *cuda, const struct kernel_code *code,
                        struct cuda_kernel *kernel, struct status *status) {
    const struct device_capabilities *capabilities = &cuda->base.capabilities;
    struct buffer binary = {0};
    bool loaded = cuda_compile(code->source, code->source_length, code->name, capabilities->major,
                               capabilities->minor, code->no_contraction, &binary, status) &&
                  CUDA_CALL(cuda, status, cuModuleLoadData, &kernel->module, binary.data);
    buffer_finish(&binary);
    return loaded &&
           CUDA_CALL(cuda, status, cuModuleGetFunction, &kernel->function, kernel->module,
                     code->name) &&
           read_attributes(cuda, kernel, code->shared_max, status);
}

static bool kernel_load(struct cuda_device *cuda, const struct kernel_code *code,
                        struct cuda_kernel *kernel, struct status *status) {
    switch (code->kind) {
    case CODE_SOURCE:
        return load_source(cuda, code, kernel, status);
    case CODE_MATMUL:
        return cuda_matmul_create(cuda, &code->matmul, &kernel->matmul, status);
    default:
        return status_fail(status, STATUS_USAGE, "CUDA devices do not run native code");
    }
}

static void kernel_destroy(struct cuda_device *cuda, struct cuda_kernel *kernel) {
    if (kernel->module)
        cuda->driver->cuModuleUnload(kernel->module);
    cuda_matmul_destroy(cuda, kernel->matmul);
    memory_free(kernel);
}

bool cuda_load(struct device *device, const struct kernel_code *code, struct device_kernel **kernel,
               struct status *status) {
    struct cuda_device *cuda = cuda_of(device);
    if (!cuda_enter(cuda, status))
        return false;
    struct cuda_kernel *made = memory_allocate(1, sizeof *made, status);
    if (!made)
        return false;
    snprintf(made->base.name, sizeof made->base.name, "%s", code->name);
    if (!kernel_load(cuda, code, made, status)) {
        kernel_destroy(cuda, made);
        return status_context(status, "loading the kernel %s", code->name);
    }
    link_kernel(cuda, made);
    *kernel = &made->base;
    return true;
}

/* It may still run: whether the driver waits for that is not documented. */
void cuda_unload(struct device *device, struct device_kernel *kernel) {
    struct cuda_device *cuda = cuda_of(device);
    struct status ignored;
    if (!kernel)
        return;
    if (cuda_enter(cuda, &ignored))
        cuda_wait(cuda, &ignored);
    cuda->last_launch = cuda->launches > 0 ? "one that was unloaded" : NULL;
    unlink_kernel(cuda, (struct cuda_kernel *)kernel);
    kernel_destroy(cuda, (struct cuda_kernel *)kernel);
}

static bool launch_failed(const struct launch *launch, struct status *status) {
    return status_context(
        status,
        "launching the kernel %s (grid %u x %u x %u, block %u x %u x %u, %u bytes "
        "of shared memory)",
        launch->kernel->name, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
        launch->block[1], launch->block[2], launch->shared_bytes);
}

/* The driver copies the arguments before it returns. */
static bool enqueue_function(struct cuda_device *cuda, const struct launch *launch,
                             cuda_stream stream, struct status *status) {
    const struct cuda_kernel *kernel = (const struct cuda_kernel *)launch->kernel;
    const uint32_t *grid = launch->grid, *block = launch->block;
    cuda_address addresses[LAUNCH_BUFFERS_MAX];
    void *parameters[LAUNCH_BUFFERS_MAX + 1];
    unsigned count = launch->buffer_count;
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
        return true;
    if (count > LAUNCH_BUFFERS_MAX)
        return status_fail(status, STATUS_USAGE, "a launch has at most %d buffers, not %u",
                           LAUNCH_BUFFERS_MAX, count);
    for (unsigned i = 0; i < count; i++) {
        addresses[i] = launch->buffers[i].memory.handle + launch->buffers[i].offset;
        parameters[i] = &addresses[i];
    }
    parameters[count] = (void *)(uintptr_t)launch->scalars;
    return CUDA_CALL(cuda, status, cuLaunchKernel, kernel->function, grid[0], grid[1], grid[2],
                     block[0], block[1], block[2], launch->shared_bytes, stream, parameters, NULL);
}

bool cuda_enqueue(struct cuda_device *cuda, const struct launch *launch, cuda_stream stream,
                  struct cuda_workspace *workspace, struct status *status) {
    cuda->launches++;
    cuda->last_launch = launch->kernel->name;
    return (((const struct cuda_kernel *)launch->kernel)->matmul
                ? cuda_matmul_enqueue(cuda, launch, stream, workspace, status)
                : enqueue_function(cuda, launch, stream, status)) ||
           launch_failed(launch, status);
}

bool cuda_launch(struct device *device, unsigned queue, const struct launch *launch,
                 struct device_stamp *stamp, struct status *status) {
    struct cuda_device *cuda = cuda_of(device);
    if (!cuda_enter_queue(cuda, queue, status) ||
        !cuda_stamp_begin(cuda, cuda->streams[queue], stamp, status))
        return false;
    if (cuda_enqueue(cuda, launch, cuda->streams[queue], &cuda->workspaces[queue], status))
        return cuda_stamp_end(cuda, cuda->streams[queue], stamp, status);
    cuda_stamp_cancel(cuda, stamp);
    return false;
}
