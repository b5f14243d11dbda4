/* Merges .ridge files by copying their chunks into another file.
 *
 *   struct merge merge = {0};
 *   ok = merge_trace(&merge, "rank0.ridge", "rank0.ridge", fd, &write_failed, &status) && ...
 *   merge_finish(&merge);
 */
#ifndef RIDGE_TRACE_MERGE_H
#define RIDGE_TRACE_MERGE_H

#include "base/map.h"
#include "base/status.h"

/* The writers of the merged file. Zeroed, it has none. */
struct merge {
    struct map writers; /* (session, writer) to the number of the input it came from */
    uint64_t inputs;
};

/* Copies the chunks of the file at `path` (`name` in messages) to the descriptor. Damaged or
 * truncated parts are left out, and a warning in the trace has their size. If a writer of this file
 * also occurs in an earlier input (the same file given twice, or a copy), this file's recordings
 * get new numbers. *write_failed distinguishes a write failure from a read failure. */
bool merge_trace(struct merge *merge, const char *path, const char *name, int fd,
                 bool *write_failed, struct status *status);
/* Registers a writer with these numbers in the merged file. */
bool merge_claim(struct merge *merge, uint64_t session, uint64_t writer, struct status *status);
void merge_finish(struct merge *merge);

#endif
