/* How far may a prediction be off? Walks the critical path back from the end of the run. Wherever a
 * node is bound by another dependency than in the measured run, a typical lag replaced a measured
 * one, and half of that lag's spread (a quarter of its interquartile range) adds to the error
 * bound. */
#include "whatif/run.h"

enum node_kind { NODE_CALL_START, NODE_CALL_END, NODE_ACTIVITY, NODE_NONE };

struct node {
    enum node_kind kind;
    uint32_t row;
};

static struct node last_node(const struct run *run) {
    const struct replay *replay = run->replay;
    struct node last = {NODE_NONE, 0};
    int64_t end = NEVER;
    for (size_t i = 0; i < replay->activities; i++)
        if (run_end(run, i) > end) {
            end = run_end(run, i);
            last = (struct node){NODE_ACTIVITY, (uint32_t)i};
        }
    for (size_t i = 0; i < replay->calls; i++)
        if (is_outer(replay, i) && run->call_end[i] > end) {
            end = run->call_end[i];
            last = (struct node){NODE_CALL_END, (uint32_t)i};
        }
    return last;
}

/* The activity of another queue that bound its start. */
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

static struct node before_activity(const struct run *run, uint32_t activity, int64_t *error) {
    const struct replay *replay = run->replay;
    const struct typical *typical = &replay->typical[activity_device(replay, activity)];
    bool other = run->bound[activity] != replay->bound[activity];
    uint32_t before;
    switch (run->bound[activity]) {
    case BOUND_BY_LAUNCH:
        *error += other ? typical->launch_spread : 0;
        return (struct node){run->from_start[activity] ? NODE_CALL_START : NODE_CALL_END,
                             run->launch[activity]};
    case BOUND_BY_QUEUE:
        *error += other ? typical->queue_spread : 0;
        return (struct node){NODE_ACTIVITY, run->previous[activity]};
    case BOUND_BY_DEPENDENCY:
        *error += other ? typical->depend_spread : 0;
        before = other_before(run, activity);
        return (struct node){before == NO_ROW ? NODE_NONE : NODE_ACTIVITY, before};
    default:
        return (struct node){NODE_NONE, 0};
    }
}

static struct node before_call(const struct run *run, uint32_t call) {
    const struct replay *replay = run->replay;
    uint32_t follows = replay->follows[call];
    if (follows != NO_ROW && run->call_end[follows] + run->host_time[call] == run->call_start[call])
        return (struct node){NODE_CALL_END, follows};
    if (call == 0 || replay->trace->call.thread[call - 1] != replay->trace->call.thread[call])
        return (struct node){NODE_NONE, 0};
    return (struct node){NODE_CALL_END, replay->outer[call - 1]};
}

int64_t run_error_bound(const struct run *run) {
    struct node at = last_node(run);
    int64_t error = 0;
    for (size_t i = 0; i < run->replay->node_count && at.kind != NODE_NONE; i++) {
        if (at.kind == NODE_ACTIVITY) {
            at = before_activity(run, at.row, &error);
        } else if (at.kind == NODE_CALL_START) {
            at = before_call(run, at.row);
        } else {
            uint32_t wait = run_call_wait(run, at.row);
            if (wait != NO_ROW && !run->replay->waited[at.row])
                error += run->replay->sync_lag_spread;
            at = wait == NO_ROW ? (struct node){NODE_CALL_START, at.row}
                                : (struct node){NODE_ACTIVITY, wait};
        }
    }
    return error / 2;
}
