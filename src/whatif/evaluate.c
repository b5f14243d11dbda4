/* Computes all times of a run in topological order, and the length of the run. */
#include "whatif/run.h"

#include <string.h>

#include "base/array.h"
#include "base/memory.h"

bool run_copy_column(void **column, const void *base, size_t count, size_t size,
                     struct status *status) {
    if (*column != base)
        return true; /* already copied */
    void *copy = memory_allocate(count, size, status);
    if (!copy)
        return false;
    if (base)
        memcpy(copy, base, count * size);
    *column = copy;
    return true;
}

void run_begin(struct run *run, const struct replay *replay) {
    *run = (struct run){
        .replay = replay,
        .host_time = replay->host_time,
        .call_cost = replay->call_cost,
        .duration = replay->duration,
        .launch_lag = replay->launch_lag,
        .queue_lag = replay->queue_lag,
        .launch = replay->launch,
        .previous = replay->previous,
        .from_start = replay->from_start,
        .tail = replay->tail,
        .loader_call = NO_ROW,
    };
}

static void free_copy(void *column, const void *base) {
    if (column != base)
        memory_free(column);
}

void run_finish(struct run *run) {
    const struct replay *replay = run->replay;
    free_copy(run->host_time, replay->host_time);
    free_copy(run->call_cost, replay->call_cost);
    free_copy(run->duration, replay->duration);
    free_copy(run->launch_lag, replay->launch_lag);
    free_copy(run->queue_lag, replay->queue_lag);
    free_copy(run->launch, replay->launch);
    free_copy(run->previous, replay->previous);
    free_copy(run->from_start, replay->from_start);
    free_copy(run->tail, replay->tail);
    void *columns[] = {run->call_removed,
                       run->activity_removed,
                       run->extra_dependency,
                       run->extra_lag,
                       run->loader_at,
                       run->call_start,
                       run->call_end,
                       run->start,
                       run->bound,
                       run->thread_last_end,
                       run->dependencies_removed};
    for (size_t i = 0; i < ARRAY_COUNT(columns); i++)
        memory_free(columns[i]);
    memset(run, 0, sizeof *run);
}

static bool column_equal(const void *column, const void *base, size_t count, size_t size) {
    return column == base || memcmp(column, base, count * size) == 0;
}

/* Whether all flags are 0. */
static bool all_clear(const uint8_t *flags, size_t count) {
    return !flags || (flags[0] == 0 && memcmp(flags, flags + 1, count - 1) == 0);
}

bool run_is_unchanged(const struct run *run) {
    const struct replay *replay = run->replay;
    size_t calls = replay->calls, activities = replay->activities;
#define SAME(column, count) column_equal(run->column, replay->column, count, sizeof *run->column)
    if (!SAME(host_time, calls) || !SAME(call_cost, calls) || !SAME(duration, activities) ||
        !SAME(launch_lag, activities) || !SAME(queue_lag, activities) ||
        !SAME(launch, activities) || !SAME(previous, activities) || !SAME(from_start, activities) ||
        !SAME(tail, replay->threads))
        return false;
#undef SAME
    for (size_t i = 0; run->extra_dependency && i < activities; i++)
        if (run->extra_dependency[i] != NO_ROW)
            return false;
    return run->loader_call == NO_ROW && (calls == 0 || all_clear(run->call_removed, calls)) &&
           (activities == 0 || (all_clear(run->activity_removed, activities) &&
                                all_clear(run->dependencies_removed, activities)));
}

static void start_call(struct run *run, size_t call) {
    uint32_t thread = run->replay->trace->call.thread[call];
    uint32_t follows = run->replay->follows[call];
    int64_t last_end = run->thread_last_end[thread];
    int64_t start = MAX(last_end, 0) + run->host_time[call];
    if (follows != NO_ROW)
        start = MAX(last_end, run->call_end[follows] + run->host_time[call]);
    if (run->loader_at && run->loader_at[call] != NEVER && run->loader_call != call)
        start = MAX(start, run->call_start[run->loader_call] + run->loader_at[call]);
    run->call_start[call] = start;
}

/* When the call ends, and the activity that it waited for beyond its own cost. */
static int64_t find_end(const struct run *run, size_t call, uint32_t *wait) {
    const struct waits *awaits = &run->replay->awaits;
    int64_t end = run->call_start[call] + run->call_cost[call];
    *wait = NO_ROW;
    if (!run_call_removed(run, call))
        for (uint32_t k = awaits->first[call]; k < awaits->first[call + 1]; k++) {
            uint32_t activity = awaits->activity[k];
            if (activity == NO_ROW)
                continue;
            int64_t until = run_end(run, activity) + awaits->lag[k];
            if (until > end) {
                end = until;
                *wait = activity;
            }
        }
    return end;
}

static void end_call(struct run *run, size_t call) {
    uint32_t wait;
    run->call_end[call] = find_end(run, call, &wait);
    run->thread_last_end[run->replay->trace->call.thread[call]] = run->call_end[call];
}

uint32_t run_call_wait(const struct run *run, size_t call) {
    uint32_t wait;
    find_end(run, call, &wait);
    return wait;
}

static void start_activity(struct run *run, size_t activity) {
    const struct replay *replay = run->replay;
    uint32_t call = run->launch[activity], previous = run->previous[activity];
    int64_t start = NEVER;
    uint8_t bound = BOUND_BY_NOTHING;
    if (call != NO_ROW && !run_activity_removed(run, activity)) {
        start = (run->from_start[activity] ? run->call_start[call] : run->call_end[call]) +
                run->launch_lag[activity];
        bound = BOUND_BY_LAUNCH;
    }
    if (previous != NO_ROW) {
        int64_t lag = run_activity_removed(run, activity) ? 0 : run->queue_lag[activity];
        if (run_end(run, previous) + lag >= start) {
            start = run_end(run, previous) + lag;
            bound = BOUND_BY_QUEUE;
        }
    }
    if (!run->dependencies_removed || !run->dependencies_removed[activity])
        for (uint32_t k = replay->depends.first[activity]; k < replay->depends.first[activity + 1];
             k++) {
            uint32_t other = replay->depends.activity[k];
            if (other != NO_ROW && run_end(run, other) + replay->depends.lag[k] >= start) {
                start = run_end(run, other) + replay->depends.lag[k];
                bound = BOUND_BY_DEPENDENCY;
            }
        }
    if (run->extra_dependency && run->extra_dependency[activity] != NO_ROW &&
        run_end(run, run->extra_dependency[activity]) + run->extra_lag[activity] > start) {
        start = run_end(run, run->extra_dependency[activity]) + run->extra_lag[activity];
        bound = BOUND_BY_DEPENDENCY;
    }
    if (bound == BOUND_BY_NOTHING)
        start = call == NO_ROW ? run->launch_lag[activity]
                               : run->call_start[call]; /* removed, and the first of its queue */
    run->start[activity] = start;
    run->bound[activity] = bound;
}

static bool allocate_times(struct run *run, struct status *status) {
    const struct replay *replay = run->replay;
    run->call_start = memory_allocate(replay->calls, sizeof *run->call_start, status);
    run->call_end = memory_allocate(replay->calls, sizeof *run->call_end, status);
    run->start = memory_allocate(replay->activities, sizeof *run->start, status);
    run->bound = memory_allocate(replay->activities, sizeof *run->bound, status);
    run->thread_last_end = memory_allocate(replay->threads, sizeof *run->thread_last_end, status);
    return run->call_start && run->call_end && run->start && run->bound && run->thread_last_end;
}

bool replay_evaluate(struct run *run, struct status *status) {
    const struct replay *replay = run->replay;
    if (!allocate_times(run, status))
        return false;
    for (size_t i = 0; i < replay->threads; i++)
        run->thread_last_end[i] = NEVER;
    for (size_t i = 0; i < replay->node_count; i++) {
        size_t node = replay->order[i];
        if (node < replay->calls)
            start_call(run, node);
        else if (node < 2 * replay->calls)
            end_call(run, node - replay->calls);
        else
            start_activity(run, node - 2 * replay->calls);
    }
    return true;
}

/* ---- length of the run ---- */

/* When the threads of a recording end: each with its last call and the time after it. */
static int64_t threads_end(const struct run *run, uint32_t session) {
    const struct replay *replay = run->replay;
    const struct trace *trace = replay->trace;
    int64_t end = NEVER;
    for (size_t thread = 0; thread < replay->threads; thread++)
        if (trace->thread_session[thread] == session) {
            int64_t last_end = run->thread_last_end[thread];
            if (last_end > NEVER || run->tail[thread] > 0)
                end = MAX(end, MAX(last_end, 0) + run->tail[thread]);
        }
    return end;
}

static int64_t session_end(const struct run *run, uint32_t session) {
    const struct replay *replay = run->replay;
    const struct model *model = replay->source.model;
    int64_t end = threads_end(run, session);
    for (uint32_t device = 1; device < replay->devices; device++) {
        if (replay->trace->device_session[device] != session)
            continue;
        for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++)
            end = MAX(end, run_end(run, i));
    }
    return MAX(end, 0);
}

int64_t run_wall(const struct run *run) {
    int64_t wall = 0;
    for (uint32_t session = 0; session < run->replay->sessions; session++)
        wall += session_end(run, session) + run->replay->session_rest[session];
    return wall;
}
