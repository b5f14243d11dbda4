/* What must end on the device before an activity can start? The previous activity of its queue, and
 * activities of other queues that an event makes it wait for. Where the source records no such
 * waits, a dependency is inferred if nothing else explains the start: the launch was long done, the
 * queue idle, and an activity of another queue had just ended. */
#include "base/map.h"
#include "base/memory.h"
#include "base/sort.h"
#include "whatif/graph.h"

struct finder {
    struct replay *replay;
    struct trace *trace;
    /* Activities of each queue in order of launch. */
    uint32_t *by_launch;
    size_t *queue_first;
    int64_t *launched;       /* by activity: start of its launching call, or of itself if unknown */
    uint32_t *event_depends; /* by activity: what an event makes it wait for, or NO_ROW */
};

static void find_previous(struct replay *replay, uint32_t *last) {
    for (size_t queue = 0; queue < replay->queues; queue++)
        last[queue] = NO_ROW;
    for (size_t i = 0; i < replay->activities; i++) {
        uint32_t queue = replay->trace->activity.queue[i];
        replay->previous[i] = last[queue];
        last[queue] = (uint32_t)i;
    }
}

static bool index_queues(struct finder *finder, struct status *status) {
    struct replay *replay = finder->replay;
    finder->launched = memory_allocate(replay->activities, sizeof *finder->launched, status);
    finder->queue_first = memory_allocate(replay->queues + 1, sizeof *finder->queue_first, status);
    if (!finder->launched || !finder->queue_first)
        return false;
    for (size_t i = 0; i < replay->activities; i++) {
        uint32_t call = replay->launch[i];
        finder->launched[i] = call == NO_ROW ? replay->start[i] : replay->call_start[call];
        finder->queue_first[finder->trace->activity.queue[i] + 1]++;
    }
    for (size_t queue = 0; queue < replay->queues; queue++)
        finder->queue_first[queue + 1] += finder->queue_first[queue];
    if (!sort_rows(finder->trace->activity.queue, (uint32_t)replay->queues, finder->launched, NULL,
                   replay->activities, &finder->by_launch, status))
        return false;
    return true;
}

/* Index after the last activity of the queue launched before `time`. */
static size_t launched_before(const struct finder *finder, uint32_t queue, int64_t time) {
    size_t low = finder->queue_first[queue], high = finder->queue_first[queue + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint32_t row = finder->by_launch ? finder->by_launch[middle] : (uint32_t)middle;
        if (finder->launched[row] < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t last_launched(const struct finder *finder, uint32_t queue, int64_t time) {
    size_t at = launched_before(finder, queue, time);
    if (at == finder->queue_first[queue])
        return NO_ROW;
    return finder->by_launch ? finder->by_launch[at - 1] : (uint32_t)(at - 1);
}

static uint32_t first_launched(const struct finder *finder, uint32_t queue, int64_t time) {
    size_t at = launched_before(finder, queue, time);
    if (at == finder->queue_first[queue + 1])
        return NO_ROW;
    return finder->by_launch ? finder->by_launch[at] : (uint32_t)at;
}

/* The activity that a stream-wait record makes the next activity of the queue wait for. */
static void add_recorded_wait(struct finder *finder, size_t row) {
    const struct trace *trace = finder->trace;
    const struct replay *replay = finder->replay;
    uint32_t queue = trace->wait.queue[row], awaited = trace->wait.awaited[row];
    uint32_t waiting = replay->wait_call[row], recorded = replay->wait_recorder[row];
    if (trace->wait.kind[row] != WAIT_STREAM_EVENT || waiting == NO_ROW || recorded == NO_ROW ||
        awaited == 0 || awaited == queue)
        return;
    /* what the recording call itself launched included (OpenCL) */
    uint32_t before = last_launched(finder, awaited, replay->call_start[recorded] + 1);
    uint32_t after = first_launched(finder, queue, replay->call_start[waiting]);
    if (before == NO_ROW || after == NO_ROW || before == after)
        return;
    uint32_t *depends = &finder->event_depends[after];
    if (*depends == NO_ROW || activity_end(replay, before) > activity_end(replay, *depends))
        *depends = before;
}

/* The activity of another queue of the device that ended last before this one started. Activities
 * of a device come in order of start, so the latest end so far is known. */
struct latest {
    uint32_t row, other_row; /* of all queues, and of all but that one's */
    uint32_t queue;
    int64_t end, other_end;
};

static void latest_add(struct latest *latest, uint32_t row, uint32_t queue, int64_t end) {
    if (latest->row == NO_ROW || end >= latest->end) {
        if (latest->row != NO_ROW && queue != latest->queue) {
            latest->other_row = latest->row;
            latest->other_end = latest->end;
        }
        latest->row = row;
        latest->queue = queue;
        latest->end = end;
    } else if (queue != latest->queue &&
               (latest->other_row == NO_ROW || end >= latest->other_end)) {
        latest->other_row = row;
        latest->other_end = end;
    }
}

/* Neither launch nor queue explains the start, and another activity ended shortly before, compared
 * with how long this one was ready. */
static uint32_t infer_dependency(const struct replay *replay, size_t row,
                                 const struct latest *latest) {
    uint32_t queue = replay->trace->activity.queue[row], call = replay->launch[row];
    if (call == NO_ROW)
        return NO_ROW;
    uint32_t other = latest->queue == queue ? latest->other_row : latest->row;
    if (other == NO_ROW)
        return NO_ROW;
    int64_t start = replay->start[row], end = activity_end(replay, other);
    int64_t ready = replay->call_end[call];
    if (replay->previous[row] != NO_ROW)
        ready = MAX(ready, activity_end(replay, replay->previous[row]));
    int64_t lag = start - end, waited = start - ready;
    bool just_ended = lag >= 0 && lag <= 5000 && waited > 10 * MAX(lag, 2000);
    return just_ended && end > ready ? other : NO_ROW;
}

static bool fill_depends(struct finder *finder, struct status *status) {
    struct replay *replay = finder->replay;
    struct latest latest = {.row = NO_ROW, .other_row = NO_ROW};
    uint32_t device = UINT32_MAX;
    for (size_t i = 0; i < replay->activities; i++) {
        if (activity_device(replay, i) != device) {
            device = activity_device(replay, i);
            latest = (struct latest){.row = NO_ROW, .other_row = NO_ROW};
        }
        replay->depends.first[i] = (uint32_t)replay->depends.count;
        uint32_t other = finder->event_depends[i];
        if (other != NO_ROW && activity_end(replay, other) > replay->start[i] + replay->clock_error)
            other = NO_ROW; /* it did not wait for it */
        if (other == NO_ROW)
            other = infer_dependency(replay, i, &latest);
        if (other != NO_ROW && !waits_add(&replay->depends, other, status))
            return false;
        latest_add(&latest, (uint32_t)i, replay->trace->activity.queue[i], activity_end(replay, i));
    }
    replay->depends.first[replay->activities] = (uint32_t)replay->depends.count;
    return true;
}

bool replay_find_dependencies(struct replay *replay, struct status *status) {
    struct trace *trace = replay->source.model->trace;
    struct finder finder = {.replay = replay, .trace = trace};
    uint32_t *last = memory_allocate(replay->queues, sizeof *last, status);
    finder.event_depends =
        memory_allocate(replay->activities, sizeof *finder.event_depends, status);
    bool ok = last && finder.event_depends && index_queues(&finder, status);
    if (ok) {
        find_previous(replay, last);
        for (size_t i = 0; i < replay->activities; i++)
            finder.event_depends[i] = NO_ROW;
    }
    for (size_t i = 0; i < trace->wait.count && ok; i++)
        add_recorded_wait(&finder, i);
    ok = ok && fill_depends(&finder, status);
    memory_free(last);
    memory_free(finder.event_depends);
    memory_free(finder.launched);
    memory_free(finder.queue_first);
    memory_free(finder.by_launch);
    return ok;
}
