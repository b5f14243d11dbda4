/* What if copies ran in a queue of their own, a step ahead? Data for a step are copied while the
 * step before computes (two buffers take turns), results are fetched while the next one does. A
 * kernel then waits for the copies of its own step, which began a step earlier; a copy waits for
 * the copies before it, and for the kernels two steps back that used its buffer. */
#include <stdio.h>

#include "base/format.h"
#include "base/memory.h"
#include "whatif/run.h"

struct mover {
    struct run *run;
    uint32_t *first_call;  /* by step: the first call of it */
    uint32_t *last_kernel; /* by step */
    uint32_t *engine;      /* by device and direction: the last copy so far */
    uint64_t copies, pinned;
};

static bool is_pageable(const struct replay *replay, size_t activity) {
    return replay->trace->activity.from_memory[activity] == MEMORY_PAGEABLE ||
           replay->trace->activity.to_memory[activity] == MEMORY_PAGEABLE;
}

static uint32_t step_of(const struct replay *replay, size_t activity) {
    uint32_t call = replay->launch[activity];
    return call == NO_ROW ? NO_STEP : replay->call_step[call];
}

/* Copies between host and device inside the loop. The very first step's must be waited for. */
static bool is_moved(const struct run *run, size_t activity) {
    const struct replay *replay = run->replay;
    unsigned direction = replay->trace->activity.direction[activity];
    uint32_t step = step_of(replay, activity);
    return replay->trace->activity.kind[activity] == ACTIVITY_COPY &&
           (direction == COPY_HTOD || direction == COPY_DTOH) &&
           !run_activity_gone(run, activity) && step != NO_STEP && in_loop(replay, step) &&
           step > replay->source.steps->warm_up;
}

static void index_steps(struct mover *mover) {
    const struct replay *replay = mover->run->replay;
    for (size_t i = 0; i < replay->source.steps->count; i++)
        mover->first_call[i] = mover->last_kernel[i] = NO_ROW;
    for (uint32_t i = 0; i < replay->calls; i++) {
        uint32_t step = replay->call_step[i];
        if (!is_outer(replay, i) || step == NO_STEP)
            continue;
        uint32_t *first = &mover->first_call[step];
        if (*first == NO_ROW || replay->call_start[i] < replay->call_start[*first])
            *first = i;
    }
    for (uint32_t i = 0; i < replay->activities; i++) {
        uint32_t step = step_of(replay, i);
        if (step == NO_STEP || replay->trace->activity.kind[i] != ACTIVITY_KERNEL)
            continue;
        uint32_t *last = &mover->last_kernel[step];
        if (*last == NO_ROW || activity_end(replay, i) > activity_end(replay, *last))
            *last = i;
    }
}

static void also_wait(struct run *run, uint32_t row, uint32_t other) {
    run->also[row] = other;
    run->also_lag[row] =
        at_least(run->replay->typical[activity_device(run->replay, row)].depend, 0);
}

/* A copy to the device: its launch moves to where the step before begins. */
static void move_input(struct mover *mover, uint32_t row, uint32_t step) {
    struct run *run = mover->run;
    const struct replay *replay = run->replay;
    uint32_t earlier = mover->first_call[step - 1];
    if (earlier != NO_ROW && replay->call_start[earlier] <= replay->call_start[run->launch[row]]) {
        run->launch[row] = earlier;
        run->from_start[row] = 1;
        run->launch_lag[row] = at_least(replay->typical[activity_device(replay, row)].launch, 0);
    }
    if (step >= 2 && mover->last_kernel[step - 2] != NO_ROW && mover->last_kernel[step - 2] < row)
        also_wait(run, row, mover->last_kernel[step - 2]);
}

static void move(struct mover *mover, uint32_t row, uint32_t step) {
    struct run *run = mover->run;
    const struct replay *replay = run->replay;
    uint32_t device = activity_device(replay, row), call = replay->launch[row];
    unsigned direction = replay->trace->activity.direction[row];
    uint32_t *engine = &mover->engine[device * COPY_DIRECTIONS + direction];
    if (is_pageable(replay, row))
        mover->pinned += pin_copy(run, row);
    run->depend_gone[row] = 1;
    run->call_gone[call] = 1;
    run->own[call] = at_most(run->own[call], replay->copy_call);
    if (direction == COPY_HTOD)
        move_input(mover, row, step);
    else if (run->previous[row] != NO_ROW) /* what it fetches must be computed */
        also_wait(run, row, run->previous[row]);
    run->previous[row] = *engine;
    run->queue_lag[row] = at_least(replay->typical[device].queue, 0);
    *engine = row;
    mover->copies++;
    run->touched++;
}

/* Walks each device; what follows a moved copy in its queue follows what was before that, and
 * waits for the copies to the device of its own step. */
static bool walk(struct mover *mover, struct status *status) {
    struct run *run = mover->run;
    const struct replay *replay = run->replay;
    uint32_t *last = memory_allocate(replay->queues, sizeof *last, status);
    uint32_t *input = memory_allocate(replay->queues, sizeof *input, status);
    for (size_t i = 0; i < replay->queues && last && input; i++)
        last[i] = input[i] = NO_ROW;
    for (uint32_t i = 0; i < replay->activities && last && input; i++) {
        uint32_t queue = replay->trace->activity.queue[i];
        run->previous[i] = last[queue];
        if (is_moved(run, i)) {
            move(mover, i, step_of(replay, i));
            if (replay->trace->activity.direction[i] == COPY_HTOD)
                input[queue] = i;
            continue;
        }
        if (input[queue] != NO_ROW && run->also[i] == NO_ROW) {
            also_wait(run, i, input[queue]);
            input[queue] = NO_ROW;
        }
        last[queue] = i;
    }
    bool ok = last && input;
    memory_free(last);
    memory_free(input);
    return ok;
}

static bool prepare(struct mover *mover, struct status *status) {
    struct run *run = mover->run;
    const struct replay *replay = run->replay;
    size_t activities = replay->activities, steps = replay->source.steps->count;
    mover->first_call = memory_allocate(steps, sizeof *mover->first_call, status);
    mover->last_kernel = memory_allocate(steps, sizeof *mover->last_kernel, status);
    mover->engine =
        memory_allocate(replay->devices * COPY_DIRECTIONS, sizeof *mover->engine, status);
    bool fresh = run->also == NULL;
    if (!mover->first_call || !mover->last_kernel || !mover->engine ||
        !run_edit_calls(run, status) || !run_edit_activities(run, status) ||
        !RUN_OWN(run, launch, activities, status) ||
        !RUN_OWN(run, from_start, activities, status) ||
        !RUN_OWN(run, launch_lag, activities, status) ||
        !RUN_OWN(run, queue_lag, activities, status) ||
        !RUN_OWN(run, previous, activities, status) ||
        !RUN_MAKE_ONCE(run, also, activities, status) ||
        !RUN_MAKE_ONCE(run, also_lag, activities, status) ||
        !RUN_MAKE_ONCE(run, depend_gone, activities, status))
        return false;
    for (size_t i = 0; i < activities && fresh; i++)
        run->also[i] = NO_ROW;
    for (size_t i = 0; i < replay->devices * COPY_DIRECTIONS; i++)
        mover->engine[i] = NO_ROW;
    return true;
}

bool change_overlap_copies(struct run *run, const struct change *change, struct outcome *outcome,
                           struct status *status) {
    struct mover mover = {.run = run};
    char count[FORMAT_SIZE];
    (void)change;
    if (run->replay->source.steps->count < 2) {
        snprintf(outcome->why_not, OUTCOME_TEXT,
                 "no steps were found, so it is not known which kernels a copy is for");
        return true;
    }
    bool ok = prepare(&mover, status);
    if (ok) {
        index_steps(&mover);
        ok = walk(&mover, status);
    }
    memory_free(mover.first_call);
    memory_free(mover.last_kernel);
    memory_free(mover.engine);
    if (!ok)
        return false;
    outcome->applicable = mover.copies > 0;
    if (!mover.copies) {
        snprintf(outcome->why_not, OUTCOME_TEXT, "no copy to or from the device is in the loop");
        return true;
    }
    snprintf(outcome->what, OUTCOME_TEXT, "%s copies run a step ahead or behind%s",
             format_count(mover.copies, count), mover.pinned ? ", in pinned memory" : "");
    snprintf(outcome->assumes, OUTCOME_TEXT,
             "what a step needs is known a step before, its results are needed a step later, and "
             "kernels leave memory bandwidth to copies");
    run->doubt += 0.15;
    return true;
}
