/* Was a queue told to wait for another queue before a launch? Asked while the launches of a device
 * are walked in the order in which their work ran.
 */
#ifndef RIDGE_ANALYSIS_QUEUE_WAITS_H
#define RIDGE_ANALYSIS_QUEUE_WAITS_H

#include "base/places.h"
#include "trace/reader.h"

/* The records of all queues; built once. */
struct wait_index {
    size_t *first;  /* by queue: its stream-wait records, as places in `rows`; [id + 1] = end */
    uint32_t *rows; /* of trace->wait by (queue, start) */
};

/* On failure finish it too. */
bool wait_index_build(struct wait_index *index, const struct trace *trace, struct status *status);
void wait_index_finish(struct wait_index *index);

/* Where a walk over one device is; zeroed but for the index it is at the start. */
struct queue_waits {
    const struct wait_index *index;
    struct places places; /* by queue: place in `queues` */
    struct queue_place {
        int64_t launched; /* when its latest activity so far was launched */
        size_t cursor;
    } * queues;
    size_t capacity;
    struct status status; /* why a queue could not be followed */
};

void queue_waits_finish(struct queue_waits *waits);

/* The walk has passed an activity of the queue that was launched at `time`. */
void queue_waits_launched(struct queue_waits *waits, uint32_t queue, int64_t time);

/* Whether the queue was told to wait for another queue's event between the launch it passed last
 * and one at `launched`. The answer is the same each time it is asked: a gap may reach into several
 * windows. */
bool queue_waits_between(struct queue_waits *waits, const struct trace *trace, uint32_t queue,
                         int64_t launched);

#endif
