/* The outcome of a run: the account of each device in the timed part, its causes of idle time, the
 * length of that part, and the next bottleneck. */
#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"
#include "whatif/call_sums.h"

/* ---- the timed part ---- */

static size_t first_from(const struct replay *replay, uint32_t device, int64_t time) {
    const struct model *model = replay->source.model;
    size_t low = model->device_first[device];
    PARTITION_POINT(low, model->device_first[device + 1], i, replay->start[i] < time);
    return low;
}

/* Whether a change moved it away from its neighbors: a copy issued a step ahead. */
static bool was_moved(const struct run *run, size_t activity) {
    return run->dependencies_removed && run->dependencies_removed[activity];
}

/* Where the part that ends at `time` ends: with the last activity that ended by then. Moved copies
 * are ignored. */
static int64_t place_of_end(const struct run *run, uint32_t device, int64_t time) {
    const struct replay *replay = run->replay;
    size_t first = replay->source.model->device_first[device];
    size_t from = first_from(replay, device, time), last = from;
    int64_t latest = NEVER, moved = NEVER;
    enum { FAR = 256 };
    for (size_t at = from; at > first; at--) {
        int64_t end = activity_end(replay, at - 1);
        if (end <= time && was_moved(run, at - 1)) {
            moved = MAX(moved, end);
        } else if (end <= time && end > latest) {
            latest = end;
            last = at - 1;
        }
        if (from - at > FAR && latest > NEVER)
            break;
    }
    if (latest == NEVER)
        return time;
    return moved > latest ? run_end(run, last) : time + run_end(run, last) - latest;
}

/* Where the part that begins at `time` begins: with the first activity from there on or, if that
 * was moved, with the end of what preceded it. False: nothing follows. */
static bool place_of_start(const struct run *run, uint32_t device, int64_t time, int64_t *place) {
    const struct replay *replay = run->replay;
    size_t at = first_from(replay, device, time);
    if (at == replay->source.model->device_first[device + 1])
        return false;
    if (was_moved(run, at) && at > replay->source.model->device_first[device])
        *place = place_of_end(run, device, time);
    else
        *place = time + run->start[at] - replay->start[at];
    return true;
}

int64_t run_map_time(const struct run *run, uint32_t device, int64_t time, bool is_end) {
    const struct replay *replay = run->replay;
    size_t next = first_from(replay, device, time);
    int64_t place;
    bool touches =
        next < replay->source.model->device_first[device + 1] && replay->start[next] == time;
    if ((!is_end || touches) && place_of_start(run, device, time, &place))
        return place;
    return place_of_end(run, device, time);
}

/* The device's windows in this run, ordered and disjoint. */
static bool find_windows(const struct run *run, uint32_t device, struct selection *windows,
                         struct status *status) {
    const struct replay *replay = run->replay;
    const struct model *model = replay->source.model;
    const struct selection *measured = &replay->windows[device];
    if (measured->everything) {
        int64_t start = INT64_MAX, end = NEVER;
        for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
            if (run_activity_removed(run, i))
                continue;
            start = MIN(start, run->start[i]);
            end = MAX(end, run_end(run, i));
        }
        return selection_add(windows, start, end, status);
    }
    int64_t reached = NEVER;
    for (size_t i = 0; i < measured->count; i++) {
        int64_t start = run_map_time(run, device, measured->windows[i].start, false);
        int64_t end = run_map_time(run, device, measured->windows[i].end, true);
        start = MAX(start, reached);
        if (!selection_add(windows, start, end, status))
            return false;
        reached = MAX(end, start);
    }
    return true;
}

static int64_t part_of_device(const struct run *run, uint32_t device) {
    const struct selection *measured = &run->replay->windows[device];
    int64_t sum = 0;
    for (size_t i = 0; i < measured->count; i++)
        sum += MAX(run_map_time(run, device, measured->windows[i].end, true) -
                       run_map_time(run, device, measured->windows[i].start, false),
                   0);
    return sum;
}

int64_t run_time(const struct run *run) {
    int64_t longest = 0;
    if (!run->replay->narrowed)
        return run_wall(run);
    for (uint32_t device = 1; device < run->replay->devices; device++)
        longest = MAX(longest, part_of_device(run, device));
    return longest;
}

int64_t inside_device_part(const struct replay *replay, uint32_t device, int64_t start,
                           int64_t end) {
    const struct selection *part = &replay->windows[device];
    size_t low = 0, high = part->count;
    if (!replay->narrowed)
        return MAX(end - start, 0);
    PARTITION_POINT(low, high, i, part->windows[i].end <= start);
    return end > start ? selection_overlap(part, start, end, &low) : 0;
}

int64_t inside_thread_part(const struct replay *replay, uint32_t thread, int64_t start,
                           int64_t end) {
    int64_t longest = 0;
    if (!replay->narrowed)
        return MAX(end - start, 0);
    for (uint32_t device = 1; device < replay->devices; device++)
        if (replay->windows[device].count &&
            replay->trace->device_session[device] == replay->trace->thread_session[thread])
            longest = MAX(longest, inside_device_part(replay, device, start, end));
    return longest;
}

/* ---- causes of idle time ---- */

/* The launching thread in [start, end), backwards from the call that starts at `end`. */
static void walk_host(const struct run *run, const struct call_sums *sums, uint32_t call,
                      int64_t start, int64_t end, int64_t *cause) {
    if (end == run->call_start[call]) {
        call = call_sums_skip(sums, call, start, cause);
        end = run->call_start[call];
    }
    while (end > start) {
        uint32_t before = run_call_before(run->replay, call);
        int64_t since = before == NO_ROW ? start : MAX(run->call_end[before], start);
        if (since < end) {
            cause[CAUSE_HOST] += end - since;
            end = since;
        }
        if (before == NO_ROW)
            return;
        since = MAX(run->call_start[before], start);
        if (since < end) {
            cause[call_cause(run->replay, before)] += end - since;
            end = since;
        }
        call = before;
    }
}

static void split_idle(const struct run *run, const struct call_sums *sums, uint32_t next,
                       int64_t start, int64_t end, int64_t *cause) {
    uint32_t call = next == NO_ROW ? NO_ROW : run->launch[next];
    if (call == NO_ROW) {
        cause[CAUSE_UNKNOWN] += end - start;
        return;
    }
    int64_t until = MIN(run->call_start[call], end);
    if (until > start) {
        walk_host(run, sums, call, start, until, cause);
        start = until;
    }
    until = MIN(run->call_end[call], end);
    if (until > start) {
        enum gap_cause inside = call_cause(run->replay, call);
        cause[inside == CAUSE_HOST ? CAUSE_LAUNCH : inside] += until - start;
        start = until;
    }
    if (end > start)
        cause[run->bound[next] == BOUND_BY_DEPENDENCY ? CAUSE_DEPENDENCY : CAUSE_DEVICE] +=
            end - start;
}

/* ---- the account ---- */

/* Device time: kernels by name, copies by direction. */
struct takers {
    int64_t *kernel; /* by string */
    int64_t copy[COPY_DIRECTIONS], copy_whole[COPY_DIRECTIONS];
    double copy_bytes[COPY_DIRECTIONS];
};

struct sweep {
    const struct run *run;
    const struct call_sums *sums;
    struct takers *takers;
    const struct selection *windows;
    struct outcome_device *device;
    size_t cursor;                 /* of windows, for idle time */
    int64_t kernels, compute, all; /* latest ends so far */
    size_t kernel_cursor, compute_cursor, all_cursor, taker_cursor;
    int64_t kernel_union;
};

static void add_idle(struct sweep *sweep, int64_t start, int64_t end, uint32_t next) {
    const struct selection *windows = sweep->windows;
    while (sweep->cursor < windows->count && windows->windows[sweep->cursor].end <= start)
        sweep->cursor++;
    for (size_t i = sweep->cursor; i < windows->count && windows->windows[i].start < end; i++) {
        int64_t from = MAX(start, windows->windows[i].start);
        int64_t until = MIN(end, windows->windows[i].end);
        if (until > from)
            split_idle(sweep->run, sweep->sums, next, from, until, sweep->device->cause);
    }
}

static void add_taker(struct sweep *sweep, uint32_t row, int64_t start, int64_t end) {
    const struct trace *trace = sweep->run->replay->trace;
    struct takers *takers = sweep->takers;
    unsigned direction = trace->activity.direction[row];
    int64_t inside = selection_overlap(sweep->windows, start, end, &sweep->taker_cursor);
    if (trace->activity.kind[row] == ACTIVITY_KERNEL) {
        takers->kernel[trace->activity.name[row]] += inside;
    } else if (trace->activity.kind[row] == ACTIVITY_COPY && inside > 0 &&
               direction < COPY_DIRECTIONS) {
        takers->copy[direction] += inside;
        takers->copy_whole[direction] += end - start;
        takers->copy_bytes[direction] += (double)trace->activity.bytes[row];
    }
}

static void add_activity(struct sweep *sweep, uint32_t row) {
    int64_t start = sweep->run->start[row], end = run_end(sweep->run, row);
    add_taker(sweep, row, start, end);
    if (start > sweep->all)
        add_idle(sweep, sweep->all, start, row);
    if (end > sweep->all) {
        int64_t from = MAX(start, sweep->all);
        sweep->device->idle -= selection_overlap(sweep->windows, from, end, &sweep->all_cursor);
        sweep->all = end;
    }
    if (sweep->run->replay->trace->activity.kind[row] != ACTIVITY_KERNEL)
        return;
    if (end > sweep->kernels) {
        int64_t from = MAX(start, sweep->kernels);
        sweep->kernel_union += selection_overlap(sweep->windows, from, end, &sweep->kernel_cursor);
        sweep->kernels = end;
    }
    if (end > sweep->compute && !model_communicates(sweep->run->replay->source.model, row)) {
        int64_t from = MAX(start, sweep->compute);
        sweep->device->busy += selection_overlap(sweep->windows, from, end, &sweep->compute_cursor);
        sweep->compute = end;
    }
}

static bool account_device_of(const struct run *run, const struct call_sums *sums,
                              struct outcome_device *device, struct takers *takers,
                              struct status *status) {
    const struct replay *replay = run->replay;
    size_t first = replay->source.model->device_first[device->device];
    size_t count = replay->source.model->device_first[device->device + 1] - first;
    struct selection windows = {0};
    uint32_t *order = NULL;
    bool ok = find_windows(run, device->device, &windows, status) &&
              sort_rows(NULL, 1, run->start + first, NULL, count, &order, status);
    if (ok && windows.count) {
        struct sweep sweep = {
            .run = run, .sums = sums, .takers = takers, .windows = &windows, .device = device};
        sweep.kernels = sweep.compute = sweep.all = windows.windows[0].start;
        device->window = device->idle = selection_length(&windows);
        for (size_t i = 0; i < count; i++) {
            uint32_t row = (uint32_t)(first + (order ? order[i] : i));
            if (!run_activity_removed(run, row))
                add_activity(&sweep, row);
        }
        add_idle(&sweep, sweep.all, windows.windows[windows.count - 1].end, NO_ROW);
        device->exposed_communication = sweep.kernel_union - device->busy;
        device->exposed_copy = device->window - device->idle - sweep.kernel_union;
    }
    memory_free(order);
    selection_finish(&windows);
    return ok;
}

/* ---- the next bottleneck ---- */

static void find_next_kernel(const struct trace *trace, const struct takers *takers,
                             struct outcome *outcome) {
    uint32_t best = 0;
    int64_t all = 0;
    for (uint32_t i = 0; i < trace->strings.count; i++) {
        all += takers->kernel[i];
        if (takers->kernel[i] > takers->kernel[best])
            best = i;
    }
    int64_t longest = trace->strings.count ? takers->kernel[best] : 0;
    outcome->next_kernel = longest > 0 ? trace_text(trace, best) : TEXT("");
    outcome->next_kernel_share = all > 0 ? (double)longest / (double)all : 0;
}

static void find_next_copy(const struct takers *takers, struct outcome *outcome) {
    unsigned best = 0;
    for (unsigned i = 0; i < COPY_DIRECTIONS; i++)
        if (takers->copy[i] > takers->copy[best])
            best = i;
    outcome->next_direction = best;
    if (takers->copy_whole[best] > 0)
        outcome->next_rate = takers->copy_bytes[best] / (double)takers->copy_whole[best] * 1e9;
}

static void find_next_cause(struct outcome *outcome) {
    int64_t cause[CAUSE_COUNT] = {0}, window = 0, idle = 0, busy = 0, copies = 0;
    for (size_t i = 0; i < outcome->device_count; i++) {
        window += outcome->devices[i].window;
        busy += outcome->devices[i].busy;
        copies += outcome->devices[i].exposed_copy;
        idle += outcome->devices[i].idle;
        for (unsigned c = 0; c < CAUSE_COUNT; c++)
            cause[c] += outcome->devices[i].cause[c];
    }
    for (unsigned c = 0; c < CAUSE_COUNT; c++)
        if (cause[c] > cause[outcome->next_cause])
            outcome->next_cause = c;
    outcome->device_bound = window > 0 && idle <= window / 10;
    outcome->copy_bound = copies > busy && copies > idle;
}

static bool account_devices(const struct run *run, const struct call_sums *sums,
                            struct outcome *outcome, struct takers *takers, struct status *status) {
    const struct replay *replay = run->replay;
    size_t capacity = 0;
    for (uint32_t device = 1; device < replay->devices; device++) {
        if (replay->windows[device].count == 0)
            continue;
        if (!GROW(outcome->devices, &capacity, outcome->device_count + 1, status))
            return false;
        outcome->devices[outcome->device_count] = (struct outcome_device){.device = device};
        if (!account_device_of(run, sums, &outcome->devices[outcome->device_count++], takers,
                               status))
            return false;
    }
    return true;
}

bool run_account(const struct run *run, struct outcome *outcome, struct status *status) {
    const struct trace *trace = run->replay->trace;
    struct takers takers = {
        .kernel = memory_allocate(trace->strings.count, sizeof *takers.kernel, status)};
    struct call_sums sums = {0};
    bool ok = takers.kernel && call_sums_build(&sums, run, status) &&
              account_devices(run, &sums, outcome, &takers, status);
    if (ok) {
        find_next_cause(outcome);
        find_next_kernel(trace, &takers, outcome);
        find_next_copy(&takers, outcome);
    }
    call_sums_finish(&sums);
    memory_free(takers.kernel);
    return ok;
}
