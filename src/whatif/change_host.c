/* What if the host had less to do itself: its own code taken out, made faster, or prepared by
 * somebody else meanwhile? */
#include <math.h>
#include <stdio.h>

#include "base/format.h"
#include "base/memory.h"
#include "whatif/names.h"
#include "whatif/run.h"

/* Takes `share` of the thinking found out of the run; where `everywhere`, outside the loop too. */
static int64_t cut_thinking(struct run *run, const struct thinking *thinking, double share,
                            bool everywhere) {
    const struct replay *replay = run->replay;
    int64_t sum = 0;
    for (uint32_t i = 0; i < replay->calls; i++) {
        if (thinking->before_call[i] == 0 ||
            (!everywhere && !in_loop(replay, replay->call_step[i])))
            continue;
        int64_t cut = (int64_t)((double)thinking->before_call[i] * share);
        cut = at_most(cut, run->think[i]);
        run->think[i] -= cut;
        run->touched += cut > 0;
        sum += cut;
    }
    for (uint32_t i = 0; i < replay->threads; i++)
        if (everywhere && thinking->tail[i]) {
            int64_t cut = (int64_t)((double)thinking->tail[i] * share);
            run->tail[i] -= at_most(cut, run->tail[i]);
            sum += cut;
        }
    return sum;
}

static int64_t cut_outliers(struct run *run) {
    const struct replay *replay = run->replay;
    int64_t sum = 0, usual = at_least(replay->think_typical, 0);
    uint32_t previous = NO_ROW;
    for (uint32_t i = 0; i < replay->calls; i++) {
        if (!is_outer(replay, i))
            continue;
        bool has_before = replay->follows[i] != NO_ROW ||
                          (previous != NO_ROW &&
                           replay->trace->call.thread[previous] == replay->trace->call.thread[i]);
        previous = i;
        if (!has_before || !in_loop(replay, replay->call_step[i]) ||
            run->think[i] <= other_work(replay))
            continue;
        sum += run->think[i] - usual;
        run->think[i] = usual;
        run->touched++;
    }
    return sum;
}

bool change_no_host(struct run *run, const struct change *change, struct outcome *outcome,
                    struct status *status) {
    char time[FORMAT_SIZE];
    struct thinking thinking = {0};
    if (!run_edit_calls(run, status) || !RUN_OWN(run, tail, run->replay->threads, status))
        return false;
    int64_t cut;
    if (change->pattern.length) {
        if (!thinking_find(run->replay, THINKING_NAMED, change->pattern, &thinking, status))
            return false;
        cut = cut_thinking(run, &thinking, 1, run->replay->source.steps->count == 0);
        thinking_finish(&thinking);
    } else {
        cut = cut_outliers(run);
    }
    outcome->applicable = cut > 0;
    if (cut <= 0) {
        if (change->pattern.length)
            snprintf(outcome->why_not, OUTCOME_TEXT,
                     "no range or sampled function of that name holds host time");
        else
            snprintf(outcome->why_not, OUTCOME_TEXT,
                     "no time between calls stands out from that between launches");
        return true;
    }
    snprintf(outcome->what, OUTCOME_TEXT, "%s of host code goes", format_duration(cut, time));
    snprintf(outcome->assumes, OUTCOME_TEXT,
             "the loop can do without that code's results, or they "
             "are there before");
    run->doubt += 0.08;
    return true;
}

bool host_faster(struct run *run, const struct change *change, struct outcome *outcome,
                 struct status *status) {
    char time[FORMAT_SIZE];
    struct thinking thinking;
    bool all = text_is(change->pattern, "host");
    if (!run_edit_calls(run, status) || !RUN_OWN(run, tail, run->replay->threads, status) ||
        !thinking_find(run->replay, all ? THINKING_ALL : THINKING_NAMED, change->pattern, &thinking,
                       status))
        return false;
    int64_t cut = cut_thinking(run, &thinking, 1 - 1 / change->factor, true);
    thinking_finish(&thinking);
    outcome->applicable = cut > 0;
    if (cut <= 0) {
        snprintf(outcome->why_not, OUTCOME_TEXT,
                 "no kernel, range or sampled function has that name");
        return true;
    }
    snprintf(outcome->what, OUTCOME_TEXT, "%s of host code goes", format_duration(cut, time));
    snprintf(outcome->assumes, OUTCOME_TEXT, "API calls take as long as before");
    run->doubt += 0.02;
    return true;
}

/* The loader works through its batches one after another, beginning with the first call that waited
 * for one; a step starts when its batch is there. */
static int64_t move_input(struct run *run, const struct thinking *thinking) {
    const struct replay *replay = run->replay;
    int64_t loaded = 0, moved = 0;
    for (uint32_t i = 0; i < replay->calls; i++) {
        run->loader_at[i] = NEVER;
        int64_t time = at_most(thinking->before_call[i], run->think[i]);
        if (time <= 0 || !in_loop(replay, replay->call_step[i]))
            continue;
        if (run->loader_call == NO_ROW) {
            run->loader_call = i; /* the first batch is waited for as ever */
            continue;
        }
        if (replay->trace->call.thread[i] != replay->trace->call.thread[run->loader_call])
            continue; /* another process's loader: it has a worker of its own */
        loaded += time;
        run->loader_at[i] = loaded;
        run->think[i] -= time;
        run->touched++;
        moved += time;
    }
    return moved;
}

bool change_prefetch(struct run *run, const struct change *change, struct outcome *outcome,
                     struct status *status) {
    char time[FORMAT_SIZE];
    struct thinking thinking;
    enum thinking_of of = change->pattern.length ? THINKING_NAMED : THINKING_INPUT;
    if (run->loader_at) {
        snprintf(outcome->why_not, OUTCOME_TEXT, "--prefetch is given twice");
        return true;
    }
    if (!run_edit_calls(run, status) ||
        !RUN_MAKE_ONCE(run, loader_at, run->replay->calls, status) ||
        !thinking_find(run->replay, of, change->pattern, &thinking, status))
        return false;
    int64_t moved = move_input(run, &thinking);
    thinking_finish(&thinking);
    outcome->applicable = moved > 0;
    if (moved <= 0) {
        snprintf(outcome->why_not, OUTCOME_TEXT,
                 "no range or sampled function that prepares input holds host time in the loop");
        return true;
    }
    snprintf(outcome->what, OUTCOME_TEXT, "%s of input work happens meanwhile",
             format_duration(moved, time));
    snprintf(outcome->assumes, OUTCOME_TEXT,
             "one worker prepares a batch as fast as the loop did, and a processor is free for it");
    run->doubt += 0.1;
    return true;
}
