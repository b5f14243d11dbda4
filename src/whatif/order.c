/* One order in which every moment can be computed: that of measured time, where an activity comes
 * no earlier than the call that launched it and the activity before it in its queue (clocks differ,
 * and a kernel may start before its launch call returns). Whatever else a moment waits for and that
 * does not stand before it in this order is a contradiction of the trace; that link is dropped. */
#include "base/memory.h"
#include "base/sort.h"
#include "whatif/graph.h"

struct moments {
    uint32_t *ids, *group;
    int64_t *key;
    size_t count;
};

static void add(struct moments *moments, uint32_t id, int64_t key) {
    moments->ids[moments->count] = id;
    moments->key[moments->count++] = key;
}

/* Each thread's starts and ends stand in program order before they are sorted, so that calls which
 * touch or last no time keep it. */
static void collect(const struct replay *replay, struct moments *moments, int64_t *activity_key) {
    for (size_t i = 0; i < replay->calls; i++)
        if (is_outer(replay, i)) {
            add(moments, (uint32_t)i, replay->call_start[i]);
            add(moments, (uint32_t)(replay->calls + i), replay->call_end[i]);
        }
    for (size_t i = 0; i < replay->activities; i++) {
        uint32_t call = replay->launch[i], previous = replay->previous[i];
        int64_t key = replay->start[i];
        if (call != NO_ROW)
            key = at_least(key, replay->from_start[i] ? replay->call_start[call]
                                                      : replay->call_end[call]);
        if (previous != NO_ROW)
            key = at_least(key, activity_key[previous]);
        activity_key[i] = key;
        add(moments, (uint32_t)(2 * replay->calls + i), key);
    }
}

static void drop_undone(struct waits *waits, uint32_t row, const uint8_t *done) {
    for (uint32_t k = waits->first[row]; k < waits->first[row + 1]; k++)
        if (!done[waits->activity[k]])
            waits->activity[k] = NO_ROW;
}

/* Walks the order once and drops every link to what has not come yet. */
static bool drop_contradictions(struct replay *replay, struct status *status) {
    uint8_t *ended = memory_allocate(replay->calls, 1, status);
    uint8_t *done = memory_allocate(replay->activities, 1, status);
    bool ok = ended && done;
    for (size_t i = 0; i < replay->moments && ok; i++) {
        size_t moment = replay->order[i];
        if (moment < replay->calls) {
            uint32_t *follows = &replay->follows[moment];
            if (*follows != NO_ROW && !ended[*follows])
                *follows = NO_ROW;
        } else if (moment < 2 * replay->calls) {
            drop_undone(&replay->awaits, (uint32_t)(moment - replay->calls), done);
            ended[moment - replay->calls] = 1;
        } else {
            uint32_t activity = (uint32_t)(moment - 2 * replay->calls);
            drop_undone(&replay->depends, activity, done);
            done[activity] = 1;
        }
    }
    memory_free(ended);
    memory_free(done);
    return ok;
}

bool replay_order(struct replay *replay, struct status *status) {
    size_t capacity = 2 * replay->calls + replay->activities;
    struct moments moments = {
        .ids = memory_allocate(capacity, sizeof *moments.ids, status),
        .group = memory_allocate(capacity, sizeof *moments.group, status),
        .key = memory_allocate(capacity, sizeof *moments.key, status),
    };
    int64_t *activity_key = memory_allocate(replay->activities, sizeof *activity_key, status);
    uint32_t *order = NULL;
    bool ok = moments.ids && moments.group && moments.key && activity_key;
    if (ok) {
        collect(replay, &moments, activity_key);
        ok = sort_rows(moments.group, 1, moments.key, NULL, moments.count, &order, status);
    }
    if (ok && order)
        for (size_t i = 0; i < moments.count; i++)
            order[i] = moments.ids[order[i]];
    replay->order = ok && order ? order : moments.ids;
    replay->moments = ok ? moments.count : 0;
    if (replay->order != moments.ids)
        memory_free(moments.ids);
    memory_free(moments.group);
    memory_free(moments.key);
    memory_free(activity_key);
    return ok && drop_contradictions(replay, status);
}
