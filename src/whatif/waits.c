/* What does a call wait for? A blocking copy waits for what it launched. A synchronization waits
 * for the queue, event or device of its record; without a record, for the activity that was
 * launched before it and ended last before the call did. Allocating, loading a module and launching
 * may wait too (for an idle device, for space in a queue): only if the call took far longer than
 * others of its name and an activity ended just before it did. */
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"
#include "whatif/graph.h"

/* ---- the calls of a synchronization record ---- */

/* The call that waits and the one that recorded the event it waits for, found by correlation id
 * within the process of the record's queue. Nested calls stand for their outermost one. */

static uint64_t call_key(uint32_t process, uint64_t correlation) {
    return correlation ^ (uint64_t)process * 0x9E3779B97F4A7C15u;
}

static bool index_calls(const struct replay *replay, struct map *calls, struct status *status) {
    const struct trace *trace = replay->trace;
    for (size_t i = 0; i < replay->calls; i++)
        if (trace->call.correlation[i] &&
            !map_set(
                calls,
                call_key(trace->thread.process[trace->call.thread[i]], trace->call.correlation[i]),
                i, status))
            return false;
    return true;
}

static uint32_t call_of(const struct replay *replay, const struct map *calls, uint32_t process,
                        uint64_t correlation) {
    const uint64_t *call = correlation ? map_find(calls, call_key(process, correlation)) : NULL;
    if (!call || replay->trace->call.correlation[*call] != correlation)
        return NO_ROW;
    return replay->outer[*call];
}

bool replay_find_wait_calls(struct replay *replay, struct status *status) {
    struct trace *trace = replay->source.model->trace;
    const struct columns_wait *wait = &trace->wait;
    struct map calls = {0};
    if (wait->count == 0)
        return true;
    bool ok = trace_load(trace, TABLE_WAIT, "record_correlation", status) &&
              trace_load(trace, TABLE_CALL, "correlation", status) &&
              index_calls(replay, &calls, status);
    for (size_t i = 0; i < wait->count && ok; i++) {
        uint32_t process = trace->queue.process[wait->queue[i]];
        replay->wait_call[i] = call_of(replay, &calls, process, wait->correlation[i]);
        replay->wait_recorder[i] = call_of(replay, &calls, process, wait->record_correlation[i]);
    }
    trace_unload(trace, TABLE_WAIT, "record_correlation");
    trace_unload(trace, TABLE_CALL, "correlation");
    map_finish(&calls);
    return ok;
}

/* Thresholds for a wait without a record. */
enum { LONG_FACTOR = 5, OUTSTANDING_MIN = 64 };

/* In finder.recorded: the value is an activity, no longer a queue. */
#define EVENT_RECORDED ((uint64_t)1 << 63)

struct finder {
    struct replay *replay;
    struct trace *trace;
    uint32_t *by_end; /* activities by (process, end); NULL: in that order already */
    size_t *process_first;
    int64_t *first_quartile; /* by string: first quartile of the durations of calls of that name */
    uint32_t *call_wait;     /* by call: row of its synchronization record, or NO_ROW */
    uint32_t *last;          /* by queue: last activity launched so far */
    uint32_t *newest;        /* by process: the queue of its last launch so far, or NO_ROW */
    uint32_t *older, *newer; /* by queue: those of the process with the launches before and after */
    uint32_t *launch_first;  /* by call: activities that it launched, as indexes in launch_rows */
    uint32_t *launch_rows;
    struct map recorded; /* by recording call: its queue; once passed, the last activity in it */
};

static uint32_t activity_process(const struct finder *finder, size_t activity) {
    uint32_t process = finder->trace->queue.process[finder->trace->activity.queue[activity]];
    uint32_t call = finder->replay->launch[activity];
    if (process || call == NO_ROW)
        return process;
    return finder->trace->thread.process[finder->trace->call.thread[call]];
}

static uint32_t call_process(const struct finder *finder, size_t call) {
    return finder->trace->thread.process[finder->trace->call.thread[call]];
}

static uint32_t row_by_end(const struct finder *finder, size_t place) {
    return finder->by_end ? finder->by_end[place] : (uint32_t)place;
}

static bool index_ends(struct finder *finder, struct status *status) {
    const struct replay *replay = finder->replay;
    size_t processes = finder->trace->process.count;
    uint32_t *group = memory_allocate(replay->activities, sizeof *group, status);
    int64_t *end = memory_allocate(replay->activities, sizeof *end, status);
    finder->process_first = memory_allocate(processes + 1, sizeof *finder->process_first, status);
    bool ok = group && end && finder->process_first;
    for (size_t i = 0; i < replay->activities && ok; i++) {
        group[i] = activity_process(finder, i);
        end[i] = activity_end(replay, i);
        finder->process_first[group[i] + 1]++;
    }
    for (size_t i = 0; i < processes && ok; i++)
        finder->process_first[i + 1] += finder->process_first[i];
    ok = ok && sort_rows(group, (uint32_t)processes, end, NULL, replay->activities, &finder->by_end,
                         status);
    memory_free(group);
    memory_free(end);
    return ok;
}

/* The activity, launched before the call by its process, that ended last before the call did. */
static uint32_t ended_last(const struct finder *finder, size_t call) {
    const struct replay *replay = finder->replay;
    enum { LOOK_BACK = 64 };
    uint32_t process = call_process(finder, call);
    int64_t until = replay->call_end[call] + replay->clock_error;
    size_t first = finder->process_first[process], low = first;
    size_t high = finder->process_first[process + 1];
    PARTITION_POINT(low, high, i, activity_end(replay, row_by_end(finder, i)) <= until);
    for (unsigned i = 0; i < LOOK_BACK && low > first; i++) {
        uint32_t row = row_by_end(finder, --low), launch = replay->launch[row];
        int64_t launched = launch == NO_ROW ? replay->start[row] : replay->call_start[launch];
        if (launched < replay->call_start[call])
            return row;
    }
    return NO_ROW;
}

/* ---- synchronization records ---- */

/* A record without an awaited queue does not identify its event. */
static uint32_t recorder_of(const struct finder *finder, size_t record) {
    return finder->trace->wait.awaited[record] ? finder->replay->wait_recorder[record] : NO_ROW;
}

/* Indexes the calls that recorded events; what they cover is found later. */
static bool index_records(struct finder *finder, struct status *status) {
    const struct replay *replay = finder->replay;
    for (size_t i = 0; i < finder->trace->wait.count; i++) {
        if (replay->wait_call[i] != NO_ROW)
            finder->call_wait[replay->wait_call[i]] = (uint32_t)i;
        if (recorder_of(finder, i) != NO_ROW && !map_set(&finder->recorded, recorder_of(finder, i),
                                                         finder->trace->wait.awaited[i], status))
            return false;
    }
    return true;
}

static uint32_t *allocate_rows(size_t count, struct status *status) {
    uint32_t *rows = memory_allocate(count, sizeof *rows, status);
    for (size_t i = 0; rows && i < count; i++)
        rows[i] = NO_ROW;
    return rows;
}

static bool prepare_queues(struct finder *finder, struct status *status) {
    size_t queues = finder->trace->queue.count;
    finder->last = allocate_rows(queues, status);
    finder->older = allocate_rows(queues, status);
    finder->newer = allocate_rows(queues, status);
    finder->newest = allocate_rows(finder->trace->process.count, status);
    return finder->last && finder->older && finder->newer && finder->newest;
}

/* Moves the queue to the front of its process's list. */
static void renew_queue(struct finder *finder, uint32_t queue) {
    uint32_t *newest = &finder->newest[finder->trace->queue.process[queue]];
    uint32_t older = finder->older[queue], newer = finder->newer[queue];
    if (*newest == queue)
        return;
    if (newer != NO_ROW)
        finder->older[newer] = older;
    if (older != NO_ROW)
        finder->newer[older] = newer;
    finder->older[queue] = *newest;
    finder->newer[queue] = NO_ROW;
    if (*newest != NO_ROW)
        finder->newer[*newest] = queue;
    *newest = queue;
}

static bool index_launched(struct finder *finder, struct status *status) {
    const struct replay *replay = finder->replay;
    finder->launch_first = memory_allocate(replay->calls + 2, sizeof *finder->launch_first, status);
    finder->launch_rows = memory_allocate(replay->activities, sizeof *finder->launch_rows, status);
    if (!finder->launch_first || !finder->launch_rows)
        return false;
    for (size_t i = 0; i < replay->activities; i++)
        if (replay->launch[i] != NO_ROW)
            finder->launch_first[replay->launch[i] + 2]++;
    for (size_t i = 0; i < replay->calls; i++)
        finder->launch_first[i + 2] += finder->launch_first[i + 1];
    for (size_t i = 0; i < replay->activities; i++)
        if (replay->launch[i] != NO_ROW)
            finder->launch_rows[finder->launch_first[replay->launch[i] + 1]++] = (uint32_t)i;
    return true;
}

/* ---- one call ---- */

/* An activity that ended clearly after the call was not awaited by it. */
static bool can_be_awaited(const struct replay *replay, size_t call, uint32_t activity) {
    return activity != NO_ROW &&
           activity_end(replay, activity) <= replay->call_end[call] + replay->clock_error;
}

static bool add_await(struct finder *finder, size_t call, uint32_t activity,
                      struct status *status) {
    return !can_be_awaited(finder->replay, call, activity) ||
           waits_add(&finder->replay->awaits, activity, status);
}

/* All queues of the process; of thousands, those with the latest launches: the others are idle. */
static bool await_queues(struct finder *finder, size_t call, struct status *status) {
    enum { QUEUES_MAX = 256 };
    uint32_t queue = finder->newest[call_process(finder, call)];
    for (unsigned i = 0; i < QUEUES_MAX && queue != NO_ROW; i++, queue = finder->older[queue])
        if (!add_await(finder, call, finder->last[queue], status))
            return false;
    return true;
}

static bool await_record(struct finder *finder, size_t call, uint32_t record,
                         struct status *status) {
    const struct trace *trace = finder->trace;
    uint32_t queue = trace->wait.queue[record];
    const uint64_t *last;
    switch (trace->wait.kind[record]) {
    case WAIT_STREAM:
        return add_await(finder, call, finder->last[queue], status);
    case WAIT_EVENT:
        last = recorder_of(finder, record) == NO_ROW
                   ? NULL
                   : map_find(&finder->recorded, recorder_of(finder, record));
        return !last || !(*last & EVENT_RECORDED) ||
               add_await(finder, call, (uint32_t)*last, status);
    case WAIT_CONTEXT:
        return await_queues(finder, call, status);
    default:
        return true;
    }
}

static bool took_long(const struct finder *finder, size_t call) {
    const struct replay *replay = finder->replay;
    int64_t typical = finder->first_quartile[replay->trace->call.name[call]];
    return replay->call_end[call] - replay->call_start[call] > LONG_FACTOR * MAX(typical, 1);
}

/* Whether an unusually long call waited: it ended just after an activity did. */
static bool plainly_waited(const struct finder *finder, size_t call, uint32_t activity) {
    const struct replay *replay = finder->replay;
    int64_t duration = replay->call_end[call] - replay->call_start[call];
    int64_t typical = finder->first_quartile[replay->trace->call.name[call]];
    int64_t end = activity_end(replay, activity);
    return end > replay->call_start[call] &&
           replay->call_end[call] - end < MAX(duration / 5, 2 * typical);
}

/* The number of unfinished activities of the queue at the start of the call, up to OUTSTANDING_MIN.
 */
static unsigned outstanding(const struct finder *finder, size_t call, uint32_t queue) {
    const struct replay *replay = finder->replay;
    unsigned count = 0;
    for (uint32_t row = finder->last[queue]; row != NO_ROW && count < OUTSTANDING_MIN;
         row = replay->previous[row]) {
        if (activity_end(replay, row) <= replay->call_start[call])
            break;
        count++;
    }
    return count;
}

static bool find_await(struct finder *finder, size_t call, struct status *status) {
    struct replay *replay = finder->replay;
    size_t before = replay->awaits.count;
    if (replay->blocks[call]) {
        for (uint32_t i = finder->launch_first[call]; i < finder->launch_first[call + 1]; i++)
            if (!waits_add(&replay->awaits, finder->launch_rows[i], status))
                return false;
        return true;
    }
    unsigned class = replay->class[call];
    if (class == CALL_SYNC) {
        uint32_t record = finder->call_wait[call];
        if (record != NO_ROW && !await_record(finder, call, record, status))
            return false;
        return replay->awaits.count > before ||
               add_await(finder, call, ended_last(finder, call), status);
    }
    if (class == CALL_OTHER || !took_long(finder, call))
        return true;
    uint32_t ended = ended_last(finder, call);
    if (ended == NO_ROW || !plainly_waited(finder, call, ended))
        return true;
    if (class == CALL_ALLOC || class == CALL_COMPILE)
        return waits_add(&replay->awaits, ended, status);
    if (class == CALL_LAUNCH || class == CALL_COPY) {
        uint32_t queue = replay->trace->activity.queue[ended];
        return outstanding(finder, call, queue) < OUTSTANDING_MIN ||
               waits_add(&replay->awaits, ended, status);
    }
    return true;
}

/* A call that records an awaited event covers the last activity of its queue: in OpenCL, that which
 * it launched itself. */
static void record_event(struct finder *finder, uint32_t call) {
    uint64_t *recorded = finder->recorded.count ? map_find(&finder->recorded, call) : NULL;
    if (recorded && !(*recorded & EVENT_RECORDED))
        *recorded = EVENT_RECORDED | finder->last[*recorded];
}

/* Later calls see what this call launched. */
static void note_launched(struct finder *finder, size_t call) {
    const struct replay *replay = finder->replay;
    for (uint32_t i = finder->launch_first[call]; i < finder->launch_first[call + 1]; i++) {
        uint32_t row = finder->launch_rows[i];
        uint32_t *last = &finder->last[replay->trace->activity.queue[row]];
        if (*last == NO_ROW || replay->start[row] >= replay->start[*last])
            *last = row;
        renew_queue(finder, replay->trace->activity.queue[row]);
    }
}

/* Walks the calls of all threads in order of start. Awaits are stored by call, so a list in order
 * of time is filled first and then laid out by row. */
static bool walk_calls(struct finder *finder, struct status *status) {
    struct replay *replay = finder->replay;
    uint32_t *order = NULL;
    uint32_t *session = memory_allocate(replay->calls, sizeof *session, status);
    uint32_t *from = memory_allocate(replay->calls, sizeof *from, status);
    uint32_t *until = memory_allocate(replay->calls, sizeof *until, status);
    bool ok = session && from && until;
    for (size_t i = 0; i < replay->calls && ok; i++)
        session[i] = replay->trace->thread_session[replay->trace->call.thread[i]];
    /* one group more for calls of unknown threads */
    ok = ok && sort_rows(session, (uint32_t)replay->sessions + 1, replay->call_start, NULL,
                         replay->calls, &order, status);
    for (size_t i = 0; i < replay->calls && ok; i++) {
        uint32_t call = order ? order[i] : (uint32_t)i;
        if (!is_outer(replay, call))
            continue;
        from[call] = (uint32_t)replay->awaits.count;
        ok = find_await(finder, call, status);
        until[call] = (uint32_t)replay->awaits.count;
        note_launched(finder, call);
        record_event(finder, call);
    }
    struct waits sorted = {.first = replay->awaits.first};
    for (size_t i = 0; i < replay->calls && ok; i++) {
        sorted.first[i] = (uint32_t)sorted.count;
        for (uint32_t k = from[i]; k < until[i] && ok; k++)
            ok = waits_add(&sorted, replay->awaits.activity[k], status);
    }
    memory_free(replay->awaits.activity);
    sorted.first[replay->calls] = (uint32_t)sorted.count;
    replay->awaits = sorted;
    memory_free(session);
    memory_free(from);
    memory_free(until);
    memory_free(order);
    return ok;
}

bool replay_find_waits(struct replay *replay, struct status *status) {
    struct finder finder = {.replay = replay, .trace = replay->source.model->trace};
    finder.call_wait = memory_allocate(replay->calls, sizeof *finder.call_wait, status);
    bool ok = finder.call_wait != NULL;
    for (size_t i = 0; i < replay->calls && ok; i++)
        finder.call_wait[i] = NO_ROW;
    /* the lower quartile: what calls of a name cost when they wait for nothing */
    if (ok)
        finder.first_quartile = call_durations(replay, 0.25, false, 0, status);
    ok = ok && finder.first_quartile && index_ends(&finder, status) &&
         prepare_queues(&finder, status) && index_launched(&finder, status) &&
         index_records(&finder, status) && walk_calls(&finder, status);
    void *columns[] = {finder.by_end,     finder.process_first, finder.first_quartile,
                       finder.call_wait,  finder.last,          finder.newest,
                       finder.older,      finder.newer,         finder.launch_first,
                       finder.launch_rows};
    for (size_t i = 0; i < ARRAY_COUNT(columns); i++)
        memory_free(columns[i]);
    map_finish(&finder.recorded);
    return ok;
}
