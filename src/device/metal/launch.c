/* Launches: a pipeline, its buffers and scalars, a dispatch; and graphs, copies of launches that
 * are encoded together. */
#include "base/memory.h"

#include <string.h>

#include "base/clock.h"
#include "device/metal/metal.h"

enum { THREADGROUP_ALIGNMENT = 16 };

static bool is_empty(const struct launch *launch) {
    const uint32_t *grid = launch->grid, *block = launch->block;
    return !grid[0] || !grid[1] || !grid[2] || !block[0] || !block[1] || !block[2];
}

static bool check_launch(const struct metal_device *device, const struct launch *launch,
                         struct status *status) {
    const struct metal_pipeline *pipeline = ((const struct metal_kernel *)launch->kernel)->pipeline;
    const uint32_t *block = launch->block;
    uint64_t plane = (uint64_t)block[0] * block[1];
    if (block[2] && plane > pipeline->threads_max / block[2])
        return status_fail(status, STATUS_USAGE,
                           "kernel %s: blocks of %u x %u x %u threads; compiled for this device, "
                           "it allows at most %u",
                           launch->kernel->name, block[0], block[1], block[2],
                           pipeline->threads_max);
    if (launch->shared_bytes > device->base.capabilities.shared_max)
        return status_fail(
            status, STATUS_USAGE, "kernel %s: %u bytes of threadgroup memory; the device has %u",
            launch->kernel->name, launch->shared_bytes, device->base.capabilities.shared_max);
    return true;
}

static void set_parameters(const struct metal_library *library, metal_id encoder,
                           const struct launch *launch, bool has_dynamic) {
    for (unsigned i = 0; i < launch->buffer_count; i++) {
        const struct launch_buffer *buffer = &launch->buffers[i];
        const struct metal_memory *memory = metal_memory_of(buffer->memory);
        SEND(library, set_buffer, encoder, memory ? memory->buffer : NULL,
             memory ? buffer->offset : 0, i);
    }
    if (launch->scalar_count)
        SEND(library, set_bytes, encoder, launch->scalars,
             launch->scalar_count * sizeof *launch->scalars, launch->buffer_count);
    if (has_dynamic) {
        metal_uint bytes = launch->shared_bytes ? launch->shared_bytes : 1;
        bytes = (bytes + THREADGROUP_ALIGNMENT - 1) / THREADGROUP_ALIGNMENT * THREADGROUP_ALIGNMENT;
        SEND(library, set_threadgroup_memory, encoder, bytes, 0);
    }
}

static bool encode_launch(struct metal_device *device, struct metal_queue *queue,
                          const struct launch *launch, struct status *status) {
    const struct metal_library *library = device->library;
    const struct metal_kernel *kernel = (const struct metal_kernel *)launch->kernel;
    const uint32_t *grid = launch->grid, *block = launch->block;
    metal_id encoder;
    if (!metal_encode(device, queue, METAL_COMPUTE, &encoder, status))
        return status_context(status, "kernel %s", launch->kernel->name);
    SEND(library, set_pipeline, encoder, kernel->pipeline->state);
    set_parameters(library, encoder, launch, kernel->has_dynamic);
    SEND(library, dispatch, encoder, ((metal_size){grid[0], grid[1], grid[2]}),
         ((metal_size){block[0], block[1], block[2]}));
    return true;
}

bool metal_launch(struct device *base, unsigned number, const struct launch *launch,
                  struct device_stamp *stamp, struct status *status) {
    struct metal_device *device = metal_of(base);
    const struct metal_library *library = device->library;
    struct metal_queue *queue;
    if (!check_launch(device, launch, status) || !metal_queue(device, number, &queue, status))
        return false;
    if (is_empty(launch)) {
        metal_stamp_host(stamp, clock_now());
        return true;
    }
    void *pool = library->objc_autoreleasePoolPush();
    if (stamp) /* a command buffer of its own */
        metal_commit(device, queue, NULL);
    bool ok = encode_launch(device, queue, launch, status);
    if (ok && stamp)
        metal_commit(device, queue, stamp);
    else if (ok)
        metal_submit(device, queue);
    library->objc_autoreleasePoolPop(pool);
    return ok;
}

static bool fill_node(const struct metal_device *device, const struct launch *launch,
                      struct metal_node *node, struct status *status) {
    if (!check_launch(device, launch, status))
        return false;
    node->launch = *launch;
    node->launch.detail = NULL;
    node->buffers = memory_allocate(launch->buffer_count + 1, sizeof *node->buffers, status);
    node->scalars = memory_allocate(launch->scalar_count + 1, sizeof *node->scalars, status);
    if (!node->buffers || !node->scalars)
        return false;
    if (launch->buffer_count)
        memcpy(node->buffers, launch->buffers, launch->buffer_count * sizeof *node->buffers);
    if (launch->scalar_count)
        memcpy(node->scalars, launch->scalars, launch->scalar_count * sizeof *node->scalars);
    node->launch.buffers = node->buffers;
    node->launch.scalars = node->scalars;
    return true;
}

bool metal_graph_create(struct device *base, const struct launch *launches, unsigned count,
                        void **graph, struct status *status) {
    struct metal_device *device = metal_of(base);
    struct metal_graph *made =
        memory_allocate(1, sizeof *made + (size_t)count * sizeof made->nodes[0], status);
    if (!made)
        return false;
    metal_link_add(&device->graphs, &made->link);
    for (; made->count < count; made->count++)
        if (!fill_node(device, &launches[made->count], &made->nodes[made->count], status)) {
            made->count++; /* the one that failed may have memory */
            metal_graph_destroy(base, made);
            return false;
        }
    *graph = made;
    return true;
}

/* All launches in one command buffer, which is committed. */
bool metal_graph_replay(struct device *base, unsigned number, void *graph, struct status *status) {
    struct metal_device *device = metal_of(base);
    const struct metal_graph *made = graph;
    struct metal_queue *queue;
    if (!metal_queue(device, number, &queue, status))
        return false;
    bool ok = true;
    void *pool = device->library->objc_autoreleasePoolPush();
    for (unsigned i = 0; i < made->count && ok; i++)
        if (!is_empty(&made->nodes[i].launch))
            ok = encode_launch(device, queue, &made->nodes[i].launch, status);
    metal_commit(device, queue, NULL);
    device->library->objc_autoreleasePoolPop(pool);
    return ok;
}

void metal_graph_destroy(struct device *base, void *graph) {
    struct metal_graph *made = graph;
    (void)base;
    if (!made)
        return;
    for (unsigned i = 0; i < made->count; i++) {
        memory_free(made->nodes[i].buffers);
        memory_free(made->nodes[i].scalars);
    }
    metal_link_remove(&made->link);
    memory_free(made);
}
