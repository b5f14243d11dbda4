/* Memory of the GPU. What is allocated is remembered, so that closing the device can give it back
 * although the context may live on. */
#include "device/cuda/cuda.h"

#include "base/memory.h"

static bool allocate(struct cuda_device *cuda, size_t bytes, cuda_address *address,
                     struct status *status) {
    if (!GROW(cuda->allocations, &cuda->allocation_capacity, cuda->allocation_count + 1, status))
        return false;
    if (!CUDA_CALL(cuda, status, cuMemAlloc, address, bytes > 0 ? bytes : 1))
        return status_context(status, "%zu bytes of GPU memory", bytes);
    cuda->allocations[cuda->allocation_count++] = *address;
    return true;
}

/* Freeing is slow in the driver, so looking through the list costs nothing next to it. */
static void release(struct cuda_device *cuda, cuda_address address) {
    for (size_t i = cuda->allocation_count; i > 0; i--)
        if (cuda->allocations[i - 1] == address) {
            cuda->allocations[i - 1] = cuda->allocations[--cuda->allocation_count];
            cuda->driver->cuMemFree(address);
            return;
        }
}

bool cuda_allocate(struct device *device, size_t bytes, struct device_memory *memory,
                   struct status *status) {
    struct cuda_device *cuda = cuda_of(device);
    cuda_address address;
    if (!cuda_enter(cuda, status) || !allocate(cuda, bytes, &address, status))
        return false;
    *memory = (struct device_memory){address, bytes};
    return true;
}

void cuda_release(struct device *device, struct device_memory memory) {
    struct cuda_device *cuda = cuda_of(device);
    struct status ignored;
    cuda_enter(cuda, &ignored);
    release(cuda, memory.handle);
}

void cuda_release_all(struct cuda_device *cuda) {
    while (cuda->allocation_count > 0)
        release(cuda, cuda->allocations[cuda->allocation_count - 1]);
    memory_free(cuda->allocations);
    cuda->allocations = NULL;
}

bool cuda_workspace_grow(struct cuda_device *cuda, struct cuda_workspace *workspace, size_t bytes,
                         cuda_stream stream, struct status *status) {
    if (workspace->bytes >= bytes)
        return true;
    if (workspace->bytes > 0 && !CUDA_CALL(cuda, status, cuStreamSynchronize, stream))
        return false;
    if (workspace->bytes > 0)
        release(cuda, workspace->address);
    workspace->bytes = 0;
    if (!allocate(cuda, bytes, &workspace->address, status))
        return status_context(status, "the workspace of a matrix product");
    workspace->bytes = bytes;
    return true;
}
