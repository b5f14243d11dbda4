/* A sweep over the ends of all pauses finds when all processes of a recording were paused at once;
 * the rest subtracts sorted windows from sorted windows. */
#include "analysis/pauses.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* A process's pause. */
struct pause {
    uint32_t session, process;
    struct window window;
};

static int by_process_and_start(const void *a, const void *b) {
    const struct pause *x = a, *y = b;
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return x->window.start < y->window.start ? -1 : x->window.start > y->window.start;
}

static bool is_pause(const struct trace *trace, size_t row) {
    return trace->range.category[row] == RANGE_OVERHEAD && trace->range.duration[row] > 0 &&
           text_is(trace_text(trace, trace->range.name[row]), RANGE_PAUSED);
}

/* All pauses by (session, process, start); touching ones of a process are merged. */
static bool collect_pauses(const struct model *model, struct pause **list, size_t *count,
                           struct status *status) {
    const struct trace *trace = model->trace;
    size_t capacity = 0, found = 0;
    for (size_t row = 0; row < trace->range.count; row++) {
        uint32_t thread = trace->range.thread[row];
        if (!is_pause(trace, row) || trace->thread_session[thread] >= trace->session_count)
            continue;
        if (!GROW(*list, &capacity, found + 1, status))
            return false;
        (*list)[found++] = (struct pause){trace->thread_session[thread],
                                          trace->thread.process[thread],
                                          {trace->range.start[row], model_range_end(model, row)}};
    }
    if (found)
        qsort(*list, found, sizeof **list, by_process_and_start);
    for (size_t i = 0; i < found; i++) {
        const struct pause *pause = &(*list)[i];
        struct pause *last = *count ? &(*list)[*count - 1] : NULL;
        if (last && last->session == pause->session && last->process == pause->process &&
            pause->window.start <= last->window.end) {
            if (pause->window.end > last->window.end)
                last->window.end = pause->window.end;
        } else {
            (*list)[(*count)++] = *pause;
        }
    }
    return true;
}

/* The number of processes of each session with calls or pauses. */
static bool count_processes(const struct model *model, const struct pause *list, size_t count,
                            uint32_t *counts, struct status *status) {
    const struct trace *trace = model->trace;
    bool *recorded = memory_allocate(trace->process.count, sizeof *recorded, status);
    if (!recorded)
        return false;
    for (size_t thread = 1; thread < trace->thread.count; thread++)
        if (model->thread_calls[thread] < model->thread_calls[thread + 1])
            recorded[trace->thread.process[thread]] = true;
    for (size_t i = 0; i < count; i++)
        recorded[list[i].process] = true;
    for (size_t process = 0; process < trace->process.count; process++)
        if (recorded[process] && trace->process_session[process] < trace->session_count)
            counts[trace->process_session[process]]++;
    memory_free(recorded);
    return true;
}

/* Where a pause begins (+1) or ends (-1). */
struct edge {
    uint32_t session;
    int64_t time;
    int step;
};

static int by_time(const void *a, const void *b) {
    const struct edge *x = a, *y = b;
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return y->step - x->step;
}

static bool sweep(const struct pause *list, size_t count, const uint32_t *processes,
                  struct pauses *pauses, struct status *status) {
    struct edge *edges = memory_allocate(2 * count, sizeof *edges, status);
    bool ok = edges != NULL;
    for (size_t i = 0; i < count && ok; i++) {
        edges[2 * i] = (struct edge){list[i].session, list[i].window.start, 1};
        edges[2 * i + 1] = (struct edge){list[i].session, list[i].window.end, -1};
    }
    if (ok && count)
        qsort(edges, 2 * count, sizeof *edges, by_time);
    uint32_t paused = 0;
    for (size_t i = 0; i < 2 * count && ok; i++) {
        const struct edge *edge = &edges[i];
        if (edge->step < 0 && paused == processes[edge->session])
            ok = selection_add(&pauses->by_session[edge->session], edges[i - 1].time, edge->time,
                               status);
        paused += (uint32_t)edge->step;
    }
    memory_free(edges);
    return ok;
}

static void sum_up(const struct model *model, struct pauses *pauses) {
    for (uint32_t session = 0; session < model->trace->session_count; session++) {
        const struct window *span = &model->session_span[session];
        const struct selection *windows = &pauses->by_session[session];
        for (size_t i = 0; i < windows->count; i++)
            pauses->count +=
                windows->windows[i].start < span->end && windows->windows[i].end > span->start;
        pauses->time += pauses_within(pauses, session, span->start, span->end);
    }
}

bool pauses_find(const struct model *model, struct pauses *pauses, struct status *status) {
    uint32_t sessions = model->trace->session_count;
    struct pause *list = NULL;
    size_t count = 0;
    memset(pauses, 0, sizeof *pauses);
    pauses->by_session = memory_allocate((size_t)sessions + 1, sizeof *pauses->by_session, status);
    uint32_t *processes = memory_allocate(sessions, sizeof *processes, status);
    bool ok = pauses->by_session && processes && collect_pauses(model, &list, &count, status) &&
              count_processes(model, list, count, processes, status) &&
              sweep(list, count, processes, pauses, status);
    memory_free(list);
    memory_free(processes);
    if (ok)
        sum_up(model, pauses);
    else
        pauses_finish(pauses, model);
    return ok;
}

void pauses_finish(struct pauses *pauses, const struct model *model) {
    for (uint32_t i = 0; pauses->by_session && i < model->trace->session_count; i++)
        selection_finish(&pauses->by_session[i]);
    memory_free(pauses->by_session);
    memset(pauses, 0, sizeof *pauses);
}

int64_t pauses_within(const struct pauses *pauses, uint32_t session, int64_t start, int64_t end) {
    size_t cursor = 0;
    return end > start ? selection_overlap(&pauses->by_session[session], start, end, &cursor) : 0;
}

/* Removes the holes from the selection; both are sorted and disjoint. */
static bool subtract_windows(struct selection *selection, const struct selection *holes,
                             struct status *status) {
    struct selection left = {.everything = selection->everything};
    bool ok = true;
    size_t hole = 0;
    for (size_t i = 0; i < selection->count && ok; i++) {
        struct window window = selection->windows[i];
        while (hole < holes->count && holes->windows[hole].end <= window.start)
            hole++;
        for (size_t h = hole; h < holes->count && holes->windows[h].start < window.end && ok; h++) {
            ok = selection_add(&left, window.start, holes->windows[h].start, status);
            window.start = holes->windows[h].end;
            left.everything = false;
        }
        ok = ok && selection_add(&left, window.start, window.end, status);
    }
    if (!ok) {
        selection_finish(&left);
        return false;
    }
    selection_finish(selection);
    *selection = left;
    return true;
}

/* The parts of the pauses in which the device was idle. An activity of no length occupies one
 * nanosecond, so that it stays in the selection. */
static bool find_holes(const struct selection *paused, const struct model *model, uint32_t device,
                       struct selection *holes, struct status *status) {
    const struct trace *trace = model->trace;
    size_t row = model->device_first[device], end = model->device_first[device + 1];
    int64_t reached = INT64_MIN; /* latest end so far */
    for (size_t i = 0; i < paused->count; i++) {
        struct window window = paused->windows[i];
        for (; row < end && trace->activity.start[row] < window.end; row++) {
            int64_t start = trace->activity.start[row];
            int64_t stop =
                start + (trace->activity.duration[row] ? trace->activity.duration[row] : 1);
            int64_t from = reached > window.start ? reached : window.start;
            if (!selection_add(holes, from, start, status))
                return false;
            reached = stop > reached ? stop : reached;
        }
        if (!selection_add(holes, reached > window.start ? reached : window.start, window.end,
                           status))
            return false;
    }
    return true;
}

/* Includes an activity of no length at the very end. */
static void reach_last(const struct model *model, uint32_t device, struct selection *selection) {
    struct window *last = &selection->windows[selection->count - 1];
    size_t end = model->device_first[device + 1];
    if (end > model->device_first[device] && model->trace->activity.start[end - 1] == last->end)
        last->end++;
}

bool pauses_leave_out(const struct pauses *pauses, const struct model *model, uint32_t device,
                      struct selection *selection, struct status *status) {
    uint32_t session = model->trace->device_session[device];
    struct selection holes = {0};
    bool whole = selection->everything;
    if (session >= model->trace->session_count || pauses->by_session[session].count == 0)
        return true;
    bool ok = find_holes(&pauses->by_session[session], model, device, &holes, status) &&
              subtract_windows(selection, &holes, status);
    selection_finish(&holes);
    if (ok && whole && !selection->everything && selection->count)
        reach_last(model, device, selection);
    return ok;
}

bool pauses_leave_out_of_host(const struct pauses *pauses, const struct model *model,
                              struct selection *selection, struct status *status) {
    if (model->trace->session_count != 1)
        return true; /* another recording may have run meanwhile */
    return subtract_windows(selection, &pauses->by_session[0], status);
}
