/* Events and time stamps. Events are reused: creating one costs the driver more than recording it.
 * A stamp is a span of CUPTI records where CUPTI is available, else a pair of events. */
#include "device/cuda/cuda.h"

#include <stdio.h>

#include "base/memory.h"

static bool create_event(struct cuda_device *cuda, struct cuda_events *events, cuda_event *event,
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
    return create_event(cuda, events, &event, status) ? event : NULL;
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

void cuda_event_release(struct device *device, struct device_event event) {
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

/* ---- Stamps ------------------------------------------------------------------------------- */

/* In place of an end event: `begin` is the number of a span. No event has this address. */
enum { SPAN = 1 };

static bool ensure_subscribed(struct cuda_device *cuda) {
    return cuda->activities.subscribed || (!cuda->activities.refused && activity_subscribe(cuda));
}

bool cuda_stamp_begin(struct cuda_device *cuda, cuda_stream stream, struct device_stamp *stamp,
                      struct status *status) {
    if (!stamp) {
        if (cuda->activities.subscribed)
            activity_rest(cuda);
        return true;
    }
    *stamp = (struct device_stamp){0, 0};
    if (ensure_subscribed(cuda) && (stamp->begin = activity_begin(cuda, stream)) != 0) {
        stamp->end = SPAN;
        return true;
    }
    return clock_begin(cuda, stream, stamp, status);
}

bool cuda_stamp_end(struct cuda_device *cuda, cuda_stream stream, struct device_stamp *stamp,
                    struct status *status) {
    if (!stamp)
        return true;
    if (stamp->end != SPAN)
        return clock_end(cuda, stream, stamp, status);
    activity_end();
    return true;
}

void cuda_stamp_cancel(struct cuda_device *cuda, struct device_stamp *stamp) {
    if (!stamp)
        return;
    if (stamp->end == SPAN) {
        activity_end();
        activity_release(cuda, stamp->begin);
        *stamp = (struct device_stamp){0, 0};
    } else {
        clock_cancel(cuda, stamp);
    }
}

bool cuda_resolve(struct device *device, struct device_stamp *stamp, int64_t *start, int64_t *end,
                  struct status *status) {
    struct cuda_device *cuda = cuda_of(device);
    *start = *end = 0;
    if (!stamp->begin || !stamp->end)
        return true;
    bool resolved = cuda_enter(cuda, status) &&
                    (stamp->end == SPAN ? activity_times(cuda, stamp->begin, start, end, status)
                                        : clock_times(cuda, stamp, start, end, status));
    cuda_stamp_cancel(cuda, stamp);
    return resolved;
}

int64_t cuda_clock_error(struct device *device) {
    const struct cuda_device *cuda = cuda_of(device);
    int64_t by_events = cuda->clock.count > 0 ? clock_error(cuda) : 0;
    int64_t by_spans = cuda->activities.end > 0 ? activity_clock_error(cuda) : 0;
    return by_events > by_spans ? by_events : by_spans;
}

/* A subscription that was refused earlier may succeed now. */
void cuda_prepare_stamps(struct device *device, char *how, size_t capacity) {
    struct cuda_device *cuda = cuda_of(device);
    struct status ignored;
    char version[32];
    if (!cuda_enter(cuda, &ignored) || !activity_subscribe(cuda)) {
        snprintf(how, capacity, "events: %s", cuda->activities.refusal.message);
        return;
    }
    session_version(version, sizeof version);
    snprintf(how, capacity, "cupti %s", version);
}
