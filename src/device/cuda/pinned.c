/* Pinned memory for users: which addresses are pinned is remembered, because copies from and to
 * them need no memory of our own in between. There are few such allocations, so a list will do.
 */
#include "device/cuda/cuda.h"

#include "base/memory.h"

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
