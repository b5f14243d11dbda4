/* Which calls does a synchronisation record speak of? The one that waits, and the one that recorded
 * the event it waits for, by their correlation within the process of the record's queue. Where a
 * call stands inside another, the outer one is meant. */
#include "base/map.h"
#include "base/memory.h"
#include "whatif/graph.h"

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
