/* The CPU as a device: memory is host memory, and a launch runs on the thread pool and is
 * complete when it returns. Queues therefore need no ordering, events are always reached, and a
 * stamp already holds times.
 *
 * Each allocation, kernel and graph is one block on one list, which close() frees.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/format.h"
#include "base/memory.h"
#include "device/cpu/processor.h"
#include "device/cpu/thread_pool.h"
#include "device/device.h"

enum {
    ALIGNMENT = 64,
    COPY_SHARED = 4 << 20, /* copies of at least this size use the thread pool */
    COPY_UNIT = 512 << 10,
    /* Sums are split by the number of threads, which changes their rounding. Deterministic devices
     * split them into this number of parts, and use at most as many threads. */
    DETERMINISTIC_UNITS = 16,
};

/* A list link. Aligned, so that the data after it is aligned. */
struct owned {
    _Alignas(ALIGNMENT) struct owned *next;
    struct owned *before;
    size_t bytes; /* of memory; 0 for kernels and graphs */
};

struct cpu_kernel {
    struct device_kernel kernel; /* must be first: others see only the device_kernel */
    native_function *function;
    const void *context;
};

struct cpu_graph {
    unsigned count;
    struct launch launches[];
};

struct cpu_device {
    struct device device;
    struct thread_pool *pool;
    struct owned owned; /* the ring's head */
    uint64_t live_bytes;
    void *shared;
    size_t shared_bytes;
};

static struct cpu_device *cpu_of(struct device *device) {
    return (struct cpu_device *)device;
}

static void stamp_begin(struct device_stamp *stamp) {
    if (stamp)
        stamp->begin = (uint64_t)clock_now();
}

static void stamp_end(struct device_stamp *stamp) {
    if (stamp)
        stamp->end = (uint64_t)clock_now();
}

/* `bytes` after the link, aligned; NULL when out of memory. */
static void *allocate_owned(struct cpu_device *cpu, size_t bytes, struct status *status) {
    size_t whole;
    if (__builtin_add_overflow(bytes, sizeof(struct owned), &whole) || whole > PTRDIFF_MAX) {
        status_no_memory(status);
        return NULL;
    }
    struct owned *owned = memory_allocate_aligned(whole, ALIGNMENT, status);
    if (!owned)
        return NULL;
    *owned = (struct owned){.next = cpu->owned.next, .before = &cpu->owned};
    owned->next->before = owned;
    cpu->owned.next = owned;
    return owned + 1;
}

static struct owned *owned_of(void *pointer) {
    return (struct owned *)pointer - 1;
}

static void disown(struct owned *owned) {
    owned->next->before = owned->before;
    owned->before->next = owned->next;
    memory_free(owned);
}

static bool cpu_count(unsigned *count, struct status *status) {
    (void)status;
    *count = 1;
    return true;
}

static bool cpu_probe(unsigned index, struct device_capabilities *capabilities,
                      struct status *status) {
    if (index > 0)
        return status_fail(status, STATUS_USAGE, "cpu:%u: there is only cpu:0", index);
    return machine_describe(capabilities, status);
}

static bool cpu_open(unsigned index, struct device **device, struct status *status) {
    struct device_capabilities ignored;
    return cpu_probe(index, &ignored, status) && device_cpu_open(0, false, device, status);
}

bool device_cpu_open(unsigned threads, bool deterministic, struct device **device,
                     struct status *status) {
    struct device_capabilities capabilities;
    if (!machine_describe(&capabilities, status))
        return false;
    if (threads > THREADS_MAX)
        return status_fail(status, STATUS_USAGE, "%u threads; the maximum is %d", threads,
                           THREADS_MAX);
    if (threads > 0)
        capabilities.compute_units = threads;
    if (deterministic && capabilities.compute_units > DETERMINISTIC_UNITS)
        capabilities.compute_units = DETERMINISTIC_UNITS;
    struct cpu_device *cpu = memory_allocate_aligned(sizeof *cpu, ALIGNMENT, status);
    if (!cpu)
        return false;
    memset(cpu, 0, sizeof *cpu);
    cpu->pool = thread_pool_create(capabilities.compute_units, machine_cores(), status);
    if (!cpu->pool) {
        memory_free(cpu);
        return false;
    }
    capabilities.compute_units = thread_pool_threads(cpu->pool);
    if (deterministic) {
        capabilities.deterministic = true;
        capabilities.threads = capabilities.compute_units;
        capabilities.compute_units = DETERMINISTIC_UNITS;
    }
    cpu->device = (struct device){.ops = &device_cpu, .capabilities = capabilities};
    cpu->owned.next = cpu->owned.before = &cpu->owned;
    *device = &cpu->device;
    return true;
}

static void cpu_close(struct device *device) {
    struct cpu_device *cpu = cpu_of(device);
    thread_pool_destroy(cpu->pool);
    while (cpu->owned.next != &cpu->owned)
        disown(cpu->owned.next);
    memory_free(cpu->shared);
    memory_free(cpu);
}

/* A system that overcommits memory would kill the program later, so refuse impossible sizes
 * here. */
static bool cpu_allocate(struct device *device, size_t bytes, struct device_memory *memory,
                         struct status *status) {
    struct cpu_device *cpu = cpu_of(device);
    uint64_t total = device->capabilities.memory_bytes;
    char asked[FORMAT_SIZE], live[FORMAT_SIZE], all[FORMAT_SIZE];
    if (total > 0 && (bytes > total || cpu->live_bytes > total - bytes))
        return status_fail(status, STATUS_MEMORY, "out of memory: %s requested, %s in use of %s",
                           format_bytes(bytes, asked), format_bytes(cpu->live_bytes, live),
                           format_bytes(total, all));
    void *pointer = allocate_owned(cpu, bytes, status);
    if (!pointer)
        return status_context(status, "%s of memory", format_bytes(bytes, asked));
    owned_of(pointer)->bytes = bytes;
    cpu->live_bytes += bytes;
    *memory = (struct device_memory){.handle = (uint64_t)(uintptr_t)pointer, .bytes = bytes};
    return true;
}

static void cpu_release(struct device *device, struct device_memory memory) {
    if (!memory.handle)
        return;
    struct owned *owned = owned_of((void *)(uintptr_t)memory.handle);
    cpu_of(device)->live_bytes -= owned->bytes;
    disown(owned);
}

static bool cpu_host_allocate(struct device *device, size_t bytes, void **memory,
                              struct status *status) {
    *memory = allocate_owned(cpu_of(device), bytes, status);
    return *memory != NULL;
}

static void cpu_host_release(struct device *device, void *memory) {
    (void)device;
    if (memory)
        disown(owned_of(memory));
}

static bool in_bounds(struct device_memory memory, size_t offset, size_t bytes,
                      struct status *status) {
    if (offset <= memory.bytes && bytes <= memory.bytes - offset)
        return true;
    return status_fail(status, STATUS_USAGE,
                       "a copy of %zu bytes at offset %zu does not fit into %zu bytes of memory",
                       bytes, offset, memory.bytes);
}

static char *address_of(struct device_memory memory, size_t offset) {
    return (char *)(uintptr_t)memory.handle + offset;
}

static void copy_units(const struct native_call *call) {
    size_t bytes = (size_t)call->scalars[0], begin, end;
    while (native_take(call, 1, &begin, &end)) {
        size_t at = begin * COPY_UNIT;
        size_t length = bytes - at < COPY_UNIT ? bytes - at : COPY_UNIT;
        memcpy((char *)call->buffers[0] + at, (const char *)call->buffers[1] + at, length);
    }
}

static void copy(struct cpu_device *cpu, char *to, const char *from, size_t bytes,
                 struct device_stamp *stamp) {
    stamp_begin(stamp);
    bool apart = to + bytes <= from || from + bytes <= to;
    if (bytes >= COPY_SHARED && apart) {
        void *buffers[] = {to, (void *)(uintptr_t)from};
        int64_t scalars[] = {(int64_t)bytes};
        thread_pool_run(cpu->pool, copy_units,
                        &(struct native_call){.buffers = buffers,
                                              .scalars = scalars,
                                              .units = (bytes + COPY_UNIT - 1) / COPY_UNIT});
    } else if (bytes > 0) {
        memmove(to, from, bytes);
    }
    stamp_end(stamp);
}

static bool cpu_copy_in(struct device *device, unsigned queue, struct device_memory to,
                        size_t offset, const void *from, size_t bytes, struct device_stamp *stamp,
                        struct status *status) {
    (void)queue;
    if (!in_bounds(to, offset, bytes, status))
        return false;
    copy(cpu_of(device), address_of(to, offset), from, bytes, stamp);
    return true;
}

static bool cpu_copy_out(struct device *device, unsigned queue, void *to, struct device_memory from,
                         size_t offset, size_t bytes, struct device_stamp *stamp,
                         struct status *status) {
    (void)queue;
    if (!in_bounds(from, offset, bytes, status))
        return false;
    copy(cpu_of(device), to, address_of(from, offset), bytes, stamp);
    return true;
}

static bool cpu_copy_within(struct device *device, unsigned queue, struct device_memory to,
                            size_t to_offset, struct device_memory from, size_t from_offset,
                            size_t bytes, struct device_stamp *stamp, struct status *status) {
    (void)queue;
    if (!in_bounds(to, to_offset, bytes, status) || !in_bounds(from, from_offset, bytes, status))
        return false;
    copy(cpu_of(device), address_of(to, to_offset), address_of(from, from_offset), bytes, stamp);
    return true;
}

static bool cpu_load(struct device *device, const struct kernel_code *code,
                     struct device_kernel **loaded, struct status *status) {
    struct cpu_device *cpu = cpu_of(device);
    if (code->kind != CODE_NATIVE || !code->function)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "kernel %s: the CPU runs native functions only", code->name);
    if (!thread_pool_reserve_scratch(cpu->pool, code->scratch_bytes, status))
        return status_context(status, "kernel %s: %zu bytes of scratch per thread", code->name,
                              code->scratch_bytes);
    size_t head = (sizeof(struct cpu_kernel) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, whole;
    if (__builtin_add_overflow(head, code->context_size, &whole))
        return status_no_memory(status);
    struct cpu_kernel *kernel = allocate_owned(cpu, whole, status);
    if (!kernel)
        return status_context(status, "kernel %s", code->name);
    char *context = (char *)kernel + head;
    *kernel = (struct cpu_kernel){.function = code->function};
    snprintf(kernel->kernel.name, sizeof kernel->kernel.name, "%s", code->name);
    if (code->context_size > 0) {
        memcpy(context, code->context, code->context_size);
        kernel->context = context;
    }
    *loaded = &kernel->kernel;
    return true;
}

static void cpu_unload(struct device *device, struct device_kernel *kernel) {
    (void)device;
    if (kernel)
        disown(owned_of(kernel));
}

static bool reserve_shared(struct cpu_device *cpu, size_t bytes, struct status *status) {
    if (bytes <= cpu->shared_bytes)
        return true;
    void *shared = memory_allocate_aligned(bytes, ALIGNMENT, status);
    if (!shared)
        return status_context(status, "%zu bytes of memory shared by the threads", bytes);
    memory_free(cpu->shared);
    cpu->shared = shared;
    cpu->shared_bytes = bytes;
    return true;
}

/* Checks that a launch is valid. */
static bool check_launch(struct cpu_device *cpu, const struct launch *launch,
                         struct status *status) {
    if (launch->buffer_count > LAUNCH_BUFFERS_MAX)
        return status_fail(status, STATUS_USAGE, "kernel %s has %u buffers; the maximum is %d",
                           launch->kernel->name, launch->buffer_count, LAUNCH_BUFFERS_MAX);
    return reserve_shared(cpu, launch->shared_bytes, status);
}

static void cpu_run(struct cpu_device *cpu, const struct launch *launch) {
    const struct cpu_kernel *kernel = (const struct cpu_kernel *)launch->kernel;
    void *buffers[LAUNCH_BUFFERS_MAX];
    for (unsigned i = 0; i < launch->buffer_count; i++)
        buffers[i] = address_of(launch->buffers[i].memory, launch->buffers[i].offset);
    struct native_call call = {
        .buffers = buffers,
        .scalars = launch->scalars,
        .context = kernel->context,
        .units = launch->grid[0],
        .shared = launch->shared_bytes > 0 ? cpu->shared : NULL,
    };
    thread_pool_run(cpu->pool, kernel->function, &call);
}

static bool cpu_launch(struct device *device, unsigned queue, const struct launch *launch,
                       struct device_stamp *stamp, struct status *status) {
    struct cpu_device *cpu = cpu_of(device);
    (void)queue;
    if (!check_launch(cpu, launch, status))
        return false;
    stamp_begin(stamp);
    cpu_run(cpu, launch);
    stamp_end(stamp);
    return true;
}

/* One block: the launches, then all buffers, then all scalars. */
static bool cpu_graph_create(struct device *device, const struct launch *launches, unsigned count,
                             void **created, struct status *status) {
    struct cpu_device *cpu = cpu_of(device);
    size_t buffer_count = 0, scalar_count = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!check_launch(cpu, &launches[i], status))
            return false;
        buffer_count += launches[i].buffer_count;
        scalar_count += launches[i].scalar_count;
    }
    struct cpu_graph *graph = allocate_owned(cpu,
                                             sizeof *graph + count * sizeof *launches +
                                                 buffer_count * sizeof(struct launch_buffer) +
                                                 scalar_count * sizeof(int64_t),
                                             status);
    if (!graph)
        return status_context(status, "a graph of %u launches", count);
    struct launch_buffer *buffers = (struct launch_buffer *)&graph->launches[count];
    int64_t *scalars = (int64_t *)&buffers[buffer_count];
    graph->count = count;
    for (unsigned i = 0; i < count; i++) {
        struct launch *launch = &graph->launches[i];
        *launch = launches[i];
        launch->detail = NULL;
        launch->buffers = buffers;
        launch->scalars = scalars;
        for (unsigned k = 0; k < launch->buffer_count; k++)
            *buffers++ = launches[i].buffers[k];
        for (unsigned k = 0; k < launch->scalar_count; k++)
            *scalars++ = launches[i].scalars[k];
    }
    *created = graph;
    return true;
}

static bool cpu_graph_replay(struct device *device, unsigned queue, void *graph,
                             struct status *status) {
    const struct cpu_graph *replayed = graph;
    (void)queue;
    (void)status;
    for (unsigned i = 0; i < replayed->count; i++)
        cpu_run(cpu_of(device), &replayed->launches[i]);
    return true;
}

static void cpu_graph_destroy(struct device *device, void *graph) {
    (void)device;
    if (graph)
        disown(owned_of(graph));
}

static bool cpu_record(struct device *device, unsigned queue, struct device_event *event,
                       struct status *status) {
    (void)device;
    (void)queue;
    (void)status;
    event->handle = 0;
    return true;
}

static void cpu_event_release(struct device *device, struct device_event event) {
    (void)device;
    (void)event;
}

static bool cpu_reached(struct device *device, struct device_event event) {
    (void)device;
    (void)event;
    return true;
}

static bool cpu_order(struct device *device, unsigned queue, struct device_event event,
                      struct status *status) {
    (void)device;
    (void)queue;
    (void)event;
    (void)status;
    return true;
}

static bool cpu_finish(struct device *device, struct status *status) {
    (void)device;
    (void)status;
    return true;
}

static bool cpu_resolve(struct device *device, struct device_stamp *stamp, int64_t *start,
                        int64_t *end, struct status *status) {
    (void)device;
    (void)status;
    *start = (int64_t)stamp->begin;
    *end = (int64_t)stamp->end;
    *stamp = (struct device_stamp){0};
    return true;
}

static int64_t cpu_clock_error(struct device *device) {
    (void)device;
    return 0;
}

static void cpu_prepare_stamps(struct device *device, char *how, size_t capacity) {
    (void)device;
    snprintf(how, capacity, "the host's clock");
}

const struct device_ops device_cpu = {
    .name = "cpu",
    .count = cpu_count,
    .probe = cpu_probe,
    .open = cpu_open,
    .close = cpu_close,
    .allocate = cpu_allocate,
    .release = cpu_release,
    .host_allocate = cpu_host_allocate,
    .host_release = cpu_host_release,
    .copy_in = cpu_copy_in,
    .copy_out = cpu_copy_out,
    .copy_within = cpu_copy_within,
    .load = cpu_load,
    .unload = cpu_unload,
    .launch = cpu_launch,
    .graph_create = cpu_graph_create,
    .graph_replay = cpu_graph_replay,
    .graph_destroy = cpu_graph_destroy,
    .record = cpu_record,
    .event_release = cpu_event_release,
    .reached = cpu_reached,
    .order = cpu_order,
    .finish = cpu_finish,
    .resolve = cpu_resolve,
    .clock_error = cpu_clock_error,
    .prepare_stamps = cpu_prepare_stamps,
};
