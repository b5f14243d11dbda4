/* When work began and ended on the host's clock, by events around it: the way when CUPTI cannot be
 * had. What the driver does between two events counts as the work's.
 *
 * The driver only tells the time between two events, in milliseconds as a float. An anchor is an
 * event whose moment is known on both clocks: recorded on an idle stream while the host looks at
 * its clock before and after. With anchors at least every half second while stamps are made, floats
 * stay exact to some 30 ns; between two anchors the clocks' drift is interpolated away.
 */
#include <time.h>

#include "base/clock.h"
#include "device/cuda/cuda.h"

enum {
    CALIBRATION_TRIES = 4,
    EVENT_RESOLUTION = 500, /* nanoseconds, as the driver's documentation says */
    FLOAT_ERROR = 60,
};
static const int64_t stamp_interval = 500000000, extrapolation_most = 5000000;

static struct cuda_anchor *anchor(struct cuda_clock *clock, uint64_t number) {
    return &clock->anchors[number % CUDA_ANCHORS];
}

/* 0 when there is no anchor yet. */
static int64_t newest_host(struct cuda_clock *clock) {
    return clock->count > 0 ? anchor(clock, clock->count - 1)->host : 0;
}

static bool elapsed(struct cuda_device *cuda, cuda_event from, cuda_event to, double *nanoseconds,
                    struct status *status) {
    float milliseconds = 0;
    if (!CUDA_CALL(cuda, status, cuEventElapsedTime, &milliseconds, from, to))
        return false;
    *nanoseconds = (double)milliseconds * 1e6;
    return true;
}

/* The moment of the event lies between the two looks at the clock. */
static bool look(struct cuda_device *cuda, cuda_event event, int64_t *host, int64_t *error,
                 struct status *status) {
    int64_t before = clock_now();
    if (!CUDA_CALL(cuda, status, cuEventRecord, event, cuda->side) ||
        !CUDA_CALL(cuda, status, cuEventSynchronize, event))
        return false;
    int64_t after = clock_now();
    *error = (after - before + 1) / 2;
    *host = before + *error;
    return true;
}

/* Keeps the tightest of several looks. The other spare event is looked at next, so that the best
 * one stays as it is. */
static bool calibrate(struct cuda_device *cuda, struct status *status) {
    struct cuda_clock *clock = &cuda->clock;
    struct cuda_anchor made = {.error = INT64_MAX};
    unsigned best = 0;
    for (unsigned i = 0; i < 2; i++)
        if (!clock->spare[i] && !(clock->spare[i] = cuda_event_take(cuda, &cuda->times, status)))
            return false;
    for (unsigned i = 0; i < CALIBRATION_TRIES; i++) {
        int64_t host, error;
        unsigned trial = i == 0 ? 0 : !best;
        if (!look(cuda, clock->spare[trial], &host, &error, status))
            return false;
        if (error < made.error) {
            made.host = host;
            made.error = error;
            best = trial;
        }
    }
    made.event = clock->spare[best];
    if (clock->count > 0 &&
        !elapsed(cuda, anchor(clock, clock->count - 1)->event, made.event, &made.since, status))
        return false;
    struct cuda_anchor *place = anchor(clock, clock->count++);
    clock->spare[best] = place->event;
    *place = made;
    return true;
}

static uint64_t oldest_anchor(const struct cuda_clock *clock) {
    return clock->count > CUDA_ANCHORS ? clock->count - CUDA_ANCHORS : 0;
}

static uint64_t nearest_anchor(struct cuda_clock *clock, int64_t host) {
    uint64_t nearest = clock->count - 1;
    int64_t distance = INT64_MAX;
    for (uint64_t i = oldest_anchor(clock); i < clock->count; i++) {
        int64_t away = host - anchor(clock, i)->host;
        away = away < 0 ? -away : away;
        if (away < distance) {
            distance = away;
            nearest = i;
        }
    }
    return nearest;
}

/* Host nanoseconds that pass in one of the device's, between this anchor and the next or the one
 * before; 1 where there is none. */
static double rate_near(struct cuda_clock *clock, uint64_t number, bool after) {
    uint64_t later = after ? number + 1 : number;
    if (later <= oldest_anchor(clock) || later >= clock->count || anchor(clock, later)->since <= 0)
        return 1;
    double host = (double)(anchor(clock, later)->host - anchor(clock, later - 1)->host);
    double rate = host / anchor(clock, later)->since;
    return rate > 0.9998 && rate < 1.0002 ? rate : 1; /* no crystal is worse: they are too close */
}

static bool locate(struct cuda_device *cuda, cuda_event event, int64_t *host, double *rate,
                   struct status *status) {
    struct cuda_clock *clock = &cuda->clock;
    uint64_t newest = clock->count - 1;
    double distance;
    if (!elapsed(cuda, anchor(clock, newest)->event, event, &distance, status))
        return false;
    uint64_t number = nearest_anchor(clock, anchor(clock, newest)->host + (int64_t)distance);
    if (number != newest && !elapsed(cuda, anchor(clock, number)->event, event, &distance, status))
        return false;
    *rate = rate_near(clock, number, distance > 0);
    *host = anchor(clock, number)->host + (int64_t)(distance * *rate);
    return true;
}

void clock_cancel(struct cuda_device *cuda, struct device_stamp *stamp) {
    cuda_event_give(&cuda->times, cuda_event_of(stamp->begin));
    cuda_event_give(&cuda->times, cuda_event_of(stamp->end));
    *stamp = (struct device_stamp){0, 0};
}

static bool mark(struct cuda_device *cuda, cuda_stream stream, uint64_t *handle,
                 struct status *status) {
    cuda_event event = cuda_event_take(cuda, &cuda->times, status);
    *handle = (uintptr_t)event;
    return event && CUDA_CALL(cuda, status, cuEventRecord, event, stream);
}

bool clock_begin(struct cuda_device *cuda, cuda_stream stream, struct device_stamp *stamp,
                 struct status *status) {
    if ((clock_now() < newest_host(&cuda->clock) + stamp_interval || calibrate(cuda, status)) &&
        mark(cuda, stream, &stamp->begin, status))
        return true;
    clock_cancel(cuda, stamp);
    return false;
}

bool clock_end(struct cuda_device *cuda, cuda_stream stream, struct device_stamp *stamp,
               struct status *status) {
    if (mark(cuda, stream, &stamp->end, status))
        return true;
    clock_cancel(cuda, stamp);
    return false;
}

/* Drift is only known between anchors: there must be one after the work too. */
bool clock_times(struct cuda_device *cuda, const struct device_stamp *stamp, int64_t *start,
                 int64_t *end, struct status *status) {
    cuda_event begin_event = cuda_event_of(stamp->begin), end_event = cuda_event_of(stamp->end);
    double rate, duration;
    if (!CUDA_CALL(cuda, status, cuEventSynchronize, end_event) ||
        !locate(cuda, begin_event, start, &rate, status))
        return false;
    if (*start > newest_host(&cuda->clock) + extrapolation_most &&
        (!calibrate(cuda, status) || !locate(cuda, begin_event, start, &rate, status)))
        return false;
    if (!elapsed(cuda, begin_event, end_event, &duration, status))
        return false;
    *end = *start + (int64_t)(duration * rate);
    return true;
}

int64_t clock_error(const struct cuda_device *cuda) {
    const struct cuda_clock *clock = &cuda->clock;
    int64_t error = 0;
    for (uint64_t i = 0; i < CUDA_ANCHORS && i < clock->count; i++)
        if (clock->anchors[i].error > error)
            error = clock->anchors[i].error;
    return error + EVENT_RESOLUTION + FLOAT_ERROR;
}
