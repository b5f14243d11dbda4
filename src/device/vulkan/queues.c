/* In what order does work run? Every queue has a timeline semaphore that counts its submissions, so
 * an event is a queue and a value. Commands are recorded into batches; a barrier before each
 * command makes a queue run in order. Events order the queues among each other.
 */
#include "device/vulkan/vulkan.h"

enum { ARGUMENT_BYTES = 64 << 10, QUEUE_SHIFT = 56 };

static bool create_timeline(struct vulkan_device *device, vk_handle *timeline,
                            struct status *status) {
    const struct vk_semaphore_type_create_info type = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
        .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const struct vk_semaphore_create_info info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                                  .pNext = &type};
    return vulkan_check(device->calls.vkCreateSemaphore(device->device, &info, NULL, timeline),
                        "vkCreateSemaphore", status);
}

static bool create_queue(struct vulkan_device *device, unsigned number, struct status *status) {
    struct vulkan_queue *queue = &device->queues[number];
    const struct vk_command_buffer_allocate_info info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = device->commands,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1};
    device->calls.vkGetDeviceQueue(device->device, device->traits.family, number, &queue->queue);
    for (unsigned i = 0; i < VULKAN_BATCHES; i++)
        if (!vulkan_check(device->calls.vkAllocateCommandBuffers(device->device, &info,
                                                                 &queue->batches[i].commands),
                          "vkAllocateCommandBuffers", status))
            return false;
    return create_timeline(device, &queue->timeline, status);
}

bool vulkan_queues_create(struct vulkan_device *device, struct status *status) {
    const struct vk_command_pool_create_info info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
        .queueFamilyIndex = device->traits.family};
    if (!vulkan_check(
            device->calls.vkCreateCommandPool(device->device, &info, NULL, &device->commands),
            "vkCreateCommandPool", status))
        return false;
    for (unsigned i = 0; i < device->base.capabilities.queues; i++)
        if (!create_queue(device, i, status))
            return false;
    return true;
}

/* Memory of arguments is in the device's list. */
void vulkan_queues_destroy(struct vulkan_device *device) {
    for (unsigned i = 0; i < VULKAN_QUEUES; i++)
        if (device->queues[i].timeline)
            device->calls.vkDestroySemaphore(device->device, device->queues[i].timeline, NULL);
    if (device->commands)
        device->calls.vkDestroyCommandPool(device->device, device->commands, NULL);
}

static bool check_number(const struct vulkan_device *device, unsigned number,
                         struct status *status) {
    unsigned count = device->base.capabilities.queues;
    return number < count ||
           status_fail(status, STATUS_USAGE, "vulkan:%u has queues 0 to %u, not %u",
                       device->base.index, count - 1, number);
}

static bool wait_value(struct vulkan_device *device, unsigned number, uint64_t value,
                       struct status *status) {
    const struct vk_semaphore_wait_info info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                                .semaphoreCount = 1,
                                                .pSemaphores = &device->queues[number].timeline,
                                                .pValues = &value};
    return value == 0 ||
           vulkan_check(device->calls.vkWaitSemaphores(device->device, &info, UINT64_MAX),
                        "vkWaitSemaphores", status);
}

static bool start_batch(struct vulkan_device *device, unsigned number, struct status *status) {
    struct vulkan_queue *queue = &device->queues[number];
    struct vulkan_batch *batch = &queue->batches[queue->current];
    const struct vk_command_buffer_begin_info info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    if (!wait_value(device, number, batch->value, status) ||
        !vulkan_check(device->calls.vkBeginCommandBuffer(batch->commands, &info),
                      "vkBeginCommandBuffer", status))
        return false;
    batch->used = 0;
    queue->recording = true;
    return true;
}

/* Host reads come after a wait for the timeline, so the device's writes go to the host, too. */
void vulkan_barrier(struct vulkan_device *device, vk_command_buffer commands) {
    const vk_flags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    const struct vk_memory_barrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                         VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT |
                         VK_ACCESS_HOST_READ_BIT};
    device->calls.vkCmdPipelineBarrier(commands, stages, stages | VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                                       &barrier, 0, NULL, 0, NULL);
}

bool vulkan_begin(struct vulkan_device *device, unsigned number, size_t bytes,
                  struct vulkan_batch **begun, struct status *status) {
    if (!check_number(device, number, status))
        return false;
    struct vulkan_queue *queue = &device->queues[number];
    if (queue->recording && bytes > ARGUMENT_BYTES - queue->batches[queue->current].used &&
        !vulkan_submit(device, number, status))
        return false;
    if (!queue->recording && !start_batch(device, number, status))
        return false;
    struct vulkan_batch *batch = &queue->batches[queue->current];
    if (bytes && !batch->arguments &&
        !vulkan_memory_create(device, ARGUMENT_BYTES, VULKAN_UPLOAD, &batch->arguments, status))
        return false;
    vulkan_barrier(device, batch->commands);
    *begun = batch;
    return true;
}

bool vulkan_submit_commands(struct vulkan_device *device, unsigned number,
                            vk_command_buffer commands, struct status *status) {
    struct vulkan_queue *queue = &device->queues[number];
    const uint64_t value = queue->submitted + 1;
    vk_handle semaphores[VULKAN_QUEUES];
    uint64_t values[VULKAN_QUEUES];
    vk_flags stages[VULKAN_QUEUES];
    uint32_t waits = 0;
    for (unsigned i = 0; i < VULKAN_QUEUES; i++)
        if (queue->awaited[i]) {
            semaphores[waits] = device->queues[i].timeline;
            values[waits] = queue->awaited[i];
            stages[waits++] = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
        }
    const struct vk_timeline_semaphore_submit_info timeline = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = waits,
        .pWaitSemaphoreValues = values,
        .signalSemaphoreValueCount = 1,
        .pSignalSemaphoreValues = &value};
    const struct vk_submit_info info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                        .pNext = &timeline,
                                        .waitSemaphoreCount = waits,
                                        .pWaitSemaphores = semaphores,
                                        .pWaitDstStageMask = stages,
                                        .commandBufferCount = commands ? 1 : 0,
                                        .pCommandBuffers = &commands,
                                        .signalSemaphoreCount = 1,
                                        .pSignalSemaphores = &queue->timeline};
    if (!vulkan_check(device->calls.vkQueueSubmit(queue->queue, 1, &info, 0), "vkQueueSubmit",
                      status))
        return false;
    for (unsigned i = 0; i < VULKAN_QUEUES; i++)
        queue->awaited[i] = 0;
    queue->submitted = value;
    return true;
}

/* A batch that cannot be submitted is dropped: whatever made it fail would happen again. */
bool vulkan_submit(struct vulkan_device *device, unsigned number, struct status *status) {
    struct vulkan_queue *queue = &device->queues[number];
    struct vulkan_batch *batch = &queue->batches[queue->current];
    if (!queue->recording)
        return true;
    queue->recording = false;
    vulkan_barrier(device, batch->commands);
    if (!vulkan_check(device->calls.vkEndCommandBuffer(batch->commands), "vkEndCommandBuffer",
                      status) ||
        !vulkan_submit_commands(device, number, batch->commands, status))
        return false;
    batch->value = queue->submitted;
    queue->current = (queue->current + 1) % VULKAN_BATCHES;
    return true;
}

/* A submission costs more than recording a launch. The first launches are submitted at once, so
 * that the device has work, then every sixteenth. */
bool vulkan_submit_some(struct vulkan_device *device, unsigned number, struct status *status) {
    enum { EVERY = 16 };
    unsigned launches = ++device->queues[number].launches;
    if (launches % EVERY != 0 && (launches > EVERY || (launches & (launches - 1)) != 0))
        return true;
    return vulkan_submit(device, number, status);
}

uint64_t vulkan_next_value(const struct vulkan_device *device, unsigned number) {
    return device->queues[number].submitted + (device->queues[number].recording ? 1 : 0);
}

bool vulkan_wait(struct vulkan_device *device, unsigned number, uint64_t value,
                 struct status *status) {
    if (value > device->queues[number].submitted && !vulkan_submit(device, number, status))
        return false;
    return wait_value(device, number, value, status);
}

/* ---- Events ------------------------------------------------------------------------------- */

/* An event is the value that the queue reaches, with the queue's number above it. */
bool vulkan_record(struct device *base, unsigned number, struct device_event *event,
                   struct status *status) {
    struct vulkan_device *device = vulkan_of(base);
    if (!check_number(device, number, status) || !vulkan_submit(device, number, status))
        return false;
    event->handle = device->queues[number].submitted | (uint64_t)number << QUEUE_SHIFT;
    return true;
}

void vulkan_event_release(struct device *base, struct device_event event) {
    (void)base;
    (void)event;
}

/* A queue that cannot be queried makes no further progress. */
bool vulkan_reached(struct device *base, struct device_event event) {
    struct vulkan_device *device = vulkan_of(base);
    uint64_t value = event.handle & (((uint64_t)1 << QUEUE_SHIFT) - 1), now = 0;
    unsigned number = (unsigned)(event.handle >> QUEUE_SHIFT);
    return device->calls.vkGetSemaphoreCounterValue(device->device, device->queues[number].timeline,
                                                    &now) != VK_SUCCESS ||
           now >= value;
}

bool vulkan_order(struct device *base, unsigned number, struct device_event event,
                  struct status *status) {
    struct vulkan_device *device = vulkan_of(base);
    uint64_t value = event.handle & (((uint64_t)1 << QUEUE_SHIFT) - 1);
    unsigned other = (unsigned)(event.handle >> QUEUE_SHIFT);
    if (!check_number(device, number, status))
        return false;
    if (other == number || value == 0)
        return true;
    /* what is recorded already need not wait */
    if (!vulkan_submit(device, number, status))
        return false;
    struct vulkan_queue *queue = &device->queues[number];
    if (queue->awaited[other] < value)
        queue->awaited[other] = value;
    return true;
}

bool vulkan_finish(struct device *base, struct status *status) {
    struct vulkan_device *device = vulkan_of(base);
    bool ok = true;
    for (unsigned i = 0; i < device->base.capabilities.queues; i++) {
        if (!vulkan_wait(device, i, vulkan_next_value(device, i), status))
            ok = false;
        device->queues[i].launches = 0;
    }
    return ok;
}
