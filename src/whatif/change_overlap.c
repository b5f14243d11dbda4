/* What if copies ran in a queue of their own, a turn ahead? Copies to the device that follow each
 * other begin a turn: what comes behind them in their queue works on what they brought. They are
 * then made while the turn before computes (two buffers take turns), results are fetched while the
 * next one does. A kernel waits for the copies of its own turn, which began a turn earlier; a copy
 * waits for the copies before it, and for the kernels two turns back that used its buffer. */
#include <stdio.h>

#include "base/format.h"
#include "base/memory.h"
#include "whatif/run.h"

/* Of a queue, on the way through it. */
struct turn {
    uint32_t last;        /* activity that stays in the queue */
    uint32_t input;       /* copy to the device that the next kernel waits for */
    uint32_t first_call;  /* of the copies that began this turn */
    uint32_t before_call; /* and of those that began the one before */
    uint32_t kernel;      /* the last one before this turn */
    uint32_t before_kernel;
};

struct mover {
    struct run *run;
    struct turn *turns; /* by queue */
    uint32_t *engine;   /* by device and direction: the last copy so far */
    uint64_t copies, pinned;
};

/* Copies between host and device inside the loop. */
static bool is_moved(const struct run *run, size_t activity) {
    const struct replay *replay = run->replay;
    unsigned direction = replay->trace->activity.direction[activity];
    uint32_t call = replay->launch[activity];
    return replay->trace->activity.kind[activity] == ACTIVITY_COPY &&
           (direction == COPY_HTOD || direction == COPY_DTOH) &&
           !run_activity_removed(run, activity) && call != NO_ROW &&
           in_loop(replay, replay->call_step[call]);
}

static void add_extra_dependency(struct run *run, uint32_t row, uint32_t other) {
    run->extra_dependency[row] = other;
    run->extra_lag[row] = MAX(run->replay->typical[activity_device(run->replay, row)].depend, 0);
}

/* A copy to the device: its launch moves to where the turn before begins. For the queues to wait
 * for each other takes the host two operations more a turn. */
static void move_input(struct run *run, struct turn *turn, uint32_t row) {
    const struct replay *replay = run->replay;
    if (turn->input == NO_ROW) { /* it begins a turn */
        turn->before_call = turn->first_call;
        turn->first_call = replay->launch[row];
        turn->before_kernel = turn->kernel;
        turn->kernel = turn->last;
        run->call_cost[turn->first_call] +=
            2 * (replay->launch_call + MAX(replay->host_time_typical, 0));
    }
    turn->input = row;
    uint32_t earlier = turn->before_call;
    if (earlier == NO_ROW)
        return; /* the very first one must be waited for */
    if (replay->call_start[earlier] <= replay->call_start[run->launch[row]]) {
        run->launch[row] = earlier;
        run->from_start[row] = 1;
        run->launch_lag[row] = MAX(replay->typical[activity_device(replay, row)].launch, 0);
    }
    if (turn->before_kernel != NO_ROW)
        add_extra_dependency(run, row, turn->before_kernel);
}

static void move(struct mover *mover, struct turn *turn, uint32_t row) {
    struct run *run = mover->run;
    const struct replay *replay = run->replay;
    uint32_t device = activity_device(replay, row), call = replay->launch[row];
    unsigned direction = replay->trace->activity.direction[row];
    uint32_t *engine = &mover->engine[device * COPY_DIRECTIONS + direction];
    if (is_pageable(replay, row))
        mover->pinned += pin_copy(run, row);
    drop_wait_for_copy(run, row);
    run->dependencies_removed[row] = 1;
    run->call_removed[call] = 1;
    run->call_cost[call] = MIN(run->call_cost[call], replay->copy_call);
    if (direction == COPY_HTOD)
        move_input(run, turn, row);
    else if (turn->last != NO_ROW) /* what it fetches must be computed */
        add_extra_dependency(run, row, turn->last);
    run->previous[row] = *engine;
    run->queue_lag[row] = MAX(replay->typical[device].queue, 0);
    *engine = row;
    mover->copies++;
    run->touched++;
}

/* What follows a moved copy in its queue follows what was before that, and waits for the copies to
 * the device that began its turn. */
static void walk(struct mover *mover) {
    struct run *run = mover->run;
    const struct replay *replay = run->replay;
    for (uint32_t i = 0; i < replay->activities; i++) {
        struct turn *turn = &mover->turns[replay->trace->activity.queue[i]];
        run->previous[i] = turn->last;
        if (is_moved(run, i)) {
            move(mover, turn, i);
            continue;
        }
        if (turn->input != NO_ROW && run->extra_dependency[i] == NO_ROW) {
            add_extra_dependency(run, i, turn->input);
            turn->input = NO_ROW;
        }
        turn->last = i;
    }
}

static bool prepare(struct mover *mover, struct status *status) {
    struct run *run = mover->run;
    const struct replay *replay = run->replay;
    size_t activities = replay->activities;
    mover->turns = memory_allocate(replay->queues, sizeof *mover->turns, status);
    mover->engine =
        memory_allocate(replay->devices * COPY_DIRECTIONS, sizeof *mover->engine, status);
    bool fresh = run->extra_dependency == NULL;
    if (!mover->turns || !mover->engine || !run_edit_calls(run, status) ||
        !run_edit_activities(run, status) || !RUN_WRITABLE(run, launch, activities, status) ||
        !RUN_WRITABLE(run, from_start, activities, status) ||
        !RUN_WRITABLE(run, launch_lag, activities, status) ||
        !RUN_WRITABLE(run, queue_lag, activities, status) ||
        !RUN_WRITABLE(run, previous, activities, status) ||
        !RUN_MAKE_ONCE(run, extra_dependency, activities, status) ||
        !RUN_MAKE_ONCE(run, extra_lag, activities, status) ||
        !RUN_MAKE_ONCE(run, dependencies_removed, activities, status))
        return false;
    for (size_t i = 0; i < activities && fresh; i++)
        run->extra_dependency[i] = NO_ROW;
    for (size_t i = 0; i < replay->devices * COPY_DIRECTIONS; i++)
        mover->engine[i] = NO_ROW;
    for (size_t i = 0; i < replay->queues; i++)
        mover->turns[i] = (struct turn){NO_ROW, NO_ROW, NO_ROW, NO_ROW, NO_ROW, NO_ROW};
    return true;
}

bool change_overlap_copies(struct run *run, const struct change *change, struct outcome *outcome,
                           struct status *status) {
    struct mover mover = {.run = run};
    char count[FORMAT_PLURAL_SIZE];
    (void)change;
    bool ok = prepare(&mover, status);
    if (ok)
        walk(&mover);
    memory_free(mover.turns);
    memory_free(mover.engine);
    if (!ok)
        return false;
    outcome->applicable = mover.copies > 0;
    if (!mover.copies) {
        snprintf(outcome->why_not, OUTCOME_TEXT, "no copy to or from the device is in the loop");
        return true;
    }
    snprintf(outcome->what, OUTCOME_TEXT, "%s a step ahead or behind%s",
             format_plural(mover.copies, "copy runs", "copies run", count),
             mover.pinned ? ", in pinned memory" : "");
    snprintf(outcome->assumes, OUTCOME_TEXT,
             "what a step needs is known a step before, its results are needed a step later, and "
             "kernels leave memory bandwidth to copies");
    run->doubt += 0.3;
    return true;
}
