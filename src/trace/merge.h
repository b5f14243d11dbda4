/* Joins .ridge files: their chunks are copied one by one into another file.
 *
 *   struct merge merge = {0};
 *   ok = merge_trace(&merge, "rank0.ridge", "rank0.ridge", fd, &write_failed, &status) && ...
 *   merge_finish(&merge);
 */
#ifndef RIDGE_TRACE_MERGE_H
#define RIDGE_TRACE_MERGE_H

#include "base/map.h"
#include "base/status.h"

/* Which writers the joined file has. A zeroed one has none. */
struct merge {
    struct map writers; /* (session, writer) to the number of the input it came from */
    uint64_t inputs;
};

/* Copies the chunks of the file at `path` (called `name` in messages) to the descriptor. What is
 * damaged or cut off is left out, and a warning in the trace says how much. When a writer of this
 * file is among those of an earlier input (the same file given twice, or a copy), this file's
 * recordings get numbers of their own. *write_failed tells a failure to write from one to read. */
bool merge_trace(struct merge *merge, const char *path, const char *name, int fd,
                 bool *write_failed, struct status *status);
/* Says that a writer with these numbers has written to the joined file. */
bool merge_claim(struct merge *merge, uint64_t session, uint64_t writer, struct status *status);
void merge_finish(struct merge *merge);

#endif
