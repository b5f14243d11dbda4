/* Calibrates the lag of every dependency so that the unchanged graph reproduces the measured times
 * exactly. Of all dependencies of a node, the one that was probably ready last gets its measured
 * lag; the others get their typical lag, or less where the measurement leaves less. */
#include "base/memory.h"
#include "whatif/graph.h"

static int64_t launch_base(const struct replay *replay, size_t activity) {
    uint32_t call = replay->launch[activity];
    return replay->from_start[activity] ? replay->call_start[call] : replay->call_end[call];
}

static void calibrate_activity(struct replay *replay, size_t i) {
    const struct typical *typical = &replay->typical[activity_device(replay, i)];
    int64_t start = replay->start[i], ready = NEVER;
    uint32_t bound_wait = NO_ROW;
    replay->bound[i] = BOUND_BY_NOTHING;
    if (replay->launch[i] != NO_ROW) {
        replay->launch_lag[i] = MIN(typical->launch, start - launch_base(replay, i));
        ready = launch_base(replay, i) + MAX(typical->launch, 0);
        replay->bound[i] = BOUND_BY_LAUNCH;
    }
    if (replay->previous[i] != NO_ROW) {
        int64_t end = activity_end(replay, replay->previous[i]);
        replay->queue_lag[i] = MIN(typical->queue, start - end);
        /* without a launch it keeps its distance to the previous activity */
        if (end + typical->queue >= ready || replay->launch[i] == NO_ROW) {
            ready = end + typical->queue;
            replay->bound[i] = BOUND_BY_QUEUE;
        }
    }
    for (uint32_t k = replay->depends.first[i]; k < replay->depends.first[i + 1]; k++) {
        if (replay->depends.activity[k] == NO_ROW)
            continue;
        int64_t end = activity_end(replay, replay->depends.activity[k]);
        replay->depends.lag[k] = MIN(typical->depend, start - end);
        if (end + typical->depend >= ready) {
            ready = end + typical->depend;
            replay->bound[i] = BOUND_BY_DEPENDENCY;
            bound_wait = k;
        }
    }
    if (replay->bound[i] == BOUND_BY_LAUNCH)
        replay->launch_lag[i] = start - launch_base(replay, i);
    else if (replay->bound[i] == BOUND_BY_QUEUE)
        replay->queue_lag[i] = start - activity_end(replay, replay->previous[i]);
    else if (replay->bound[i] == BOUND_BY_DEPENDENCY)
        replay->depends.lag[bound_wait] =
            start - activity_end(replay, replay->depends.activity[bound_wait]);
    else
        replay->launch_lag[i] = start; /* from the start of the recording */
}

/* Of the device whose activity the call awaits. */
static double synchronize_limit(const struct replay *replay, uint32_t activity) {
    const struct limits *limits = replay->source.limits;
    return limits ? limits[activity_device(replay, activity)].of[DEVICE_LIMIT_SYNCHRONIZE] : 0;
}

static void calibrate_call(struct replay *replay, size_t i, const int64_t *costs) {
    int64_t duration = replay->call_end[i] - replay->call_start[i], latest = NEVER;
    uint32_t last = NO_ROW;
    replay->call_cost[i] = duration;
    for (uint32_t k = replay->awaits.first[i]; k < replay->awaits.first[i + 1]; k++) {
        if (replay->awaits.activity[k] == NO_ROW)
            continue;
        int64_t end = activity_end(replay, replay->awaits.activity[k]);
        replay->awaits.lag[k] = MIN(MAX(replay->sync_lag, 0), replay->call_end[i] - end);
        if (end > latest) {
            latest = end;
            last = k;
        }
    }
    if (!replay->waited[i])
        return;
    uint32_t awaited = replay->awaits.activity[last];
    int64_t lag = replay->call_end[i] - latest;
    int64_t cost = costs[replay->trace->call.name[i]];
    double limit = synchronize_limit(replay, awaited);
    replay->awaits.lag[last] = lag;
    if (replay->blocks[i] && replay->bound[awaited] == BOUND_BY_LAUNCH)
        cost = duration - MIN(duration, replay->duration[awaited]);
    else if (replay->blocks[i]) /* its own part, before and after it waits for the device */
        cost = MAX(replay->launch_lag[awaited], 0) + MAX(lag, 0);
    else if (cost < 0)
        cost = limit > 0 && limit < 1e9 ? (int64_t)limit : MAX(lag, 0);
    replay->call_cost[i] = MIN(duration, cost);
}

/* Host time: from the end of the call before it. */
static void calibrate_host_time(struct replay *replay) {
    uint32_t previous = NO_ROW;
    for (size_t i = 0; i < replay->calls; i++) {
        if (!is_outer(replay, i))
            continue;
        int64_t from = 0;
        if (replay->follows[i] != NO_ROW)
            from = replay->call_end[replay->follows[i]];
        else if (previous != NO_ROW &&
                 replay->trace->call.thread[previous] == replay->trace->call.thread[i])
            from = replay->call_end[previous];
        replay->host_time[i] = replay->call_start[i] - from;
        previous = (uint32_t)i;
    }
}

bool replay_calibrate(struct replay *replay, struct status *status) {
    replay->awaits.lag = memory_allocate(replay->awaits.count, sizeof *replay->awaits.lag, status);
    replay->depends.lag =
        memory_allocate(replay->depends.count, sizeof *replay->depends.lag, status);
    /* the median cost of calls by name that wait for nothing; -1: none */
    int64_t *costs = replay->awaits.lag && replay->depends.lag
                         ? call_durations(replay, 0.5, true, -1, status)
                         : NULL;
    if (!costs)
        return false;
    for (size_t i = 0; i < replay->activities; i++)
        calibrate_activity(replay, i);
    for (size_t i = 0; i < replay->calls; i++)
        if (is_outer(replay, i))
            calibrate_call(replay, i, costs);
    calibrate_host_time(replay);
    memory_free(costs);
    return true;
}
