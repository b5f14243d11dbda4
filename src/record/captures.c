/* Captures arrive nearly sorted by their end, so a new one is inserted near the end of the list. */
#include "base/min_max.h"
#include "record/captures.h"

#include <string.h>

#include "base/memory.h"
#include "base/search.h"

bool captures_add(struct captures *captures, struct capture capture, struct status *status) {
    size_t after = captures->count, first;
    if (capture.start >= capture.end)
        return true;
    if (!GROW(captures->list, &captures->capacity, captures->count + 1, status))
        return false;
    while (after > 0 && captures->list[after - 1].start > capture.end)
        after--;
    for (first = after; first > 0 && captures->list[first - 1].end >= capture.start; first--) {
        capture.start = MIN(capture.start, captures->list[first - 1].start);
        capture.end = MAX(capture.end, captures->list[first - 1].end);
    }
    memmove(&captures->list[first + 1], &captures->list[after],
            (captures->count - after) * sizeof *captures->list);
    captures->list[first] = capture;
    captures->count = captures->count - (after - first) + 1;
    return true;
}

/* The first capture that ends after `time`. */
static size_t find_capture(const struct captures *captures, int64_t time) {
    size_t low = 0;
    PARTITION_POINT(low, captures->count, i, captures->list[i].end <= time);
    return low;
}

bool captures_contain(const struct captures *captures, int64_t time) {
    struct capture span = {time, time + 1}, part;
    return captures_next(captures, &span, &part);
}

bool captures_next(const struct captures *captures, struct capture *span, struct capture *part) {
    size_t at = find_capture(captures, span->start);
    *part = (struct capture){INT64_MAX, INT64_MAX};
    if (at < captures->count)
        *part = captures->list[at];
    if (captures->open_from && captures->open_from <= part->end)
        *part = (struct capture){MIN(part->start, captures->open_from), INT64_MAX};
    part->start = MAX(part->start, span->start);
    part->end = MIN(part->end, span->end);
    if (part->start >= part->end)
        return false;
    span->start = part->end;
    return true;
}

void captures_finish(struct captures *captures) {
    memory_free(captures->list);
    memset(captures, 0, sizeof *captures);
}
