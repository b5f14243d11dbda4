/* What if copies ran in a separate queue, one iteration ahead? Consecutive copies to the device
 * begin an iteration: what follows in their queue works on what they brought. They are then issued
 * while the previous iteration computes (double buffering), and results are fetched while the next
 * one does. A kernel waits for the copies of its own iteration, issued one iteration earlier; a
 * copy waits for the copies before it and for the kernels two iterations back that used its buffer.
 */
#include <stdio.h>

#include "base/format.h"
#include "base/memory.h"
#include "whatif/run.h"

/* State of a queue during the walk. */
struct iteration {
    uint32_t last;        /* last activity that stays in the queue */
    uint32_t input;       /* copy to the device that the next kernel waits for */
    uint32_t first_call;  /* of the copies that began this iteration */
    uint32_t before_call; /* likewise of the previous iteration */
    uint32_t kernel;      /* the last one before this iteration */
    uint32_t before_kernel;
};

struct copy_mover {
    struct run *run;
    struct iteration *iterations; /* by queue */
    uint32_t *engine;             /* by device and direction: the last copy so far */
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

/* A copy to the device: its launch moves to the start of the previous iteration. Making the queues
 * wait for each other costs the host two more operations per iteration. */
static void move_input(struct run *run, struct iteration *iteration, uint32_t row) {
    const struct replay *replay = run->replay;
    if (iteration->input == NO_ROW) { /* it begins an iteration */
        iteration->before_call = iteration->first_call;
        iteration->first_call = replay->launch[row];
        iteration->before_kernel = iteration->kernel;
        iteration->kernel = iteration->last;
        run->call_cost[iteration->first_call] +=
            2 * (replay->launch_call + MAX(replay->host_time_typical, 0));
    }
    iteration->input = row;
    uint32_t earlier = iteration->before_call;
    if (earlier == NO_ROW)
        return; /* the first one is still waited for */
    if (replay->call_start[earlier] <= replay->call_start[run->launch[row]]) {
        run->launch[row] = earlier;
        run->from_start[row] = 1;
        run->launch_lag[row] = MAX(replay->typical[activity_device(replay, row)].launch, 0);
    }
    if (iteration->before_kernel != NO_ROW)
        add_extra_dependency(run, row, iteration->before_kernel);
}

static void move_copy(struct copy_mover *copy_mover, struct iteration *iteration, uint32_t row) {
    struct run *run = copy_mover->run;
    const struct replay *replay = run->replay;
    uint32_t device = activity_device(replay, row), call = replay->launch[row];
    unsigned direction = replay->trace->activity.direction[row];
    uint32_t *engine = &copy_mover->engine[device * COPY_DIRECTIONS + direction];
    if (is_pageable(replay, row))
        copy_mover->pinned += pin_copy(run, row);
    drop_wait_for_copy(run, row);
    run->dependencies_removed[row] = 1;
    run->call_removed[call] = 1;
    run->call_cost[call] = MIN(run->call_cost[call], replay->copy_call);
    if (direction == COPY_HTOD)
        move_input(run, iteration, row);
    else if (iteration->last != NO_ROW) /* what it fetches must be computed */
        add_extra_dependency(run, row, iteration->last);
    run->previous[row] = *engine;
    run->queue_lag[row] = MAX(replay->typical[device].queue, 0);
    *engine = row;
    copy_mover->copies++;
    run->touched++;
}

/* What follows a moved copy in its queue now follows what preceded the copy, and waits for the
 * copies that began its iteration. */
static void move_copies(struct copy_mover *copy_mover) {
    struct run *run = copy_mover->run;
    const struct replay *replay = run->replay;
    for (uint32_t i = 0; i < replay->activities; i++) {
        struct iteration *iteration = &copy_mover->iterations[replay->trace->activity.queue[i]];
        run->previous[i] = iteration->last;
        if (is_moved(run, i)) {
            move_copy(copy_mover, iteration, i);
            continue;
        }
        if (iteration->input != NO_ROW && run->extra_dependency[i] == NO_ROW) {
            add_extra_dependency(run, i, iteration->input);
            iteration->input = NO_ROW;
        }
        iteration->last = i;
    }
}

static bool prepare_columns(struct copy_mover *copy_mover, struct status *status) {
    struct run *run = copy_mover->run;
    const struct replay *replay = run->replay;
    size_t activities = replay->activities;
    copy_mover->iterations =
        memory_allocate(replay->queues, sizeof *copy_mover->iterations, status);
    copy_mover->engine =
        memory_allocate(replay->devices * COPY_DIRECTIONS, sizeof *copy_mover->engine, status);
    bool fresh = run->extra_dependency == NULL;
    if (!copy_mover->iterations || !copy_mover->engine || !run_edit_calls(run, status) ||
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
        copy_mover->engine[i] = NO_ROW;
    for (size_t i = 0; i < replay->queues; i++)
        copy_mover->iterations[i] =
            (struct iteration){NO_ROW, NO_ROW, NO_ROW, NO_ROW, NO_ROW, NO_ROW};
    return true;
}

bool change_overlap_copies(struct run *run, const struct change *change, struct outcome *outcome,
                           struct status *status) {
    struct copy_mover copy_mover = {.run = run};
    char count[FORMAT_PLURAL_SIZE];
    (void)change;
    bool ok = prepare_columns(&copy_mover, status);
    if (ok)
        move_copies(&copy_mover);
    memory_free(copy_mover.iterations);
    memory_free(copy_mover.engine);
    if (!ok)
        return false;
    outcome->applicable = copy_mover.copies > 0;
    if (!copy_mover.copies) {
        snprintf(outcome->why_not, OUTCOME_TEXT, "the loop has no copies to or from the device");
        return true;
    }
    snprintf(outcome->what, OUTCOME_TEXT, "%s one step ahead or behind%s",
             format_plural(copy_mover.copies, "copy runs", "copies run", count),
             copy_mover.pinned ? ", in pinned memory" : "");
    snprintf(outcome->assumes, OUTCOME_TEXT,
             "the input of a step is known one step ahead, its results are needed one step later, "
             "and kernels leave memory bandwidth for copies");
    run->assumption_error += 0.3;
    return true;
}
