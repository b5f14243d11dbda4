/* Stamps of a CUDA device: spans of CUPTI's when it can be had, else pairs of events. */
#include <stdio.h>

#include "device/cuda/activity_session.h"
#include "device/cuda/cuda.h"

/* In the place of an end's event: the begin is the number of a span. No event has this address. */
enum { SPAN = 1 };

static bool listens(struct cuda_device *cuda) {
    return cuda->activities.listening || (!cuda->activities.refused && activity_subscribe(cuda));
}

bool cuda_stamp_begin(struct cuda_device *cuda, cuda_stream stream, struct device_stamp *stamp,
                      struct status *status) {
    if (!stamp) {
        if (cuda->activities.listening)
            activity_rest(cuda);
        return true;
    }
    *stamp = (struct device_stamp){0, 0};
    if (listens(cuda) && (stamp->begin = activity_begin(cuda, stream)) != 0) {
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

/* Whatever was refused may be had by now. */
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
