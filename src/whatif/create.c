/* Builds the graph: the time axis, the outer calls, which call launched which activity, and the
 * parts found by waits.c, dependencies.c, thread_handoff.c, topological_order.c, typical.c and
 * calibrate.c. */
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "trace/writer.h"
#include "whatif/graph.h"
#include "whatif/names.h"
#include "whatif/run.h"

bool waits_add(struct waits *waits, uint32_t activity, struct status *status) {
    if (!GROW(waits->activity, &waits->capacity, waits->count + 1, status))
        return false;
    waits->activity[waits->count++] = activity;
    return true;
}

void waits_finish(struct waits *waits) {
    memory_free(waits->first);
    memory_free(waits->activity);
    memory_free(waits->lag);
    memset(waits, 0, sizeof *waits);
}

/* ---- the time axis ---- */

/* Maps times of the trace to the replay's axis. Queries are mostly in order of time: the cursor
 * remembers the pauses so far. */
struct axis {
    const struct replay *replay;
    uint32_t session;
    size_t cursor;
    int64_t paused; /* before windows[cursor] */
};

static int64_t axis_place(struct axis *axis, uint32_t session, int64_t time) {
    const struct replay *replay = axis->replay;
    if (session >= replay->sessions)
        return 0;
    const struct selection *pauses = &replay->source.pauses->by_session[session];
    int64_t origin = replay->source.model->session_span[session].start;
    if (pauses->count == 0)
        return time - origin;
    if (session != axis->session ||
        (axis->cursor > 0 && pauses->windows[axis->cursor - 1].end > time)) {
        axis->session = session;
        axis->cursor = 0;
        axis->paused = 0;
    }
    for (; axis->cursor < pauses->count && pauses->windows[axis->cursor].end <= time;
         axis->cursor++) {
        const struct window *pause = &pauses->windows[axis->cursor];
        if (pause->end > origin)
            axis->paused += pause->end - MAX(pause->start, origin);
    }
    int64_t paused = axis->paused;
    if (axis->cursor < pauses->count && pauses->windows[axis->cursor].start < time)
        paused += time - MAX(pauses->windows[axis->cursor].start, origin);
    return time - origin - paused;
}

static uint32_t call_session(const struct replay *replay, size_t call) {
    return replay->trace->thread_session[replay->trace->call.thread[call]];
}

static uint32_t activity_session(const struct replay *replay, size_t activity) {
    return replay->trace->queue_session[replay->trace->activity.queue[activity]];
}

/* Also true when a queue belongs to no recording: the axis has no times for it. */
static bool has_pauses(const struct replay *replay) {
    for (size_t session = 0; session < replay->sessions; session++)
        if (replay->source.pauses->by_session[session].count)
            return true;
    for (size_t queue = 0; queue < replay->queues; queue++)
        if (replay->trace->queue_session[queue] >= replay->sessions)
            return true;
    return false;
}

/* Durations are kept unless recording was paused meanwhile. */
static bool place_all(struct replay *replay, struct status *status) {
    const struct trace *trace = replay->trace;
    if (!has_pauses(replay))
        replay->duration = trace->activity.duration;
    else if (!(replay->duration =
                   memory_allocate(replay->activities, sizeof *replay->duration, status)))
        return false;
    struct axis starts = {.replay = replay}, ends = starts;
    for (size_t i = 0; i < replay->calls; i++) {
        uint32_t session = call_session(replay, i);
        replay->call_start[i] = axis_place(&starts, session, trace->call.start[i]);
        replay->call_end[i] = axis_place(&ends, session, model_call_end(replay->source.model, i));
    }
    starts = ends = (struct axis){.replay = replay};
    for (size_t i = 0; i < replay->activities; i++) {
        uint32_t session = activity_session(replay, i);
        replay->start[i] = axis_place(&starts, session, trace->activity.start[i]);
        if (replay->duration != trace->activity.duration)
            replay->duration[i] =
                axis_place(&ends, session, model_activity_end(replay->source.model, i)) -
                replay->start[i];
    }
    for (uint32_t session = 0; session < replay->sessions; session++) {
        const struct window *span = &replay->source.model->session_span[session];
        if (span->end > span->start)
            replay->session_length[session] = axis_place(&starts, session, span->end);
        replay->measured += replay->session_length[session];
    }
    return true;
}

/* The selected windows on the axis. */
static bool place_windows(struct replay *replay, struct status *status) {
    const struct selection *given = replay->source.selections;
    for (uint32_t device = 1; device < replay->devices; device++) {
        struct axis axis = {.replay = replay};
        uint32_t session = replay->trace->device_session[device];
        struct window whole;
        struct selection *to = &replay->windows[device];
        if (!given) {
            to->everything = true;
            if (model_device_window(replay->source.model, device, &whole) &&
                !selection_add(to, axis_place(&axis, session, whole.start),
                               axis_place(&axis, session, whole.end), status))
                return false;
            continue;
        }
        to->everything = given[device].everything;
        for (size_t i = 0; i < given[device].count; i++)
            if (!selection_add(to, axis_place(&axis, session, given[device].windows[i].start),
                               axis_place(&axis, session, given[device].windows[i].end), status))
                return false;
        replay->narrowed |= replay->source.narrowed && to->count > 0;
    }
    return true;
}

/* ---- calls ---- */

/* A nested call is part of its outer call. */
static void find_outer(struct replay *replay) {
    const struct model *model = replay->source.model;
    uint32_t outer = 0;
    for (size_t i = 0; i < replay->calls; i++) {
        uint8_t class = replay->trace->call.class[i];
        if (!model->call_nested[i]) {
            outer = (uint32_t)i;
            replay->class[i] = class;
        } else {
            if (replay->class[outer] == CALL_OTHER)
                replay->class[outer] = class;
            /* a nested call that ends later is damage; they end together */
            replay->call_end[outer] = MAX(replay->call_end[outer], replay->call_end[i]);
        }
        replay->outer[i] = outer;
    }
}

static void find_launching_calls(struct replay *replay) {
    for (size_t i = 0; i < replay->activities; i++) {
        uint32_t call = replay->source.model->launch[i];
        replay->launch[i] = call == NO_ROW ? NO_ROW : replay->outer[call];
    }
}

/* A device that runs work inside the launching call (the CPU itself): nearly every activity lies
 * inside its call. */
static bool is_synchronous(const struct replay *replay, uint32_t device) {
    size_t inside = 0, launched = 0;
    const struct model *model = replay->source.model;
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
        uint32_t call = replay->launch[i];
        if (call == NO_ROW || replay->trace->activity.kind[i] != ACTIVITY_KERNEL)
            continue;
        launched++;
        inside += replay->start[i] >= replay->call_start[call] &&
                  activity_end(replay, i) <= replay->call_end[call];
    }
    return launched && inside * 10 >= launched * 9;
}

/* Copies block by their name, or when one side is pageable memory; only if the call did not end
 * before its activity started. */
static bool find_blocking(struct replay *replay, struct status *status) {
    const struct model *model = replay->source.model;
    struct name_trait asynchronous;
    if (!name_trait_begin(&asynchronous, replay->trace, call_is_asynchronous, status))
        return false;
    for (uint32_t device = 1; device < replay->devices; device++) {
        bool synchronous = is_synchronous(replay, device);
        for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
            uint32_t call = replay->launch[i];
            if (call == NO_ROW)
                continue;
            bool inside = replay->call_end[call] >= replay->start[i];
            if (synchronous)
                replay->blocks[call] |= activity_end(replay, i) <= replay->call_end[call];
            else if (replay->class[call] == CALL_COPY && inside &&
                     replay->trace->activity.kind[i] == ACTIVITY_COPY)
                replay->blocks[call] |=
                    model->call_pageable[model->launch[i]] ||
                    !name_has_trait(&asynchronous, replay->trace->call.name[call]);
        }
    }
    name_trait_finish(&asynchronous);
    for (size_t i = 0; i < replay->activities; i++)
        replay->from_start[i] = replay->launch[i] != NO_ROW && replay->blocks[replay->launch[i]];
    return true;
}

static bool names_graph_launch(struct text name) {
    return text_find(name, "GraphLaunch") >= 0;
}

/* Whether most kernels are launched by graphs. */
static bool find_graphs(struct replay *replay, struct status *status) {
    struct trace *trace = replay->source.model->trace;
    struct name_trait launches_graph;
    if (!trace_load(trace, TABLE_ACTIVITY, "graph", status) ||
        !name_trait_begin(&launches_graph, trace, names_graph_launch, status))
        return false;
    size_t in_graphs = 0, kernels = 0;
    for (size_t i = 0; i < replay->activities; i++) {
        bool kernel = replay->trace->activity.kind[i] == ACTIVITY_KERNEL;
        uint32_t call = replay->launch[i];
        kernels += kernel;
        in_graphs +=
            kernel && (trace->activity.graph[i] ||
                       (call != NO_ROW && name_has_trait(&launches_graph, trace->call.name[call])));
    }
    replay->has_graphs = in_graphs * 2 > kernels;
    name_trait_finish(&launches_graph);
    trace_unload(trace, TABLE_ACTIVITY, "graph");
    return true;
}

bool replay_find_launches(struct replay *replay, struct status *status) {
    find_outer(replay);
    find_launching_calls(replay);
    return find_blocking(replay, status) && find_graphs(replay, status);
}

/* ---- grids ---- */

static uint32_t saturating_product(uint64_t x, uint64_t y, uint64_t z) {
    uint64_t result;
    if (__builtin_mul_overflow(x * y, z, &result) || result > UINT32_MAX)
        return UINT32_MAX;
    return (uint32_t)result;
}

static bool read_grids(struct replay *replay, struct status *status) {
    struct trace *trace = replay->source.model->trace;
    const struct columns_activity *activity = &trace->activity;
    static const char *const names[] = {"grid_x",  "grid_y",  "grid_z",
                                        "block_x", "block_y", "block_z"};
    if (!trace_load(trace, TABLE_ACTIVITY, "grid_x grid_y grid_z block_x block_y block_z",
                    status) ||
        !trace_load(trace, TABLE_COUNTER, "time device name value", status))
        return false;
    for (size_t i = 0; i < replay->activities; i++) {
        replay->grid_blocks[i] =
            saturating_product(activity->grid_x[i], activity->grid_y[i], activity->grid_z[i]);
        replay->block_threads[i] =
            saturating_product(activity->block_x[i], activity->block_y[i], activity->block_z[i]);
    }
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        trace_unload(trace, TABLE_ACTIVITY, names[i]);
    return true;
}

/* ---- the whole ---- */

static bool allocate_columns(struct replay *replay, struct status *status) {
    const struct {
        void **column;
        size_t count, size;
    } columns[] = {
#define COLUMN(name, count) {(void **)&replay->name, count, sizeof *replay->name}
        COLUMN(outer, replay->calls),
        COLUMN(class, replay->calls),
        COLUMN(call_start, replay->calls),
        COLUMN(call_end, replay->calls),
        COLUMN(blocks, replay->calls),
        COLUMN(waited, replay->calls),
        COLUMN(host_time, replay->calls),
        COLUMN(call_cost, replay->calls),
        COLUMN(follows, replay->calls),
        COLUMN(call_step, replay->calls),
        COLUMN(awaits.first, replay->calls + 1),
        COLUMN(wait_call, replay->trace->wait.count),
        COLUMN(wait_recorder, replay->trace->wait.count),
        COLUMN(start, replay->activities),
        COLUMN(launch, replay->activities),
        COLUMN(from_start, replay->activities),
        COLUMN(previous, replay->activities),
        COLUMN(launch_lag, replay->activities),
        COLUMN(queue_lag, replay->activities),
        COLUMN(depends.first, replay->activities + 1),
        COLUMN(bound, replay->activities),
        COLUMN(grid_blocks, replay->activities),
        COLUMN(block_threads, replay->activities),
        COLUMN(tail, replay->threads),
        COLUMN(session_length, replay->sessions),
        COLUMN(session_rest, replay->sessions),
        COLUMN(typical, replay->devices),
        COLUMN(windows, replay->devices),
#undef COLUMN
    };
    for (size_t i = 0; i < ARRAY_COUNT(columns); i++)
        if (!(*columns[i].column = memory_allocate(columns[i].count, columns[i].size, status)))
            return false;
    return true;
}

/* The end of each recording that no call, activity or calling thread reaches: ranges of queues,
 * synchronization records. It stays as it is. */
static void find_rest(struct replay *replay) {
    const struct trace *trace = replay->trace;
    for (uint32_t session = 0; session < replay->sessions; session++)
        replay->session_rest[session] = replay->session_length[session];
    for (size_t i = 0; i < replay->threads + replay->calls + replay->activities; i++) {
        uint32_t session;
        int64_t end;
        if (i < replay->threads) {
            size_t first = replay->source.model->thread_calls[i];
            size_t last = replay->source.model->thread_calls[i + 1];
            session = trace->thread_session[i];
            end = replay->tail[i] + (first < last ? replay->call_end[replay->outer[last - 1]] : 0);
            if (first == last && replay->tail[i] == 0)
                continue;
        } else if (i < replay->threads + replay->calls) {
            session = call_session(replay, i - replay->threads);
            end = replay->call_end[i - replay->threads];
        } else {
            size_t activity = i - replay->threads - replay->calls;
            session = activity_session(replay, activity);
            end = activity_end(replay, activity);
        }
        if (session < replay->sessions)
            replay->session_rest[session] =
                MIN(replay->session_rest[session], MAX(replay->session_length[session] - end, 0));
    }
}

static bool find_unchanged(struct replay *replay, struct status *status) {
    struct run run;
    run_begin(&run, replay);
    find_rest(replay);
    bool ok = replay_evaluate(&run, status);
    replay->unchanged = ok ? run_time(&run) : 0;
    run_finish(&run);
    return ok;
}

struct replay *replay_create(const struct replay_source *source, struct status *status) {
    struct replay *replay = memory_allocate(1, sizeof *replay, status);
    if (!replay) {
        if (source->release)
            source->release(source->owned);
        return NULL;
    }
    struct trace *trace = source->model->trace;
    replay->source = *source;
    replay->trace = trace;
    replay->calls = trace->call.count;
    replay->activities = trace->activity.count;
    replay->threads = trace->thread.count;
    replay->queues = trace->queue.count;
    replay->devices = trace->device.count;
    replay->sessions = trace->session_count;
    if (!text_to_i64(trace_meta(trace, META_CLOCK_ERROR), &replay->clock_error) ||
        replay->clock_error < 0 || replay->clock_error > 1000000)
        replay->clock_error = 1000; /* as good as most recorders are */
    bool ok = (2 * replay->calls + replay->activities < UINT32_MAX ||
               status_fail(status, STATUS_UNSUPPORTED, "too many events to replay")) &&
              allocate_columns(replay, status) && read_grids(replay, status);
    ok = ok && place_all(replay, status) && place_windows(replay, status) &&
         replay_find_launches(replay, status);
    if (ok) {
        replay_find_steps(replay);
        ok = replay_find_wait_calls(replay, status) && replay_find_dependencies(replay, status) &&
             replay_find_waits(replay, status) && replay_find_handoffs(replay, status) &&
             replay_sort(replay, status) && replay_find_typical(replay, status) &&
             replay_calibrate(replay, status) && find_unchanged(replay, status);
    }
    if (!ok) {
        replay_destroy(replay);
        return NULL;
    }
    return replay;
}

void replay_destroy(struct replay *replay) {
    if (!replay)
        return;
    void *columns[] = {
        replay->outer,          replay->class,         replay->call_start, replay->call_end,
        replay->blocks,         replay->waited,        replay->host_time,  replay->call_cost,
        replay->follows,        replay->call_step,     replay->wait_call,  replay->wait_recorder,
        replay->start,          replay->launch,        replay->from_start, replay->previous,
        replay->launch_lag,     replay->queue_lag,     replay->bound,      replay->grid_blocks,
        replay->tail,           replay->block_threads, replay->order,      replay->typical,
        replay->session_length, replay->session_rest};
    for (size_t i = 0; i < ARRAY_COUNT(columns); i++)
        memory_free(columns[i]);
    if (replay->duration != replay->trace->activity.duration)
        memory_free(replay->duration);
    for (size_t i = 0; replay->windows && i < replay->devices; i++)
        selection_finish(&replay->windows[i]);
    memory_free(replay->windows);
    waits_finish(&replay->awaits);
    waits_finish(&replay->depends);
    if (replay->source.release)
        replay->source.release(replay->source.owned);
    memory_free(replay);
}
