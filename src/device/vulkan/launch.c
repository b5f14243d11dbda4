/* Launches: arguments, sizes, the queue; and graphs, launches in a command buffer of their own. */
#include <string.h>

#include "base/memory.h"
#include "device/vulkan/vulkan.h"

enum { WORDS_MAX = LAUNCH_BUFFERS_MAX + LAUNCH_SCALARS_MAX + 1 };

/* The arguments as the kernel reads them: addresses, scalars, grid[0]. */
static unsigned write_arguments(const struct launch *launch, uint64_t words[WORDS_MAX]) {
    unsigned count = 0;
    for (unsigned i = 0; i < launch->buffer_count; i++) {
        const struct vulkan_memory *memory = vulkan_object(launch->buffers[i].memory);
        words[count++] = memory ? memory->address + launch->buffers[i].offset : 0;
    }
    for (unsigned i = 0; i < launch->scalar_count; i++)
        words[count++] = (uint64_t)launch->scalars[i];
    words[count++] = launch->grid[0];
    return count;
}

/* Bytes of memory that the arguments need; 0 if they are push constants. */
static size_t argument_bytes(const struct launch *launch) {
    unsigned count = launch->buffer_count + launch->scalar_count + 1;
    return count <= GLSL_PUSH_WORDS ? 0 : count * sizeof(uint64_t);
}

static bool is_empty(const struct launch *launch) {
    return !launch->grid[0] || !launch->grid[1] || !launch->grid[2];
}

static bool check_launch(const struct vulkan_device *device, const struct launch *launch,
                         struct status *status) {
    const struct vulkan_kernel *kernel = (const struct vulkan_kernel *)launch->kernel;
    const uint32_t *max = device->traits.grid_max;
    if (launch->block[0] != kernel->threads || launch->block[1] != 1 || launch->block[2] != 1)
        return status_fail(status, STATUS_USAGE,
                           "kernel %s: blocks of %u x %u x %u threads; it is compiled for %u",
                           launch->kernel->name, launch->block[0], launch->block[1],
                           launch->block[2], kernel->threads);
    if (launch->buffer_count > LAUNCH_BUFFERS_MAX || launch->scalar_count > LAUNCH_SCALARS_MAX)
        return status_fail(status, STATUS_USAGE, "kernel %s has too many arguments",
                           launch->kernel->name);
    if (launch->grid[2] > 1 || launch->grid[1] > max[1] ||
        launch->grid[0] / max[0] >= max[2]) /* continued along z */
        return status_fail(status, STATUS_UNSUPPORTED,
                           "kernel %s: a grid of %u x %u x %u blocks is too large for this device",
                           launch->kernel->name, launch->grid[0], launch->grid[1], launch->grid[2]);
    return true;
}

/* `at` is where in `memory` arguments go that are not pushed. */
static void record_launch(struct vulkan_device *device, vk_command_buffer commands,
                          const struct launch *launch, const struct vulkan_memory *memory,
                          size_t at) {
    const struct vulkan_calls *calls = &device->calls;
    uint64_t words[WORDS_MAX], address;
    unsigned count = write_arguments(launch, words);
    uint32_t width = launch->grid[0], max = device->traits.grid_max[0];
    uint32_t depth = width / max + (width % max != 0);
    calls->vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                             ((const struct vulkan_kernel *)launch->kernel)->pipeline);
    if (argument_bytes(launch)) {
        memcpy((char *)memory->mapped + at, words, count * sizeof *words);
        address = memory->address + at;
        calls->vkCmdPushConstants(commands, device->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                  sizeof address, &address);
    } else {
        calls->vkCmdPushConstants(commands, device->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                  (uint32_t)(count * sizeof *words), words);
    }
    calls->vkCmdDispatch(commands, depth > 1 ? max : width, launch->grid[1], depth);
}

bool vulkan_launch(struct device *base, unsigned number, const struct launch *launch,
                   struct device_stamp *stamp, struct status *status) {
    struct vulkan_device *device = vulkan_of(base);
    struct vulkan_batch *batch;
    size_t bytes = argument_bytes(launch);
    if (stamp)
        *stamp = (struct device_stamp){0};
    if (!check_launch(device, launch, status))
        return false;
    if (is_empty(launch))
        return true;
    if (!vulkan_begin(device, number, bytes, &batch, status) ||
        !vulkan_stamp_begin(device, number, batch->commands, stamp, status))
        return false;
    record_launch(device, batch->commands, launch, batch->arguments, batch->used);
    batch->used += bytes;
    vulkan_stamp_end(device, number, batch->commands, stamp);
    return vulkan_submit_some(device, number, status);
}

/* ---- Graphs ------------------------------------------------------------------------------- */

static bool record_graph(struct vulkan_device *device, struct vulkan_graph *graph,
                         const struct launch *launches, unsigned count, struct status *status) {
    const struct vk_command_buffer_begin_info info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
    size_t used = 0;
    if (!vulkan_check(device->calls.vkBeginCommandBuffer(graph->commands, &info),
                      "vkBeginCommandBuffer", status))
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (is_empty(&launches[i]))
            continue;
        vulkan_barrier(device, graph->commands);
        record_launch(device, graph->commands, &launches[i], graph->arguments, used);
        used += argument_bytes(&launches[i]);
    }
    vulkan_barrier(device, graph->commands);
    return vulkan_check(device->calls.vkEndCommandBuffer(graph->commands), "vkEndCommandBuffer",
                        status);
}

static bool fill_graph(struct vulkan_device *device, struct vulkan_graph *graph,
                       const struct launch *launches, unsigned count, struct status *status) {
    const struct vk_command_buffer_allocate_info info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = device->commands,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1};
    size_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!check_launch(device, &launches[i], status))
            return false;
        bytes += argument_bytes(&launches[i]);
    }
    return (bytes == 0 ||
            vulkan_memory_create(device, bytes, VULKAN_UPLOAD, &graph->arguments, status)) &&
           vulkan_check(
               device->calls.vkAllocateCommandBuffers(device->device, &info, &graph->commands),
               "vkAllocateCommandBuffers", status) &&
           record_graph(device, graph, launches, count, status);
}

bool vulkan_graph_create(struct device *base, const struct launch *launches, unsigned count,
                         void **graph, struct status *status) {
    struct vulkan_device *device = vulkan_of(base);
    struct vulkan_graph *made = memory_allocate(1, sizeof *made, status);
    if (!made)
        return false;
    vulkan_link_add(&device->graphs, &made->link);
    if (!fill_graph(device, made, launches, count, status)) {
        vulkan_graph_destroy(base, made);
        return false;
    }
    *graph = made;
    return true;
}

bool vulkan_graph_replay(struct device *base, unsigned number, void *graph, struct status *status) {
    struct vulkan_device *device = vulkan_of(base);
    struct vulkan_graph *made = graph;
    if (number >= base->capabilities.queues)
        return status_fail(status, STATUS_USAGE, "vulkan:%u has %u queues, not a queue %u",
                           base->index, base->capabilities.queues, number);
    if (!vulkan_submit(device, number, status) ||
        !vulkan_submit_commands(device, number, made->commands, status))
        return false;
    made->values[number] = device->queues[number].submitted;
    return true;
}

void vulkan_graph_destroy(struct device *base, void *graph) {
    struct vulkan_device *device = vulkan_of(base);
    struct vulkan_graph *made = graph;
    struct status ignored;
    if (!made)
        return;
    for (unsigned i = 0; i < VULKAN_QUEUES; i++)
        if (made->values[i])
            vulkan_wait(device, i, made->values[i], &ignored);
    if (made->commands)
        device->calls.vkFreeCommandBuffers(device->device, device->commands, 1, &made->commands);
    vulkan_memory_destroy(device, made->arguments);
    vulkan_link_remove(&made->link);
    memory_free(made);
}
