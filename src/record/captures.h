/* The times at which --capture-range records: those at which at least one process is inside the
 * range. CPU samples and thread states outside are not written.
 */
#ifndef RIDGE_RECORD_CAPTURES_H
#define RIDGE_RECORD_CAPTURES_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct capture {
    int64_t start, end;
};

/* A zeroed one is empty. */
struct captures {
    struct capture *list; /* that have ended: disjoint, in order */
    size_t count, capacity;
    int64_t open_from; /* one that has not ended; 0: none */
};

/* They may come in any order and overlap. */
bool captures_add(struct captures *captures, struct capture capture, struct status *status);
bool captures_contain(const struct captures *captures, int64_t time);
/* The first part of *span that was captured; *span then begins behind it. False: there is none. */
bool captures_next(const struct captures *captures, struct capture *span, struct capture *part);
void captures_finish(struct captures *captures);

#endif
