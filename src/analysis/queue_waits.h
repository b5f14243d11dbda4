/* Was a queue told to wait for another queue before a launch? Asked while the launches of a device
 * are walked in the order in which their work ran.
 */
#ifndef RIDGE_ANALYSIS_QUEUE_WAITS_H
#define RIDGE_ANALYSIS_QUEUE_WAITS_H

#include "trace/reader.h"

struct queue_waits {
    int64_t *launched; /* by queue: when its latest activity so far was launched */
    size_t *first;     /* by queue: its stream-wait records, as places in `rows`; [id + 1] = end */
    uint32_t *rows;    /* of trace->wait by (queue, start) */
    size_t *cursor;    /* by queue */
};

/* On failure finish it too. */
bool queue_waits_build(struct queue_waits *waits, const struct trace *trace, struct status *status);
void queue_waits_finish(struct queue_waits *waits);

/* The walk has passed an activity of the queue that was launched at `time`. */
void queue_waits_launched(struct queue_waits *waits, uint32_t queue, int64_t time);

/* Whether the queue was told to wait for another queue's event between the launch it passed last
 * and one at `launched`. The answer is the same each time it is asked: a gap may reach into several
 * windows. */
bool queue_waits_between(struct queue_waits *waits, const struct trace *trace, uint32_t queue,
                         int64_t launched);

#endif
