/* How far may a prediction be off? The way back from the run's end, along what each moment waited
 * for: wherever that is not what it waited for in the measured run, a usual lag was put in place of
 * a measured one, and by half the spread of that lag the way may be longer or shorter. */
#include "whatif/run.h"

enum place { AT_CALL_START, AT_CALL_END, AT_ACTIVITY, AT_START };

struct position {
    enum place place;
    uint32_t row;
};

static struct position last_moment(const struct run *run) {
    const struct replay *replay = run->replay;
    struct position last = {AT_START, 0};
    int64_t end = NEVER;
    for (size_t i = 0; i < replay->activities; i++)
        if (run_end(run, i) > end) {
            end = run_end(run, i);
            last = (struct position){AT_ACTIVITY, (uint32_t)i};
        }
    for (size_t i = 0; i < replay->calls; i++)
        if (is_outer(replay, i) && run->call_end[i] > end) {
            end = run->call_end[i];
            last = (struct position){AT_CALL_END, (uint32_t)i};
        }
    return last;
}

/* The activity of another queue that it started after. */
static uint32_t other_before(const struct run *run, uint32_t activity) {
    const struct waits *depends = &run->replay->depends;
    if (run->extra_dependency && run->extra_dependency[activity] != NO_ROW &&
        run_end(run, run->extra_dependency[activity]) + run->extra_lag[activity] ==
            run->start[activity])
        return run->extra_dependency[activity];
    for (uint32_t k = depends->first[activity]; k < depends->first[activity + 1]; k++)
        if (depends->activity[k] != NO_ROW &&
            run_end(run, depends->activity[k]) + depends->lag[k] == run->start[activity])
            return depends->activity[k];
    return NO_ROW;
}

static struct position before_activity(const struct run *run, uint32_t activity, int64_t *doubt) {
    const struct replay *replay = run->replay;
    const struct typical *typical = &replay->typical[activity_device(replay, activity)];
    bool other = run->bound[activity] != replay->bound[activity];
    uint32_t before;
    switch (run->bound[activity]) {
    case BOUND_BY_LAUNCH:
        *doubt += other ? typical->launch_spread : 0;
        return (struct position){run->from_start[activity] ? AT_CALL_START : AT_CALL_END,
                                 run->launch[activity]};
    case BOUND_BY_QUEUE:
        *doubt += other ? typical->queue_spread : 0;
        return (struct position){AT_ACTIVITY, run->previous[activity]};
    case BOUND_BY_OTHER:
        *doubt += other ? typical->depend_spread : 0;
        before = other_before(run, activity);
        return (struct position){before == NO_ROW ? AT_START : AT_ACTIVITY, before};
    default:
        return (struct position){AT_START, 0};
    }
}

static struct position before_call(const struct run *run, uint32_t call) {
    const struct replay *replay = run->replay;
    uint32_t follows = replay->follows[call];
    if (follows != NO_ROW && run->call_end[follows] + run->host_time[call] == run->call_start[call])
        return (struct position){AT_CALL_END, follows};
    if (call == 0 || replay->trace->call.thread[call - 1] != replay->trace->call.thread[call])
        return (struct position){AT_START, 0};
    return (struct position){AT_CALL_END, replay->outer[call - 1]};
}

int64_t run_error_bound(const struct run *run) {
    struct position at = last_moment(run);
    int64_t doubt = 0;
    for (size_t i = 0; i < run->replay->moments && at.place != AT_START; i++) {
        if (at.place == AT_ACTIVITY) {
            at = before_activity(run, at.row, &doubt);
        } else if (at.place == AT_CALL_START) {
            at = before_call(run, at.row);
        } else {
            uint32_t wait = run_call_wait(run, at.row);
            if (wait != NO_ROW && !run->replay->waited[at.row])
                doubt += run->replay->sync_lag_spread;
            at = wait == NO_ROW ? (struct position){AT_CALL_START, at.row}
                                : (struct position){AT_ACTIVITY, wait};
        }
    }
    return doubt / 2;
}
