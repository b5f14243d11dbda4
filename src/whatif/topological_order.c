/* A topological order of the nodes: by measured time, where an activity comes no earlier than its
 * launching call and the previous activity of its queue (clocks differ, and a kernel may start
 * before its launch call returns). A dependency on a node that comes later in this order
 * contradicts the trace and is dropped. */
#include "base/memory.h"
#include "whatif/graph.h"

/* Nodes that are already in order of time: of one thread or one device. */
struct series {
    size_t at, end; /* rows of calls, twice each (start, then end), then of activities */
};

/* A k-way merge. Series are ordered by thread and device, and ties go to the earlier series, so a
 * thread's starts and ends keep their program order even when calls touch or take no time. */
struct merge {
    const struct replay *replay;
    const int64_t *activity_key;
    struct series *series;
    size_t count, capacity;
    uint32_t *heap; /* of series, the earliest next node on top */
    size_t heaped;
};

/* Nested calls have no nodes. */
static bool is_node(const struct merge *merge, size_t row) {
    return row >= 2 * merge->replay->calls || is_outer(merge->replay, row / 2);
}

static int64_t key_of(const struct merge *merge, size_t row) {
    const struct replay *replay = merge->replay;
    if (row >= 2 * replay->calls)
        return merge->activity_key[row - 2 * replay->calls];
    return row % 2 ? replay->call_end[row / 2] : replay->call_start[row / 2];
}

/* The node's number in order[]. */
static uint32_t node_of(const struct merge *merge, size_t row) {
    const struct replay *replay = merge->replay;
    if (row >= 2 * replay->calls)
        return (uint32_t)row;
    return (uint32_t)(row % 2 ? replay->calls + row / 2 : row / 2);
}

static bool find_series(struct merge *merge, struct status *status) {
    size_t rows = 2 * merge->replay->calls + merge->replay->activities;
    int64_t reached = 0;
    for (size_t row = 0; row < rows; row++) {
        if (!is_node(merge, row))
            continue;
        int64_t key = key_of(merge, row);
        if (merge->count == 0 || key < reached) {
            if (!GROW(merge->series, &merge->capacity, merge->count + 1, status))
                return false;
            merge->series[merge->count++].at = row;
        }
        merge->series[merge->count - 1].end = row + 1;
        reached = key;
    }
    return true;
}

static bool comes_before(const struct merge *merge, uint32_t a, uint32_t b) {
    int64_t x = key_of(merge, merge->series[a].at), y = key_of(merge, merge->series[b].at);
    return x != y ? x < y : a < b;
}

/* Restores the heap from `place` down. */
static void sink(struct merge *merge, size_t place) {
    uint32_t *heap = merge->heap, moved = heap[place];
    for (;;) {
        size_t child = 2 * place + 1;
        if (child + 1 < merge->heaped && comes_before(merge, heap[child + 1], heap[child]))
            child++;
        if (child >= merge->heaped || !comes_before(merge, heap[child], moved))
            break;
        heap[place] = heap[child];
        place = child;
    }
    heap[place] = moved;
}

static bool merge_series(struct merge *merge, struct replay *replay, struct status *status) {
    merge->heap = memory_allocate(merge->count, sizeof *merge->heap, status);
    if (!merge->heap)
        return false;
    merge->heaped = merge->count;
    for (uint32_t i = 0; i < merge->count; i++)
        merge->heap[i] = i;
    for (size_t i = merge->count / 2; i-- > 0;)
        sink(merge, i);
    while (merge->heaped) {
        struct series *first = &merge->series[merge->heap[0]];
        replay->order[replay->node_count++] = node_of(merge, first->at);
        do
            first->at++;
        while (first->at < first->end && !is_node(merge, first->at));
        if (first->at == first->end)
            merge->heap[0] = merge->heap[--merge->heaped];
        sink(merge, 0);
    }
    return true;
}

/* The sort key of each activity. */
static void find_keys(const struct replay *replay, int64_t *activity_key) {
    for (size_t i = 0; i < replay->activities; i++) {
        uint32_t call = replay->launch[i], previous = replay->previous[i];
        int64_t key = replay->start[i];
        if (call != NO_ROW)
            key =
                MAX(key, replay->from_start[i] ? replay->call_start[call] : replay->call_end[call]);
        if (previous != NO_ROW)
            key = MAX(key, activity_key[previous]);
        activity_key[i] = key;
    }
}

static void drop_undone(struct waits *waits, uint32_t row, const uint8_t *done) {
    for (uint32_t k = waits->first[row]; k < waits->first[row + 1]; k++)
        if (!done[waits->activity[k]])
            waits->activity[k] = NO_ROW;
}

/* Drops every dependency on a node that comes later. */
static bool drop_contradictions(struct replay *replay, struct status *status) {
    uint8_t *ended = memory_allocate(replay->calls, 1, status);
    uint8_t *done = memory_allocate(replay->activities, 1, status);
    bool ok = ended && done;
    for (size_t i = 0; i < replay->node_count && ok; i++) {
        size_t node = replay->order[i];
        if (node < replay->calls) {
            uint32_t *follows = &replay->follows[node];
            if (*follows != NO_ROW && !ended[*follows])
                *follows = NO_ROW;
        } else if (node < 2 * replay->calls) {
            drop_undone(&replay->awaits, (uint32_t)(node - replay->calls), done);
            ended[node - replay->calls] = 1;
        } else {
            uint32_t activity = (uint32_t)(node - 2 * replay->calls);
            drop_undone(&replay->depends, activity, done);
            done[activity] = 1;
        }
    }
    memory_free(ended);
    memory_free(done);
    return ok;
}

bool replay_sort(struct replay *replay, struct status *status) {
    size_t most = 2 * replay->calls + replay->activities;
    int64_t *activity_key = memory_allocate(replay->activities, sizeof *activity_key, status);
    struct merge merge = {.replay = replay, .activity_key = activity_key};
    replay->order = memory_allocate(most, sizeof *replay->order, status);
    bool ok = activity_key && replay->order;
    if (ok)
        find_keys(replay, activity_key);
    ok = ok && find_series(&merge, status) && merge_series(&merge, replay, status);
    memory_free(activity_key);
    memory_free(merge.series);
    memory_free(merge.heap);
    return ok && drop_contradictions(replay, status);
}
