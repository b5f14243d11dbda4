/* Walks a stack of open ranges per thread along with the thread's calls (and those of threads that
 * work for it). When a range closes, its sums are added to the enclosing one, so depth costs
 * nothing. Ranges that overlap without nesting are rare; one is then removed from inside the stack
 * when it ends. */
#include "analysis/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"

struct open_range {
    uint32_t row;
    size_t group;
    int64_t first_end; /* the earliest end of this one and those below it */
    int64_t device_time;
    uint64_t activities;
    int64_t device_inside; /* of nested ranges */
    /* Already counted by an overlapping range of the same name. */
    int64_t counted_until, device_counted;
    uint64_t activities_counted;
};

/* How a call's launches are accounted for. */
enum {
    LAUNCH_OUTSIDE = 1,
    LAUNCH_CREDITED = 2
}; /* in no range of its thread; credited to another thread's */

struct walk {
    const struct model *model;
    const struct selection *selection;
    struct ranges *ranges;
    size_t group_capacity;
    struct map group_of;  /* (of a thread or a queue, category, name) -> group */
    uint32_t *open_count; /* by group: how many are open */
    size_t open_capacity;
    struct open_range *stack;
    size_t depth, stack_capacity;
    int64_t self_until;        /* host time is assigned to innermost ranges up to here */
    int64_t *call_device_time; /* by call: of what it launched */
    uint32_t *call_activities;
    uint8_t *call_launch;           /* by call: LAUNCH_ flags */
    int64_t *backward;              /* by range: device time of its gradient; NULL: none is known */
    size_t *annotations;            /* by thread: number of annotations */
    uint32_t *host_thread;          /* by process: see find_host_threads() */
    uint32_t *unannotated_launches; /* launches of threads without annotations, in order of time */
    size_t unannotated_count, unannotated_capacity;
};

static bool inside(const struct selection *selection, int64_t time) {
    return !selection || selection_contains(selection, time);
}

static bool find_group(struct walk *walk, size_t row, size_t *group, struct status *status) {
    const struct trace *trace = walk->model->trace;
    struct ranges *ranges = walk->ranges;
    uint64_t of_queue = trace->range.thread[row] == 0;
    uint64_t key =
        of_queue << 63 | (uint64_t)trace->range.category[row] << 32 | trace->range.name[row];
    uint64_t *known = map_find(&walk->group_of, key);
    if (known) {
        *group = *known;
        return true;
    }
    if (!GROW(ranges->groups, &walk->group_capacity, ranges->count + 1, status) ||
        !GROW(walk->open_count, &walk->open_capacity, ranges->count + 1, status) ||
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

/* Assigns host time up to `time` to the innermost range. */
static void add_self_time(struct walk *walk, int64_t time) {
    if (time <= walk->self_until)
        return;
    if (walk->depth) {
        const struct open_range *innermost = &walk->stack[walk->depth - 1];
        walk->ranges->groups[innermost->group].host_self += time - walk->self_until;
    }
    walk->self_until = time;
}

static void set_first_end(struct walk *walk, size_t at) {
    int64_t end = model_range_end(walk->model, walk->stack[at].row);
    int64_t below = at ? walk->stack[at - 1].first_end : INT64_MAX;
    walk->stack[at].first_end = end < below ? end : below;
}

/* What was launched in the range at that index so far, including those above it. */
static void collected(const struct walk *walk, size_t at, int64_t *time, uint64_t *activities) {
    *time = 0;
    *activities = 0;
    for (size_t i = at; i < walk->depth; i++) {
        *time += walk->stack[i].device_time;
        *activities += walk->stack[i].activities;
    }
}

/* Adds the range's time to its group; time shared by several ranges of a group counts once. */
static void count_range(struct walk *walk, size_t at) {
    struct open_range *range = &walk->stack[at];
    struct range_group *group = &walk->ranges->groups[range->group];
    int64_t end = model_range_end(walk->model, range->row), device_time;
    uint64_t activities;
    collected(walk, at, &device_time, &activities);
    group->host_time += end - range->counted_until;
    group->device_time += device_time - range->device_counted;
    group->activities += activities - range->activities_counted;
    for (size_t i = at + 1; i < walk->depth; i++) {
        struct open_range *heir = &walk->stack[i];
        if (heir->group != range->group)
            continue;
        heir->counted_until = end;
        collected(walk, i, &heir->device_counted, &heir->activities_counted);
        break;
    }
}

/* Removes the range at that index. What the ranges above it collected so far is also within it, but
 * they pass it on when they close. */
static void close_range(struct walk *walk, size_t at) {
    struct open_range range = walk->stack[at];
    uint32_t others = --walk->open_count[range.group];
    for (size_t i = at + 1; i < walk->depth; i++)
        others -= walk->stack[i].group == range.group;
    if (others == 0) /* not nested in a range of its own name */
        count_range(walk, at);
    walk->ranges->groups[range.group].device_self += range.device_time - range.device_inside;
    if (at) {
        struct open_range *outer = &walk->stack[at - 1];
        outer->device_time += range.device_time;
        outer->device_inside += range.device_time;
        outer->activities += range.activities;
    }
    walk->depth--;
    for (size_t i = at; i < walk->depth; i++) {
        walk->stack[i] = walk->stack[i + 1];
        set_first_end(walk, i);
    }
}

/* Closes ranges that end at or before `time`, in order of their ends. */
static void close_until(struct walk *walk, int64_t time) {
    while (walk->depth && walk->stack[walk->depth - 1].first_end <= time) {
        size_t at = walk->depth - 1;
        int64_t end = walk->stack[at].first_end;
        if (model_range_end(walk->model, walk->stack[at].row) == end)
            add_self_time(walk, end);
        else
            while (model_range_end(walk->model, walk->stack[at].row) != end)
                at--;
        close_range(walk, at);
    }
}

static bool open_range(struct walk *walk, size_t row, struct status *status) {
    size_t group;
    if (!find_group(walk, row, &group, status) ||
        !GROW(walk->stack, &walk->stack_capacity, walk->depth + 1, status))
        return false;
    struct range_group *counted = &walk->ranges->groups[group];
    counted->count++;
    if (walk->depth < counted->depth)
        counted->depth = (unsigned)walk->depth;
    walk->open_count[group]++;
    int64_t start = walk->model->trace->range.start[row];
    add_self_time(walk, start);
    walk->stack[walk->depth] =
        (struct open_range){.row = (uint32_t)row, .group = group, .counted_until = start};
    set_first_end(walk, walk->depth++);
    return true;
}

/* The gradient of an operator counts for all ranges around it, once for each name. */
static void add_backward(struct walk *walk, size_t row) {
    for (size_t i = 0; i < walk->depth; i++) {
        size_t group = walk->stack[i].group;
        bool again = false;
        for (size_t k = 0; k < i && walk->open_count[group] > 1; k++)
            again |= walk->stack[k].group == group;
        if (!again)
            walk->ranges->groups[group].backward += walk->backward[row];
    }
}

static void add_launch(struct walk *walk, size_t call) {
    int64_t time = walk->call_device_time[call];
    walk->ranges->device_time += time;
    if (walk->depth == 0) {
        walk->call_launch[call] |= LAUNCH_OUTSIDE;
        return;
    }
    struct open_range *range = &walk->stack[walk->depth - 1];
    range->device_time += time;
    range->activities += walk->call_activities[call];
}

/* ---- launches of threads without annotations ---- */

/* An autograd thread launches while the main thread is in its "backward" annotation: launches of
 * threads without annotations belong to the annotation open elsewhere in the process. They are
 * credited to the thread with most annotations. */
static bool find_host_threads(struct walk *walk, struct status *status) {
    const struct trace *trace = walk->model->trace;
    walk->annotations = memory_allocate(trace->thread.count, sizeof *walk->annotations, status);
    walk->host_thread = memory_allocate(trace->process.count, sizeof *walk->host_thread, status);
    if (!walk->annotations || !walk->host_thread)
        return false;
    for (size_t i = 0; i < trace->range.count; i++)
        walk->annotations[trace->range.thread[i]] += trace->range.category[i] == RANGE_ANNOTATION;
    walk->annotations[0] = 0; /* not a thread */
    for (uint32_t thread = 1; thread < trace->thread.count; thread++) {
        uint32_t *best = &walk->host_thread[trace->thread.process[thread]];
        if (walk->annotations[thread] > walk->annotations[*best])
            *best = thread;
    }
    return true;
}

static bool sort_unannotated(struct walk *walk, struct status *status) {
    const struct trace *trace = walk->model->trace;
    size_t count = walk->unannotated_count;
    uint32_t *one_group = memory_allocate(count, sizeof *one_group, status), *order = NULL;
    int64_t *start = memory_allocate(count, sizeof *start, status);
    bool ok = one_group && start;
    for (size_t i = 0; i < count && ok; i++)
        start[i] = trace->call.start[walk->unannotated_launches[i]];
    ok = ok && sort_rows(one_group, 1, start, NULL, count, &order, status);
    if (ok && order) {
        for (size_t i = 0; i < count; i++)
            order[i] = walk->unannotated_launches[order[i]];
        memcpy(walk->unannotated_launches, order, count * sizeof *order);
    }
    memory_free(order);
    memory_free(one_group);
    memory_free(start);
    return ok;
}

/* Collects the launches of the process's other threads that have no annotations. */
static bool collect_unannotated_launches(struct walk *walk, size_t host, struct status *status) {
    const struct model *model = walk->model;
    const struct trace *trace = model->trace;
    uint32_t process = trace->thread.process[host];
    walk->unannotated_count = 0;
    if (walk->host_thread[process] != host)
        return true;
    for (size_t thread = 1; thread < trace->thread.count; thread++) {
        if (trace->thread.process[thread] != process || walk->annotations[thread])
            continue;
        for (size_t call = model->thread_calls[thread]; call < model->thread_calls[thread + 1];
             call++) {
            if (walk->call_activities[call] == 0)
                continue;
            if (!GROW(walk->unannotated_launches, &walk->unannotated_capacity,
                      walk->unannotated_count + 1, status))
                return false;
            walk->unannotated_launches[walk->unannotated_count++] = (uint32_t)call;
        }
    }
    return sort_unannotated(walk, status);
}

/* Credits the innermost open annotation. */
static void add_unannotated_launch(struct walk *walk, size_t call) {
    for (size_t i = walk->depth; i-- > 0;) {
        struct open_range *range = &walk->stack[i];
        if (walk->model->trace->range.category[range->row] != RANGE_ANNOTATION)
            continue;
        range->device_time += walk->call_device_time[call];
        range->activities += walk->call_activities[call];
        walk->call_launch[call] |= LAUNCH_CREDITED;
        break;
    }
}

static void walk_unannotated(struct walk *walk, size_t *next, int64_t until) {
    const struct trace *trace = walk->model->trace;
    for (; *next < walk->unannotated_count; (*next)++) {
        size_t call = walk->unannotated_launches[*next];
        if (trace->call.start[call] >= until)
            break;
        close_until(walk, trace->call.start[call]);
        if (inside(walk->selection, trace->call.start[call]))
            add_unannotated_launch(walk, call);
    }
}

static bool walk_thread(struct walk *walk, size_t thread, struct status *status) {
    const struct model *model = walk->model;
    const struct trace *trace = model->trace;
    size_t next = 0;
    walk->self_until = INT64_MIN;
    if (!collect_unannotated_launches(walk, thread, status))
        return false;
    size_t range = model->thread_ranges[thread], range_end = model->thread_ranges[thread + 1];
    size_t call = model->thread_calls[thread], call_end = model->thread_calls[thread + 1];
    while (range < range_end || call < call_end) {
        bool take_range = range < range_end && (call == call_end || trace->range.start[range] <=
                                                                        trace->call.start[call]);
        int64_t time = take_range ? trace->range.start[range] : trace->call.start[call];
        walk_unannotated(walk, &next, time);
        close_until(walk, time);
        if (take_range) {
            unsigned category = trace->range.category[range];
            if (category != RANGE_OVERHEAD && category != RANGE_DRIVER &&
                inside(walk->selection, time) && !open_range(walk, range, status))
                return false;
            if (walk->backward && walk->backward[range] && inside(walk->selection, time))
                add_backward(walk, range);
            range++;
        } else {
            if (walk->call_activities[call] && inside(walk->selection, time))
                add_launch(walk, call);
            call++;
        }
    }
    walk_unannotated(walk, &next, INT64_MAX);
    close_until(walk, INT64_MAX);
    return true;
}

static bool sum_backward(struct walk *walk, struct status *status) {
    const struct model *model = walk->model;
    if (!model->forward)
        return true;
    walk->backward = memory_allocate(model->trace->range.count, sizeof *walk->backward, status);
    for (size_t i = 0; walk->backward && i < model->trace->call.count; i++)
        if (model->forward[i] != NO_ROW && inside(walk->selection, model->trace->call.start[i]))
            walk->backward[model->forward[i]] += walk->call_device_time[i];
    return walk->backward != NULL;
}

static bool sum_calls(struct walk *walk, struct status *status) {
    const struct model *model = walk->model;
    const struct trace *trace = model->trace;
    walk->call_device_time =
        memory_allocate(trace->call.count, sizeof *walk->call_device_time, status);
    walk->call_activities =
        memory_allocate(trace->call.count, sizeof *walk->call_activities, status);
    walk->call_launch = memory_allocate(trace->call.count, sizeof *walk->call_launch, status);
    if (!walk->call_device_time || !walk->call_activities || !walk->call_launch)
        return false;
    for (size_t i = 0; i < trace->activity.count; i++)
        if (model->launch[i] != NO_ROW) {
            walk->call_device_time[model->launch[i]] += trace->activity.duration[i];
            walk->call_activities[model->launch[i]]++;
        }
    return true;
}

/* ---- Labels of queues -------------------------------------------------------------------- */

struct open_label {
    uint32_t queue;
    int64_t end;
    size_t group;
};

/* The first activity of the device that starts at `time` or later. */
static size_t first_activity(const struct model *model, uint32_t device, int64_t time) {
    size_t first = model->device_first[device];
    PARTITION_POINT(first, model->device_first[device + 1], i,
                    model->trace->activity.start[i] < time);
    return first;
}

/* Device time of the queue's activities in the label. */
static int64_t time_in_label(const struct model *model, size_t row, uint64_t *activities) {
    const struct trace *trace = model->trace;
    uint32_t queue = trace->range.queue[row], device = trace->queue.device[queue];
    int64_t end = model_range_end(model, row), time = 0;
    size_t at = first_activity(model, device, trace->range.start[row]);
    for (; at < model->device_first[device + 1] && trace->activity.start[at] < end; at++)
        if (trace->activity.queue[at] == queue) {
            time += trace->activity.duration[at];
            ++*activities;
        }
    return time;
}

/* Labels of command buffers (Vulkan's debug utils) have no thread; what runs inside them on their
 * queue is theirs. Rows are in order of start, enclosing labels first. */
static bool add_labels(struct walk *walk, struct status *status) {
    const struct model *model = walk->model;
    const struct trace *trace = model->trace;
    struct open_label *open = NULL;
    size_t count = 0, capacity = 0;
    bool ok = true;
    for (size_t row = model->thread_ranges[0]; row < model->thread_ranges[1] && ok; row++) {
        uint32_t queue = trace->range.queue[row];
        size_t group;
        if (trace->range.category[row] != RANGE_ANNOTATION || queue == 0 ||
            !inside(walk->selection, trace->range.start[row]))
            continue;
        while (count && open[count - 1].end <= trace->range.start[row])
            count--;
        ok = find_group(walk, row, &group, status) && GROW(open, &capacity, count + 1, status);
        if (!ok)
            break;
        struct range_group *groups = walk->ranges->groups;
        uint64_t activities = 0;
        int64_t time = time_in_label(model, row, &activities);
        groups[group].count++;
        groups[group].device_time += time;
        groups[group].device_self += time;
        groups[group].activities += activities;
        unsigned depth = 0;
        for (size_t i = count; i > 0; i--) {
            if (open[i - 1].queue != queue || open[i - 1].end < trace->range.start[row] + 1)
                continue;
            if (depth++ == 0)
                groups[open[i - 1].group].device_self -= time;
        }
        groups[group].depth = depth < groups[group].depth ? depth : groups[group].depth;
        open[count++] = (struct open_label){queue, model_range_end(model, row), group};
    }
    memory_free(open);
    return ok;
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
    bool ok =
        sum_calls(&walk, status) && sum_backward(&walk, status) && find_host_threads(&walk, status);
    for (size_t thread = 1; thread < model->trace->thread.count && ok; thread++)
        ok = walk_thread(&walk, thread, status);
    ok = ok && add_labels(&walk, status);
    for (size_t call = 0; call < model->trace->call.count && ok; call++)
        if (walk.call_launch[call] == LAUNCH_OUTSIDE)
            ranges->device_outside += walk.call_device_time[call];
    if (ok && ranges->count)
        qsort(ranges->groups, ranges->count, sizeof *ranges->groups, by_time);
    memory_free(walk.open_count);
    memory_free(walk.stack);
    memory_free(walk.call_device_time);
    memory_free(walk.call_activities);
    memory_free(walk.call_launch);
    memory_free(walk.backward);
    memory_free(walk.annotations);
    memory_free(walk.host_thread);
    memory_free(walk.unannotated_launches);
    map_finish(&walk.group_of);
    if (!ok)
        ranges_finish(ranges);
    return ok;
}

void ranges_finish(struct ranges *ranges) {
    memory_free(ranges->groups);
    memset(ranges, 0, sizeof *ranges);
}
