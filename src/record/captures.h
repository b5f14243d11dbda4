/* The intervals in which --capture-range records: at least one process is inside the range. CPU
 * samples and thread states outside of them are not written.
 */
#ifndef RIDGE_RECORD_CAPTURES_H
#define RIDGE_RECORD_CAPTURES_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct capture {
    int64_t start, end;
};

/* Zero-initialized: empty. */
struct captures {
    struct capture *list; /* the ended ones: disjoint and sorted */
    size_t count, capacity;
    int64_t open_from; /* start of the one that has not ended; 0: none */
};

/* Captures may be added in any order and may overlap. */
bool captures_add(struct captures *captures, struct capture capture, struct status *status);
bool captures_contain(const struct captures *captures, int64_t time);
/* The first captured part of *span; *span then starts after it. False: there is none. */
bool captures_next(const struct captures *captures, struct capture *span, struct capture *part);
void captures_finish(struct captures *captures);

#endif
