/* Numbers that are unique in the whole file, equal to the trace's own wherever those are unique. */
#include "export/chrome_ids.h"

#include "base/checksum.h"
#include "base/memory.h"
#include "base/text.h"
#include "import/kineto/kineto_own.h"

/* Free numbers are sought from here: beyond real streams and devices, and exact in a double. */
enum { SPARE_FROM = 1000000 };

static uint64_t pair_key(uint64_t a, uint64_t b) {
    uint64_t parts[2] = {a, b};
    return checksum64(parts, sizeof parts);
}

/* `wanted`, or the next number from *spare on that nobody in this scope has. */
static bool claim(struct map *taken, uint64_t scope, uint64_t wanted, uint64_t *spare,
                  uint64_t *number, struct status *status) {
    *number = wanted;
    while (map_find(taken, pair_key(scope, *number)))
        *number = (*spare)++;
    return map_set(taken, pair_key(scope, *number), 1, status);
}

/* Nobody may have the number that stands for "nowhere". */
static bool reserve(struct map *taken, struct status *status) {
    return map_set(taken, pair_key(0, (uint64_t)OWN_NOWHERE), 1, status);
}

static bool number_processes(struct chrome_ids *ids, const struct trace *trace,
                             struct status *status) {
    struct map taken = {0};
    uint64_t spare = (uint64_t)1 << 41; /* the importer counts words from 2^40 */
    bool ok = reserve(&taken, status);
    for (size_t i = 1; i < trace->process.count && ok; i++)
        ok = claim(&taken, 0, trace->process.pid[i], &spare, &ids->pid[i], status);
    ok = ok && claim(&taken, 0, spare, &spare, &ids->pid[0], status);
    map_finish(&taken);
    return ok;
}

static bool number_devices(struct chrome_ids *ids, const struct trace *trace,
                           struct status *status) {
    struct map taken = {0};
    uint64_t spare = SPARE_FROM, number = 0;
    bool ok = reserve(&taken, status);
    for (size_t i = 1; i < trace->device.count && ok; i++) {
        int64_t wanted;
        if (!text_to_i64(trace_text(trace, trace->device.label[i]), &wanted))
            wanted = trace->device.index[i];
        ok = claim(&taken, 0, (uint64_t)wanted, &spare, &number, status);
        ids->device[i] = (int64_t)number;
    }
    ok = ok && claim(&taken, 0, spare, &spare, &number, status);
    ids->device[0] = (int64_t)number;
    map_finish(&taken);
    return ok;
}

static bool number_streams(struct chrome_ids *ids, const struct trace *trace,
                           struct status *status) {
    struct map taken = {0};
    uint64_t spare = SPARE_FROM, number = 0;
    bool ok = true;
    for (size_t i = 1; i < trace->queue.count && ok; i++) {
        ok = claim(&taken, trace->queue.device[i], (uint64_t)trace->queue.stream[i], &spare,
                   &number, status);
        ids->stream[i] = (int64_t)number;
    }
    map_finish(&taken);
    return ok;
}

/* Also gives the scope of the smallest id the first stretch of numbers, so that it stays so. */
static bool find_correlations(struct chrome_ids *ids, const struct trace *trace,
                              struct status *status) {
    size_t smallest = 0;
    uint64_t id;
    ids->first = UINT64_MAX;
    for (size_t i = 0; i < trace->call.count; i++) {
        uint64_t correlation = trace->call.correlation[i];
        if (correlation && correlation < ids->first) {
            ids->first = correlation;
            smallest = i;
        }
        if (correlation >= ids->span)
            ids->span = correlation + 1;
    }
    for (size_t i = 0; i < trace->activity.count; i++)
        if (trace->activity.correlation[i] >= ids->span)
            ids->span = trace->activity.correlation[i] + 1;
    return trace->call.count == 0 ||
           chrome_ids_of_call(ids, trace, trace->call.thread[smallest],
                              trace->call.correlation[smallest], &id, status);
}

bool chrome_ids_init(struct chrome_ids *ids, const struct trace *trace, struct status *status) {
    *ids = (struct chrome_ids){0};
    ids->renumber = trace->process.count > 2 || trace->session_count > 1;
    ids->device = memory_allocate(trace->device.count, sizeof *ids->device, status);
    ids->stream = memory_allocate(trace->queue.count, sizeof *ids->stream, status);
    ids->pid = memory_allocate(trace->process.count, sizeof *ids->pid, status);
    ids->shared_scope = memory_allocate((size_t)trace->session_count + 1, sizeof(bool), status);
    if (!ids->device || !ids->stream || !ids->pid || !ids->shared_scope)
        return false;
    for (size_t i = 1; i < trace->queue.count; i++)
        if (trace->queue.process[i] == 0)
            ids->shared_scope[trace->queue_session[i]] = true;
    return find_correlations(ids, trace, status) && number_processes(ids, trace, status) &&
           number_devices(ids, trace, status) && number_streams(ids, trace, status);
}

void chrome_ids_finish(struct chrome_ids *ids) {
    memory_free(ids->device);
    memory_free(ids->stream);
    memory_free(ids->pid);
    memory_free(ids->shared_scope);
    map_finish(&ids->ranks);
}

/* Each scope has its own stretch of numbers, the first its own ids. An id below those of all calls
 * means that the launch was before the recording began, and so stays below them. */
static bool correlation_of(struct chrome_ids *ids, uint32_t session, uint32_t process,
                           uint64_t correlation, uint64_t *id, struct status *status) {
    *id = correlation;
    if (correlation < ids->first || !ids->renumber)
        return true;
    if (session == UINT32_MAX) /* of no thread or queue */
        session = 0;
    uint64_t scope =
        ids->shared_scope[session] ? (uint64_t)session << 1 | 1 : (uint64_t)process << 1;
    uint64_t *known = map_find(&ids->ranks, scope);
    uint64_t rank = known ? *known : ids->ranks.count;
    *id = correlation + rank * ids->span;
    return known || map_set(&ids->ranks, scope, rank, status);
}

bool chrome_ids_of_call(struct chrome_ids *ids, const struct trace *trace, uint32_t thread,
                        uint64_t correlation, uint64_t *id, struct status *status) {
    return correlation_of(ids, trace->thread_session[thread], trace->thread.process[thread],
                          correlation, id, status);
}

bool chrome_ids_of_activity(struct chrome_ids *ids, const struct trace *trace, uint32_t queue,
                            uint64_t correlation, uint64_t *id, struct status *status) {
    return correlation_of(ids, trace->queue_session[queue], trace->queue.process[queue],
                          correlation, id, status);
}
