/* The driver's records of stream waits, by queue and time; a cursor for each queue moves on with
 * its launches. */
#include "analysis/queue_waits.h"

#include <string.h>

#include "base/memory.h"
#include "base/sort.h"

bool wait_index_build(struct wait_index *index, const struct trace *trace, struct status *status) {
    size_t queues = trace->queue.count, count = 0;
    uint32_t *order = NULL;
    memset(index, 0, sizeof *index);
    index->first = memory_allocate(queues + 1, sizeof *index->first, status);
    index->rows = memory_allocate(trace->wait.count, sizeof *index->rows, status);
    if (!index->first || !index->rows ||
        !sort_rows(trace->wait.queue, (uint32_t)queues, trace->wait.start, NULL, trace->wait.count,
                   &order, status))
        return false;
    for (size_t i = 0; i < trace->wait.count; i++) {
        uint32_t row = order ? order[i] : (uint32_t)i;
        if (trace->wait.kind[row] != WAIT_STREAM_EVENT ||
            trace->wait.awaited[row] == trace->wait.queue[row])
            continue;
        index->rows[count++] = row;
        index->first[trace->wait.queue[row] + 1]++;
    }
    for (size_t queue = 0; queue < queues; queue++)
        index->first[queue + 1] += index->first[queue];
    memory_free(order);
    return true;
}

void wait_index_finish(struct wait_index *index) {
    memory_free(index->first);
    memory_free(index->rows);
    memset(index, 0, sizeof *index);
}

void queue_waits_finish(struct queue_waits *waits) {
    places_finish(&waits->places);
    memory_free(waits->queues);
    memset(waits, 0, sizeof *waits);
}

static struct queue_place *place_of(struct queue_waits *waits, uint32_t queue) {
    size_t place, known = waits->places.count;
    if (!places_find(&waits->places, queue, &place, &waits->status))
        return NULL;
    if (place == known) {
        if (!GROW(waits->queues, &waits->capacity, place + 1, &waits->status))
            return NULL;
        waits->queues[place] = (struct queue_place){INT64_MIN, waits->index->first[queue]};
    }
    return place < waits->capacity ? &waits->queues[place] : NULL;
}

void queue_waits_launched(struct queue_waits *waits, uint32_t queue, int64_t time) {
    struct queue_place *place = place_of(waits, queue);
    if (place)
        place->launched = time;
}

bool queue_waits_between(struct queue_waits *waits, const struct trace *trace, uint32_t queue,
                         int64_t launched) {
    const int64_t *told = trace->wait.start;
    const uint32_t *rows = waits->index->rows;
    struct queue_place *place = place_of(waits, queue);
    size_t end = waits->index->first[queue + 1];
    while (place && place->cursor < end && told[rows[place->cursor]] < place->launched)
        place->cursor++;
    return place && place->cursor < end && told[rows[place->cursor]] <= launched;
}
