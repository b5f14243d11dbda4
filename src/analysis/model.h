/* The model: a trace made ready for questions.
 *
 * Activities are in order of (device, start), calls of (thread, start), ranges of (thread, start),
 * each enclosing one before what it encloses, and every activity knows the call that launched it.
 * The files beside this one each answer one question over it; none changes it.
 */
#ifndef RIDGE_ANALYSIS_MODEL_H
#define RIDGE_ANALYSIS_MODEL_H

#include "trace/launch.h"
#include "trace/reader.h"

/* A part of time, [start, end). */
struct window {
    int64_t start, end;
};

/* A run, and the durations of all its events together, are shorter than this (4.5 years), so that
 * questions may take a time some sixty times. */
#define MODEL_TIME_LIMIT ((int64_t)1 << 57)

struct model {
    struct trace *trace; /* its event tables are reordered; it must outlive the model */

    /* By id: rows of device d are device_first[d] .. device_first[d + 1], and so on. */
    size_t *device_first;  /* into trace->activity */
    size_t *thread_calls;  /* into trace->call */
    size_t *thread_ranges; /* into trace->range; ranges of queues have thread 0 */

    uint32_t *launch;       /* by activity: row of its launching call, or NO_ROW */
    uint8_t *call_nested;   /* by call: 1 = inside another call of its thread */
    uint8_t *call_pageable; /* by call: 1 = launched a copy from or to pageable memory */

    /* The span of the run, and of each recording in it by session: device work and API calls, and
     * for a framework's own trace also its operators, ranges and synchronisation records. NVTX
     * ranges, samples and counters may cover a whole session around the run and do not count,
     * unless there is nothing else. */
    int64_t first, last;
    struct window *session_span; /* trace->session_count + 1; see model_build() */

    bool mixed_clocks; /* several recordings without a common clock: their times do not compare */

    struct intern device_keys; /* see model_device_key() */
    uint32_t *device_key;      /* by device: place in device_keys */

    uint64_t unmatched_early; /* activities without a launch, launched before any recorded call */
    uint64_t unmatched_lost;  /* the others without a launch */
};

/* Loads what the questions need and joins it. On failure nothing is left to free.
 *
 * Rows that refer to an unknown process, thread, device or queue (id 0) are of no recording: their
 * session is trace->session_count. Tables by session have a place for it. */
bool model_build(struct model *model, struct trace *trace, struct status *status);
void model_finish(struct model *model);

static inline uint32_t model_activity_device(const struct model *model, size_t activity) {
    return model->trace->queue.device[model->trace->activity.queue[activity]];
}
static inline int64_t model_activity_end(const struct model *model, size_t activity) {
    return model->trace->activity.start[activity] + model->trace->activity.duration[activity];
}
static inline int64_t model_call_end(const struct model *model, size_t call) {
    return model->trace->call.start[call] + model->trace->call.duration[call];
}
static inline int64_t model_range_end(const struct model *model, size_t range) {
    return model->trace->range.start[range] + model->trace->range.duration[range];
}
/* Length of one recording's run. */
int64_t model_session_wall(const struct model *model, uint32_t session);
/* A distinct name for every device that did something: what the source calls it, and "@2" behind it
 * for a namesake in the second recording. For the others, what the source calls them. */
struct text model_device_key(const struct model *model, uint32_t device);

/* The parts of a device's time that a report is about: sorted, disjoint, not empty each. */
struct selection {
    struct window *windows;
    size_t count, capacity;
    bool everything; /* the device's whole time: also what starts at the very end is inside */
};

/* Adds a window; overlapping ones are joined when they come in order of start. */
bool selection_add(struct selection *selection, int64_t start, int64_t end, struct status *status);
/* Leaves what is in `other` as well; windows that touch stay apart. */
bool selection_intersect(struct selection *selection, const struct selection *other,
                         struct status *status);
void selection_finish(struct selection *selection);
/* Total length. */
int64_t selection_length(const struct selection *selection);
/* Whether something that starts at `time` is inside. */
bool selection_contains(const struct selection *selection, int64_t time);
/* Length of [start, end) inside the selection. `cursor` (start with 0) makes queries in order of
 * start cheap. */
int64_t selection_overlap(const struct selection *selection, int64_t start, int64_t end,
                          size_t *cursor);

/* Whether the activity starts inside its device's selection; by_device may be NULL. */
static inline bool model_selected(const struct model *model, const struct selection *by_device,
                                  size_t activity) {
    return !by_device || selection_contains(&by_device[model_activity_device(model, activity)],
                                            model->trace->activity.start[activity]);
}

/* The device's whole window: first activity's start to last one's end. */
bool model_device_window(const struct model *model, uint32_t device, struct window *window);

#endif
