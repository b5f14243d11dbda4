/* Events, reused: creating one costs the driver more than recording it. */
#include "device/cuda/cuda.h"

#include "base/memory.h"

static bool create(struct cuda_device *cuda, struct cuda_events *events, cuda_event *event,
                   struct status *status) {
    size_t needed = events->count + 1;
    if (!GROW(events->all, &events->capacity, needed, status) ||
        !GROW(events->idle, &events->idle_capacity, needed, status) ||
        !CUDA_CALL(cuda, status, cuEventCreate, event, events->flags))
        return false;
    events->all[events->count++] = *event;
    return true;
}

cuda_event cuda_event_take(struct cuda_device *cuda, struct cuda_events *events,
                           struct status *status) {
    cuda_event event;
    if (events->idle_count > 0)
        return events->idle[--events->idle_count];
    return create(cuda, events, &event, status) ? event : NULL;
}

void cuda_event_give(struct cuda_events *events, cuda_event event) {
    if (event && events->idle_count < events->count)
        events->idle[events->idle_count++] = event;
}

void cuda_events_finish(struct cuda_device *cuda, struct cuda_events *events) {
    for (size_t i = 0; i < events->count; i++)
        cuda->driver->cuEventDestroy(events->all[i]);
    memory_free(events->all);
    memory_free(events->idle);
    *events = (struct cuda_events){.flags = events->flags};
}

bool cuda_record(struct device *device, unsigned queue, struct device_event *event,
                 struct status *status) {
    struct cuda_device *cuda = cuda_of(device);
    if (!cuda_enter_queue(cuda, queue, status))
        return false;
    cuda_event taken = cuda_event_take(cuda, &cuda->marks, status);
    if (!taken)
        return false;
    if (!CUDA_CALL(cuda, status, cuEventRecord, taken, cuda->streams[queue])) {
        cuda_event_give(&cuda->marks, taken);
        return false;
    }
    event->handle = (uintptr_t)taken;
    return true;
}

void cuda_forget(struct device *device, struct device_event event) {
    cuda_event_give(&cuda_of(device)->marks, cuda_event_of(event.handle));
}

/* Work of a lost device will not go on: nothing is gained by waiting for it. */
bool cuda_reached(struct device *device, struct device_event event) {
    struct cuda_device *cuda = cuda_of(device);
    struct status ignored;
    if (!event.handle || !cuda_enter(cuda, &ignored))
        return true;
    cuda_result result = cuda->driver->cuEventQuery(cuda_event_of(event.handle));
    if (result != CUDA_SUCCEEDED && result != CUDA_NOT_READY)
        cuda_failed(cuda, result, "cuEventQuery", &ignored);
    return result != CUDA_NOT_READY;
}

bool cuda_order(struct device *device, unsigned queue, struct device_event event,
                struct status *status) {
    struct cuda_device *cuda = cuda_of(device);
    return cuda_enter_queue(cuda, queue, status) &&
           CUDA_CALL(cuda, status, cuStreamWaitEvent, cuda->streams[queue],
                     cuda_event_of(event.handle), 0);
}
