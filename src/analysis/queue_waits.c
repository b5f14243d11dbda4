/* The driver's records of stream waits, by queue and time; a cursor for each queue moves on with
 * its launches. */
#include "analysis/queue_waits.h"

#include <string.h>

#include "base/memory.h"
#include "base/sort.h"

bool queue_waits_build(struct queue_waits *waits, const struct trace *trace,
                       struct status *status) {
    size_t queues = trace->queue.count, count = 0;
    uint32_t *order = NULL;
    memset(waits, 0, sizeof *waits);
    waits->launched = memory_allocate(queues, sizeof *waits->launched, status);
    waits->first = memory_allocate(queues + 1, sizeof *waits->first, status);
    waits->cursor = memory_allocate(queues, sizeof *waits->cursor, status);
    waits->rows = memory_allocate(trace->wait.count, sizeof *waits->rows, status);
    if (!waits->launched || !waits->first || !waits->cursor || !waits->rows ||
        !sort_rows(trace->wait.queue, (uint32_t)queues, trace->wait.start, NULL, trace->wait.count,
                   &order, status))
        return false;
    for (size_t i = 0; i < trace->wait.count; i++) {
        uint32_t row = order ? order[i] : (uint32_t)i;
        if (trace->wait.kind[row] != WAIT_STREAM_EVENT ||
            trace->wait.awaited[row] == trace->wait.queue[row])
            continue;
        waits->rows[count++] = row;
        waits->first[trace->wait.queue[row] + 1]++;
    }
    for (size_t queue = 0; queue < queues; queue++) {
        waits->first[queue + 1] += waits->first[queue];
        waits->cursor[queue] = waits->first[queue];
        waits->launched[queue] = INT64_MIN;
    }
    memory_free(order);
    return true;
}

void queue_waits_finish(struct queue_waits *waits) {
    memory_free(waits->launched);
    memory_free(waits->first);
    memory_free(waits->cursor);
    memory_free(waits->rows);
    memset(waits, 0, sizeof *waits);
}

void queue_waits_launched(struct queue_waits *waits, uint32_t queue, int64_t time) {
    waits->launched[queue] = time;
}

bool queue_waits_between(struct queue_waits *waits, const struct trace *trace, uint32_t queue,
                         int64_t launched) {
    const int64_t *told = trace->wait.start;
    size_t *at = &waits->cursor[queue], end = waits->first[queue + 1];
    while (*at < end && told[waits->rows[*at]] < waits->launched[queue])
        (*at)++;
    return *at < end && told[waits->rows[*at]] <= launched;
}
