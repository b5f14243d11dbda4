/* Submissions and waits.
 *
 * To each batch with timed commands a command buffer of the probe is appended. It copies the
 * results of the batch to a ring and then sets a marker, so that results survive when the program
 * records or submits its command buffers again. The probe's command buffers are reused after a
 * fence of their own, which follows every few of them; the fences and semaphores of the program are
 * not touched.
 */
#include "probe/vulkan/vulkan.h"

#include <string.h>

#include "base/clock.h"
#include "probe/capture.h"

enum { UNFENCED_MAX = 16, SIGNALS = 8 };
#define FENCE_TIMEOUT_NS 1000000000u

static const char no_space[] = "Vulkan: the probe ran out of space for timestamps";
static const char unusual[] =
    "Vulkan: protected submissions and those to device groups are not timed";
static const char untimed_queue[] =
    "Vulkan: a queue family without compute or without timestamps cannot be timed";

/* A command buffer of the probe. */
struct vulkan_copier {
    struct vulkan_copier *next;
    vk_command_buffer buffer;
};

/* What the probe adds to a batch; both NULL: nothing. */
struct addition {
    struct vulkan_submission *submission;
    struct vulkan_copier *copier;
};

/* ---- The probe's command buffers ----------------------------------------------------------- */

/* Those before a signaled fence are idle. */
static void retire(struct vulkan_queue *queue) {
    const struct vulkan_device *device = queue->device;
    if (!queue->fenced ||
        device->next.vkGetFenceStatus(device->handle, queue->fence) != VK_SUCCESS ||
        device->next.vkResetFences(device->handle, 1, &queue->fence) != VK_SUCCESS)
        return;
    struct vulkan_copier *first = queue->pending;
    queue->pending = queue->fenced->next;
    if (!queue->pending)
        queue->last_pending = NULL;
    queue->fenced->next = queue->idle;
    queue->idle = first;
    queue->fenced = NULL;
}

static void put_fence(struct vulkan_queue *queue) {
    const struct vulkan_device *device = queue->device;
    struct vk_fence_create_info info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    if (queue->unfenced < UNFENCED_MAX || queue->fenced || !queue->last_pending)
        return;
    if (!queue->fence &&
        device->next.vkCreateFence(device->handle, &info, NULL, &queue->fence) != VK_SUCCESS) {
        queue->fence = 0;
        return;
    }
    if (device->next.vkQueueSubmit(queue->handle, 0, NULL, queue->fence) != VK_SUCCESS)
        return;
    queue->fenced = queue->last_pending;
    queue->unfenced = 0;
}

static bool make_pool(struct vulkan_queue *queue) {
    const struct vulkan_device *device = queue->device;
    struct vk_command_pool_create_info info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags =
            VK_COMMAND_POOL_CREATE_TRANSIENT_BIT | VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
        .queueFamilyIndex = queue->family,
    };
    if (queue->pool ||
        device->next.vkCreateCommandPool(device->handle, &info, NULL, &queue->pool) == VK_SUCCESS)
        return true;
    queue->pool = 0;
    return false;
}

static struct vulkan_copier *take_copier(struct vulkan_queue *queue) {
    const struct vulkan_device *device = queue->device;
    struct vulkan_copier *copier = queue->idle;
    if (copier) {
        queue->idle = copier->next;
        copier->next = NULL;
        return copier;
    }
    copier = make_pool(queue) ? vulkan_allocate(sizeof *copier) : NULL;
    struct vk_command_buffer_allocate_info info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = queue->pool,
        .commandBufferCount = 1,
    };
    if (!copier)
        return NULL;
    if (device->next.vkAllocateCommandBuffers(device->handle, &info, &copier->buffer) !=
            VK_SUCCESS ||
        device->set_loader_data(device->handle, copier->buffer) != VK_SUCCESS) {
        vulkan_free(copier);
        return NULL;
    }
    return copier;
}

static void return_copier(struct vulkan_queue *queue, struct vulkan_copier *copier) {
    copier->next = queue->idle;
    queue->idle = copier;
}

static void add_pending(struct vulkan_queue *queue, struct vulkan_copier *copier) {
    if (queue->last_pending)
        queue->last_pending->next = copier;
    else
        queue->pending = copier;
    queue->last_pending = copier;
    queue->unfenced++;
}

static void free_copiers(struct vulkan_copier *copier) {
    while (copier) {
        struct vulkan_copier *next = copier->next;
        vulkan_free(copier);
        copier = next;
    }
}

void vulkan_queue_destroy(struct vulkan_queue *queue) {
    const struct vulkan_device *device = queue->device;
    if (queue->fenced)
        device->next.vkWaitForFences(device->handle, 1, &queue->fence, 1, FENCE_TIMEOUT_NS);
    if (queue->fence)
        device->next.vkDestroyFence(device->handle, queue->fence, NULL);
    if (queue->pool)
        device->next.vkDestroyCommandPool(device->handle, queue->pool, NULL);
    free_copiers(queue->idle);
    free_copiers(queue->pending);
    vulkan_free(queue);
}

static void put_barrier(const struct vulkan_device *device, vk_command_buffer buffer,
                        vk_flags stage, vk_flags access) {
    struct vk_memory_barrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
        .dstAccessMask = access,
    };
    device->next.vkCmdPipelineBarrier(buffer, VK_PIPELINE_STAGE_TRANSFER_BIT, stage, 0, 1, &barrier,
                                      0, NULL, 0, NULL);
}

static uint64_t copy_recording(const struct vulkan_recording *recording, vk_command_buffer buffer,
                               vk_handle to, uint64_t offset) {
    offset = vulkan_queries_copy(recording, buffer, to, offset);
    for (uint32_t i = 0; recording->children > 0 && i < recording->count; i++)
        if (recording->entries[i].child)
            offset = copy_recording(recording->entries[i].child, buffer, to, offset);
    return offset;
}

static bool record_copies(const struct vulkan_queue *queue, const struct addition *addition) {
    const struct vulkan_device *device = queue->device;
    const struct vulkan_submission *submission = addition->submission;
    vk_command_buffer buffer = addition->copier->buffer;
    struct vk_command_buffer_begin_info begin = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    vk_handle ring = submission->ring->buffer;
    uint64_t offset = (uint64_t)(submission->results - submission->ring->words) * sizeof(uint64_t);
    if (device->next.vkBeginCommandBuffer(buffer, &begin) != VK_SUCCESS)
        return false;
    for (uint32_t i = 0; i < submission->count; i++)
        offset = copy_recording(submission->recordings[i], buffer, ring, offset);
    put_barrier(device, buffer, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT);
    device->next.vkCmdFillBuffer(buffer, ring, offset, sizeof(uint64_t), 1);
    put_barrier(device, buffer, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    return device->next.vkEndCommandBuffer(buffer) == VK_SUCCESS;
}

/* ---- Batches -------------------------------------------------------------------------------- */

struct batch {
    const vk_command_buffer *buffers;
    uint32_t count;
    bool usual; /* the probe may append a command buffer */
};

static void sum_recording(const struct vulkan_recording *recording, uint64_t *words,
                          uint64_t *commands) {
    *words += recording->query_count;
    *commands += recording->commands - recording->untimed;
    if (recording->untimed)
        vulkan_count_untimed(recording->why, recording->untimed);
    for (uint32_t i = 0; recording->children > 0 && i < recording->count; i++)
        if (recording->entries[i].child)
            sum_recording(recording->entries[i].child, words, commands);
}

/* A submission with references to the batch's recordings; NULL when nothing in it is timed. */
static struct vulkan_submission *list_recordings(struct vulkan_queue *queue,
                                                 const struct batch *batch, uint64_t *words,
                                                 uint64_t *commands) {
    struct vulkan_submission *submission =
        vulkan_allocate(sizeof *submission + batch->count * sizeof(struct vulkan_recording *));
    if (!submission)
        return NULL;
    for (uint32_t i = 0; i < batch->count; i++) {
        struct vulkan_recording *recording = vulkan_recording_of(queue->device, batch->buffers[i]);
        if (!recording)
            continue;
        sum_recording(recording, words, commands);
        atomic_fetch_add(&recording->references, 1);
        submission->recordings[submission->count++] = recording;
    }
    submission->queue = queue;
    return submission;
}

static void drop(struct vulkan_submission *submission) {
    vulkan_submission_release(submission);
    vulkan_free(submission);
}

static struct addition plan_batch(struct vulkan_queue *queue, const struct batch *batch,
                                  uint32_t correlation, int64_t start) {
    struct addition addition = {0};
    uint64_t words = 0, commands = 0;
    struct vulkan_submission *submission = list_recordings(queue, batch, &words, &commands);
    if (!submission || words == 0) {
        if (submission)
            drop(submission);
        return addition;
    }
    submission->correlation = correlation;
    submission->submitted_at = start;
    submission->captured = capture_is_on() && capture_has_started(start);
    const char *why = !queue->timed ? untimed_queue : !batch->usual ? unusual : NULL;
    if (!why) {
        addition.copier = take_copier(queue);
        if (!addition.copier || words >= UINT32_MAX ||
            !vulkan_ring_take(queue->device, submission, (uint32_t)words))
            why = no_space;
    }
    if (why) {
        if (addition.copier)
            return_copier(queue, addition.copier);
        vulkan_count_untimed(why, commands);
        drop(submission);
        return (struct addition){0};
    }
    addition.submission = submission;
    if (record_copies(queue, &addition))
        return addition;
    vulkan_count_untimed(no_space, commands);
    atomic_store(&submission->done, true); /* the reader frees it */
    return_copier(queue, addition.copier);
    return (struct addition){0};
}

/* The device now has, or has refused, the batches. */
static void finish_batches(struct vulkan_queue *queue, const struct addition *additions,
                           uint32_t count, bool submitted) {
    for (uint32_t i = 0; i < count; i++) {
        if (!additions[i].submission)
            continue;
        if (submitted) {
            add_pending(queue, additions[i].copier);
        } else {
            return_copier(queue, additions[i].copier);
            atomic_store(&additions[i].submission->done, true);
        }
    }
    if (submitted)
        put_fence(queue);
}

static bool is_usual(const void *chain) {
    for (const struct vk_structure *at = chain; at; at = at->pNext)
        if (at->sType == VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO ||
            at->sType == VK_STRUCTURE_TYPE_PROTECTED_SUBMIT_INFO)
            return false;
    return true;
}

/* ---- What fences and semaphores stand for ---------------------------------------------------- */

/* The last signals of a semaphore, or the last use of a fence. */
struct signals {
    _Atomic uint32_t number, count;
    struct signal {
        uint64_t value; /* of a timeline semaphore, else 0 */
        struct vulkan_queue *queue;
        uint32_t correlation;
    } list[SIGNALS];
};

static void put_signal(struct vulkan_queue *queue, enum vulkan_object type, vk_handle handle,
                       uint64_t value, uint32_t correlation) {
    static _Atomic uint32_t serial;
    struct signals *signals = vulkan_object_find(queue->device, type, handle);
    if (!signals) {
        bool added;
        signals = vulkan_allocate(sizeof *signals);
        if (!signals)
            return;
        signals->number = atomic_fetch_add(&serial, 1) + 1;
        vulkan_object_set(queue->device, type, handle, signals, &added);
        if (!added) {
            vulkan_free(signals);
            return;
        }
    }
    uint32_t at = atomic_load(&signals->count);
    signals->list[at % SIGNALS] = (struct signal){value, queue, correlation};
    atomic_store(&signals->count, at + 1);
}

/* The earliest of the last signals with at least this value. */
static bool find_signal(const struct vulkan_device *device, enum vulkan_object type,
                        vk_handle handle, uint64_t value, struct signal *found, uint32_t *event) {
    const struct signals *signals = vulkan_object_find(device, type, handle);
    uint32_t count = signals ? atomic_load(&signals->count) : 0;
    bool any = false;
    for (uint32_t i = count > SIGNALS ? count - SIGNALS : 0; i < count; i++) {
        struct signal signal = signals->list[i % SIGNALS];
        if (signal.value >= value && (!any || signal.value <= found->value)) {
            *found = signal;
            any = true;
        }
    }
    if (any)
        *event = signals->number;
    return any;
}

struct submit_call {
    struct vulkan_queue *queue;
    uint32_t correlation;
    int64_t start, end;
};

/* A queue waits for another one. */
static void put_queue_wait(const struct submit_call *call, vk_handle semaphore, uint64_t value) {
    struct signal signal;
    uint32_t event;
    if (!find_signal(call->queue->device, OBJECT_SEMAPHORE, semaphore, value, &signal, &event) ||
        signal.queue == call->queue)
        return;
    vulkan_put_wait(&(struct vulkan_wait){
        .kind = WAIT_STREAM_EVENT,
        .start = call->start,
        .end = call->end,
        .device = call->queue->device,
        .queue = call->queue,
        .awaited = signal.queue,
        .correlation = call->correlation,
        .awaited_correlation = signal.correlation,
        .event = event,
    });
}

static void note_semaphores(const struct submit_call *call, const struct vk_submit_info *submit) {
    const struct vk_timeline_semaphore_submit_info *values = NULL;
    for (const struct vk_structure *at = submit->pNext; at; at = at->pNext)
        if (at->sType == VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO)
            values = (const void *)at;
    for (uint32_t i = 0; i < submit->waitSemaphoreCount; i++) {
        bool known = values && values->pWaitSemaphoreValues && i < values->waitSemaphoreValueCount;
        put_queue_wait(call, submit->pWaitSemaphores[i],
                       known ? values->pWaitSemaphoreValues[i] : 0);
    }
    for (uint32_t i = 0; i < submit->signalSemaphoreCount; i++) {
        bool known =
            values && values->pSignalSemaphoreValues && i < values->signalSemaphoreValueCount;
        put_signal(call->queue, OBJECT_SEMAPHORE, submit->pSignalSemaphores[i],
                   known ? values->pSignalSemaphoreValues[i] : 0, call->correlation);
    }
}

static void note_semaphores2(const struct submit_call *call, const struct vk_submit_info2 *submit) {
    for (uint32_t i = 0; i < submit->waitSemaphoreInfoCount; i++)
        put_queue_wait(call, submit->pWaitSemaphoreInfos[i].semaphore,
                       submit->pWaitSemaphoreInfos[i].value);
    for (uint32_t i = 0; i < submit->signalSemaphoreInfoCount; i++)
        put_signal(call->queue, OBJECT_SEMAPHORE, submit->pSignalSemaphoreInfos[i].semaphore,
                   submit->pSignalSemaphoreInfos[i].value, call->correlation);
}

void probe_vkDestroySemaphore(vk_device handle, vk_handle semaphore, const void *allocator) {
    struct vulkan_device *device = vulkan_device_of(handle);
    if (semaphore)
        vulkan_free(vulkan_object_take(device, OBJECT_SEMAPHORE, semaphore));
    device->next.vkDestroySemaphore(handle, semaphore, allocator);
}

void probe_vkDestroyFence(vk_device handle, vk_handle fence, const void *allocator) {
    struct vulkan_device *device = vulkan_device_of(handle);
    if (fence)
        vulkan_free(vulkan_object_take(device, OBJECT_FENCE, fence));
    device->next.vkDestroyFence(handle, fence, allocator);
}

/* ---- Submissions ------------------------------------------------------------------------------
 */

static struct vulkan_queue *queue_of(const struct vulkan_device *device, vk_queue handle) {
    return device->records && vulkan_probe()
               ? vulkan_object_find(device, OBJECT_QUEUE, vulkan_handle(handle))
               : NULL;
}

static int64_t put_submit(const char *name, int64_t start, vk_result result, uint32_t correlation) {
    return vulkan_put_call(&(struct vulkan_call){.name = name,
                                                 .class = CALL_LAUNCH,
                                                 .start = start,
                                                 .result = result,
                                                 .correlation = correlation});
}

/* Copies of the batches with one more command buffer each, in one block; NULL: out of memory. */
static struct vk_submit_info *extend(struct submit_call *call, uint32_t count,
                                     const struct vk_submit_info *submits,
                                     struct addition **additions) {
    size_t buffers = 0;
    for (uint32_t i = 0; i < count; i++)
        buffers += (size_t)submits[i].commandBufferCount + 1;
    struct vk_submit_info *copies = vulkan_allocate(
        count * sizeof *copies + count * sizeof **additions + buffers * sizeof(vk_command_buffer));
    if (!copies)
        return NULL;
    *additions = (struct addition *)(void *)(copies + count);
    vk_command_buffer *list = (vk_command_buffer *)(void *)(*additions + count);
    for (uint32_t i = 0; i < count; i++) {
        struct batch batch = {submits[i].pCommandBuffers, submits[i].commandBufferCount,
                              is_usual(submits[i].pNext)};
        (*additions)[i] = plan_batch(call->queue, &batch, call->correlation, call->start);
        copies[i] = submits[i];
        if (!(*additions)[i].copier)
            continue;
        memcpy(list, batch.buffers, batch.count * sizeof *list);
        list[batch.count] = (*additions)[i].copier->buffer;
        copies[i].pCommandBuffers = list;
        copies[i].commandBufferCount++;
        list += batch.count + 1;
    }
    return copies;
}

vk_result probe_vkQueueSubmit(vk_queue handle, uint32_t count, const struct vk_submit_info *submits,
                              vk_handle fence) {
    struct vulkan_device *device = vulkan_device_of(handle);
    struct submit_call call = {.queue = queue_of(device, handle),
                               .correlation = vulkan_next_correlation(),
                               .start = clock_now()};
    struct addition *additions = NULL;
    if (!call.queue) {
        vk_result result = device->next.vkQueueSubmit(handle, count, submits, fence);
        put_submit("vkQueueSubmit", call.start, result, call.correlation);
        return result;
    }
    retire(call.queue);
    struct vk_submit_info *copies = count ? extend(&call, count, submits, &additions) : NULL;
    vk_result result = device->next.vkQueueSubmit(handle, count, copies ? copies : submits, fence);
    call.end = put_submit("vkQueueSubmit", call.start, result, call.correlation);
    if (copies)
        finish_batches(call.queue, additions, count, result == VK_SUCCESS);
    vulkan_free(copies);
    for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++)
        note_semaphores(&call, &submits[i]);
    if (fence && result == VK_SUCCESS)
        put_signal(call.queue, OBJECT_FENCE, fence, 0, call.correlation);
    return result;
}

static struct vk_submit_info2 *extend2(struct submit_call *call, uint32_t count,
                                       const struct vk_submit_info2 *submits,
                                       struct addition **additions) {
    size_t infos = 0;
    for (uint32_t i = 0; i < count; i++)
        infos += (size_t)submits[i].commandBufferInfoCount + 1;
    struct vk_submit_info2 *copies = vulkan_allocate(
        count * sizeof *copies + count * sizeof **additions +
        infos * (sizeof(struct vk_command_buffer_submit_info) + sizeof(vk_command_buffer)));
    if (!copies)
        return NULL;
    *additions = (struct addition *)(void *)(copies + count);
    struct vk_command_buffer_submit_info *list =
        (struct vk_command_buffer_submit_info *)(void *)(*additions + count);
    vk_command_buffer *handles = (vk_command_buffer *)(void *)(list + infos);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t of_batch = submits[i].commandBufferInfoCount;
        bool usual = is_usual(submits[i].pNext) && submits[i].flags == 0;
        for (uint32_t k = 0; k < of_batch; k++) {
            handles[k] = submits[i].pCommandBufferInfos[k].commandBuffer;
            list[k] = submits[i].pCommandBufferInfos[k];
        }
        struct batch batch = {handles, of_batch, usual};
        (*additions)[i] = plan_batch(call->queue, &batch, call->correlation, call->start);
        copies[i] = submits[i];
        if (!(*additions)[i].copier)
            continue;
        list[of_batch] = (struct vk_command_buffer_submit_info){
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
            .commandBuffer = (*additions)[i].copier->buffer};
        copies[i].pCommandBufferInfos = list;
        copies[i].commandBufferInfoCount++;
        list += of_batch + 1;
        handles += of_batch + 1;
    }
    return copies;
}

vk_result probe_vkQueueSubmit2(vk_queue handle, uint32_t count,
                               const struct vk_submit_info2 *submits, vk_handle fence) {
    struct vulkan_device *device = vulkan_device_of(handle);
    struct submit_call call = {.queue = queue_of(device, handle),
                               .correlation = vulkan_next_correlation(),
                               .start = clock_now()};
    struct addition *additions = NULL;
    if (!call.queue) {
        vk_result result = device->next.vkQueueSubmit2(handle, count, submits, fence);
        put_submit("vkQueueSubmit2", call.start, result, call.correlation);
        return result;
    }
    retire(call.queue);
    struct vk_submit_info2 *copies = count ? extend2(&call, count, submits, &additions) : NULL;
    vk_result result = device->next.vkQueueSubmit2(handle, count, copies ? copies : submits, fence);
    call.end = put_submit("vkQueueSubmit2", call.start, result, call.correlation);
    if (copies)
        finish_batches(call.queue, additions, count, result == VK_SUCCESS);
    vulkan_free(copies);
    for (uint32_t i = 0; i < count && result == VK_SUCCESS; i++)
        note_semaphores2(&call, &submits[i]);
    if (fence && result == VK_SUCCESS)
        put_signal(call.queue, OBJECT_FENCE, fence, 0, call.correlation);
    return result;
}

vk_result probe_vkQueueBindSparse(vk_queue handle, uint32_t count, const void *infos,
                                  vk_handle fence) {
    struct vulkan_device *device = vulkan_device_of(handle);
    int64_t start = clock_now();
    vk_result result = device->next.vkQueueBindSparse(handle, count, infos, fence);
    vulkan_put_call(
        &(struct vulkan_call){.name = "vkQueueBindSparse", .start = start, .result = result});
    return result;
}

vk_result probe_vkQueuePresentKHR(vk_queue handle, const void *info) {
    struct vulkan_device *device = vulkan_device_of(handle);
    int64_t start = clock_now();
    vk_result result = device->next.vkQueuePresentKHR(handle, info);
    vulkan_put_call(
        &(struct vulkan_call){.name = "vkQueuePresentKHR", .start = start, .result = result});
    return result;
}

/* ---- Waits ------------------------------------------------------------------------------------
 */

struct sync_call {
    struct vulkan_device *device;
    int64_t start, end;
    uint32_t correlation;
};

static struct sync_call begin_sync(const void *handle) {
    return (struct sync_call){.device = vulkan_device_of(handle), .start = clock_now()};
}

static void put_sync(struct sync_call *call, const char *name, vk_result result) {
    call->correlation = vulkan_next_correlation();
    call->end = vulkan_put_call(&(struct vulkan_call){.name = name,
                                                      .class = CALL_SYNC,
                                                      .start = call->start,
                                                      .result = result,
                                                      .correlation = call->correlation});
}

static void put_thread_wait(const struct sync_call *call, enum wait_kind kind,
                            const struct vulkan_queue *queue, const struct signal *signal,
                            uint32_t event) {
    if (!call->device->records)
        return;
    vulkan_put_wait(&(struct vulkan_wait){
        .kind = kind,
        .start = call->start,
        .end = call->end,
        .device = call->device,
        .queue = queue,
        .awaited = signal ? signal->queue : NULL,
        .correlation = call->correlation,
        .awaited_correlation = signal ? signal->correlation : 0,
        .event = event,
    });
}

vk_result probe_vkQueueWaitIdle(vk_queue handle) {
    struct sync_call call = begin_sync(handle);
    vk_result result = call.device->next.vkQueueWaitIdle(handle);
    put_sync(&call, "vkQueueWaitIdle", result);
    const struct vulkan_queue *queue = queue_of(call.device, handle);
    if (result == VK_SUCCESS && queue)
        put_thread_wait(&call, WAIT_STREAM, queue, NULL, 0);
    return result;
}

vk_result probe_vkDeviceWaitIdle(vk_device handle) {
    struct sync_call call = begin_sync(handle);
    vk_result result = call.device->next.vkDeviceWaitIdle(handle);
    put_sync(&call, "vkDeviceWaitIdle", result);
    if (result == VK_SUCCESS)
        put_thread_wait(&call, WAIT_CONTEXT, NULL, NULL, 0);
    return result;
}

vk_result probe_vkWaitForFences(vk_device handle, uint32_t count, const vk_handle *fences,
                                uint32_t all, uint64_t timeout) {
    struct sync_call call = begin_sync(handle);
    vk_result result = call.device->next.vkWaitForFences(handle, count, fences, all, timeout);
    put_sync(&call, "vkWaitForFences", result);
    for (uint32_t i = 0; i < count && result == VK_SUCCESS && (all || count == 1); i++) {
        struct signal signal;
        uint32_t event;
        if (find_signal(call.device, OBJECT_FENCE, fences[i], 0, &signal, &event))
            put_thread_wait(&call, WAIT_EVENT, NULL, &signal, event);
    }
    return result;
}

vk_result probe_vkWaitSemaphores(vk_device handle, const struct vk_semaphore_wait_info *info,
                                 uint64_t timeout) {
    struct sync_call call = begin_sync(handle);
    vk_result result = call.device->next.vkWaitSemaphores(handle, info, timeout);
    put_sync(&call, "vkWaitSemaphores", result);
    bool all = !(info->flags & 1) || info->semaphoreCount == 1;
    for (uint32_t i = 0; i < info->semaphoreCount && result == VK_SUCCESS && all; i++) {
        struct signal signal;
        uint32_t event;
        if (find_signal(call.device, OBJECT_SEMAPHORE, info->pSemaphores[i], info->pValues[i],
                        &signal, &event))
            put_thread_wait(&call, WAIT_EVENT, NULL, &signal, event);
    }
    return result;
}

vk_result probe_vkGetFenceStatus(vk_device handle, vk_handle fence) {
    struct vulkan_device *device = vulkan_device_of(handle);
    int64_t start = clock_now();
    vk_result result = device->next.vkGetFenceStatus(handle, fence);
    vulkan_put_call(
        &(struct vulkan_call){.name = "vkGetFenceStatus", .start = start, .result = result});
    return result;
}

vk_result probe_vkGetSemaphoreCounterValue(vk_device handle, vk_handle semaphore, uint64_t *value) {
    struct vulkan_device *device = vulkan_device_of(handle);
    int64_t start = clock_now();
    vk_result result = device->next.vkGetSemaphoreCounterValue(handle, semaphore, value);
    vulkan_put_call(&(struct vulkan_call){
        .name = "vkGetSemaphoreCounterValue", .start = start, .result = result});
    return result;
}

/* ---- Labels of queues: ranges of the calling thread --------------------------------------------
 */

void probe_vkQueueBeginDebugUtilsLabelEXT(vk_queue handle,
                                          const struct vk_debug_utils_label *label) {
    struct vulkan_device *device = vulkan_device_of(handle);
    struct vulkan_queue *queue = queue_of(device, handle);
    if (queue && queue->label_depth++ < VULKAN_QUEUE_LABELS)
        queue->labels[queue->label_depth - 1] = probe_range_begin(label->pLabelName);
    device->next.vkQueueBeginDebugUtilsLabelEXT(handle, label);
}

void probe_vkQueueEndDebugUtilsLabelEXT(vk_queue handle) {
    struct vulkan_device *device = vulkan_device_of(handle);
    struct vulkan_queue *queue = queue_of(device, handle);
    device->next.vkQueueEndDebugUtilsLabelEXT(handle);
    if (queue && queue->label_depth > 0 && --queue->label_depth < VULKAN_QUEUE_LABELS)
        probe_range_end(queue->labels[queue->label_depth]);
}
