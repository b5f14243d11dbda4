/* Joins, checks and sorts what the analyses need. */
#include "analysis/model.h"

#include "analysis/communication.h"
#include "analysis/forward.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"
#include "trace/rank_select.h"
#include "trace/writer.h"

/* The smallest correlation id of the calls of each process: processes count on their own. */
static uint64_t *first_correlations(const struct trace *trace, struct status *status) {
    uint64_t *first = memory_allocate(trace->process.count, sizeof *first, status);
    for (size_t call = 0; first && call < trace->call.count; call++) {
        uint64_t *low = &first[trace->thread.process[trace->call.thread[call]]];
        uint64_t correlation = trace->call.correlation[call];
        if (correlation && (!*low || correlation < *low))
            *low = correlation;
    }
    return first;
}

/* The same for each device: of the processes that launch on it. */
static uint64_t *device_correlations(const struct model *model, struct status *status) {
    const struct trace *trace = model->trace;
    uint64_t *of_process = first_correlations(trace, status);
    uint64_t *first =
        of_process ? memory_allocate(trace->device.count, sizeof *first, status) : NULL;
    for (size_t activity = 0; first && activity < trace->activity.count; activity++) {
        uint32_t call = model->launch[activity];
        if (call == NO_ROW)
            continue;
        uint64_t *low = &first[trace->queue.device[trace->activity.queue[activity]]];
        uint64_t correlation = of_process[trace->thread.process[trace->call.thread[call]]];
        if (correlation && (!*low || correlation < *low))
            *low = correlation;
    }
    memory_free(of_process);
    return first;
}

/* Activities with smaller ids than any call were launched before recording began. If no call
 * launches on a device, nothing is known about that. */
static bool join_launches(struct model *model, struct status *status) {
    struct trace *trace = model->trace;
    model->launch = launch_find(trace, status);
    uint64_t *first = model->launch && launch_find_captures(trace, &model->capture, status)
                          ? device_correlations(model, status)
                          : NULL;
    if (!first)
        return false;
    for (size_t activity = 0; activity < trace->activity.count; activity++) {
        if (model->launch[activity] != NO_ROW)
            continue;
        uint64_t correlation = trace->activity.correlation[activity];
        bool early = correlation &&
                     correlation < first[trace->queue.device[trace->activity.queue[activity]]];
        model->unmatched_early += early;
        model->unmatched_lost += !early;
    }
    memory_free(first);
    return true;
}

/* ---- order ---- */

/* Row numbers of `table` by group: first[g] .. first[g + 1]. */
static bool index_groups(const uint32_t *group, size_t count, size_t groups, size_t **first,
                         struct status *status) {
    *first = memory_allocate(groups + 1, sizeof **first, status);
    if (!*first)
        return false;
    for (size_t i = 0; i < count; i++)
        (*first)[group[i] + 1]++;
    for (size_t g = 0; g < groups; g++)
        (*first)[g + 1] += (*first)[g];
    return true;
}

static bool reorder(uint32_t **column, const uint32_t *order, size_t count, struct status *status) {
    uint32_t *ordered = *column ? memory_allocate(count, sizeof *ordered, status) : NULL;
    if (*column && !ordered)
        return false;
    for (size_t i = 0; i < count && ordered; i++)
        ordered[i] = (*column)[order[i]];
    memory_free(*column);
    *column = ordered;
    return true;
}

static bool order_activities(struct model *model, struct status *status) {
    struct trace *trace = model->trace;
    size_t count = trace->activity.count;
    uint32_t *device = memory_allocate(count, sizeof *device, status);
    uint32_t *order = NULL;
    if (!device)
        return false;
    for (size_t i = 0; i < count; i++)
        device[i] = trace->queue.device[trace->activity.queue[i]];
    bool ok = index_groups(device, count, trace->device.count, &model->device_first, status) &&
              sort_rows(device, (uint32_t)trace->device.count, trace->activity.start, NULL, count,
                        &order, status);
    memory_free(device);
    if (ok && order) {
        ok = reorder(&model->launch, order, count, status) &&
             reorder(&model->capture, order, count, status);
        if (ok)
            ok = trace_reorder(trace, TABLE_ACTIVITY, order, status);
        else
            memory_free(order);
    }
    return ok;
}

/* The calls have moved. */
static void renumber(uint32_t *calls, size_t count, const uint32_t *place) {
    for (size_t i = 0; i < count && calls; i++)
        if (calls[i] != NO_ROW)
            calls[i] = place[calls[i]];
}

static bool order_calls(struct model *model, struct status *status) {
    struct trace *trace = model->trace;
    size_t count = trace->call.count;
    uint32_t *order = NULL;
    if (!index_groups(trace->call.thread, count, trace->thread.count, &model->thread_calls,
                      status) ||
        !sort_rows(trace->call.thread, (uint32_t)trace->thread.count, trace->call.start,
                   trace->call.duration, count, &order, status))
        return false;
    if (order) {
        uint32_t *place = memory_allocate(count, sizeof *place, status);
        if (!place) {
            memory_free(order);
            return false;
        }
        for (size_t i = 0; i < count; i++)
            place[order[i]] = (uint32_t)i;
        renumber(model->launch, trace->activity.count, place);
        renumber(model->capture, trace->activity.count, place);
        memory_free(place);
        if (!trace_reorder(trace, TABLE_CALL, order, status))
            return false;
    }
    model->call_nested = memory_allocate(count, 1, status);
    if (!model->call_nested)
        return false;
    int64_t open_end = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || trace->call.thread[i] != trace->call.thread[i - 1])
            open_end = INT64_MIN;
        model->call_nested[i] = trace->call.start[i] < open_end;
        if (model_call_end(model, i) > open_end)
            open_end = model_call_end(model, i);
    }
    return true;
}

bool call_is_asynchronous(struct text name) {
    return text_starts(name, "clEnqueue") ? text_find(name, "(blocking)") < 0
                                          : text_find(name, "Async") >= 0;
}

/* CUDA and HIP copies from or to pageable memory block whatever their name; OpenCL's have a
 * parameter for it. Requires activities and calls in their final order. */
static bool mark_pageable(struct model *model, struct status *status) {
    const struct trace *trace = model->trace;
    model->call_pageable = memory_allocate(trace->call.count, 1, status);
    if (!model->call_pageable)
        return false;
    for (size_t i = 0; i < trace->activity.count; i++)
        if (model->launch[i] != NO_ROW &&
            (trace->activity.from_memory[i] == MEMORY_PAGEABLE ||
             trace->activity.to_memory[i] == MEMORY_PAGEABLE) &&
            !text_starts(trace_text(trace, trace->call.name[model->launch[i]]), "clEnqueue"))
            model->call_pageable[model->launch[i]] = 1;
    return true;
}

/* Drivers load a kernel's code at its first launch. Such a call takes milliseconds, and its kernel
 * starts as soon as it returns; a call that waits for a full queue returns long before its kernel
 * starts. Requires activities and calls in their final order. */
static bool mark_loads(struct model *model, struct status *status) {
    enum { LOAD_MIN = 1000000, START_MAX = 100000 };
    const struct trace *trace = model->trace;
    uint32_t *seen = memory_allocate(trace->strings.count + 1, sizeof *seen, status);
    model->call_loads = memory_allocate(trace->call.count, 1, status);
    for (size_t i = 0; seen && model->call_loads && i < trace->activity.count; i++) {
        uint32_t *device = &seen[trace->activity.name[i]], call = model->launch[i];
        bool first = *device != model_activity_device(model, i) + 1;
        *device = model_activity_device(model, i) + 1;
        if (first && call != NO_ROW && trace->activity.kind[i] == ACTIVITY_KERNEL &&
            trace->call.class[call] == CALL_LAUNCH && trace->call.duration[call] >= LOAD_MIN &&
            trace->activity.start[i] >= trace->call.start[call] &&
            trace->activity.start[i] - model_call_end(model, call) < START_MAX)
            model->call_loads[call] = 1;
    }
    memory_free(seen);
    return seen && model->call_loads;
}

static bool order_ranges(struct model *model, struct status *status) {
    struct trace *trace = model->trace;
    uint32_t *order = NULL;
    if (!index_groups(trace->range.thread, trace->range.count, trace->thread.count,
                      &model->thread_ranges, status) ||
        !sort_rows(trace->range.thread, (uint32_t)trace->thread.count, trace->range.start,
                   trace->range.duration, trace->range.count, &order, status))
        return false;
    return !order || trace_reorder(trace, TABLE_RANGE, order, status);
}

/* ---- building the model ---- */

static void extend_span(struct model *model, uint32_t session, int64_t start, int64_t duration) {
    int64_t end = start + duration;
    model->first = start < model->first ? start : model->first;
    model->last = end > model->last ? end : model->last;
    struct window *span = &model->session_span[session];
    span->start = start < span->start ? start : span->start;
    span->end = end > span->end ? end : span->end;
}

/* The session of a range is its thread's, or its queue's where it has no thread. */
static void extend_by_ranges(struct model *model) {
    const struct trace *trace = model->trace;
    for (size_t i = 0; i < trace->wait.count; i++)
        extend_span(model, trace->queue_session[trace->wait.queue[i]], trace->wait.start[i],
                    trace->wait.duration[i]);
    for (size_t i = 0; i < trace->range.count; i++)
        if (trace->range.category[i] != RANGE_OVERHEAD) {
            uint32_t thread = trace->range.thread[i];
            extend_span(model,
                        thread ? trace->thread_session[thread]
                               : trace->queue_session[trace->range.queue[i]],
                        trace->range.start[i], trace->range.duration[i]);
        }
}

/* For programs without devices: the states and samples of their threads. Samples of wall-clock time
 * start at their time and last as long as their weight. */
static bool extend_by_threads(struct model *model, struct status *status) {
    struct trace *trace = model->trace;
    if (!trace_load(trace, TABLE_STATE, "start duration thread", status))
        return false;
    bool of_wall_time = text_is(trace_meta(trace, META_SAMPLES_CLOCK), "wall");
    for (size_t i = 0; i < trace->state.count; i++)
        extend_span(model, trace->thread_session[trace->state.thread[i]], trace->state.start[i],
                    trace->state.duration[i]);
    for (size_t i = 0; i < trace->sample.count; i++)
        extend_span(model, trace->thread_session[trace->sample.thread[i]], trace->sample.time[i],
                    of_wall_time ? trace->sample.weight[i] : 0);
    return true;
}

/* For a trace of allocations alone. */
static bool extend_by_memory(struct model *model, struct status *status) {
    struct trace *trace = model->trace;
    if (!trace_load(trace, TABLE_MEMORY, "time device", status))
        return false;
    for (size_t i = 0; i < trace->memory.count; i++)
        extend_span(model, trace->device_session[trace->memory.device[i]], trace->memory.time[i],
                    0);
    return true;
}

static bool find_span(struct model *model, struct status *status) {
    const struct trace *trace = model->trace;
    model->first = INT64_MAX;
    model->last = INT64_MIN;
    model->session_span =
        memory_allocate((size_t)trace->session_count + 1, sizeof *model->session_span, status);
    if (!model->session_span)
        return false;
    for (uint32_t i = 0; i <= trace->session_count; i++)
        model->session_span[i] = (struct window){INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < trace->activity.count; i++)
        extend_span(model, trace->queue_session[trace->activity.queue[i]], trace->activity.start[i],
                    trace->activity.duration[i]);
    for (size_t i = 0; i < trace->call.count; i++)
        extend_span(model, trace->thread_session[trace->call.thread[i]], trace->call.start[i],
                    trace->call.duration[i]);
    struct text format = trace_meta(trace, META_SOURCE_FORMAT);
    bool host_only = model->first > model->last;
    if (text_is(format, "kineto") || text_is(format, "chrome") || host_only)
        extend_by_ranges(model);
    if (host_only && !extend_by_threads(model, status))
        return false;
    if (model->first > model->last && !extend_by_memory(model, status))
        return false;
    if (model->first > model->last)
        model->first = model->last = 0;
    for (uint32_t i = 0; i < trace->session_count; i++)
        if (model_session_wall(model, i) > MODEL_TIME_LIMIT)
            return status_fail(status, STATUS_INPUT,
                               "its events are more than 4 years apart: some of their times are "
                               "damaged");
    return true;
}

int64_t model_session_wall(const struct model *model, uint32_t session) {
    if (session >= model->trace->session_count)
        return 0;
    const struct window *span = &model->session_span[session];
    return span->end > span->start ? span->end - span->start : 0;
}

/* The reader has checked every time and duration; their sums must not overflow either. */
static bool check_sums(const struct trace *trace, struct status *status) {
    const struct {
        const int64_t *durations;
        size_t count;
    } tables[] = {
        {trace->activity.duration, trace->activity.count},
        {trace->call.duration, trace->call.count},
        {trace->range.duration, trace->range.count},
        {trace->wait.duration, trace->wait.count},
        {trace->sample.weight, trace->sample.count},
    };
    for (size_t t = 0; t < ARRAY_COUNT(tables); t++) {
        int64_t sum = 0;
        for (size_t i = 0; i < tables[t].count; i++) {
            int64_t duration = tables[t].durations[i];
            if (duration < 0)
                return status_fail(status, STATUS_INPUT, "a sample's weight is below 0 (%lld ns)",
                                   (long long)duration);
            if (duration > MODEL_TIME_LIMIT - sum)
                return status_fail(status, STATUS_INPUT,
                                   "the durations of all events sum to more than 4 years: some of "
                                   "its times are damaged");
            sum += duration;
        }
    }
    return true;
}

/* The rank that a device belongs to; -1: several, or none. */
static int64_t device_rank(const struct trace *trace, uint32_t device) {
    int64_t only = -1;
    for (uint32_t q = 1; q < trace->queue.count; q++) {
        uint32_t process = trace->queue.process[q];
        if (trace->queue.device[q] != device)
            continue;
        int64_t rank = process ? trace_process_rank(trace, process)
                               : trace_session_rank(trace, trace->device_session[device]);
        if (rank < 0 || (only >= 0 && rank != only))
            return -1;
        only = rank;
    }
    return only;
}

static bool add_device_key(struct model *model, uint32_t device, struct buffer *key,
                           struct status *status) {
    const struct trace *trace = model->trace;
    struct text label = trace_text(trace, trace->device.label[device]);
    size_t before = model->device_keys.count;
    int64_t rank = model->has_ranks ? device_rank(trace, device) : -1;
    buffer_clear(key);
    if (rank >= 0)
        buffer_printf(key, "rank%lld:", (long long)rank);
    if (label.length)
        buffer_text(key, label);
    else
        buffer_printf(key, "device %u", (unsigned)trace->device.index[device]);
    for (unsigned mark = trace->device_session[device] + 1;; mark = device) {
        if (!buffer_ok(key, status) || !intern_add(&model->device_keys, buffer_as_text(key),
                                                   &model->device_key[device], status))
            return false;
        if (model->device_keys.count > before)
            return true;
        buffer_printf(key, "@%u", mark);
    }
}

static bool name_devices(struct model *model, struct status *status) {
    struct buffer key = {0};
    uint32_t empty;
    model->has_ranks = trace_has_ranks(model->trace);
    model->device_key =
        memory_allocate(model->trace->device.count, sizeof *model->device_key, status);
    bool ok = model->device_key && intern_add(&model->device_keys, TEXT(""), &empty, status);
    for (uint32_t id = 1; id < model->trace->device.count && ok; id++)
        if (model->device_first[id] < model->device_first[id + 1])
            ok = add_device_key(model, id, &key, status);
    buffer_finish(&key);
    return ok;
}

/* Times of several sessions are comparable only if all use the Unix clock. A session may have many
 * writers, each with its own clock base. */
/* Recordings of counters alone have no times. */
static bool clocks_are_mixed(const struct trace *trace, uint32_t *recordings) {
    uint32_t unix_writers = 0, others = 0, without_times = 0;
    for (size_t i = 0; i < trace->meta.count; i++) {
        struct text key = trace_text(trace, trace->meta.key[i]);
        struct text value = trace_text(trace, trace->meta.value[i]);
        if (text_is(key, META_CLOCK_BASE))
            ++*(text_is(value, "unix") ? &unix_writers : &others);
        else if (text_is(key, META_TIMELINE) && text_is(value, "counters"))
            without_times++;
    }
    *recordings = trace->session_count > without_times ? trace->session_count - without_times : 0;
    return *recordings >= 2 && (others > 0 || unix_writers < *recordings);
}

static void place_unknown(struct trace *trace) {
    uint32_t *const sessions[] = {trace->process_session, trace->thread_session,
                                  trace->device_session, trace->queue_session};
    for (size_t i = 0; i < ARRAY_COUNT(sessions); i++)
        sessions[i][0] = trace->session_count;
}

/* Names are classified once: a trace has few kernel names and many kernels. */
static bool mark_communication(struct model *model, struct status *status) {
    const struct trace *trace = model->trace;
    enum { UNKNOWN, NO, YES };
    model->communicates =
        memory_allocate(trace->strings.count + 1, sizeof *model->communicates, status);
    if (!model->communicates)
        return false;
    for (size_t i = 0; i < trace->activity.count; i++) {
        uint8_t *known = &model->communicates[trace->activity.name[i]];
        if (trace->activity.kind[i] == ACTIVITY_KERNEL && *known == UNKNOWN)
            *known = kernel_communicates(trace_text(trace, trace->activity.name[i])) ? YES : NO;
    }
    for (size_t name = 0; name < trace->strings.count; name++)
        model->communicates[name] = model->communicates[name] == YES;
    return true;
}

bool model_build(struct model *model, struct trace *trace, struct status *status) {
    memset(model, 0, sizeof *model);
    model->trace = trace;
    model->mixed_clocks = clocks_are_mixed(trace, &model->recordings);
    model->no_timeline = text_is(trace_meta(trace, META_TIMELINE), "none");
    place_unknown(trace);
    bool ok =
        trace_load(trace, TABLE_ACTIVITY,
                   "start duration queue kind name correlation bytes direction from_memory "
                   "to_memory",
                   status) &&
        trace_load(trace, TABLE_CALL, "start duration thread name class correlation stack",
                   status) &&
        trace_load(trace, TABLE_RANGE, "start duration thread queue name category sequence",
                   status) &&
        trace_load(trace, TABLE_WAIT, "start duration queue kind awaited correlation", status) &&
        trace_load(trace, TABLE_SAMPLE, "time thread stack weight", status) &&
        check_sums(trace, status) && join_launches(model, status);
    if (ok) {
        trace_unload(trace, TABLE_ACTIVITY, "correlation");
        trace_unload(trace, TABLE_CALL, "correlation");
        ok = find_span(model, status);
        ok = ok && order_activities(model, status) && order_calls(model, status) &&
             mark_pageable(model, status) && mark_loads(model, status) &&
             mark_communication(model, status) && order_ranges(model, status) &&
             forward_find(model, &model->forward, status) && name_devices(model, status);
        trace_unload(trace, TABLE_RANGE, "sequence");
    }
    if (!ok)
        model_finish(model);
    return ok;
}

void model_finish(struct model *model) {
    memory_free(model->device_first);
    memory_free(model->thread_calls);
    memory_free(model->thread_ranges);
    memory_free(model->launch);
    memory_free(model->capture);
    memory_free(model->forward);
    memory_free(model->call_nested);
    memory_free(model->call_pageable);
    memory_free(model->call_loads);
    memory_free(model->communicates);
    memory_free(model->session_span);
    memory_free(model->device_key);
    intern_finish(&model->device_keys);
    memset(model, 0, sizeof *model);
}

struct text model_device_key(const struct model *model, uint32_t device) {
    if (model->device_key[device])
        return intern_text(&model->device_keys, model->device_key[device]);
    return trace_text(model->trace, model->trace->device.label[device]);
}

bool model_device_window(const struct model *model, uint32_t device, struct window *window) {
    size_t first = model->device_first[device], end = model->device_first[device + 1];
    if (first == end)
        return false;
    window->start = model->trace->activity.start[first];
    window->end = window->start;
    for (size_t i = first; i < end; i++)
        if (model_activity_end(model, i) > window->end)
            window->end = model_activity_end(model, i);
    return true;
}

/* ---- selections ---- */

bool selection_add(struct selection *selection, int64_t start, int64_t end, struct status *status) {
    if (end <= start)
        return true;
    if (selection->count) {
        struct window *last = &selection->windows[selection->count - 1];
        if (start < last->end && start >= last->start) {
            if (end > last->end)
                last->end = end;
            return true;
        }
    }
    if (!GROW(selection->windows, &selection->capacity, selection->count + 1, status))
        return false;
    selection->windows[selection->count++] = (struct window){start, end};
    return true;
}

bool selection_intersect(struct selection *selection, const struct selection *other,
                         struct status *status) {
    struct selection both = {0};
    size_t i = 0, k = 0;
    while (i < selection->count && k < other->count) {
        const struct window *a = &selection->windows[i], *b = &other->windows[k];
        int64_t start = a->start > b->start ? a->start : b->start;
        int64_t end = a->end < b->end ? a->end : b->end;
        if (!selection_add(&both, start, end, status)) {
            selection_finish(&both);
            return false;
        }
        if (a->end <= b->end)
            i++;
        else
            k++;
    }
    selection_finish(selection);
    *selection = both;
    return true;
}

void selection_finish(struct selection *selection) {
    memory_free(selection->windows);
    memset(selection, 0, sizeof *selection);
}

int64_t selection_length(const struct selection *selection) {
    int64_t length = 0;
    for (size_t i = 0; i < selection->count; i++)
        length += selection->windows[i].end - selection->windows[i].start;
    return length;
}

bool selection_search(const struct selection *selection, int64_t time) {
    size_t low = 0;
    PARTITION_POINT(low, selection->count, i, selection->windows[i].end <= time);
    return low < selection->count && selection->windows[low].start <= time;
}

int64_t selection_overlap(const struct selection *selection, int64_t start, int64_t end,
                          size_t *cursor) {
    if (selection->everything)
        return end - start;
    int64_t length = 0;
    while (*cursor < selection->count && selection->windows[*cursor].end <= start)
        (*cursor)++;
    for (size_t i = *cursor; i < selection->count && selection->windows[i].start < end; i++) {
        int64_t from = selection->windows[i].start > start ? selection->windows[i].start : start;
        int64_t to = selection->windows[i].end < end ? selection->windows[i].end : end;
        if (to > from)
            length += to - from;
    }
    return length;
}
