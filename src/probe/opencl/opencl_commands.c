/* Records commands when they are enqueued. The call is recorded by the calling thread; the device's
 * work is recorded once its event has completed. A command for which the program wants no event
 * gets one.
 *
 * Markers and barriers are calls only: they do no work.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "probe/opencl/opencl.h"
#include "spool/lock.h"
#include "spool/pages.h"

/* ---- Kernels ----------------------------------------------------------------------------- */

/* Names are kept for good: commands refer to them. A kernel that the driver creates replaces an old
 * one with the same handle. */
enum { KERNELS = 4096, NAME_MAX_BYTES = 1024 };
static struct kernel_slot {
    _Atomic(cl_kernel) kernel;
    _Atomic(const char *) name;
} kernels[KERNELS];
static _Atomic uint32_t names_lock;
static struct page_arena names;

static struct kernel_slot *kernel_slot(cl_kernel kernel) {
    uint64_t hash = (uint64_t)(uintptr_t)kernel * 0x9E3779B97F4A7C15u;
    return &kernels[(hash >> 32) % KERNELS];
}

/* A copy that is never freed; equal names share one. */
static const char *keep_name(const char *name) {
    enum { KNOWN = 4096 };
    static const char *known[KNOWN];
    uint32_t hash = 2166136261u;
    for (const char *at = name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    if (!lock_acquire(&names_lock))
        return NULL;
    const char **slot = &known[hash % KNOWN], *kept = *slot;
    if (!kept || strcmp(kept, name) != 0) {
        size_t bytes = strlen(name) + 1;
        char *copy = page_arena_allocate(&names, bytes);
        kept = copy ? memcpy(copy, name, bytes) : NULL;
        *slot = kept;
    }
    lock_release(&names_lock);
    return kept;
}

static const char *query_name(cl_kernel kernel) {
    cl_int (*query)(cl_kernel, cl_uint, size_t, void *, size_t *) =
        (__typeof__(query))(uintptr_t)opencl_next[OPENCL_AT_clGetKernelInfo];
    char name[NAME_MAX_BYTES];
    size_t bytes = 0;
    if (query(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, &bytes) != CL_SUCCESS ||
        bytes == 0 || bytes > sizeof name)
        return NULL;
    name[bytes - 1] = 0;
    return keep_name(name);
}

static void forget_kernel(cl_kernel kernel) {
    struct kernel_slot *slot = kernel_slot(kernel);
    if (kernel && atomic_load(&slot->kernel) == kernel)
        atomic_store(&slot->kernel, NULL);
}

static const char *kernel_name(cl_kernel kernel) {
    struct kernel_slot *slot = kernel_slot(kernel);
    if (atomic_load_explicit(&slot->kernel, memory_order_acquire) == kernel) {
        const char *name = atomic_load_explicit(&slot->name, memory_order_acquire);
        if (atomic_load_explicit(&slot->kernel, memory_order_acquire) == kernel)
            return name;
    }
    const char *name = query_name(kernel);
    atomic_store(&slot->kernel, NULL);
    atomic_store(&slot->name, name);
    atomic_store(&slot->kernel, kernel);
    return name;
}

static cl_kernel our_clCreateKernel(cl_program program, const char *name, cl_int *error) {
    struct opencl_host_call call = opencl_call_begin();
    cl_kernel kernel = OPENCL_NEXT(our_clCreateKernel, clCreateKernel)(program, name, error);
    forget_kernel(kernel);
    opencl_call_end(&call, "clCreateKernel", CALL_OTHER, kernel || !error ? CL_SUCCESS : *error);
    return kernel;
}

static cl_int our_clCreateKernelsInProgram(cl_program program, cl_uint count, cl_kernel *made,
                                           cl_uint *made_count) {
    struct opencl_host_call call = opencl_call_begin();
    cl_uint all = 0;
    cl_int result = OPENCL_NEXT(our_clCreateKernelsInProgram,
                                clCreateKernelsInProgram)(program, count, made, &all);
    for (cl_uint i = 0; result == CL_SUCCESS && made && i < count && i < all; i++)
        forget_kernel(made[i]);
    if (made_count && result == CL_SUCCESS)
        *made_count = all;
    opencl_call_end(&call, "clCreateKernelsInProgram", CALL_OTHER, result);
    return result;
}

static cl_kernel our_clCloneKernel(cl_kernel source, cl_int *error) {
    cl_kernel kernel = OPENCL_NEXT(our_clCloneKernel, clCloneKernel)(source, error);
    forget_kernel(kernel);
    return kernel;
}

/* ---- A command --------------------------------------------------------------------------- */

/* A command while it is enqueued. */
struct enqueue {
    struct opencl_command command; /* call_start 0: not recorded */
    cl_event own, *event;          /* the event to pass to the driver */
    bool given;                    /* the program wants it */
    cl_uint count;                 /* of the events to wait for */
    const cl_event *waits;
};

static void enqueue_begin(struct enqueue *enqueue, cl_command_queue queue, cl_uint count,
                          const cl_event *waits, cl_event *event) {
    int64_t now = clock_now();
    *enqueue = (struct enqueue){.event = event, .given = event, .count = count, .waits = waits};
    if (!opencl_is_recording(now))
        return;
    enqueue->command.queue = opencl_find_queue(queue);
    enqueue->command.correlation = opencl_next_correlation();
    enqueue->command.call_start = now;
    if (!event && enqueue->command.queue.timed)
        enqueue->event = &enqueue->own;
}

/* Without an activity the probe needs no event. */
static void begin_marker(struct enqueue *enqueue, cl_command_queue queue, cl_uint count,
                         const cl_event *waits, cl_event *event) {
    enqueue_begin(enqueue, queue, count, waits, event);
    enqueue->event = event;
}

static void retain_event(cl_event event) {
    cl_int (*retain)(cl_event) =
        (__typeof__(retain))(uintptr_t)opencl_next[OPENCL_AT_clRetainEvent];
    retain(event);
}

static void release_event(cl_event event) {
    cl_int (*release)(cl_event) =
        (__typeof__(release))(uintptr_t)opencl_next[OPENCL_AT_clReleaseEvent];
    release(event);
}

static void await(struct enqueue *enqueue) {
    struct opencl_command *command = &enqueue->command;
    if (!command->queue.timed || !enqueue->event || !*enqueue->event) {
        opencl_count_untimed(OPENCL_UNTIMED_QUEUE);
        return;
    }
    command->event = *enqueue->event;
    if (enqueue->given)
        retain_event(command->event);
    if (!opencl_await(command)) {
        release_event(command->event);
        opencl_count_untimed(OPENCL_UNTIMED_FULL);
    }
}

/* A blocking call has a name of its own: it is a launch and a wait. */
#define BLOCKING_MARK " (blocking)"

static void enqueue_end(struct enqueue *enqueue, const char *name, enum call_class class,
                        cl_int result) {
    bool blocks = class == CALL_COPY && strstr(name, BLOCKING_MARK);
    struct opencl_command *command = &enqueue->command;
    if (!command->call_start)
        return;
    int error = errno;
    command->call_end = clock_now();
    struct probe_thread *thread = probe_enter();
    if (thread) {
        opencl_put_call(thread, &(struct opencl_call){.name = name,
                                                      .class = class,
                                                      .start = command->call_start,
                                                      .end = command->call_end,
                                                      .correlation = command->correlation,
                                                      .result = result});
        if (result == CL_SUCCESS && enqueue->given && command->queue.device)
            opencl_event_made(*enqueue->event, &command->queue, command->correlation);
        if (result == CL_SUCCESS && enqueue->count)
            opencl_put_waits(thread->lane, &command->queue, command->correlation,
                             command->call_start, command->call_end, enqueue->count,
                             enqueue->waits);
        probe_leave(thread);
    }
    if (result == CL_SUCCESS && command->kind)
        await(enqueue);
    if (blocks)
        opencl_events_synchronized();
    errno = error;
}

/* ---- What commands do -------------------------------------------------------------------- */

static uint32_t clamp(size_t number) {
    return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

/* The work-group size of a launch that leaves it to the driver: what the kernel requires, or what
 * the driver suggests (cl_khr_suggested_local_work_size). */
static bool query_group(const struct opencl_device *device, cl_command_queue queue,
                        cl_kernel kernel, cl_uint dimensions, const size_t *global,
                        size_t group[3]) {
    cl_int (*query)(cl_kernel, cl_device_id, cl_uint, size_t, void *, size_t *) =
        (__typeof__(query))(uintptr_t)opencl_next[OPENCL_AT_clGetKernelWorkGroupInfo];
    if (query &&
        query(kernel, device->handle, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, 3 * sizeof *group, group,
              NULL) == CL_SUCCESS &&
        group[0])
        return true;
    group[0] = group[1] = group[2] = 1;
    return device->suggest &&
           device->suggest(queue, kernel, dimensions, NULL, global, group) == CL_SUCCESS &&
           group[0];
}

/* Likewise, from an earlier launch where possible. */
static bool chosen_group(const struct opencl_command *command, cl_command_queue queue,
                         cl_kernel kernel, cl_uint dimensions, const size_t *global,
                         size_t group[3]) {
    enum { KEPT = 1024 };
    static _Atomic uint32_t lock;
    static struct chosen {
        const char *name; /* a later kernel may have the same handle */
        cl_kernel kernel;
        size_t global[3], group[3];
        bool known;
    } kept[KEPT];
    const struct opencl_device *device = command->queue.device;
    struct chosen launch = {.name = command->name, .kernel = kernel};
    if (!device || dimensions == 0 || dimensions > 3)
        return false;
    uint64_t hash = (uintptr_t)kernel;
    for (cl_uint i = 0; i < dimensions; i++) {
        launch.global[i] = global[i];
        hash = (hash ^ global[i]) * 0x9E3779B97F4A7C15u;
    }
    struct chosen *slot = &kept[(hash >> 32) % KEPT];
    if (!lock_acquire(&lock))
        return false;
    bool same = slot->kernel == kernel && slot->name == launch.name &&
                memcmp(slot->global, launch.global, sizeof launch.global) == 0;
    if (same)
        launch = *slot;
    lock_release(&lock);
    if (!same) {
        launch.known = query_group(device, queue, kernel, dimensions, global, launch.group);
        if (lock_acquire(&lock)) {
            *slot = launch;
            lock_release(&lock);
        }
    }
    memcpy(group, launch.group, sizeof launch.group);
    return launch.known;
}

/* Without a known work-group size, the number of groups is unknown, too. */
static void set_kernel(struct opencl_command *command, cl_command_queue queue, cl_kernel kernel,
                       cl_uint dimensions, const size_t *global, const size_t *local) {
    size_t chosen[3];
    command->kind = OPENCL_KERNEL;
    command->name = kernel_name(kernel);
    if (global && !local && chosen_group(command, queue, kernel, dimensions, global, chosen))
        local = chosen;
    for (cl_uint i = 0; i < 3 && global && local; i++) {
        size_t items = i < dimensions ? global[i] : 1, group = i < dimensions ? local[i] : 1;
        if (!group)
            return;
        command->grid[i] = clamp((items + group - 1) / group);
        command->block[i] = clamp(group);
    }
}

static void set_copy(struct opencl_command *command, enum copy_direction direction,
                     uint64_t bytes) {
    command->kind = OPENCL_COPY;
    command->direction = (uint8_t)direction;
    command->bytes = bytes;
    if (direction == COPY_DTOD)
        command->from_memory = command->to_memory = MEMORY_DEVICE;
}

static void set_host_copy(struct opencl_command *command, enum copy_direction direction,
                          uint64_t bytes, const void *host) {
    uint8_t memory = opencl_host_memory(command->queue.device, host);
    set_copy(command, direction, bytes);
    command->from_memory = direction == COPY_DTOH ? MEMORY_DEVICE : memory;
    command->to_memory = direction == COPY_DTOH ? memory : MEMORY_DEVICE;
}

static uint64_t volume(const size_t *region) {
    return region ? (uint64_t)region[0] * region[1] * region[2] : BYTES_UNKNOWN;
}

/* An image's region is in elements. */
static uint64_t image_bytes(cl_mem image, const size_t *region) {
    enum { CL_IMAGE_ELEMENT_SIZE = 0x1111 };
    cl_int (*query)(cl_mem, cl_uint, size_t, void *, size_t *) =
        (__typeof__(query))(uintptr_t)opencl_next[OPENCL_AT_clGetImageInfo];
    size_t element = 0;
    if (!region ||
        query(image, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, NULL) != CL_SUCCESS)
        return BYTES_UNKNOWN;
    return volume(region) * element;
}

/* Whether mapping and unmapping move data is up to the driver. */
static void set_map(struct opencl_command *command, const char *name,
                    enum copy_direction direction) {
    set_copy(command, direction, BYTES_UNKNOWN);
    command->name = name;
}

static void set_shared_copy(struct opencl_command *command, const void *to, const void *from,
                            uint64_t bytes) {
    bool to_shared = opencl_is_shared(to), from_shared = opencl_is_shared(from);
    if (to_shared && from_shared)
        set_copy(command, COPY_DTOD, bytes);
    else if (to_shared)
        set_host_copy(command, COPY_HTOD, bytes, from);
    else if (from_shared)
        set_host_copy(command, COPY_DTOH, bytes, to);
    else
        set_copy(command, COPY_HTOH, bytes);
    if (to_shared)
        command->to_memory = MEMORY_MANAGED;
    if (from_shared)
        command->from_memory = MEMORY_MANAGED;
}

static void set_fill(struct opencl_command *command, uint64_t bytes) {
    command->kind = OPENCL_FILL;
    command->bytes = bytes;
    command->to_memory = MEMORY_DEVICE;
}

/* ---- Functions --------------------------------------------------------------------------- */

#define BLOCKING(function) (blocking ? #function BLOCKING_MARK : #function)

/* The parameters of all these functions begin with `queue` and end with `count`, `waits` and
 * `event`. `describe` fills in the command. */
#define ENQUEUE(function, name, class, parameters, arguments, describe)                            \
    static cl_int our_##function parameters {                                                      \
        struct enqueue enqueue;                                                                    \
        struct opencl_command *command = &enqueue.command;                                         \
        enqueue_begin(&enqueue, queue, count, waits, event);                                       \
        cl_int result = OPENCL_NEXT(our_##function, function) arguments;                           \
        if (command->call_start && result == CL_SUCCESS)                                           \
            describe;                                                                              \
        enqueue_end(&enqueue, name, class, result);                                                \
        return result;                                                                             \
    }
#define TAIL cl_uint count, const cl_event *waits, cl_event *event
#define PASS count, waits, enqueue.event

ENQUEUE(clEnqueueNDRangeKernel, "clEnqueueNDRangeKernel", CALL_LAUNCH,
        (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
         const size_t *global, const size_t *local, TAIL),
        (queue, kernel, dimensions, offset, global, local, PASS),
        set_kernel(command, queue, kernel, dimensions, global, local))
ENQUEUE(clEnqueueTask, "clEnqueueTask", CALL_LAUNCH,
        (cl_command_queue queue, cl_kernel kernel, TAIL), (queue, kernel, PASS),
        set_kernel(command, queue, kernel, 1, &(size_t){1}, &(size_t){1}))
ENQUEUE(clEnqueueNativeKernel, "clEnqueueNativeKernel", CALL_LAUNCH,
        (cl_command_queue queue, void (*function)(void *), void *a, size_t b, cl_uint c,
         const cl_mem *d, const void **e, TAIL),
        (queue, function, a, b, c, d, e, PASS),
        (command->kind = OPENCL_KERNEL, command->name = "native kernel"))

ENQUEUE(clEnqueueReadBuffer, BLOCKING(clEnqueueReadBuffer), CALL_COPY,
        (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes,
         void *host, TAIL),
        (queue, buffer, blocking, offset, bytes, host, PASS),
        set_host_copy(command, COPY_DTOH, bytes, host))
ENQUEUE(clEnqueueWriteBuffer, BLOCKING(clEnqueueWriteBuffer), CALL_COPY,
        (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes,
         const void *host, TAIL),
        (queue, buffer, blocking, offset, bytes, host, PASS),
        set_host_copy(command, COPY_HTOD, bytes, host))
ENQUEUE(clEnqueueReadBufferRect, BLOCKING(clEnqueueReadBufferRect), CALL_COPY,
        (cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *a, const size_t *b,
         const size_t *region, size_t c, size_t d, size_t e, size_t f, void *host, TAIL),
        (queue, buffer, blocking, a, b, region, c, d, e, f, host, PASS),
        set_host_copy(command, COPY_DTOH, volume(region), host))
ENQUEUE(clEnqueueWriteBufferRect, BLOCKING(clEnqueueWriteBufferRect), CALL_COPY,
        (cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *a, const size_t *b,
         const size_t *region, size_t c, size_t d, size_t e, size_t f, const void *host, TAIL),
        (queue, buffer, blocking, a, b, region, c, d, e, f, host, PASS),
        set_host_copy(command, COPY_HTOD, volume(region), host))
ENQUEUE(clEnqueueReadImage, BLOCKING(clEnqueueReadImage), CALL_COPY,
        (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *a,
         const size_t *region, size_t b, size_t c, void *host, TAIL),
        (queue, image, blocking, a, region, b, c, host, PASS),
        set_host_copy(command, COPY_DTOH, image_bytes(image, region), host))
ENQUEUE(clEnqueueWriteImage, BLOCKING(clEnqueueWriteImage), CALL_COPY,
        (cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *a,
         const size_t *region, size_t b, size_t c, const void *host, TAIL),
        (queue, image, blocking, a, region, b, c, host, PASS),
        set_host_copy(command, COPY_HTOD, image_bytes(image, region), host))

ENQUEUE(clEnqueueCopyBuffer, "clEnqueueCopyBuffer", CALL_COPY,
        (cl_command_queue queue, cl_mem from, cl_mem to, size_t a, size_t b, size_t bytes, TAIL),
        (queue, from, to, a, b, bytes, PASS), set_copy(command, COPY_DTOD, bytes))
ENQUEUE(clEnqueueCopyBufferRect, "clEnqueueCopyBufferRect", CALL_COPY,
        (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *a, const size_t *b,
         const size_t *region, size_t c, size_t d, size_t e, size_t f, TAIL),
        (queue, from, to, a, b, region, c, d, e, f, PASS),
        set_copy(command, COPY_DTOD, volume(region)))
ENQUEUE(clEnqueueCopyImage, "clEnqueueCopyImage", CALL_COPY,
        (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *a, const size_t *b,
         const size_t *region, TAIL),
        (queue, from, to, a, b, region, PASS),
        set_copy(command, COPY_DTOD, image_bytes(from, region)))
ENQUEUE(clEnqueueCopyImageToBuffer, "clEnqueueCopyImageToBuffer", CALL_COPY,
        (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *a, const size_t *region,
         size_t b, TAIL),
        (queue, from, to, a, region, b, PASS),
        set_copy(command, COPY_DTOD, image_bytes(from, region)))
ENQUEUE(clEnqueueCopyBufferToImage, "clEnqueueCopyBufferToImage", CALL_COPY,
        (cl_command_queue queue, cl_mem from, cl_mem to, size_t a, const size_t *b,
         const size_t *region, TAIL),
        (queue, from, to, a, b, region, PASS),
        set_copy(command, COPY_DTOD, image_bytes(to, region)))
ENQUEUE(clEnqueueFillBuffer, "clEnqueueFillBuffer", CALL_COPY,
        (cl_command_queue queue, cl_mem buffer, const void *a, size_t b, size_t c, size_t bytes,
         TAIL),
        (queue, buffer, a, b, c, bytes, PASS), set_fill(command, bytes))
ENQUEUE(clEnqueueFillImage, "clEnqueueFillImage", CALL_COPY,
        (cl_command_queue queue, cl_mem image, const void *a, const size_t *b, const size_t *region,
         TAIL),
        (queue, image, a, b, region, PASS), set_fill(command, image_bytes(image, region)))
ENQUEUE(clEnqueueMigrateMemObjects, "clEnqueueMigrateMemObjects", CALL_COPY,
        (cl_command_queue queue, cl_uint a, const cl_mem *b, cl_bitfield c, TAIL),
        (queue, a, b, c, PASS), set_map(command, "Migrate", COPY_UNKNOWN))

ENQUEUE(clEnqueueSVMMemcpy, BLOCKING(clEnqueueSVMMemcpy), CALL_COPY,
        (cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t bytes, TAIL),
        (queue, blocking, to, from, bytes, PASS), set_shared_copy(command, to, from, bytes))
ENQUEUE(clEnqueueSVMMemFill, "clEnqueueSVMMemFill", CALL_COPY,
        (cl_command_queue queue, void *to, const void *a, size_t b, size_t bytes, TAIL),
        (queue, to, a, b, bytes, PASS), set_fill(command, bytes))
ENQUEUE(clEnqueueSVMMap, BLOCKING(clEnqueueSVMMap), CALL_COPY,
        (cl_command_queue queue, cl_bool blocking, cl_bitfield flags, void *a, size_t b, TAIL),
        (queue, blocking, flags, a, b, PASS), set_map(command, "Map", COPY_DTOH))
ENQUEUE(clEnqueueSVMUnmap, "clEnqueueSVMUnmap", CALL_COPY, (cl_command_queue queue, void *a, TAIL),
        (queue, a, PASS), set_map(command, "Unmap", COPY_HTOD))
ENQUEUE(clEnqueueSVMMigrateMem, "clEnqueueSVMMigrateMem", CALL_COPY,
        (cl_command_queue queue, cl_uint a, const void **b, const size_t *c, cl_bitfield d, TAIL),
        (queue, a, b, c, d, PASS), set_map(command, "Migrate", COPY_UNKNOWN))
ENQUEUE(clEnqueueUnmapMemObject, "clEnqueueUnmapMemObject", CALL_COPY,
        (cl_command_queue queue, cl_mem memory, void *pointer, TAIL),
        (queue, memory, pointer, PASS),
        (opencl_unmapped(pointer), set_map(command, "Unmap", COPY_HTOD)))

static void *our_clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                    cl_bitfield flags, size_t offset, size_t bytes, TAIL,
                                    cl_int *error) {
    struct enqueue enqueue;
    cl_int result = CL_SUCCESS;
    enqueue_begin(&enqueue, queue, count, waits, event);
    void *pointer = OPENCL_NEXT(our_clEnqueueMapBuffer, clEnqueueMapBuffer)(
        queue, buffer, blocking, flags, offset, bytes, PASS, &result);
    if (error)
        *error = result;
    if (pointer)
        opencl_mapped(buffer, pointer, bytes);
    set_map(&enqueue.command, "Map", COPY_DTOH);
    enqueue_end(&enqueue, BLOCKING(clEnqueueMapBuffer), CALL_COPY, result);
    return pointer;
}

static void *our_clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                   cl_bitfield flags, const size_t *origin, const size_t *region,
                                   size_t *row, size_t *slice, TAIL, cl_int *error) {
    struct enqueue enqueue;
    cl_int result = CL_SUCCESS;
    enqueue_begin(&enqueue, queue, count, waits, event);
    void *pointer = OPENCL_NEXT(our_clEnqueueMapImage, clEnqueueMapImage)(
        queue, image, blocking, flags, origin, region, row, slice, PASS, &result);
    if (error)
        *error = result;
    set_map(&enqueue.command, "Map", COPY_DTOH);
    enqueue_end(&enqueue, BLOCKING(clEnqueueMapImage), CALL_COPY, result);
    return pointer;
}

/* ---- Markers and barriers ---------------------------------------------------------------- */

#define MARKER(function, parameters, arguments, wait_count, wait_list, made)                       \
    static cl_int our_##function parameters {                                                      \
        struct enqueue enqueue;                                                                    \
        begin_marker(&enqueue, queue, wait_count, wait_list, made);                                \
        cl_int result = OPENCL_NEXT(our_##function, function) arguments;                           \
        enqueue_end(&enqueue, #function, CALL_OTHER, result);                                      \
        return result;                                                                             \
    }

MARKER(clEnqueueMarkerWithWaitList, (cl_command_queue queue, TAIL), (queue, count, waits, event),
       count, waits, event)
MARKER(clEnqueueBarrierWithWaitList, (cl_command_queue queue, TAIL), (queue, count, waits, event),
       count, waits, event)
MARKER(clEnqueueMarker, (cl_command_queue queue, cl_event *event), (queue, event), 0, NULL, event)
MARKER(clEnqueueBarrier, (cl_command_queue queue), (queue), 0, NULL, NULL)
MARKER(clEnqueueWaitForEvents, (cl_command_queue queue, cl_uint count, const cl_event *waits),
       (queue, count, waits), count, waits, NULL)

/* ---- Extensions -------------------------------------------------------------------------- */

/* A command buffer has one event for all its commands. */
enum { COMMAND_BUFFERS = 1024 };
static struct {
    _Atomic(void *) buffer;
    _Atomic(cl_command_queue) queue;
    _Atomic uint32_t number;
} command_buffers[COMMAND_BUFFERS];
static _Atomic uint32_t last_command_buffer;

static unsigned command_buffer_slot(const void *buffer) {
    return (unsigned)(((uint64_t)(uintptr_t)buffer * 0x9E3779B97F4A7C15u >> 32) % COMMAND_BUFFERS);
}

static void *our_clCreateCommandBufferKHR(cl_uint count, const cl_command_queue *queues,
                                          const cl_ulong *properties, cl_int *error) {
    struct opencl_host_call call = opencl_call_begin();
    void *buffer = OPENCL_EXTENSION_NEXT(our_clCreateCommandBufferKHR, clCreateCommandBufferKHR)(
        count, queues, properties, error);
    unsigned slot = command_buffer_slot(buffer);
    if (buffer && queues && count) {
        atomic_store(&command_buffers[slot].buffer, buffer);
        atomic_store(&command_buffers[slot].queue, queues[0]);
        atomic_store(&command_buffers[slot].number, atomic_fetch_add(&last_command_buffer, 1) + 1);
    }
    opencl_call_end(&call, "clCreateCommandBufferKHR", CALL_OTHER,
                    buffer || !error ? CL_SUCCESS : *error);
    return buffer;
}

static cl_int our_clEnqueueCommandBufferKHR(cl_uint queue_count, cl_command_queue *queues,
                                            void *buffer, TAIL) {
    struct enqueue enqueue;
    unsigned slot = command_buffer_slot(buffer);
    bool known = atomic_load(&command_buffers[slot].buffer) == buffer;
    cl_command_queue queue = queues && queue_count ? queues[0]
                             : known               ? atomic_load(&command_buffers[slot].queue)
                                                   : NULL;
    char name[48];
    enqueue_begin(&enqueue, queue, count, waits, event);
    cl_int result = OPENCL_EXTENSION_NEXT(our_clEnqueueCommandBufferKHR, clEnqueueCommandBufferKHR)(
        queue_count, queues, buffer, PASS);
    if (enqueue.command.call_start && result == CL_SUCCESS) {
        enqueue.command.kind = OPENCL_KERNEL;
        enqueue.command.graph = known ? atomic_load(&command_buffers[slot].number) : 0;
        snprintf(name, sizeof name, "command buffer %u", enqueue.command.graph);
        enqueue.command.name = keep_name(name);
    }
    enqueue_end(&enqueue, "clEnqueueCommandBufferKHR", CALL_LAUNCH, result);
    return result;
}

static cl_int our_clEnqueueMemcpyINTEL(cl_command_queue queue, cl_bool blocking, void *to,
                                       const void *from, size_t bytes, TAIL) {
    struct enqueue enqueue;
    enqueue_begin(&enqueue, queue, count, waits, event);
    cl_int result = OPENCL_EXTENSION_NEXT(our_clEnqueueMemcpyINTEL, clEnqueueMemcpyINTEL)(
        queue, blocking, to, from, bytes, PASS);
    set_shared_copy(&enqueue.command, to, from, bytes);
    enqueue_end(&enqueue, BLOCKING(clEnqueueMemcpyINTEL), CALL_COPY, result);
    return result;
}

static cl_int our_clEnqueueMemFillINTEL(cl_command_queue queue, void *to, const void *pattern,
                                        size_t pattern_bytes, size_t bytes, TAIL) {
    struct enqueue enqueue;
    enqueue_begin(&enqueue, queue, count, waits, event);
    cl_int result = OPENCL_EXTENSION_NEXT(our_clEnqueueMemFillINTEL, clEnqueueMemFillINTEL)(
        queue, to, pattern, pattern_bytes, bytes, PASS);
    set_fill(&enqueue.command, bytes);
    enqueue_end(&enqueue, "clEnqueueMemFillINTEL", CALL_COPY, result);
    return result;
}

const struct opencl_hook opencl_command_hooks[] = {
    OPENCL_HOOK(clCreateKernel),
    OPENCL_HOOK(clCreateKernelsInProgram),
    OPENCL_HOOK(clCloneKernel),
    OPENCL_HOOK(clEnqueueNDRangeKernel),
    OPENCL_HOOK(clEnqueueTask),
    OPENCL_HOOK(clEnqueueNativeKernel),
    OPENCL_HOOK(clEnqueueReadBuffer),
    OPENCL_HOOK(clEnqueueWriteBuffer),
    OPENCL_HOOK(clEnqueueReadBufferRect),
    OPENCL_HOOK(clEnqueueWriteBufferRect),
    OPENCL_HOOK(clEnqueueReadImage),
    OPENCL_HOOK(clEnqueueWriteImage),
    OPENCL_HOOK(clEnqueueCopyBuffer),
    OPENCL_HOOK(clEnqueueCopyBufferRect),
    OPENCL_HOOK(clEnqueueCopyImage),
    OPENCL_HOOK(clEnqueueCopyImageToBuffer),
    OPENCL_HOOK(clEnqueueCopyBufferToImage),
    OPENCL_HOOK(clEnqueueFillBuffer),
    OPENCL_HOOK(clEnqueueFillImage),
    OPENCL_HOOK(clEnqueueMigrateMemObjects),
    OPENCL_HOOK(clEnqueueSVMMemcpy),
    OPENCL_HOOK(clEnqueueSVMMemFill),
    OPENCL_HOOK(clEnqueueSVMMap),
    OPENCL_HOOK(clEnqueueSVMUnmap),
    OPENCL_HOOK(clEnqueueSVMMigrateMem),
    OPENCL_HOOK(clEnqueueUnmapMemObject),
    OPENCL_HOOK(clEnqueueMapBuffer),
    OPENCL_HOOK(clEnqueueMapImage),
    OPENCL_HOOK(clEnqueueMarkerWithWaitList),
    OPENCL_HOOK(clEnqueueBarrierWithWaitList),
    OPENCL_HOOK(clEnqueueMarker),
    OPENCL_HOOK(clEnqueueBarrier),
    OPENCL_HOOK(clEnqueueWaitForEvents),
    {0},
};

const struct opencl_hook opencl_command_extensions[] = {
    OPENCL_EXTENSION_HOOK(clCreateCommandBufferKHR),
    OPENCL_EXTENSION_HOOK(clEnqueueCommandBufferKHR),
    OPENCL_EXTENSION_HOOK(clEnqueueMemcpyINTEL),
    OPENCL_EXTENSION_HOOK(clEnqueueMemFillINTEL),
    {0},
};
