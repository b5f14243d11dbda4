/* In what order does work run, and when is it submitted?
 *
 * A queue has one open command buffer with one open encoder. Launches are added to it, so that many
 * share one commit. The first launch after a wait is committed at once, so that the GPU has work;
 * then every commit takes twice as many, up to BATCH_MAX. Encoders run their commands in order, and
 * so do command buffers of a queue. Marks are values of a shared event of the queue.
 */
#include "device/metal/metal.h"

#include <string.h>

enum { BATCH_MAX = 64 };

bool metal_fail(const struct metal_library *library, metal_id error, enum status_code code,
                const char *what, struct status *status) {
    metal_id text = error ? SEND(library, localized_description, error) : NULL;
    const char *message = text ? SEND(library, utf8_string, text) : NULL;
    return status_fail(status, code, "%s: %s", what, message ? message : "Metal gives no reason");
}

static bool queue_create(struct metal_device *device, struct metal_queue *queue,
                         struct status *status) {
    /* the default of 64 buffers would block in commandBuffer */
    enum { BUFFERS = METAL_IN_FLIGHT + 96 };
    queue->queue = SEND(device->library, new_queue, device->device, BUFFERS);
    queue->event = SEND(device->library, new_shared_event, device->device);
    queue->capacity = 1;
    return (queue->queue && queue->event) ||
           status_fail(status, STATUS_MEMORY, "Metal cannot create a command queue");
}

bool metal_queues_create(struct metal_device *device, struct status *status) {
    for (unsigned i = 0; i < METAL_QUEUES; i++)
        if (!queue_create(device, &device->queues[i], status))
            return false;
    return true;
}

static void release_object(const struct metal_library *library, metal_id *object) {
    if (*object)
        SEND(library, release, *object);
    *object = NULL;
}

void metal_queues_release(struct metal_device *device) {
    for (unsigned i = 0; i < METAL_QUEUES; i++) {
        release_object(device->library, &device->queues[i].event);
        release_object(device->library, &device->queues[i].queue);
    }
}

bool metal_queue(struct metal_device *device, unsigned number, struct metal_queue **queue,
                 struct status *status) {
    *queue = number < METAL_QUEUES ? &device->queues[number] : NULL;
    return *queue || status_fail(status, STATUS_USAGE, "metal:%u has queues 0 to %u, not %u",
                                 device->base.index, METAL_QUEUES - 1, number);
}

static void end_encoder(struct metal_device *device, struct metal_queue *queue) {
    if (queue->encoder)
        SEND(device->library, end_encoding, queue->encoder);
    release_object(device->library, &queue->encoder);
}

/* Removes the oldest committed buffer, which is completed, and keeps the first failure. */
static void retire_oldest(struct metal_device *device, struct metal_queue *queue) {
    const struct metal_library *library = device->library;
    metal_id buffer = queue->committed[0];
    if (SEND(library, status, buffer) == MTL_COMMAND_BUFFER_ERROR &&
        queue->failure.code == STATUS_OK)
        metal_fail(library, SEND(library, error, buffer), STATUS_IO, "the GPU failed",
                   &queue->failure);
    SEND(library, release, buffer);
    queue->committed_count--;
    memmove(queue->committed, queue->committed + 1,
            queue->committed_count * sizeof queue->committed[0]);
}

static void retire_completed(struct metal_device *device, struct metal_queue *queue) {
    while (queue->committed_count > 0 &&
           SEND(device->library, status, queue->committed[0]) >= MTL_COMMAND_BUFFER_COMPLETED)
        retire_oldest(device, queue);
}

static bool open_buffer(struct metal_device *device, struct metal_queue *queue,
                        struct status *status) {
    if (queue->buffer)
        return true;
    metal_id buffer = SEND(device->library, command_buffer, queue->queue);
    if (!buffer)
        return status_fail(status, STATUS_MEMORY, "Metal cannot create a command buffer");
    queue->buffer = SEND(device->library, retain, buffer);
    queue->encoded = 0;
    return true;
}

bool metal_encode(struct metal_device *device, struct metal_queue *queue,
                  enum metal_encoder_kind kind, metal_id *encoder, struct status *status) {
    const struct metal_library *library = device->library;
    if (queue->encoder && queue->kind != kind)
        end_encoder(device, queue);
    if (!queue->encoder) {
        if (!open_buffer(device, queue, status))
            return false;
        metal_id made = kind == METAL_COMPUTE ? SEND(library, compute_encoder, queue->buffer)
                                              : SEND(library, blit_encoder, queue->buffer);
        if (!made)
            return status_fail(status, STATUS_MEMORY, "Metal cannot create an encoder");
        queue->encoder = SEND(library, retain, made);
        queue->kind = kind;
    }
    *encoder = queue->encoder;
    return true;
}

void metal_commit(struct metal_device *device, struct metal_queue *queue,
                  struct device_stamp *stamp) {
    const struct metal_library *library = device->library;
    if (!queue->buffer)
        return;
    end_encoder(device, queue);
    retire_completed(device, queue);
    if (queue->committed_count == METAL_IN_FLIGHT) {
        SEND(library, wait, queue->committed[0]);
        retire_oldest(device, queue);
    }
    SEND(library, commit, queue->buffer);
    if (stamp)
        stamp->begin = (uintptr_t)SEND(library, retain, queue->buffer);
    queue->committed[queue->committed_count++] = queue->buffer;
    queue->buffer = NULL;
}

void metal_submit(struct metal_device *device, struct metal_queue *queue) {
    if (++queue->encoded < queue->capacity)
        return;
    metal_commit(device, queue, NULL);
    if (queue->capacity < BATCH_MAX)
        queue->capacity *= 2;
}

bool metal_is_idle(struct metal_device *device, struct metal_queue *queue) {
    retire_completed(device, queue);
    return !queue->buffer && queue->committed_count == 0;
}

bool metal_drain(struct metal_device *device, struct metal_queue *queue, struct status *status) {
    metal_commit(device, queue, NULL);
    while (queue->committed_count > 0) {
        SEND(device->library, wait, queue->committed[0]);
        retire_oldest(device, queue);
    }
    queue->capacity = 1;
    if (queue->failure.code == STATUS_OK)
        return true;
    *status = queue->failure;
    queue->failure.code = STATUS_OK;
    return false;
}

/* A mark is the value and, in the lowest bit, the queue: no object to release. */
static struct device_event event_of(unsigned number, uint64_t value) {
    return (struct device_event){.handle = value * METAL_QUEUES + number};
}

bool metal_record(struct device *base, unsigned number, struct device_event *event,
                  struct status *status) {
    struct metal_device *device = metal_of(base);
    const struct metal_library *library = device->library;
    struct metal_queue *queue;
    if (!metal_queue(device, number, &queue, status))
        return false;
    void *pool = library->objc_autoreleasePoolPush();
    end_encoder(device, queue);
    bool ok = open_buffer(device, queue, status);
    if (ok) {
        SEND(library, signal_event, queue->buffer, queue->event, ++queue->recorded);
        metal_commit(device, queue, NULL);
        *event = event_of(number, queue->recorded);
    }
    library->objc_autoreleasePoolPop(pool);
    return ok;
}

void metal_event_release(struct device *base, struct device_event event) {
    (void)base;
    (void)event;
}

/* A command buffer that failed does not signal: a queue without work has reached all marks. */
bool metal_reached(struct device *base, struct device_event event) {
    struct metal_device *device = metal_of(base);
    const struct metal_library *library = device->library;
    struct metal_queue *queue = &device->queues[event.handle % METAL_QUEUES];
    void *pool = library->objc_autoreleasePoolPush();
    bool reached = SEND(library, signaled_value, queue->event) >= event.handle / METAL_QUEUES ||
                   metal_is_idle(device, queue);
    library->objc_autoreleasePoolPop(pool);
    return reached;
}

bool metal_order(struct device *base, unsigned number, struct device_event event,
                 struct status *status) {
    struct metal_device *device = metal_of(base);
    const struct metal_library *library = device->library;
    const struct metal_queue *other = &device->queues[event.handle % METAL_QUEUES];
    struct metal_queue *queue;
    if (!metal_queue(device, number, &queue, status))
        return false;
    if (event.handle == 0 || queue == other || metal_reached(base, event))
        return true;
    void *pool = library->objc_autoreleasePoolPush();
    end_encoder(device, queue);
    bool ok = open_buffer(device, queue, status);
    if (ok)
        SEND(library, wait_for_event, queue->buffer, other->event, event.handle / METAL_QUEUES);
    library->objc_autoreleasePoolPop(pool);
    return ok;
}

bool metal_finish(struct device *base, struct status *status) {
    struct metal_device *device = metal_of(base);
    void *pool = device->library->objc_autoreleasePoolPush();
    bool ok = true;
    /* a queue may wait for another one's mark */
    for (unsigned i = 0; i < METAL_QUEUES; i++)
        metal_commit(device, &device->queues[i], NULL);
    for (unsigned i = 0; i < METAL_QUEUES; i++)
        ok = metal_drain(device, &device->queues[i], status) && ok;
    device->library->objc_autoreleasePoolPop(pool);
    return ok;
}
