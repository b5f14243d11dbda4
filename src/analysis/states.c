/* Rows of one thread are contiguous as long as nothing was lost, so a cursor that only advances
 * finds every answer. */
#include "analysis/states.h"

#include <string.h>

#include "base/memory.h"
#include "base/sort.h"

const char *states_name(unsigned state) {
    return state == STATE_UNKNOWN ? "unknown" : thread_state_name(state);
}

bool states_build(struct states *states, const struct model *model, struct status *status) {
    struct trace *trace = model->trace;
    memset(states, 0, sizeof *states);
    states->trace = trace;
    if (!trace_load(trace, TABLE_STATE, NULL, status) ||
        !trace_load(trace, TABLE_USAGE, NULL, status))
        return false;
    states->thread_first =
        memory_allocate(trace->thread.count + 1, sizeof *states->thread_first, status);
    if (!states->thread_first)
        return false;
    for (size_t i = 0; i < trace->state.count; i++)
        states->thread_first[trace->state.thread[i] + 1]++;
    for (size_t thread = 0; thread < trace->thread.count; thread++)
        states->thread_first[thread + 1] += states->thread_first[thread];
    if (sort_rows(trace->state.thread, (uint32_t)trace->thread.count, trace->state.start,
                  trace->state.duration, trace->state.count, &states->order, status))
        return true;
    states_finish(states);
    return false;
}

void states_finish(struct states *states) {
    memory_free(states->order);
    memory_free(states->thread_first);
    memset(states, 0, sizeof *states);
}

static size_t row_at(const struct states *states, size_t place) {
    return states->order ? states->order[place] : place;
}

static int64_t end_at(const struct states *states, size_t place) {
    size_t row = row_at(states, place);
    return states->trace->state.start[row] + states->trace->state.duration[row];
}

struct state_interval states_next(const struct states *states, struct state_cursor *cursor,
                                  uint32_t thread, int64_t start, int64_t end) {
    const struct columns_state *rows = &states->trace->state;
    size_t first = states->thread_first[thread], last = states->thread_first[thread + 1];
    struct state_interval interval = {start, end, STATE_UNKNOWN, start, start};
    if (!cursor->started)
        *cursor = (struct state_cursor){true, first};
    while (cursor->row < last && end_at(states, cursor->row) <= start)
        cursor->row++;
    if (cursor->row == last)
        return interval;
    size_t row = row_at(states, cursor->row);
    if (rows->start[row] > start) {
        interval.end = rows->start[row] < end ? rows->start[row] : end;
        return interval;
    }
    if (end_at(states, cursor->row) < end)
        interval.end = end_at(states, cursor->row);
    interval.state = rows->state[row] < STATE_KINDS ? rows->state[row] : STATE_UNKNOWN;
    interval.since = interval.before = rows->start[row];
    if (cursor->row > first && end_at(states, cursor->row - 1) == interval.since)
        interval.before = rows->start[row_at(states, cursor->row - 1)];
    return interval;
}
