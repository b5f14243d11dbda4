/* Which step does a call belong to? Steps marked by a profiler or ranges are host time. For
 * periodic steps a call belongs to the step of what it launches, and one that launches nothing to
 * that of the launch before it. */
#include "whatif/graph.h"

static uint32_t step_at(const struct steps *steps, int64_t time) {
    size_t step = steps_at(steps, time);
    return step == SIZE_MAX ? NO_STEP : (uint32_t)step;
}

/* A periodic sequence is found from some phase of the loop on: the partial iterations before the
 * first and after the last whole one belong to the loop too. */
static uint32_t period_at(const struct steps *steps, int64_t time) {
    const struct step *first = &steps->list[0], *last = &steps->list[steps->count - 1];
    if (time < first->start && first->start - time <= steps->median)
        return 0;
    if (time >= last->end && time - last->end <= steps->median)
        return (uint32_t)(steps->count - 1);
    return step_at(steps, time);
}

static void by_activities(struct replay *replay) {
    const struct steps *steps = replay->source.steps;
    for (size_t i = 0; i < replay->activities; i++) {
        uint32_t call = replay->launch[i];
        if (call == NO_ROW)
            continue;
        uint32_t step = period_at(steps, replay->trace->activity.start[i]);
        /* its first activity decides */
        if (replay->call_step[call] == NO_STEP || step < replay->call_step[call])
            replay->call_step[call] = step;
    }
    uint32_t thread = 0, last = NO_STEP;
    for (size_t i = 0; i < replay->calls; i++) {
        if (replay->trace->call.thread[i] != thread) {
            thread = replay->trace->call.thread[i];
            last = NO_STEP;
        }
        if (replay->call_step[i] == NO_STEP)
            replay->call_step[i] = last;
        else
            last = replay->call_step[i];
    }
}

void replay_find_steps(struct replay *replay) {
    const struct steps *steps = replay->source.steps;
    for (size_t i = 0; i < replay->calls; i++)
        replay->call_step[i] = NO_STEP;
    if (steps->count == 0)
        return;
    if (steps->source == STEPS_PERIODIC) {
        by_activities(replay);
        return;
    }
    for (size_t i = 0; i < replay->calls; i++)
        replay->call_step[i] = step_at(steps, replay->trace->call.start[i]);
}
