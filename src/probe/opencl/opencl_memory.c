/* Allocations and releases of buffers, images, and shared memory.
 *
 * A buffer is released when the driver destroys it, which may be later than clReleaseMemObject(): a
 * destructor callback reports it. Its address in the trace is its handle. Sub-buffers and buffers
 * over the program's own memory allocate nothing.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "probe/opencl/opencl.h"
#include "spool/lock.h"

static void put_memory(const struct opencl_device *device, uint64_t address, uint64_t bytes,
                       bool released, uint8_t kind) {
    int error = errno;
    int64_t now = clock_now();
    struct probe_thread *thread = opencl_is_recording(now) ? probe_enter() : NULL;
    bool on_host = kind == MEMORY_PINNED;
    if (!thread)
        return;
    if (device && !on_host)
        opencl_announce_once(thread->lane, device);
    struct spool_memory *memory = spool_begin(thread->lane, SPOOL_MEMORY, 0, sizeof *memory);
    if (memory) {
        *memory = (struct spool_memory){
            .head = memory->head,
            .time = now,
            .bytes = bytes,
            .address = address,
            .device = device && !on_host ? device->description.index + 1 : 0,
            .released = released,
            .memory_kind = kind,
            .tid = thread->tid,
        };
        spool_publish(thread->lane);
    }
    probe_leave(thread);
    errno = error;
}

/* ---- Ranges of addresses ----------------------------------------------------------------- */

/* Shared memory and mapped pinned buffers. When the table is full, further ones are unknown: their
 * releases are not recorded, and copies count as those of pageable memory. */
enum { RANGES = 4096 };
static struct range {
    uintptr_t start;
    size_t bytes;
    const struct opencl_device *device;
    uint8_t kind; /* enum memory_kind; MEMORY_PINNED also for mapped buffers */
    bool mapped;
} ranges[RANGES];
static _Atomic uint32_t range_count;
static _Atomic uint32_t ranges_lock;

static void add_range(const struct range *range) {
    if (!range->start || !lock_acquire(&ranges_lock))
        return;
    uint32_t count = atomic_load(&range_count);
    if (count < RANGES) {
        ranges[count] = *range;
        atomic_store(&range_count, count + 1);
    }
    lock_release(&ranges_lock);
}

/* Finds the range that contains the address; `exactly`: starts there. */
static bool find_range(const void *pointer, bool exactly, bool remove, struct range *found) {
    uintptr_t address = (uintptr_t)pointer;
    bool any = false;
    if (atomic_load_explicit(&range_count, memory_order_relaxed) == 0 ||
        !lock_acquire(&ranges_lock))
        return false;
    uint32_t count = atomic_load(&range_count);
    for (uint32_t i = count; i > 0 && !any; i--) {
        const struct range *range = &ranges[i - 1];
        any = exactly ? range->start == address
                      : address >= range->start && address - range->start < range->bytes;
        if (any)
            *found = *range;
        if (any && remove) {
            ranges[i - 1] = ranges[count - 1];
            atomic_store(&range_count, count - 1);
        }
    }
    lock_release(&ranges_lock);
    return any;
}

bool opencl_is_shared(const void *pointer) {
    struct range range;
    return find_range(pointer, false, false, &range) && !range.mapped;
}

/* A CPU has one memory: pinning it changes nothing. */
uint8_t opencl_host_memory(const struct opencl_device *device, const void *pointer) {
    struct range range;
    if (!device || device->is_cpu)
        return MEMORY_UNKNOWN;
    return find_range(pointer, false, false, &range) ? range.kind : MEMORY_PAGEABLE;
}

static bool memory_info(cl_mem memory, cl_uint what, size_t bytes, void *value) {
    cl_int (*query)(cl_mem, cl_uint, size_t, void *, size_t *) =
        (__typeof__(query))(uintptr_t)opencl_next[OPENCL_AT_clGetMemObjectInfo];
    return query(memory, what, bytes, value, NULL) == CL_SUCCESS;
}

void opencl_mapped(cl_mem memory, const void *pointer, size_t bytes) {
    cl_bitfield flags = 0;
    if (memory_info(memory, CL_MEM_FLAGS, sizeof flags, &flags) && (flags & CL_MEM_ALLOC_HOST_PTR))
        add_range(&(struct range){
            .start = (uintptr_t)pointer, .bytes = bytes, .kind = MEMORY_PINNED, .mapped = true});
}

void opencl_unmapped(const void *pointer) {
    struct range range;
    find_range(pointer, true, true, &range);
}

/* ---- Buffers and images ------------------------------------------------------------------ */

/* The callback gets the size, the device's number and whether the memory is the host's in one word.
 */
enum { DEVICE_BITS = 7 };
_Static_assert(OPENCL_DEVICES <= 1 << (DEVICE_BITS - 1), "a device's number and one bit fit");

static void destroyed(cl_mem memory, void *word) {
    uintptr_t value = (uintptr_t)word;
    bool on_host = value & 1;
    put_memory(opencl_device_at((value >> 1) % (1 << (DEVICE_BITS - 1))), (uintptr_t)memory,
               value >> DEVICE_BITS, true, on_host ? MEMORY_PINNED : MEMORY_DEVICE);
}

static void created(cl_context context, cl_bitfield flags, cl_mem memory) {
    cl_int (*watch)(cl_mem, void (*)(cl_mem, void *), void *) =
        (__typeof__(watch))(uintptr_t)opencl_next[OPENCL_AT_clSetMemObjectDestructorCallback];
    size_t bytes = 0;
    const struct opencl_device *device = opencl_context_device(context);
    if (!memory || (flags & CL_MEM_USE_HOST_PTR) || !device || !watch ||
        !memory_info(memory, CL_MEM_SIZE, sizeof bytes, &bytes))
        return;
    bool on_host = flags & CL_MEM_ALLOC_HOST_PTR;
    uint32_t number = device->description.index - SPOOL_DEVICES_OPENCL;
    put_memory(device, (uintptr_t)memory, bytes, false, on_host ? MEMORY_PINNED : MEMORY_DEVICE);
    watch(memory, destroyed,
          (void *)((uintptr_t)bytes << DEVICE_BITS | (uintptr_t)number << 1 | on_host));
}

#define CREATION(function, parameters, arguments)                                                  \
    static cl_mem our_##function parameters {                                                      \
        struct opencl_host_call call = opencl_call_begin();                                        \
        cl_mem object = OPENCL_NEXT(our_##function, function) arguments;                           \
        opencl_call_end(&call, #function, CALL_ALLOC, object || !error ? CL_SUCCESS : *error);     \
        created(context, flags, object);                                                           \
        return object;                                                                             \
    }

CREATION(clCreateBuffer, (cl_context context, cl_bitfield flags, size_t a, void *b, cl_int *error),
         (context, flags, a, b, error))
CREATION(clCreateBufferWithProperties,
         (cl_context context, const cl_ulong *a, cl_bitfield flags, size_t b, void *c,
          cl_int *error),
         (context, a, flags, b, c, error))
CREATION(clCreateImage,
         (cl_context context, cl_bitfield flags, const void *a, const void *b, void *c,
          cl_int *error),
         (context, flags, a, b, c, error))
CREATION(clCreateImageWithProperties,
         (cl_context context, const cl_ulong *a, cl_bitfield flags, const void *b, const void *c,
          void *d, cl_int *error),
         (context, a, flags, b, c, d, error))
CREATION(clCreateImage2D,
         (cl_context context, cl_bitfield flags, const void *a, size_t b, size_t c, size_t d,
          void *e, cl_int *error),
         (context, flags, a, b, c, d, e, error))
CREATION(clCreateImage3D,
         (cl_context context, cl_bitfield flags, const void *a, size_t b, size_t c, size_t d,
          size_t e, size_t f, void *g, cl_int *error),
         (context, flags, a, b, c, d, e, f, g, error))

static cl_int our_clReleaseMemObject(cl_mem memory) {
    struct opencl_host_call call = opencl_call_begin();
    cl_int result = OPENCL_NEXT(our_clReleaseMemObject, clReleaseMemObject)(memory);
    opencl_call_end(&call, "clReleaseMemObject", CALL_ALLOC, result);
    return result;
}

/* ---- Shared memory ----------------------------------------------------------------------- */

static void *shared_allocated(const struct opencl_host_call *call, const char *name,
                              const struct opencl_device *device, void *pointer, size_t bytes,
                              uint8_t kind) {
    opencl_call_end(call, name, CALL_ALLOC, pointer ? CL_SUCCESS : CL_OUT_OF_RESOURCES);
    if (!pointer)
        return NULL;
    add_range(&(struct range){(uintptr_t)pointer, bytes, device, kind, false});
    put_memory(device, (uintptr_t)pointer, bytes, false, kind);
    return pointer;
}

static void shared_released(const void *pointer) {
    struct range range;
    if (find_range(pointer, true, true, &range))
        put_memory(range.device, range.start, range.bytes, true, range.kind);
}

static void *our_clSVMAlloc(cl_context context, cl_bitfield flags, size_t bytes,
                            cl_uint alignment) {
    struct opencl_host_call call = opencl_call_begin();
    void *pointer = OPENCL_NEXT(our_clSVMAlloc, clSVMAlloc)(context, flags, bytes, alignment);
    return shared_allocated(&call, "clSVMAlloc", opencl_context_device(context), pointer, bytes,
                            MEMORY_MANAGED);
}

static void our_clSVMFree(cl_context context, void *pointer) {
    struct opencl_host_call call = opencl_call_begin();
    shared_released(pointer);
    OPENCL_NEXT(our_clSVMFree, clSVMFree)(context, pointer);
    opencl_call_end(&call, "clSVMFree", CALL_ALLOC, CL_SUCCESS);
}

/* The memory is released when the command runs; without a callback of the program, by the driver.
 */
static cl_int our_clEnqueueSVMFree(cl_command_queue queue, cl_uint count, void **pointers,
                                   void (*callback)(cl_command_queue, cl_uint, void **, void *),
                                   void *user, cl_uint wait_count, const cl_event *waits,
                                   cl_event *event) {
    struct opencl_host_call call = opencl_call_begin();
    for (cl_uint i = 0; pointers && i < count && !callback; i++)
        shared_released(pointers[i]);
    cl_int result = OPENCL_NEXT(our_clEnqueueSVMFree, clEnqueueSVMFree)(
        queue, count, pointers, callback, user, wait_count, waits, event);
    opencl_call_end(&call, "clEnqueueSVMFree", CALL_ALLOC, result);
    return result;
}

static void *our_clHostMemAllocINTEL(cl_context context, const cl_ulong *properties, size_t bytes,
                                     cl_uint alignment, cl_int *error) {
    struct opencl_host_call call = opencl_call_begin();
    void *pointer = OPENCL_EXTENSION_NEXT(our_clHostMemAllocINTEL, clHostMemAllocINTEL)(
        context, properties, bytes, alignment, error);
    return shared_allocated(&call, "clHostMemAllocINTEL", opencl_context_device(context), pointer,
                            bytes, MEMORY_PINNED);
}

static void *our_clDeviceMemAllocINTEL(cl_context context, cl_device_id device,
                                       const cl_ulong *properties, size_t bytes, cl_uint alignment,
                                       cl_int *error) {
    struct opencl_host_call call = opencl_call_begin();
    void *pointer = OPENCL_EXTENSION_NEXT(our_clDeviceMemAllocINTEL, clDeviceMemAllocINTEL)(
        context, device, properties, bytes, alignment, error);
    return shared_allocated(&call, "clDeviceMemAllocINTEL",
                            device ? opencl_find_device(device) : NULL, pointer, bytes,
                            MEMORY_DEVICE);
}

static void *our_clSharedMemAllocINTEL(cl_context context, cl_device_id device,
                                       const cl_ulong *properties, size_t bytes, cl_uint alignment,
                                       cl_int *error) {
    struct opencl_host_call call = opencl_call_begin();
    void *pointer = OPENCL_EXTENSION_NEXT(our_clSharedMemAllocINTEL, clSharedMemAllocINTEL)(
        context, device, properties, bytes, alignment, error);
    return shared_allocated(&call, "clSharedMemAllocINTEL",
                            device ? opencl_find_device(device) : opencl_context_device(context),
                            pointer, bytes, MEMORY_MANAGED);
}

static cl_int our_clMemFreeINTEL(cl_context context, void *pointer) {
    struct opencl_host_call call = opencl_call_begin();
    shared_released(pointer);
    cl_int result = OPENCL_EXTENSION_NEXT(our_clMemFreeINTEL, clMemFreeINTEL)(context, pointer);
    opencl_call_end(&call, "clMemFreeINTEL", CALL_ALLOC, result);
    return result;
}

static cl_int our_clMemBlockingFreeINTEL(cl_context context, void *pointer) {
    struct opencl_host_call call = opencl_call_begin();
    shared_released(pointer);
    cl_int result =
        OPENCL_EXTENSION_NEXT(our_clMemBlockingFreeINTEL, clMemBlockingFreeINTEL)(context, pointer);
    opencl_call_end(&call, "clMemBlockingFreeINTEL", CALL_ALLOC, result);
    return result;
}

const struct opencl_hook opencl_memory_hooks[] = {
    OPENCL_HOOK(clCreateBuffer),
    OPENCL_HOOK(clCreateBufferWithProperties),
    OPENCL_HOOK(clCreateImage),
    OPENCL_HOOK(clCreateImageWithProperties),
    OPENCL_HOOK(clCreateImage2D),
    OPENCL_HOOK(clCreateImage3D),
    OPENCL_HOOK(clReleaseMemObject),
    OPENCL_HOOK(clSVMAlloc),
    OPENCL_HOOK(clSVMFree),
    OPENCL_HOOK(clEnqueueSVMFree),
    {0},
};

const struct opencl_hook opencl_memory_extensions[] = {
    OPENCL_EXTENSION_HOOK(clHostMemAllocINTEL),    OPENCL_EXTENSION_HOOK(clDeviceMemAllocINTEL),
    OPENCL_EXTENSION_HOOK(clSharedMemAllocINTEL),  OPENCL_EXTENSION_HOOK(clMemFreeINTEL),
    OPENCL_EXTENSION_HOOK(clMemBlockingFreeINTEL), {0},
};
