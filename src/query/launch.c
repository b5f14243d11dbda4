/* One hash map from (scope, correlation) to the last such call. The key mixes the two, so what is
 * found is checked against both. */
#include "query/launch.h"

#include "base/checksum.h"
#include "base/map.h"
#include "base/memory.h"

/* Scopes are numbered: sessions first, then processes. */
struct scopes {
    bool *session_wide; /* by session */
    const struct trace *trace;
};

static bool find_scopes(struct scopes *scopes, const struct trace *trace, struct status *status) {
    scopes->trace = trace;
    scopes->session_wide = memory_allocate(trace->session_count, sizeof(bool), status);
    if (!scopes->session_wide)
        return false;
    for (size_t queue = 1; queue < trace->queue.count; queue++)
        if (trace->queue.process[queue] == 0)
            scopes->session_wide[trace->queue_session[queue]] = true;
    return true;
}

static uint64_t scope_of(const struct scopes *scopes, uint32_t session, uint32_t process) {
    if (session >= scopes->trace->session_count)
        return 0;
    return scopes->session_wide[session] ? session
                                         : (uint64_t)scopes->trace->session_count + process;
}

static uint64_t call_scope(const struct scopes *scopes, size_t call) {
    uint32_t thread = scopes->trace->call.thread[call];
    return scope_of(scopes, scopes->trace->thread_session[thread],
                    scopes->trace->thread.process[thread]);
}

static uint64_t activity_scope(const struct scopes *scopes, size_t activity) {
    uint32_t queue = scopes->trace->activity.queue[activity];
    return scope_of(scopes, scopes->trace->queue_session[queue],
                    scopes->trace->queue.process[queue]);
}

static uint64_t key_of(uint64_t scope, uint64_t correlation) {
    return checksum_integer(scope + 1) ^ correlation;
}

static bool index_calls(const struct scopes *scopes, struct map *calls, struct status *status) {
    const uint64_t *correlation = scopes->trace->call.correlation;
    for (size_t call = 0; call < scopes->trace->call.count; call++)
        if (correlation[call] &&
            !map_set(calls, key_of(call_scope(scopes, call), correlation[call]), call, status))
            return false;
    return true;
}

static uint32_t launch_of(const struct scopes *scopes, const struct map *calls, size_t activity) {
    uint64_t correlation = scopes->trace->activity.correlation[activity];
    if (correlation == 0)
        return LAUNCH_NONE;
    uint64_t scope = activity_scope(scopes, activity);
    const uint64_t *call = map_find(calls, key_of(scope, correlation));
    if (!call || scopes->trace->call.correlation[*call] != correlation ||
        call_scope(scopes, (size_t)*call) != scope)
        return LAUNCH_NONE;
    return (uint32_t)*call;
}

uint32_t *launch_find(struct trace *trace, struct status *status) {
    if (!trace_load(trace, TABLE_ACTIVITY, "queue correlation", status) ||
        !trace_load(trace, TABLE_CALL, "thread correlation", status))
        return NULL;
    struct scopes scopes = {0};
    struct map calls = {0};
    uint32_t *launch = memory_allocate(trace->activity.count, sizeof *launch, status);
    bool ok = launch && find_scopes(&scopes, trace, status) && index_calls(&scopes, &calls, status);
    for (size_t activity = 0; ok && activity < trace->activity.count; activity++)
        launch[activity] = launch_of(&scopes, &calls, activity);
    map_finish(&calls);
    memory_free(scopes.session_wide);
    if (!ok) {
        memory_free(launch);
        return NULL;
    }
    return launch;
}
