/* Per thread, a stack of open ranges is walked beside the thread's calls (and those of threads that
 * work for it). What a range gathers is
 * handed to the one around it when it closes, so depth costs nothing. */
#include "analysis/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/sort.h"

struct open_range {
    uint32_t row;
    size_t group;
    int64_t device_time, host_inside;
    uint64_t activities;
    int64_t device_inside; /* of ranges within */
};

struct walk {
    const struct model *model;
    const struct selection *selection;
    struct ranges *ranges;
    size_t group_capacity;
    struct map group_of;  /* (category, name) -> group */
    uint32_t *open_count; /* by group: how many are open */
    size_t open_capacity;
    struct open_range *stack;
    size_t depth, stack_capacity;
    int64_t *call_device_time; /* by call: of what it launched */
    uint32_t *call_activities;
    bool *annotated;       /* by thread: has annotations of its own */
    uint32_t *guest_calls; /* launches of threads without annotations, in order of time */
    size_t guest_count, guest_capacity;
};

static bool inside(const struct selection *selection, int64_t time) {
    return !selection || selection_contains(selection, time);
}

static bool find_group(struct walk *walk, size_t row, size_t *group, struct status *status) {
    const struct trace *trace = walk->model->trace;
    struct ranges *ranges = walk->ranges;
    uint64_t key = (uint64_t)trace->range.category[row] << 32 | trace->range.name[row];
    uint64_t *known = map_find(&walk->group_of, key);
    if (known) {
        *group = *known;
        return true;
    }
    if (!memory_grow((void **)&ranges->groups, &walk->group_capacity, ranges->count + 1,
                     sizeof *ranges->groups, status) ||
        !memory_grow((void **)&walk->open_count, &walk->open_capacity, ranges->count + 1,
                     sizeof *walk->open_count, status) ||
        !map_set(&walk->group_of, key, ranges->count, status))
        return false;
    ranges->groups[ranges->count] = (struct range_group){
        .name = trace->range.name[row],
        .text = trace_text(trace, trace->range.name[row]),
        .category = trace->range.category[row],
        .depth = UINT32_MAX,
    };
    walk->open_count[ranges->count] = 0;
    *group = ranges->count++;
    return true;
}

static void close_range(struct walk *walk) {
    const struct trace *trace = walk->model->trace;
    struct open_range *range = &walk->stack[--walk->depth];
    struct range_group *group = &walk->ranges->groups[range->group];
    int64_t duration = trace->range.duration[range->row];
    bool outermost = --walk->open_count[range->group] == 0;
    group->host_self += duration > range->host_inside ? duration - range->host_inside : 0;
    group->device_self += range->device_time - range->device_inside;
    if (outermost) {
        group->host_time += duration;
        group->device_time += range->device_time;
        group->activities += range->activities;
    }
    if (walk->depth) {
        struct open_range *outer = &walk->stack[walk->depth - 1];
        outer->device_time += range->device_time;
        outer->device_inside += range->device_time;
        outer->activities += range->activities;
        outer->host_inside += duration;
    }
}

static void close_until(struct walk *walk, int64_t time) {
    while (walk->depth && model_range_end(walk->model, walk->stack[walk->depth - 1].row) <= time)
        close_range(walk);
}

static bool open_range(struct walk *walk, size_t row, struct status *status) {
    size_t group;
    if (!find_group(walk, row, &group, status) ||
        !memory_grow((void **)&walk->stack, &walk->stack_capacity, walk->depth + 1,
                     sizeof *walk->stack, status))
        return false;
    struct range_group *counted = &walk->ranges->groups[group];
    counted->count++;
    if (walk->depth < counted->depth)
        counted->depth = (unsigned)walk->depth;
    walk->open_count[group]++;
    walk->stack[walk->depth++] = (struct open_range){.row = (uint32_t)row, .group = group};
    return true;
}

static void add_launch(struct walk *walk, size_t call) {
    int64_t time = walk->call_device_time[call];
    walk->ranges->device_time += time;
    if (walk->depth == 0) {
        walk->ranges->device_outside += time;
        return;
    }
    struct open_range *range = &walk->stack[walk->depth - 1];
    range->device_time += time;
    range->activities += walk->call_activities[call];
}

/* ---- threads that work for another ---- */

/* An autograd thread launches while the main thread stands in its "backward" annotation: launches
 * of threads without annotations of their own belong to the annotation that is open elsewhere in
 * the process. This finds the thread that they are credited to: the one with most annotations. */
static uint32_t host_thread(const struct walk *walk, uint32_t process) {
    const struct model *model = walk->model;
    const struct trace *trace = model->trace;
    uint32_t best = 0;
    size_t best_count = 0;
    for (uint32_t thread = 1; thread < trace->thread.count; thread++) {
        size_t count = 0;
        if (trace->thread.process[thread] != process || !walk->annotated[thread])
            continue;
        for (size_t i = model->thread_ranges[thread]; i < model->thread_ranges[thread + 1]; i++)
            count += trace->range.category[i] == RANGE_ANNOTATION;
        if (count > best_count) {
            best = thread;
            best_count = count;
        }
    }
    return best;
}

static bool mark_annotated(struct walk *walk, struct status *status) {
    const struct trace *trace = walk->model->trace;
    walk->annotated = memory_allocate(trace->thread.count, sizeof *walk->annotated, status);
    if (!walk->annotated)
        return false;
    for (size_t i = 0; i < trace->range.count; i++)
        if (trace->range.category[i] == RANGE_ANNOTATION)
            walk->annotated[trace->range.thread[i]] = true;
    return true;
}

static bool sort_guests(struct walk *walk, struct status *status) {
    const struct trace *trace = walk->model->trace;
    size_t count = walk->guest_count;
    uint32_t *one_group = memory_allocate(count, sizeof *one_group, status), *order = NULL;
    int64_t *start = memory_allocate(count, sizeof *start, status);
    bool ok = one_group && start;
    for (size_t i = 0; i < count && ok; i++)
        start[i] = trace->call.start[walk->guest_calls[i]];
    ok = ok && sort_rows(one_group, 1, start, NULL, count, &order, status);
    if (ok && order) {
        for (size_t i = 0; i < count; i++)
            order[i] = walk->guest_calls[order[i]];
        memcpy(walk->guest_calls, order, count * sizeof *order);
    }
    memory_free(order);
    memory_free(one_group);
    memory_free(start);
    return ok;
}

/* Gathers the launches of the process's other threads that have no annotations. */
static bool gather_guests(struct walk *walk, size_t host, struct status *status) {
    const struct model *model = walk->model;
    const struct trace *trace = model->trace;
    uint32_t process = trace->thread.process[host];
    walk->guest_count = 0;
    if (!walk->annotated[host] || host_thread(walk, process) != host)
        return true;
    for (size_t thread = 1; thread < trace->thread.count; thread++) {
        if (trace->thread.process[thread] != process || walk->annotated[thread])
            continue;
        for (size_t call = model->thread_calls[thread]; call < model->thread_calls[thread + 1];
             call++) {
            if (walk->call_activities[call] == 0)
                continue;
            if (!memory_grow((void **)&walk->guest_calls, &walk->guest_capacity,
                             walk->guest_count + 1, sizeof *walk->guest_calls, status))
                return false;
            walk->guest_calls[walk->guest_count++] = (uint32_t)call;
        }
    }
    return sort_guests(walk, status);
}

/* To the innermost annotation that is open. */
static void add_guest_launch(struct walk *walk, size_t call) {
    for (size_t i = walk->depth; i-- > 0;) {
        struct open_range *range = &walk->stack[i];
        if (walk->model->trace->range.category[range->row] != RANGE_ANNOTATION)
            continue;
        range->device_time += walk->call_device_time[call];
        range->activities += walk->call_activities[call];
        break;
    }
}

static void walk_guests(struct walk *walk, size_t *guest, int64_t until) {
    const struct trace *trace = walk->model->trace;
    for (; *guest < walk->guest_count; (*guest)++) {
        size_t call = walk->guest_calls[*guest];
        if (trace->call.start[call] >= until)
            break;
        close_until(walk, trace->call.start[call]);
        if (inside(walk->selection, trace->call.start[call]))
            add_guest_launch(walk, call);
    }
}

static bool walk_thread(struct walk *walk, size_t thread, struct status *status) {
    const struct model *model = walk->model;
    const struct trace *trace = model->trace;
    size_t guest = 0;
    if (!gather_guests(walk, thread, status))
        return false;
    size_t range = model->thread_ranges[thread], range_end = model->thread_ranges[thread + 1];
    size_t call = model->thread_calls[thread], call_end = model->thread_calls[thread + 1];
    while (range < range_end || call < call_end) {
        bool take_range = range < range_end && (call == call_end || trace->range.start[range] <=
                                                                        trace->call.start[call]);
        int64_t time = take_range ? trace->range.start[range] : trace->call.start[call];
        walk_guests(walk, &guest, time);
        close_until(walk, time);
        if (take_range) {
            unsigned category = trace->range.category[range];
            if (category != RANGE_OVERHEAD && category != RANGE_DRIVER &&
                inside(walk->selection, time) && !open_range(walk, range, status))
                return false;
            range++;
        } else {
            if (walk->call_activities[call] && inside(walk->selection, time))
                add_launch(walk, call);
            call++;
        }
    }
    walk_guests(walk, &guest, INT64_MAX);
    close_until(walk, INT64_MAX);
    return true;
}

static bool sum_calls(struct walk *walk, struct status *status) {
    const struct model *model = walk->model;
    const struct trace *trace = model->trace;
    walk->call_device_time =
        memory_allocate(trace->call.count, sizeof *walk->call_device_time, status);
    walk->call_activities =
        memory_allocate(trace->call.count, sizeof *walk->call_activities, status);
    if (!walk->call_device_time || !walk->call_activities)
        return false;
    for (size_t i = 0; i < trace->activity.count; i++)
        if (model->launch[i] != NO_ROW) {
            walk->call_device_time[model->launch[i]] += trace->activity.duration[i];
            walk->call_activities[model->launch[i]]++;
        }
    return true;
}

static int by_time(const void *a, const void *b) {
    const struct range_group *x = a, *y = b;
    if (x->device_time != y->device_time)
        return x->device_time < y->device_time ? 1 : -1;
    if (x->host_time != y->host_time)
        return x->host_time < y->host_time ? 1 : -1;
    int order = text_compare(x->text, y->text);
    return order ? order : (int)x->category - (int)y->category;
}

bool ranges_find(const struct model *model, const struct selection *selection,
                 struct ranges *ranges, struct status *status) {
    memset(ranges, 0, sizeof *ranges);
    struct walk walk = {.model = model, .selection = selection, .ranges = ranges};
    bool ok = sum_calls(&walk, status) && mark_annotated(&walk, status);
    for (size_t thread = 1; thread < model->trace->thread.count && ok; thread++)
        ok = walk_thread(&walk, thread, status);
    if (ok && ranges->count)
        qsort(ranges->groups, ranges->count, sizeof *ranges->groups, by_time);
    memory_free(walk.open_count);
    memory_free(walk.stack);
    memory_free(walk.call_device_time);
    memory_free(walk.call_activities);
    memory_free(walk.annotated);
    memory_free(walk.guest_calls);
    map_finish(&walk.group_of);
    if (!ok)
        ranges_finish(ranges);
    return ok;
}

void ranges_finish(struct ranges *ranges) {
    memory_free(ranges->groups);
    memset(ranges, 0, sizeof *ranges);
}
