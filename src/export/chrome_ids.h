/* The numbers by which a Chrome trace tells devices, streams, processes and launches apart.
 *
 * Kineto has one number for each, of the whole file. Where a trace has two of a number (several
 * recordings in one file, two contexts with a stream 7, two processes with a correlation id 12),
 * all but the first get a free one.
 */
#ifndef RIDGE_EXPORT_CHROME_IDS_H
#define RIDGE_EXPORT_CHROME_IDS_H

#include "base/map.h"
#include "base/status.h"
#include "trace/reader.h"

struct chrome_ids {
    /* by entity id; that of none stands for it where a thread has no process, a queue no device */
    int64_t *device, *stream;
    uint64_t *pid;
    /* launches */
    bool renumber;
    bool *shared_scope;   /* by session: its queues do not all tell their process */
    struct map ranks;     /* of the scopes in which correlation ids are unique */
    uint64_t first, span; /* the smallest of any call, and one more than the largest */
};

/* The correlation ids of calls and activities are loaded. */
bool chrome_ids_init(struct chrome_ids *ids, const struct trace *trace, struct status *status);
void chrome_ids_finish(struct chrome_ids *ids);

/* The file's correlation id of a call on this thread, or of an activity on this queue; 0 for 0. */
bool chrome_ids_of_call(struct chrome_ids *ids, const struct trace *trace, uint32_t thread,
                        uint64_t correlation, uint64_t *id, struct status *status);
bool chrome_ids_of_activity(struct chrome_ids *ids, const struct trace *trace, uint32_t queue,
                            uint64_t correlation, uint64_t *id, struct status *status);

#endif
