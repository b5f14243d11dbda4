/* The graph that a replay evaluates: columns by call and by activity, and a topological order of
 * its nodes.
 *
 * Times are nanoseconds from the start of the recording, without pauses. A call has two nodes, its
 * start and its end. An activity has one, its start; its end follows from its duration.
 *
 *   call start      end of the thread's previous call (or of the other thread's call that hands
 *                   off to it) + host time
 *   call end        the latest of: start + call cost; end of each awaited activity + lag
 *   activity start  the latest of: launching call + lag; end of the queue's previous activity +
 *                   lag; end of each other activity it depends on + lag
 *
 * Lags are calibrated so that the unchanged graph reproduces the measured times: the dependency
 * that bound a node in the measured run gets its exact lag, every other one its typical lag or
 * less.
 */
#ifndef RIDGE_WHATIF_GRAPH_H
#define RIDGE_WHATIF_GRAPH_H

#include "base/min_max.h"
#include "trace/launch.h"
#include "whatif/whatif.h"

#define NO_STEP UINT32_MAX
#define NEVER (INT64_MIN / 4) /* earlier than anything; lags may be added to it */

/* Typical latencies of a device: medians, and half the interquartile range as the spread. */
struct typical {
    int64_t launch, launch_spread; /* end of the launch call to start, on an idle queue */
    int64_t queue, queue_spread;   /* end of the queue's previous activity to start */
    int64_t depend, depend_spread; /* end of another queue's activity to start */
    int64_t shortest_kernel;       /* about the time of an empty kernel; 0: no kernels */
    int64_t copy_latency[COPY_DIRECTIONS];
    double copy_rate[COPY_DIRECTIONS][2]; /* best observed rate of large copies; [1]: pinned */
};

/* Other activities that calls or activities wait for; those of row r are first[r]..first[r + 1]. */
struct waits {
    uint32_t *first;
    uint32_t *activity;
    int64_t *lag;
    size_t count, capacity, lag_capacity;
};

enum activity_bound { BOUND_BY_LAUNCH, BOUND_BY_QUEUE, BOUND_BY_DEPENDENCY, BOUND_BY_NOTHING };

struct replay {
    struct replay_source source;
    const struct trace *trace;
    size_t calls, activities, threads, queues, devices, sessions;
    int64_t clock_error; /* device times may be off by this much against host times */

    /* By call; nested ones (model->call_nested) are not part of the graph. */
    uint32_t *outer;                /* the outermost call around it, usually itself */
    uint8_t *class;                 /* of an outer call, nested calls included */
    int64_t *call_start, *call_end; /* as measured */
    uint8_t *blocks;                /* 1: it waits for the activities it launched */
    uint8_t *waited;                /* 1: an awaited activity ended after the call started */
    int64_t *host_time, *call_cost;
    uint32_t
        *follows; /* call of another thread that it follows; NO_ROW: its own thread's previous */
    struct waits awaits;
    uint32_t *call_step;

    /* By synchronization record of the trace: the outer call that waits and the one that recorded
     * the event; NO_ROW: unknown. */
    uint32_t *wait_call, *wait_recorder;

    /* By activity. */
    int64_t *start, *duration; /* as measured; the trace's own column where nothing was paused */
    uint32_t *launch;          /* outer call, or NO_ROW */
    uint8_t *from_start;       /* the launch lag counts from the call's start, not its end */
    uint32_t *previous;        /* of its queue, or NO_ROW */
    int64_t *launch_lag, *queue_lag;
    struct waits depends;
    uint8_t *bound;        /* enum activity_bound: what bound its start in the measured run */
    uint32_t *grid_blocks; /* 0: unknown; saturates at UINT32_MAX */
    uint32_t *block_threads;

    /* By thread: time after its last call. */
    int64_t *tail;
    int64_t *session_length; /* as measured, without pauses */
    int64_t *session_rest;   /* the rest of it that the graph does not model; by session */

    /* All nodes in topological order: call c starts (c) and ends (calls + c), activity a starts (2
     * * calls + a). */
    uint32_t *order;
    size_t node_count;

    struct typical *typical; /* by device */
    int64_t sync_lag, sync_lag_spread;
    int64_t launch_call;       /* typical launch call */
    int64_t copy_call;         /* typical non-blocking copy call */
    int64_t host_time_typical; /* between two launches of a thread */
    int64_t measured;          /* length of the run */
    int64_t unchanged;         /* of the measured part, in the unchanged graph */
    struct selection *windows; /* by device: the measured part, on the replay's time axis */
    bool narrowed;             /* some device has less than the run selected */
    bool has_graphs;           /* most kernels are already launched by graphs */
};

static inline bool is_outer(const struct replay *replay, size_t call) {
    return replay->outer[call] == call;
}
static inline int64_t activity_end(const struct replay *replay, size_t activity) {
    return replay->start[activity] + replay->duration[activity];
}
static inline uint32_t activity_device(const struct replay *replay, size_t activity) {
    return replay->trace->queue.device[replay->trace->activity.queue[activity]];
}
static inline uint64_t grid_threads(const struct replay *replay, size_t activity) {
    return (uint64_t)replay->block_threads[activity] * replay->grid_blocks[activity];
}
static inline bool is_copy(const struct replay *replay, size_t activity) {
    return replay->trace->activity.kind[activity] == ACTIVITY_COPY;
}
static inline bool is_pageable(const struct replay *replay, size_t activity) {
    return is_copy(replay, activity) &&
           (replay->trace->activity.from_memory[activity] == MEMORY_PAGEABLE ||
            replay->trace->activity.to_memory[activity] == MEMORY_PAGEABLE);
}
/* Whether a step belongs to the loop, that is, is past the warm-up. */
static inline bool in_loop(const struct replay *replay, uint32_t step) {
    const struct steps *steps = replay->source.steps;
    return steps->count == 0 || (step != NO_STEP && step >= steps->warm_up);
}
/* Whether two calls belong to the same marked step. A periodic sequence of activities may be an
 * iteration or a layer, so only steps marked by a profiler or the program separate calls. */
static inline bool same_step(const struct replay *replay, uint32_t a, uint32_t b) {
    return replay->call_step[a] == replay->call_step[b] ||
           (replay->source.steps->source == STEPS_PERIODIC &&
            in_loop(replay, replay->call_step[a]) == in_loop(replay, replay->call_step[b]));
}
/* Host time from this length on is separate work rather than part of the next call. */
static inline int64_t other_work(const struct replay *replay) {
    enum { FAR_ABOVE = 10 };
    return FAR_ABOVE * (replay->host_time_typical + replay->launch_call);
}
static inline struct text activity_name(const struct replay *replay, size_t activity) {
    return trace_text(replay->trace, replay->trace->activity.name[activity]);
}
static inline struct text call_name(const struct replay *replay, size_t call) {
    return trace_text(replay->trace, replay->trace->call.name[call]);
}
/* Stages of replay_create(), in this order. */
bool replay_find_launches(struct replay *replay, struct status *status);
void replay_find_steps(struct replay *replay);
bool replay_find_wait_calls(struct replay *replay, struct status *status);
bool replay_find_dependencies(struct replay *replay, struct status *status);
bool replay_find_waits(struct replay *replay, struct status *status);
bool replay_find_handoffs(struct replay *replay, struct status *status);
bool replay_sort(struct replay *replay, struct status *status);
bool replay_find_typical(struct replay *replay, struct status *status);
bool replay_calibrate(struct replay *replay, struct status *status);

/* By string: the quantile `share` of the durations of calls of that name. With `plain`, only of
 * outer calls that waited for nothing. `none` where there is no such call. Free with memory_free().
 */
int64_t *call_durations(const struct replay *replay, double share, bool plain, int64_t none,
                        struct status *status);

bool waits_add(struct waits *waits, uint32_t activity, struct status *status);
void waits_finish(struct waits *waits);

#endif
