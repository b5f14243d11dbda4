/* Numbers that are unique in the whole file, equal to the trace's own wherever those are unique. */
#include "export/chrome_ids.h"

#include "base/checksum.h"
#include "base/memory.h"
#include "base/text.h"

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

static bool number_processes(struct chrome_ids *ids, const struct trace *trace,
                             struct status *status) {
    struct map taken = {0};
    uint64_t spare = (uint64_t)1 << 41; /* the importer counts words from 2^40 */
    bool ok = true;
    for (size_t i = 1; i < trace->process.count && ok; i++)
        ok = claim(&taken, 0, trace->process.pid[i], &spare, &ids->pid[i], status);
    map_finish(&taken);
    return ok;
}

static bool number_devices(struct chrome_ids *ids, const struct trace *trace,
                           struct status *status) {
    struct map taken = {0};
    uint64_t spare = SPARE_FROM, number = 0;
    bool ok = true;
    for (size_t i = 1; i < trace->device.count && ok; i++) {
        struct text label = trace_text(trace, trace->device.label[i]);
        int64_t wanted = trace->device.index[i];
        bool numeric = label.length == 0 || text_to_i64(label, &wanted);
        ids->device_is_word[i] = !numeric && trace->device_session[i] == 0;
        if (ids->device_is_word[i])
            continue;
        ok = claim(&taken, 0, (uint64_t)wanted, &spare, &number, status);
        ids->device[i] = (int64_t)number;
    }
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

bool chrome_ids_init(struct chrome_ids *ids, const struct trace *trace, struct status *status) {
    *ids = (struct chrome_ids){.next_correlation = 1,
                               .renumber = trace->process.count > 2 || trace->session_count > 1};
    ids->device = memory_allocate(trace->device.count, sizeof *ids->device, status);
    ids->device_is_word = memory_allocate(trace->device.count, sizeof(bool), status);
    ids->stream = memory_allocate(trace->queue.count, sizeof *ids->stream, status);
    ids->pid = memory_allocate(trace->process.count, sizeof *ids->pid, status);
    ids->shared_scope = memory_allocate((size_t)trace->session_count + 1, sizeof(bool), status);
    if (!ids->device || !ids->device_is_word || !ids->stream || !ids->pid || !ids->shared_scope)
        return false;
    for (size_t i = 1; i < trace->queue.count; i++)
        if (trace->queue.process[i] == 0)
            ids->shared_scope[trace->queue_session[i]] = true;
    /* One recording whose queues do not tell: its ids are the file's already. */
    if (trace->session_count <= 1 && ids->shared_scope[0])
        ids->renumber = false;
    return number_processes(ids, trace, status) && number_devices(ids, trace, status) &&
           number_streams(ids, trace, status);
}

void chrome_ids_finish(struct chrome_ids *ids) {
    memory_free(ids->device);
    memory_free(ids->device_is_word);
    memory_free(ids->stream);
    memory_free(ids->pid);
    memory_free(ids->shared_scope);
    map_finish(&ids->correlations);
}

static bool correlation_of(struct chrome_ids *ids, uint32_t session, uint32_t process,
                           uint64_t correlation, uint64_t *id, struct status *status) {
    *id = correlation;
    if (correlation == 0 || !ids->renumber)
        return true;
    if (session == UINT32_MAX) /* of no thread or queue */
        session = 0;
    bool shared = ids->shared_scope[session];
    uint64_t scope = shared ? (uint64_t)session << 1 | 1 : (uint64_t)process << 1;
    uint64_t key = pair_key(scope, correlation);
    uint64_t *known = map_find(&ids->correlations, key);
    *id = known ? *known : ids->next_correlation++;
    return known || map_set(&ids->correlations, key, *id, status);
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
