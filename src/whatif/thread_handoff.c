/* Do threads wait for each other? PyTorch's backward pass runs on its own thread while the calling
 * thread waits. This is not recorded, but visible in the calls of a process in order of time: long
 * bursts of one thread alternate with long bursts of another. The first call of such a burst then
 * follows the last one of the previous burst. Where calls of threads interleave finely, the threads
 * are independent. The first call of a new thread follows the last call of its process. */
#include "base/memory.h"
#include "base/sort.h"
#include "whatif/graph.h"

/* Fewer consecutive calls are no burst but a concurrent thread. */
enum { BURST_MIN = 8 };

struct burst {
    uint32_t first, last; /* calls */
    uint32_t thread;
    uint32_t count;
    int64_t end;
};

/* A burst follows the previous one if it began after that ended and its thread made no call
 * meanwhile. */
static void link_bursts(struct replay *replay, const struct burst *before,
                        const struct burst *burst) {
    uint32_t first = burst->first;
    if (before->count < BURST_MIN || burst->count < BURST_MIN || before->thread == burst->thread ||
        before->end > replay->call_start[first])
        return;
    bool first_of_thread = first == 0 || replay->trace->call.thread[first - 1] != burst->thread;
    uint32_t previous = first_of_thread ? NO_ROW : replay->outer[first - 1];
    if (previous == NO_ROW || replay->call_end[previous] <= replay->call_start[before->first])
        replay->follows[first] = before->last;
}

/* Links long bursts; short ones between them are ignored. */
static void walk_process(struct replay *replay, const uint32_t *calls, size_t count) {
    struct burst before = {.thread = UINT32_MAX}, burst = before;
    for (size_t i = 0; i <= count; i++) {
        uint32_t thread = i < count ? replay->trace->call.thread[calls[i]] : UINT32_MAX;
        if (i < count && burst.count && thread == burst.thread) {
            burst.last = calls[i];
            burst.count++;
            burst.end = replay->call_end[calls[i]];
            continue;
        }
        if (burst.count >= BURST_MIN) {
            link_bursts(replay, &before, &burst);
            before = burst;
        }
        if (i < count)
            burst = (struct burst){calls[i], calls[i], thread, 1, replay->call_end[calls[i]]};
    }
}

/* The first call of a thread, and what its process had done last by then. */
static void link_beginnings(struct replay *replay, const uint32_t *calls, size_t count,
                            uint8_t *begun) {
    uint32_t latest = NO_ROW;
    for (size_t i = 0; i < count; i++) {
        uint32_t call = calls[i], thread = replay->trace->call.thread[call];
        if (!begun[thread]) {
            begun[thread] = 1;
            if (replay->follows[call] == NO_ROW && latest != NO_ROW &&
                replay->call_end[latest] <= replay->call_start[call])
                replay->follows[call] = latest;
        }
        if (latest == NO_ROW || replay->call_end[call] >= replay->call_end[latest])
            latest = call;
    }
}

/* After its last call a thread continues as far as its ranges reach. In a recording without calls,
 * ranges are all that is known of a thread; otherwise a thread without calls, whose ranges may be a
 * profiler's own, does not delay the others. */
static void find_tails(struct replay *replay, const uint8_t *has_calls) {
    const struct model *model = replay->source.model;
    const struct trace *trace = replay->trace;
    for (size_t thread = 1; thread < replay->threads; thread++) {
        uint32_t session = trace->thread_session[thread];
        int64_t end = INT64_MIN, last = INT64_MIN;
        bool called = model->thread_calls[thread] < model->thread_calls[thread + 1];
        if (session >= replay->sessions || (!called && has_calls[session]))
            continue;
        for (size_t i = model->thread_ranges[thread]; i < model->thread_ranges[thread + 1]; i++)
            if (trace->range.category[i] != RANGE_OVERHEAD &&
                model_range_end(model, i) <= model->session_span[session].end)
                end = MAX(end, model_range_end(model, i));
        for (size_t i = model->thread_calls[thread]; i < model->thread_calls[thread + 1]; i++)
            last = MAX(last, model_call_end(model, i));
        if (end == INT64_MIN)
            continue;
        if (last == INT64_MIN)
            last = model->session_span[session].start;
        int64_t tail = end - last - pauses_within(replay->source.pauses, session, last, end);
        replay->tail[thread] = MAX(tail, 0);
    }
}

bool replay_find_handoffs(struct replay *replay, struct status *status) {
    const struct trace *trace = replay->trace;
    size_t processes = trace->process.count, outer = 0;
    uint32_t *rows = memory_allocate(replay->calls, sizeof *rows, status);
    uint32_t *group = memory_allocate(replay->calls, sizeof *group, status);
    int64_t *start = memory_allocate(replay->calls, sizeof *start, status);
    uint8_t *begun = memory_allocate(replay->threads, 1, status);
    uint8_t *has_calls = memory_allocate(replay->sessions, 1, status);
    uint32_t *order = NULL;
    bool ok = rows && group && start && begun && has_calls;
    for (size_t i = 0; i < replay->calls && ok; i++) {
        replay->follows[i] = NO_ROW;
        if (!is_outer(replay, i))
            continue;
        if (trace->thread_session[trace->call.thread[i]] < replay->sessions)
            has_calls[trace->thread_session[trace->call.thread[i]]] = 1;
        rows[outer] = (uint32_t)i;
        group[outer] = trace->thread.process[trace->call.thread[i]];
        start[outer++] = replay->call_start[i];
    }
    ok = ok && sort_rows(group, (uint32_t)processes, start, NULL, outer, &order, status);
    uint32_t *sorted = ok ? memory_allocate(outer, sizeof *sorted, status) : NULL;
    ok = sorted != NULL;
    for (size_t i = 0; i < outer && ok; i++)
        sorted[i] = rows[order ? order[i] : i];
    for (size_t i = 0, next; i < outer && ok; i = next) {
        uint32_t process = trace->thread.process[trace->call.thread[sorted[i]]];
        for (next = i;
             next < outer && trace->thread.process[trace->call.thread[sorted[next]]] == process;)
            next++;
        walk_process(replay, sorted + i, next - i);
        link_beginnings(replay, sorted + i, next - i, begun);
    }
    if (ok)
        find_tails(replay, has_calls);
    memory_free(sorted);
    memory_free(rows);
    memory_free(group);
    memory_free(start);
    memory_free(begun);
    memory_free(has_calls);
    memory_free(order);
    return ok;
}
