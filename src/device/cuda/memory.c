/* GPU memory and pinned host memory. Allocations are recorded, so that closing the device can free
 * them although the primary context may live on. */
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

/* The addresses of pinned memory are kept, because copies from and to them need no staging buffer.
 * There are few such allocations: a list is enough. */
bool cuda_host_allocate(struct device *device, size_t bytes, void **memory, struct status *status) {
    struct cuda_device *cuda = cuda_of(device);
    if (!cuda_enter(cuda, status))
        return false;
    struct cuda_pinned *pinned = memory_allocate(1, sizeof *pinned, status);
    if (!pinned)
        return false;
    if (!CUDA_CALL(cuda, status, cuMemAllocHost, memory, bytes > 0 ? bytes : 1)) {
        memory_free(pinned);
        return status_context(status, "%zu bytes of pinned memory", bytes);
    }
    *pinned = (struct cuda_pinned){.next = cuda->pinned, .memory = *memory, .bytes = bytes};
    cuda->pinned = pinned;
    return true;
}

void cuda_host_release(struct device *device, void *memory) {
    struct cuda_device *cuda = cuda_of(device);
    struct status ignored;
    for (struct cuda_pinned **place = &cuda->pinned; memory && *place; place = &(*place)->next)
        if ((*place)->memory == memory) {
            struct cuda_pinned *pinned = *place;
            *place = pinned->next;
            cuda_enter(cuda, &ignored);
            cuda->driver->cuMemFreeHost(memory); /* waits for copies from it */
            memory_free(pinned);
            return;
        }
}

bool cuda_is_pinned(const struct cuda_device *cuda, const void *memory, size_t bytes) {
    const char *start = memory;
    for (const struct cuda_pinned *pinned = cuda->pinned; pinned; pinned = pinned->next)
        if (start >= pinned->memory && start + bytes <= pinned->memory + pinned->bytes)
            return true;
    return false;
}
