/* A device's activities in order of start leave gaps. The launch call of the next activity selects
 * the thread to look at: before the call, the gap is charged to the thread's own calls and code;
 * inside the call, to the launch; after it, to the device or to an awaited event. */
#include "analysis/gaps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/key_index.h"
#include "base/sort.h"

const char *gap_cause_name(unsigned cause) {
    static const char *const names[CAUSE_COUNT] = {"sync",       "alloc",  "compile",
                                                   "copy-call",  "launch", "host",
                                                   "dependency", "device", "unknown"};
    return cause < CAUSE_COUNT ? names[cause] : "?";
}

enum gap_cause gap_main_cause(const struct gap *gap) {
    unsigned best = 0;
    for (unsigned cause = 1; cause < CAUSE_COUNT; cause++)
        if (gap->cause[cause] > gap->cause[best])
            best = cause;
    return best;
}

void gaps_rank_causes(const struct gaps *gaps, enum gap_cause order[CAUSE_COUNT]) {
    for (unsigned cause = 0; cause < CAUSE_COUNT; cause++) {
        unsigned at = cause;
        for (; at > 0 && gaps->cause_time[order[at - 1]] < gaps->cause_time[cause]; at--)
            order[at] = order[at - 1];
        order[at] = cause;
    }
}

/* ---- Time by name ---- */

/* Time by name of one device's gaps. A zeroed tally is empty. */
struct name_tally {
    struct key_index index; /* by string id: index in names.list */
    struct gap_names names;
    size_t capacity;
    struct status status; /* why a name could not be added; checked by gap_names_list() */
};

static void gap_names_finish(struct gap_names *names) {
    memory_free(names->list);
    *names = (struct gap_names){0};
}

static void name_tally_add(struct name_tally *tally, uint32_t name, int64_t time, uint64_t pieces) {
    struct gap_names *names = &tally->names;
    size_t place;
    if (!key_index_find(&tally->index, name, &place, &tally->status))
        return;
    if (place == names->count) {
        if (!GROW(names->list, &tally->capacity, place + 1, &tally->status))
            return;
        names->list[names->count++] = (struct gap_name){.name = name};
    }
    if (place < names->count) {
        names->list[place].time += time;
        names->list[place].gaps += pieces;
    }
}

static void name_tally_finish(struct name_tally *tally) {
    key_index_finish(&tally->index);
    gap_names_finish(&tally->names);
    *tally = (struct name_tally){0};
}

static int by_time(const void *a, const void *b) {
    const struct gap_name *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? 1 : -1;
    return text_compare(x->text, y->text);
}

static bool gap_names_list(struct gap_names *names, struct name_tally *tally,
                           const struct trace *trace, struct status *status) {
    size_t count = 0;
    if (tally->status.code != STATUS_OK) {
        *status = tally->status;
        return false;
    }
    *names = tally->names;
    tally->names = (struct gap_names){0};
    for (size_t i = 0; i < names->count; i++)
        if (names->list[i].time != 0) {
            names->list[count] = names->list[i];
            names->list[count].text = trace_text(trace, names->list[i].name);
            count++;
        }
    names->count = count;
    if (count)
        qsort(names->list, count, sizeof *names->list, by_time);
    return true;
}

/* ---- Waits between queues ---- */

/* Was a queue made to wait for another queue's event before a launch? Queried while the launches of
 * a device are walked in the order in which their work ran, with a cursor for each queue that
 * advances with its launches. Initially all zero but for the index. */
struct queue_waits {
    const struct wait_index *index;
    struct key_index index_of; /* by queue: index in `queues` */
    struct queue_place {
        int64_t launched; /* when its latest activity so far was launched */
        size_t cursor;
    } * queues;
    size_t capacity;
    struct status status; /* the first failure */
};

static void queue_waits_finish(struct queue_waits *waits) {
    key_index_finish(&waits->index_of);
    memory_free(waits->queues);
    memset(waits, 0, sizeof *waits);
}

static struct queue_place *place_of(struct queue_waits *waits, uint32_t queue) {
    size_t place, known = waits->index_of.count;
    if (!key_index_find(&waits->index_of, queue, &place, &waits->status))
        return NULL;
    if (place == known) {
        if (!GROW(waits->queues, &waits->capacity, place + 1, &waits->status))
            return NULL;
        waits->queues[place] = (struct queue_place){INT64_MIN, waits->index->first[queue]};
    }
    return place < waits->capacity ? &waits->queues[place] : NULL;
}

/* The walk has passed an activity of the queue that was launched at `time`. */
static void queue_waits_launched(struct queue_waits *waits, uint32_t queue, int64_t time) {
    struct queue_place *place = place_of(waits, queue);
    if (place)
        place->launched = time;
}

/* Whether the queue got a wait for another queue's event between the last passed launch and the one
 * at `launched`. Repeating the query gives the same answer: a gap may reach into several windows.
 */
static bool queue_waits_between(struct queue_waits *waits, const struct trace *trace,
                                uint32_t queue, int64_t launched) {
    const int64_t *wait_start = trace->wait.start;
    const uint32_t *rows = waits->index->rows;
    struct queue_place *place = place_of(waits, queue);
    size_t end = waits->index->first[queue + 1];
    while (place && place->cursor < end && wait_start[rows[place->cursor]] < place->launched)
        place->cursor++;
    return place && place->cursor < end && wait_start[rows[place->cursor]] <= launched;
}

/* ---- The walk ---- */

/* What time of the host is charged to: a cause, and names of host code, synchronizations and thread
 * states. */
enum { CHARGE_HOST = CAUSE_COUNT, CHARGE_SYNC, CHARGE_STATE, CHARGES = CHARGE_STATE + STATES };

struct walk {
    const struct model *model;
    const struct host *host;
    const struct selection *selection;
    struct gaps *gaps;
    struct key_index threads;      /* by thread: index in `cursors` */
    struct thread_cursor *cursors; /* one more than there are threads */
    size_t cursor_capacity;
    struct queue_waits waits;
    struct name_tally host_names, sync_names, state_names[STATES];
    int64_t *durations; /* of the gaps, for the median */
    size_t duration_capacity;
    size_t clip_cursor;
    struct gap gap; /* the current one */

    uint32_t device;
    struct gap_intervals *intervals; /* collects every part of every gap; NULL: not wanted */
    struct host_charges *charges;    /* collects charges of host time; NULL: they go to the gap */
    struct status *status;           /* the first failure */
    bool failed;
};

/* The thread's cursor, valid until the next call. After a failure, which *status holds, a dummy. */
static struct thread_cursor *cursor_of(struct walk *walk, uint32_t thread) {
    size_t place, known = walk->threads.count;
    if (!key_index_find(&walk->threads, thread, &place, walk->status) ||
        !GROW(walk->cursors, &walk->cursor_capacity, place + 2, walk->status)) {
        walk->failed = true;
        place = 0;
    }
    if (place == known || walk->failed)
        walk->cursors[place] = (struct thread_cursor){0};
    return &walk->cursors[place];
}

/* How much of [start, end) is selected. */
static int64_t selected(const struct walk *walk, int64_t start, int64_t end) {
    size_t cursor = walk->clip_cursor;
    if (!walk->selection)
        return end - start;
    return end > start ? selection_overlap(walk->selection, start, end, &cursor) : 0;
}

static void add_interval(struct walk *walk, enum gap_cause cause, int64_t start, int64_t end) {
    struct gap_intervals *intervals = walk->intervals;
    struct gap_interval *last = intervals->count ? &intervals->list[intervals->count - 1] : NULL;
    if (last && last->device == walk->device && last->next == walk->gap.next &&
        last->cause == cause && last->start + last->length == start) {
        last->length += end - start;
        return;
    }
    if (!GROW(intervals->list, &intervals->capacity, intervals->count + 1, walk->status)) {
        walk->failed = true;
        return;
    }
    intervals->list[intervals->count++] = (struct gap_interval){.start = start,
                                                                .length = end - start,
                                                                .device = walk->device,
                                                                .next = walk->gap.next,
                                                                .cause = (uint8_t)cause};
}

static struct name_tally *tally_of(struct walk *walk, unsigned kind) {
    return kind == CHARGE_HOST   ? &walk->host_names
           : kind == CHARGE_SYNC ? &walk->sync_names
                                 : &walk->state_names[kind - CHARGE_STATE];
}

static void add_charge(struct walk *walk, unsigned kind, uint32_t name, int64_t time,
                       uint64_t pieces) {
    if (walk->charges)
        walk->failed |= !host_charges_add(walk->charges, kind, name, time, walk->status);
    else if (kind < CAUSE_COUNT)
        walk->gap.cause[kind] += time;
    else
        name_tally_add(tally_of(walk, kind), name, time, pieces);
}

static void add_name(struct walk *walk, unsigned kind, uint32_t name, int64_t time) {
    add_charge(walk, kind, name, time, time > 0);
}

/* Charges [start, end) to a cause of the current gap, as far as it is selected. */
static int64_t add_cause(struct walk *walk, enum gap_cause cause, int64_t start, int64_t end) {
    int64_t time = selected(walk, start, end);
    if (walk->intervals && end > start)
        add_interval(walk, cause, start, end);
    add_charge(walk, cause, 0, time, time > 0);
    return time;
}

static bool call_blocks(const struct walk *walk, uint32_t call) {
    const struct trace *trace = walk->model->trace;
    return walk->model->call_pageable[call] ||
           !call_is_asynchronous(trace_text(trace, trace->call.name[call]));
}

static enum gap_cause cause_of_call(const struct walk *walk, uint32_t call) {
    switch (walk->model->trace->call.class[call]) {
    case CALL_SYNC:
        return CAUSE_SYNC;
    case CALL_ALLOC:
        return CAUSE_ALLOC;
    case CALL_COMPILE:
        return CAUSE_COMPILE;
    case CALL_COPY:
        return call_blocks(walk, call) ? CAUSE_COPY_CALL : CAUSE_LAUNCH;
    case CALL_LAUNCH:
        return CAUSE_LAUNCH;
    default:
        return CAUSE_HOST;
    }
}

/* The function in which a thread stopped running, or 0. */
static uint32_t waiting_function(const struct walk *walk, uint32_t thread,
                                 const struct state_interval *interval) {
    return interval->state == STATE_BLOCKED || interval->state == STATE_READY
               ? host_function_before(walk->host, thread, interval->before, interval->since)
               : 0;
}

/* Host code under `name`, and the state of the thread meanwhile. */
static void add_host(struct walk *walk, uint32_t thread, uint32_t name, int64_t start,
                     int64_t end) {
    add_name(walk, CHARGE_HOST, name, add_cause(walk, CAUSE_HOST, start, end));
    while (walk->gaps->states_known && start < end) {
        struct state_interval interval =
            states_next(&walk->host->states, &cursor_of(walk, thread)->state, thread, start, end);
        uint32_t function = waiting_function(walk, thread, &interval);
        add_name(walk, CHARGE_STATE + interval.state, function ? function : name,
                 selected(walk, interval.start, interval.end));
        start = interval.end;
    }
}

/* Charges the thread's next interval from `start` on, and returns its end. */
static int64_t walk_interval(struct walk *walk, uint32_t thread, int64_t start, int64_t end) {
    const struct trace *trace = walk->model->trace;
    struct host_interval interval =
        host_next(walk->host, &cursor_of(walk, thread)->host, thread, start, end);
    if (interval.call == NO_ROW) {
        add_host(walk, thread,
                 interval.range != NO_ROW ? trace->range.name[interval.range] : interval.function,
                 interval.start, interval.end);
        return interval.end;
    }
    enum gap_cause cause = cause_of_call(walk, interval.call);
    uint32_t name = trace->call.name[interval.call];
    if (cause == CAUSE_HOST)
        add_host(walk, thread, name, interval.start, interval.end);
    else if (cause == CAUSE_SYNC)
        add_name(walk, CHARGE_SYNC, name, add_cause(walk, cause, interval.start, interval.end));
    else
        add_cause(walk, cause, interval.start, interval.end);
    return interval.end;
}

static void advance_cursor(struct thread_cursor *cursor, const struct thread_cursor *to) {
    if (!cursor->host.started || cursor->host.call < to->host.call)
        *cursor = *to;
}

/* Charges the sums of blocks [from, until). For drawing they are one interval of their main cause:
 * otherwise the intervals of thousands of devices would each span the calls for all others. */
static void add_blocks(struct walk *walk, const struct thread_totals *sums, size_t from,
                       size_t until) {
    int64_t start = sums->boundaries[from];
    struct gap part = {0};
    while (from < until) {
        const struct host_charge *charges;
        size_t count;
        from = thread_totals_node(sums, from, until, &charges, &count);
        for (size_t i = 0; i < count; i++) {
            add_charge(walk, charges[i].kind, charges[i].name, charges[i].time, charges[i].pieces);
            if (charges[i].kind < CAUSE_COUNT)
                part.cause[charges[i].kind] += charges[i].time;
        }
    }
    if (walk->intervals)
        add_interval(walk, gap_main_cause(&part), start, sums->boundaries[until]);
}

/* Charges whole blocks from `start` on, and returns the end of the last. The first interval of a
 * walk may differ from those of the blocks, because a sample names the time up to the next one;
 * from the start of any block on they are the same. A gap is selected in full. */
static int64_t walk_blocks(struct walk *walk, uint32_t thread, int64_t start, int64_t end) {
    enum { DRAWN_MIN = 32 };
    const struct gap_totals *totals = walk->host->totals;
    const struct thread_totals *sums = totals ? &totals->threads[thread] : NULL;
    if (!sums || sums->blocks == 0 || walk->charges)
        return start;
    size_t block = thread_totals_find(sums, start);
    if (block == sums->blocks)
        return start;
    struct thread_cursor *cursor = cursor_of(walk, thread);
    advance_cursor(cursor, &sums->cursors[block]);
    size_t until = thread_totals_find(sums, end);
    until += sums->boundaries[until + 1] <= end;
    if (sums->boundaries[block] != start || until < block + (walk->intervals ? DRAWN_MIN : 1))
        return start;
    add_blocks(walk, sums, block, until);
    *cursor = sums->cursors[until];
    return sums->boundaries[until];
}

/* The launching thread between the gap's start and its own launch call. */
static void walk_host(struct walk *walk, uint32_t thread, int64_t start, int64_t end) {
    while (start < end) {
        start = walk_blocks(walk, thread, start, end);
        if (start < end)
            start = walk_interval(walk, thread, start, end);
    }
}

static void attribute_gap(struct walk *walk) {
    const struct model *model = walk->model;
    const struct trace *trace = model->trace;
    struct gap *gap = &walk->gap;
    uint32_t call = gap->next == NO_ROW ? NO_ROW : model->launch[gap->next];
    if (call == NO_ROW) {
        add_cause(walk, CAUSE_UNKNOWN, gap->start, gap->end);
        return;
    }
    int64_t call_start = trace->call.start[call], call_end = model_call_end(model, call);
    int64_t at = gap->start;
    if (call_start > at) {
        int64_t until = call_start < gap->end ? call_start : gap->end;
        walk_host(walk, trace->call.thread[call], at, until);
        at = until;
    }
    if (at < gap->end && call_end > at) {
        int64_t until = call_end < gap->end ? call_end : gap->end;
        enum gap_cause cause = cause_of_call(walk, call);
        int64_t time = add_cause(walk, cause == CAUSE_HOST ? CAUSE_LAUNCH : cause, at, until);
        if (cause == CAUSE_SYNC)
            add_name(walk, CHARGE_SYNC, trace->call.name[call], time);
        at = until;
    }
    if (at < gap->end)
        add_cause(
            walk,
            queue_waits_between(&walk->waits, trace, trace->activity.queue[gap->next], call_start)
                ? CAUSE_DEPENDENCY
                : CAUSE_DEVICE,
            at, gap->end);
}

static void keep_longest(struct gaps *gaps, const struct gap *gap) {
    int64_t length = gap->end - gap->start;
    if (gaps->top_count == GAP_TOP &&
        length <= gaps->top[GAP_TOP - 1].end - gaps->top[GAP_TOP - 1].start)
        return;
    size_t at = gaps->top_count < GAP_TOP ? gaps->top_count++ : GAP_TOP - 1;
    while (at > 0 && gaps->top[at - 1].end - gaps->top[at - 1].start < length) {
        gaps->top[at] = gaps->top[at - 1];
        at--;
    }
    gaps->top[at] = *gap;
}

static unsigned bucket_of(int64_t length) {
    unsigned bucket = 0;
    for (int64_t edge = 1000; length >= edge && bucket < GAP_BUCKETS - 1; edge *= 10)
        bucket++;
    return bucket;
}

static bool end_gap(struct walk *walk, struct status *status) {
    struct gaps *gaps = walk->gaps;
    int64_t length = 0;
    attribute_gap(walk);
    if (walk->failed)
        return false;
    for (unsigned cause = 0; cause < CAUSE_COUNT; cause++) {
        length += walk->gap.cause[cause];
        gaps->cause_time[cause] += walk->gap.cause[cause];
        gaps->cause_gaps[cause] += walk->gap.cause[cause] > 0;
    }
    if (length == 0)
        return true;
    if (!GROW(walk->durations, &walk->duration_capacity, gaps->count + 1, status))
        return false;
    walk->durations[gaps->count++] = length;
    gaps->total += length;
    gaps->histogram[bucket_of(length)]++;
    gaps->histogram_time[bucket_of(length)] += length;
    keep_longest(gaps, &walk->gap);
    return true;
}

/* Adds the selected part of [start, end): one gap for each window that it overlaps. */
static bool add_idle(struct walk *walk, int64_t start, int64_t end, uint32_t next,
                     struct status *status) {
    const struct selection *selection = walk->selection;
    size_t *at = &walk->clip_cursor;
    while (*at < selection->count && selection->windows[*at].end <= start)
        (*at)++;
    for (size_t i = *at; i < selection->count && selection->windows[i].start < end; i++) {
        const struct window *window = &selection->windows[i];
        walk->gap = (struct gap){
            .start = window->start > start ? window->start : start,
            .end = window->end < end ? window->end : end,
            .next = next,
        };
        if (walk->gap.end > walk->gap.start && !end_gap(walk, status))
            return false;
    }
    return true;
}

static bool walk_device(struct walk *walk, uint32_t device, struct status *status) {
    const struct model *model = walk->model;
    const struct trace *trace = model->trace;
    const struct selection *selection = walk->selection;
    int64_t reached = selection->windows[0].start;
    int64_t end = selection->windows[selection->count - 1].end;
    size_t last = model->device_first[device + 1];
    for (size_t i = model->device_first[device]; i < last && reached < end; i++) {
        if (trace->activity.start[i] > reached &&
            !add_idle(walk, reached, trace->activity.start[i], (uint32_t)i, status))
            return false;
        if (model->launch[i] != NO_ROW)
            queue_waits_launched(&walk->waits, trace->activity.queue[i],
                                 trace->call.start[model->launch[i]]);
        if (model_activity_end(model, i) > reached)
            reached = model_activity_end(model, i);
    }
    return reached >= end || add_idle(walk, reached, end, NO_ROW, status);
}

static void summarize_gaps(struct gaps *gaps, int64_t *durations) {
    if (gaps->count == 0)
        return;
    double sum = 0, squares = 0;
    gaps->min = gaps->max = durations[0];
    for (size_t i = 0; i < gaps->count; i++) {
        sum += (double)durations[i];
        gaps->min = durations[i] < gaps->min ? durations[i] : gaps->min;
        gaps->max = durations[i] > gaps->max ? durations[i] : gaps->max;
    }
    gaps->mean = sum / (double)gaps->count;
    for (size_t i = 0; i < gaps->count; i++)
        squares += ((double)durations[i] - gaps->mean) * ((double)durations[i] - gaps->mean);
    gaps->variation = sqrt(squares / (double)gaps->count) / gaps->mean;
    gaps->median = sort_select(durations, gaps->count, gaps->count / 2);
    size_t p99 = (size_t)((double)(gaps->count - 1) * 0.99);
    gaps->p99 = sort_select(durations, gaps->count, p99);
}

/* Allocates one cursor, for use after a failure. */
static bool walk_begin(struct walk *walk, struct status *status) {
    walk->waits.index = &walk->host->waits;
    return GROW(walk->cursors, &walk->cursor_capacity, 1, status);
}

/* Whether nothing failed during the walk. */
static bool walk_succeeded(const struct walk *walk, struct status *status) {
    if (walk->waits.status.code != STATUS_OK)
        *status = walk->waits.status;
    return !walk->failed && walk->waits.status.code == STATUS_OK;
}

static void walk_finish(struct walk *walk) {
    memory_free(walk->cursors);
    key_index_finish(&walk->threads);
    queue_waits_finish(&walk->waits);
    memory_free(walk->durations);
    name_tally_finish(&walk->host_names);
    name_tally_finish(&walk->sync_names);
    for (unsigned state = 0; state < STATES; state++)
        name_tally_finish(&walk->state_names[state]);
}

static bool sum_thread(struct walk *walk, uint32_t thread, struct thread_totals *totals) {
    const struct model *model = walk->model;
    const struct host *host = walk->host;
    size_t first = model->thread_calls[thread], last = model->thread_calls[thread + 1];
    while (last > first && model->call_nested[last - 1]) /* blocks end between intervals */
        last--;
    if (last - first <= GAP_BLOCK)
        return true;
    int64_t start = model->trace->call.start[first], end = model->trace->call.start[last - 1];
    if (host->thread_first[thread] < host->thread_first[thread + 1] &&
        host->change_time[host->thread_first[thread]] < start)
        start = host->change_time[host->thread_first[thread]];
    bool ok = true;
    while (start < end && ok) {
        ok = thread_totals_block(totals, start, cursor_of(walk, thread), walk->charges,
                                 walk->status);
        for (unsigned i = 0; i < GAP_BLOCK && start < end && ok; i++)
            start = walk_interval(walk, thread, start, end);
        ok = ok && !walk->failed;
    }
    return ok &&
           (totals->levels == 0 || (thread_totals_block(totals, start, cursor_of(walk, thread),
                                                        walk->charges, walk->status) &&
                                    thread_totals_sum(totals, walk->status)));
}

static size_t devices_in_use(const struct model *model) {
    size_t devices = 0;
    for (size_t i = 0; i < model->trace->device.count; i++)
        devices += model->device_first[i + 1] > model->device_first[i];
    return devices;
}

bool gaps_sum_threads(const struct model *model, const struct host *host, struct gap_totals *totals,
                      struct status *status) {
    enum { DEVICES_MIN = 32 };
    struct gaps gaps = {.states_known = states_known(&host->states)};
    struct host_charges charges = {0};
    size_t threads = model->trace->thread.count;
    memset(totals, 0, sizeof *totals);
    if (devices_in_use(model) < DEVICES_MIN)
        return true;
    totals->threads = memory_allocate(threads, sizeof *totals->threads, status);
    totals->count = threads;
    bool ok = totals->threads != NULL;
    for (uint32_t thread = 1; thread < threads && ok; thread++) {
        struct walk walk = {
            .model = model, .host = host, .gaps = &gaps, .charges = &charges, .status = status};
        ok = walk_begin(&walk, status) && sum_thread(&walk, thread, &totals->threads[thread]);
        walk_finish(&walk);
        charges.count = 0;
    }
    memory_free(charges.list);
    return ok;
}

static bool list_states(struct walk *walk, struct status *status) {
    struct gaps *gaps = walk->gaps;
    if (!gaps->states_known) {
        gaps->host_state[STATE_UNKNOWN].time = gaps->cause_time[CAUSE_HOST];
        return true;
    }
    for (unsigned state = 0; state < STATES; state++) {
        struct host_state *part = &gaps->host_state[state];
        if (!gap_names_list(&part->names, &walk->state_names[state], walk->model->trace, status))
            return false;
        for (size_t i = 0; i < part->names.count; i++)
            part->time += part->names.list[i].time;
    }
    return true;
}

static bool find_gaps(const struct model *model, const struct host *host, uint32_t device,
                      const struct selection *selection, struct gaps *gaps,
                      struct gap_intervals *intervals, struct status *status) {
    memset(gaps, 0, sizeof *gaps);
    if (selection->count == 0)
        return true;
    gaps->states_known = states_known(&host->states);
    struct walk walk = {.model = model,
                        .host = host,
                        .selection = selection,
                        .gaps = gaps,
                        .device = device,
                        .intervals = intervals,
                        .status = status};
    bool ok = walk_begin(&walk, status) && walk_device(&walk, device, status) &&
              walk_succeeded(&walk, status) &&
              gap_names_list(&gaps->host_names, &walk.host_names, model->trace, status) &&
              gap_names_list(&gaps->sync_names, &walk.sync_names, model->trace, status) &&
              list_states(&walk, status);
    if (ok)
        summarize_gaps(gaps, walk.durations);
    walk_finish(&walk);
    if (!ok)
        gaps_finish(gaps);
    return ok;
}

void gaps_finish(struct gaps *gaps) {
    gap_names_finish(&gaps->host_names);
    gap_names_finish(&gaps->sync_names);
    for (unsigned state = 0; state < STATES; state++)
        gap_names_finish(&gaps->host_state[state].names);
    memset(gaps, 0, sizeof *gaps);
}

bool gaps_find(const struct model *model, const struct host *host, uint32_t device,
               const struct selection *selection, struct gaps *gaps, struct status *status) {
    return find_gaps(model, host, device, selection, gaps, NULL, status);
}

bool gaps_list(const struct model *model, const struct host *host, uint32_t device,
               const struct selection *selection, struct gap_intervals *intervals,
               struct status *status) {
    struct gaps gaps;
    if (!find_gaps(model, host, device, selection, &gaps, intervals, status))
        return false;
    gaps_finish(&gaps);
    return true;
}

void gap_intervals_finish(struct gap_intervals *intervals) {
    memory_free(intervals->list);
    memset(intervals, 0, sizeof *intervals);
}
