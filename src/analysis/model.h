/* The model: a trace prepared for analysis. Activities are sorted by (device, start), calls and
 * ranges by (thread, start), an enclosing range before what it encloses, and every activity is
 * joined with the call that launched it. The other files of this folder each answer one question
 * about it; none changes it. */
#ifndef RIDGE_ANALYSIS_MODEL_H
#define RIDGE_ANALYSIS_MODEL_H

#include "trace/launch.h"
#include "trace/reader.h"

/* A part of time, [start, end). */
struct window {
    int64_t start, end;
};

/* A run, and the sum of the durations of all its events, are shorter than this (4.5 years), so that
 * sums of up to sixty such times fit. */
#define MODEL_TIME_LIMIT ((int64_t)1 << 57)

struct model {
    struct trace *trace; /* its event tables are reordered; it must outlive the model */

    /* By id: rows of device d are device_first[d] .. device_first[d + 1], and so on. */
    size_t *device_first;  /* into trace->activity */
    size_t *thread_calls;  /* into trace->call */
    size_t *thread_ranges; /* into trace->range; ranges of queues have thread 0 */

    uint32_t *launch;       /* by activity: row of its launching call, or NO_ROW */
    uint32_t *capture;      /* likewise: of the call that captured it into a graph; NULL: none */
    uint32_t *forward;      /* by call: see forward_find(); NULL: none */
    uint8_t *call_nested;   /* by call: 1 = inside another call of its thread */
    uint8_t *call_pageable; /* by call: 1 = launched a copy that blocks: pageable memory */
    uint8_t *call_loads;    /* by call: 1 = the first launch of a kernel, which loads its code */
    uint8_t *communicates;  /* by string: 1 = the name of a communication kernel */

    /* The span of the run and, by session, of each recording: device work and API calls, and in a
     * framework's own trace also operators, ranges and synchronization records. NVTX ranges,
     * samples and counters may cover a whole session around the run and count only if there is
     * nothing else. */
    int64_t first, last;
    struct window *session_span; /* trace->session_count + 1; see model_build() */

    bool mixed_clocks; /* several recordings without a common clock: their times are not comparable
                        */

    bool has_ranks;      /* the trace has several ranks of a job */
    uint32_t recordings; /* sessions, without those that have only counters */
    bool no_timeline;    /* activities have durations but no start times; see META_TIMELINE */

    struct intern device_keys; /* see model_device_key() */
    uint32_t *device_key;      /* by device: index in device_keys */

    uint64_t unmatched_early; /* activities without a launch, launched before any recorded call */
    uint64_t unmatched_lost;  /* the others without a launch */
};

/* Loads and joins the columns that the analyses need. On failure nothing is left to free. Rows that
 * refer to an unknown process, thread, device or queue (id 0) belong to no recording: their session
 * is trace->session_count. Tables by session have an entry for it. */
bool model_build(struct model *model, struct trace *trace, struct status *status);
void model_finish(struct model *model);

static inline uint32_t model_activity_device(const struct model *model, size_t activity) {
    return model->trace->queue.device[model->trace->activity.queue[activity]];
}
static inline int64_t model_activity_end(const struct model *model, size_t activity) {
    return model->trace->activity.start[activity] + model->trace->activity.duration[activity];
}
/* Whether a copying call returns before its copy is done, by its name. */
bool call_is_asynchronous(struct text name);
/* Whether the activity is a kernel that moves data between devices. */
static inline bool model_communicates(const struct model *model, size_t activity) {
    return model->trace->activity.kind[activity] == ACTIVITY_KERNEL &&
           model->communicates[model->trace->activity.name[activity]];
}
static inline int64_t model_call_end(const struct model *model, size_t call) {
    return model->trace->call.start[call] + model->trace->call.duration[call];
}
static inline int64_t model_range_end(const struct model *model, size_t range) {
    return model->trace->range.start[range] + model->trace->range.duration[range];
}
/* Length of one recording's run. */
int64_t model_session_wall(const struct model *model, uint32_t session);
/* A distinct name for every device with activities: the source's name; in a job of several ranks
 * with the rank in front, "rank1:0"; with "@2" appended for a device of the same name in the second
 * recording. For other devices, the source's name. */
struct text model_device_key(const struct model *model, uint32_t device);

/* The selected parts of a device's time: sorted, disjoint, non-empty windows. */
struct selection {
    struct window *windows;
    size_t count, capacity;
    bool everything; /* the device's whole time, including what starts at its very end */
};

/* Adds a window; overlapping windows are merged if added in order of start. */
bool selection_add(struct selection *selection, int64_t start, int64_t end, struct status *status);
/* Intersects with `other`; windows that touch stay separate. */
bool selection_intersect(struct selection *selection, const struct selection *other,
                         struct status *status);
void selection_finish(struct selection *selection);
/* Total length. */
int64_t selection_length(const struct selection *selection);
/* Whether an event that starts at `time` is selected. */
bool selection_search(const struct selection *selection, int64_t time);
static inline bool selection_contains(const struct selection *selection, int64_t time) {
    const struct window *first = selection->windows;
    if (selection->everything || selection->count != 1)
        return selection->everything || selection_search(selection, time);
    return first->start <= time && time < first->end;
}
/* The selected length of [start, end). `cursor`, initially 0, makes queries in order of start
 * cheap. */
int64_t selection_overlap(const struct selection *selection, int64_t start, int64_t end,
                          size_t *cursor);

/* Whether the activity starts in its device's selection; by_device may be NULL. */
static inline bool model_selected(const struct model *model, const struct selection *by_device,
                                  size_t activity) {
    return !by_device || selection_contains(&by_device[model_activity_device(model, activity)],
                                            model->trace->activity.start[activity]);
}

/* The device's whole window: from the start of its first activity to the end of its last. */
bool model_device_window(const struct model *model, uint32_t device, struct window *window);

#endif
