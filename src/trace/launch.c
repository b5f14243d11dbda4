/* Correlation ids are usually small consecutive numbers: the join uses an array if they are, else a
 * hash map. */
#include "trace/launch.h"

#include "base/map.h"
#include "base/memory.h"
#include "trace/writer.h"

/* The scope in which a correlation id is unique: a process, or the whole session if some queue of
 * it has no process. Scopes are numbered: sessions first, then processes. */
struct scopes {
    bool *session_wide; /* by session */
    uint32_t sessions;
};

static bool find_scopes(const struct trace *trace, struct scopes *scopes, struct status *status) {
    scopes->sessions = trace->session_count;
    scopes->session_wide =
        memory_allocate(trace->session_count, sizeof *scopes->session_wide, status);
    if (!scopes->session_wide)
        return false;
    for (size_t queue = 1; queue < trace->queue.count; queue++)
        if (trace->queue.process[queue] == 0)
            scopes->session_wide[trace->queue_session[queue]] = true;
    return true;
}

static uint32_t scope_of(const struct scopes *scopes, uint32_t session, uint32_t process) {
    if (session >= scopes->sessions)
        return 0;
    return scopes->session_wide[session] ? session : scopes->sessions + process;
}

static uint32_t call_scope(const struct trace *trace, const struct scopes *scopes, size_t call) {
    uint32_t thread = trace->call.thread[call];
    return scope_of(scopes, trace->thread_session[thread], trace->thread.process[thread]);
}

static uint32_t activity_scope(const struct trace *trace, const struct scopes *scopes,
                               size_t activity) {
    uint32_t queue = trace->activity.queue[activity];
    return scope_of(scopes, trace->queue_session[queue], trace->queue.process[queue]);
}

/* Maps (scope, correlation) to the last call that has it. */
struct launch_index {
    uint32_t *dense; /* by correlation - dense_first; NULL: use the map */
    uint32_t dense_scope;
    uint64_t dense_first, dense_count;
    struct map map;
};

static uint64_t map_key(uint32_t scope, uint64_t correlation) {
    return correlation ^ (uint64_t)scope * 0x9E3779B97F4A7C15u;
}

static bool index_calls(const struct trace *trace, const struct scopes *scopes,
                        struct launch_index *index, struct status *status) {
    const uint64_t *correlation = trace->call.correlation;
    uint64_t low = UINT64_MAX, high = 0;
    bool one_scope = true;
    index->dense_scope = trace->call.count ? call_scope(trace, scopes, 0) : 0;
    for (size_t call = 0; call < trace->call.count; call++) {
        if (correlation[call] == 0)
            continue;
        low = correlation[call] < low ? correlation[call] : low;
        high = correlation[call] > high ? correlation[call] : high;
        one_scope = one_scope && call_scope(trace, scopes, call) == index->dense_scope;
    }
    if (low > high)
        return true;
    if (one_scope && high - low < 4 * (uint64_t)trace->call.count + 1024) {
        index->dense_first = low;
        index->dense_count = high - low + 1;
        index->dense = memory_allocate(index->dense_count, sizeof *index->dense, status);
        if (!index->dense)
            return false;
        for (size_t call = 0; call < trace->call.count; call++)
            if (correlation[call])
                index->dense[correlation[call] - low] = (uint32_t)call + 1;
        return true;
    }
    for (size_t call = 0; call < trace->call.count; call++)
        if (correlation[call] &&
            !map_set(&index->map, map_key(call_scope(trace, scopes, call), correlation[call]), call,
                     status))
            return false;
    return true;
}

static uint32_t find_call(const struct trace *trace, const struct launch_index *index,
                          uint32_t scope, uint64_t correlation) {
    if (correlation == 0)
        return NO_ROW;
    if (index->dense) {
        uint64_t at = correlation - index->dense_first;
        if (scope != index->dense_scope || at >= index->dense_count || index->dense[at] == 0)
            return NO_ROW;
        return index->dense[at] - 1;
    }
    const uint64_t *call = map_find(&index->map, map_key(scope, correlation));
    /* keys are hashed, so verify the match */
    if (!call || trace->call.correlation[*call] != correlation)
        return NO_ROW;
    return (uint32_t)*call;
}

/* By activity: the call with the correlation id of that column. */
static uint32_t *join(struct trace *trace, const uint64_t *correlation, struct status *status) {
    struct scopes scopes = {0};
    struct launch_index index = {0};
    uint32_t *calls = memory_allocate(trace->activity.count, sizeof *calls, status);
    bool ok =
        calls && find_scopes(trace, &scopes, status) && index_calls(trace, &scopes, &index, status);
    for (size_t activity = 0; activity < trace->activity.count && ok; activity++)
        calls[activity] = find_call(trace, &index, activity_scope(trace, &scopes, activity),
                                    correlation[activity]);
    memory_free(index.dense);
    map_finish(&index.map);
    memory_free(scopes.session_wide);
    if (!ok) {
        memory_free(calls);
        return NULL;
    }
    return calls;
}

uint32_t *launch_find(struct trace *trace, struct status *status) {
    return trace_load(trace, TABLE_ACTIVITY, "queue correlation", status) &&
                   trace_load(trace, TABLE_CALL, "thread correlation", status)
               ? join(trace, trace->activity.correlation, status)
               : NULL;
}

bool launch_find_captures(struct trace *trace, uint32_t **captures, struct status *status) {
    *captures = NULL;
    if (!text_is(trace_meta(trace, META_CUDA_GRAPHS), CUDA_GRAPHS_BY_NODE))
        return true;
    if (!trace_load(trace, TABLE_ACTIVITY, "queue captured_by", status) ||
        !trace_load(trace, TABLE_CALL, "thread correlation", status))
        return false;
    *captures = join(trace, trace->activity.captured_by, status);
    trace_unload(trace, TABLE_ACTIVITY, "captured_by");
    return *captures != NULL;
}
