/* Converts a device's times to CLOCK_MONOTONIC. The two clocks differ by a number that is only
 * known to lie between two bounds, which every observation narrows:
 *
 *   clGetDeviceAndHostTimer(), between two readings of our clock, where the driver has it
 *   a command is queued (CL_PROFILING_COMMAND_QUEUED) during the call that enqueues it
 *   a command starts after that call began, and has ended when its end is seen
 *
 * The clocks drift, so bounds widen with time in both directions: a command gets bounds of its own
 * from what was observed before and after it. A timer that contradicts the events is not used: its
 * time may be of another clock than theirs.
 */
#include "base/clock.h"
#include "base/min_max.h"
#include "probe/opencl/opencl.h"

enum {
    DRIFT_PPM = 100,     /* more than that of any two oscillators and NTP's usual adjustment */
    TIMER_READINGS = 4,  /* of which the fastest counts */
    RESOLUTION_NS = 100, /* of the worst timers */
};

/* Moves the bounds to another time. */
static void widen(struct opencl_bounds *bounds, int64_t time) {
    int64_t between = time > bounds->at ? time - bounds->at : bounds->at - time;
    bounds->low -= between / 1000000 * DRIFT_PPM + between % 1000000 * DRIFT_PPM / 1000000;
    bounds->high += between / 1000000 * DRIFT_PPM + between % 1000000 * DRIFT_PPM / 1000000;
    bounds->at = time;
}

/* Narrows the bounds at the time of `by`. False when they contradict each other: then they are
 * those of `by`. */
static bool narrow(struct opencl_bounds *bounds, const struct opencl_bounds *by) {
    struct opencl_bounds moved = *bounds;
    widen(&moved, by->at);
    bool agrees = bounds->at == 0 ||
                  (by->low <= moved.high + RESOLUTION_NS && by->high >= moved.low - RESOLUTION_NS);
    if (!agrees || bounds->at == 0) {
        *bounds = *by;
        return agrees;
    }
    int64_t low = MAX(moved.low, by->low), high = MIN(moved.high, by->high);
    *bounds = (struct opencl_bounds){MIN(low, high), MAX(low, high), by->at};
    return true;
}

/* The bounds of one reading; false when the driver refuses. */
static bool read_timer(const struct opencl_device *device, struct opencl_bounds *bounds) {
    cl_int (*read)(cl_device_id, cl_ulong *, cl_ulong *) =
        (__typeof__(read))(uintptr_t)opencl_next[OPENCL_AT_clGetDeviceAndHostTimer];
    cl_ulong theirs = 0, of_host = 0;
    int64_t before = clock_now();
    if (read(device->handle, &theirs, &of_host) != CL_SUCCESS || theirs > INT64_MAX)
        return false;
    int64_t after = clock_now();
    *bounds = (struct opencl_bounds){before - (int64_t)theirs, after - (int64_t)theirs, after};
    return true;
}

void opencl_time_read_timer(struct opencl_device *device) {
    struct opencl_bounds one, best = {0};
    device->clock.timer.at = 0;
    for (unsigned i = 0; i < TIMER_READINGS && device->has_timer && !device->clock.timer_wrong;
         i++) {
        device->has_timer = read_timer(device, &one);
        if (device->has_timer && (i == 0 || one.high - one.low < best.high - best.low))
            best = one;
    }
    if (device->has_timer)
        device->clock.timer = best;
}

static struct opencl_bounds command_bounds(const struct opencl_command *command, bool by_queueing) {
    struct opencl_bounds bounds = {command->call_start - command->start,
                                   command->seen - command->end, command->call_start};
    if (by_queueing && command->queued) {
        bounds.low = MAX(bounds.low, command->call_start - command->queued);
        bounds.high = MIN(bounds.high, command->call_end - command->queued);
    }
    return bounds;
}

/* From what was observed before each command. Returns how often that was contradicted. */
static unsigned learn_forwards(struct opencl_command *const *commands, unsigned count,
                               struct opencl_bounds before, bool by_queueing) {
    unsigned contradictions = 0;
    for (unsigned i = 0; i < count; i++) {
        struct opencl_bounds own = command_bounds(commands[i], by_queueing);
        contradictions += own.low > own.high || !narrow(&before, &own);
        commands[i]->bounds = before;
    }
    return contradictions;
}

static void learn_backwards(struct opencl_command *const *commands, unsigned count,
                            struct opencl_bounds after) {
    for (unsigned i = count; i > 0; i--) {
        if (after.at)
            narrow(&after, &commands[i - 1]->bounds);
        else
            after = commands[i - 1]->bounds;
        commands[i - 1]->bounds = after;
    }
}

/* All that any of the commands shows: they contradict each other. */
static void learn_nothing(struct opencl_command *const *commands, unsigned count) {
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (unsigned i = 0; i < count; i++) {
        struct opencl_bounds own = command_bounds(commands[i], false);
        low = MIN(low, MIN(own.low, own.high));
        high = MAX(high, MAX(own.low, own.high));
    }
    for (unsigned i = 0; i < count; i++)
        commands[i]->bounds = (struct opencl_bounds){low, high, commands[i]->call_start};
}

static void learn(struct opencl_clock *clock, struct opencl_command *const *commands,
                  unsigned count) {
    struct opencl_bounds last;
    /* a driver may take the queueing time elsewhere or from another clock */
    bool sound = learn_forwards(commands, count, clock->last, true) == 0 ||
                 learn_forwards(commands, count, (struct opencl_bounds){0}, false) == 0;
    if (!sound)
        learn_nothing(commands, count);
    last = commands[count - 1]->bounds;
    if (clock->timer.at && !narrow(&last, &clock->timer)) {
        clock->timer_wrong = true;
        last = commands[count - 1]->bounds;
    }
    if (sound)
        learn_backwards(commands, count, last);
    clock->last = last;
}

void opencl_time_learn(struct opencl_command *commands) {
    struct opencl_command *of_device[OPENCL_BATCH];
    uint64_t done = 0; /* devices, one bit each */
    _Static_assert(OPENCL_DEVICES <= 64, "one bit each");
    for (struct opencl_command *first = commands; first; first = first->next) {
        struct opencl_device *device = first->queue.device;
        uint64_t bit = (uint64_t)1 << (device->description.index - SPOOL_DEVICES_OPENCL);
        unsigned count = 0;
        for (struct opencl_command *at = first; at && !(done & bit) && count < OPENCL_BATCH;
             at = at->next)
            if (at->queue.device == device)
                of_device[count++] = at;
        if (count)
            learn(&device->clock, of_device, count);
        done |= bit;
    }
}

int64_t opencl_time_convert(const struct opencl_bounds *bounds, int64_t time) {
    return time + bounds->low + (bounds->high - bounds->low) / 2;
}

int64_t opencl_time_error(const struct opencl_bounds *bounds) {
    return (bounds->high - bounds->low) / 2 + 1;
}
