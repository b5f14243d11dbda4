/* Converts a device's times to CLOCK_MONOTONIC. The two clocks differ by a number that is only
 * known to lie between two bounds, which every observation narrows:
 *
 *   clGetDeviceAndHostTimer(), between two readings of our clock, where the driver has it
 *   a command is queued (CL_PROFILING_COMMAND_QUEUED) during the call that enqueues it
 *   a command starts after that call began, and has ended when its end is seen
 *
 * The clocks drift, so bounds widen with time. A timer that contradicts the events is not used: its
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

static void widen(struct opencl_clock *clock, int64_t now) {
    int64_t drift = now > clock->at ? (now - clock->at) / 1000000 * DRIFT_PPM : 0;
    clock->low -= drift;
    clock->high += drift;
    clock->at = now;
}

/* The bounds overlap with these. */
static bool agrees(const struct opencl_clock *clock, int64_t low, int64_t high) {
    return clock->at == 0 ||
           (low <= clock->high + RESOLUTION_NS && high >= clock->low - RESOLUTION_NS);
}

/* Contradicting bounds replace the old ones: the device's clock was set, or drifts fast. */
static void narrow(struct opencl_clock *clock, int64_t low, int64_t high) {
    int64_t now = clock_now();
    if (clock->at)
        widen(clock, now);
    if (!agrees(clock, low, high) || clock->at == 0) {
        clock->low = low;
        clock->high = high;
    } else {
        clock->low = MAX(clock->low, low);
        clock->high = MIN(clock->high, high);
    }
    if (clock->low > clock->high) { /* by less than the resolution */
        int64_t swap = clock->low;
        clock->low = clock->high;
        clock->high = swap;
    }
    clock->at = now;
}

/* The bounds of one reading; false when the driver refuses. */
static bool read_timer(struct opencl_device *device, int64_t *low, int64_t *high) {
    cl_int (*read)(cl_device_id, cl_ulong *, cl_ulong *) =
        (__typeof__(read))(uintptr_t)opencl_next[OPENCL_AT_clGetDeviceAndHostTimer];
    cl_ulong theirs = 0, of_host = 0;
    int64_t before = clock_now();
    if (read(device->handle, &theirs, &of_host) != CL_SUCCESS || theirs > INT64_MAX)
        return false;
    *low = before - (int64_t)theirs;
    *high = clock_now() - (int64_t)theirs;
    return true;
}

void opencl_time_read_timer(struct opencl_device *device) {
    int64_t low = 0, high = 0, best_low = 0, best_high = INT64_MAX;
    if (!device->has_timer || device->clock.timer_wrong)
        return;
    for (unsigned i = 0; i < TIMER_READINGS; i++) {
        if (!read_timer(device, &low, &high)) {
            device->has_timer = false;
            return;
        }
        if (i == 0 || high - low < best_high - best_low) {
            best_low = low;
            best_high = high;
        }
    }
    narrow(&device->clock, best_low, best_high);
}

/* The bounds of one command. */
static void command_bounds(const struct opencl_command *command, bool by_queueing, int64_t *low,
                           int64_t *high) {
    *low = command->call_start - command->start;
    *high = command->seen - command->end;
    if (by_queueing && command->queued) {
        *low = MAX(*low, command->call_start - command->queued);
        *high = MIN(*high, command->call_end - command->queued);
    }
}

/* What the commands of one device show together. False when they contradict each other: then all
 * that any of them shows. */
static bool learn_bounds(const struct opencl_device *device, const struct opencl_command *commands,
                         bool by_queueing, int64_t *low, int64_t *high) {
    int64_t lowest = INT64_MAX, highest = INT64_MIN, from, until;
    *low = INT64_MIN;
    *high = INT64_MAX;
    for (; commands; commands = commands->next) {
        if (commands->queue.device != device)
            continue;
        command_bounds(commands, by_queueing, &from, &until);
        *low = MAX(*low, from);
        *high = MIN(*high, until);
        lowest = MIN(lowest, MIN(from, until));
        highest = MAX(highest, MAX(from, until));
    }
    if (*low <= *high)
        return true;
    *low = lowest;
    *high = highest;
    return false;
}

static void learn(struct opencl_device *device, const struct opencl_command *commands) {
    struct opencl_clock *clock = &device->clock;
    int64_t low, high;
    /* a driver may take the queueing time elsewhere or from another clock */
    if (!learn_bounds(device, commands, true, &low, &high))
        learn_bounds(device, commands, false, &low, &high);
    if (device->has_timer && !clock->timer_wrong && !agrees(clock, low, high))
        clock->timer_wrong = true;
    narrow(clock, low, high);
}

void opencl_time_learn(const struct opencl_command *commands) {
    uint64_t done = 0; /* devices, one bit each */
    _Static_assert(OPENCL_DEVICES <= 64, "one bit each");
    for (const struct opencl_command *at = commands; at; at = at->next) {
        uint64_t bit = (uint64_t)1 << (at->queue.device->description.index - SPOOL_DEVICES_OPENCL);
        if (!(done & bit))
            learn(at->queue.device, commands);
        done |= bit;
    }
}

int64_t opencl_time_convert(const struct opencl_clock *clock, int64_t time) {
    return time + clock->low + (clock->high - clock->low) / 2;
}

int64_t opencl_time_error(const struct opencl_clock *clock) {
    return (clock->high - clock->low) / 2 + 1;
}
