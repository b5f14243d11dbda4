/* First fit over the lanes of a track. A lane keeps the ends of its open slices, innermost last;
 * those that ended are dropped when the next slice comes. */
#include "export/lanes.h"

#include "base/memory.h"

struct lane {
    int64_t *ends;
    size_t depth, capacity;
    size_t next; /* lane of the same track, plus one; 0 = none */
};

static bool fits(struct lane *lane, int64_t start, int64_t end) {
    while (lane->depth > 0 && lane->ends[lane->depth - 1] <= start)
        lane->depth--;
    return lane->depth == 0 || end <= lane->ends[lane->depth - 1];
}

static bool add_lane(struct lanes *lanes, size_t *added, struct status *status) {
    if (!GROW(lanes->lanes, &lanes->capacity, lanes->count + 1, status))
        return false;
    lanes->lanes[lanes->count] = (struct lane){0};
    *added = ++lanes->count;
    return true;
}

/* The lane for it, plus one; adds one where all are taken. */
static bool find_lane(struct lanes *lanes, size_t first, int64_t start, int64_t end, size_t *found,
                      uint32_t *number, struct status *status) {
    size_t at = first;
    for (*number = 0; *number < LANES_MAX; ++*number) {
        struct lane *lane = &lanes->lanes[at - 1];
        if (fits(lane, start, end)) {
            *found = at;
            return true;
        }
        if (lane->next == 0) {
            size_t added;
            if (!add_lane(lanes, &added, status))
                return false;
            lanes->lanes[at - 1].next = added;
        }
        at = lanes->lanes[at - 1].next;
    }
    *found = 0;
    return true;
}

bool lanes_place(struct lanes *lanes, uint64_t track, int64_t start, int64_t end, uint32_t *number,
                 struct status *status) {
    uint64_t *known = map_find(&lanes->tracks, track);
    size_t first = known ? (size_t)*known : 0, at;
    if (!known &&
        (!add_lane(lanes, &first, status) || !map_set(&lanes->tracks, track, first, status)))
        return false;
    if (!find_lane(lanes, first, start, end, &at, number, status))
        return false;
    if (at == 0)
        return true;
    struct lane *lane = &lanes->lanes[at - 1];
    if (!GROW(lane->ends, &lane->capacity, lane->depth + 1, status))
        return false;
    lane->ends[lane->depth++] = end;
    return true;
}

void lanes_finish(struct lanes *lanes) {
    for (size_t i = 0; i < lanes->count; i++)
        memory_free(lanes->lanes[i].ends);
    memory_free(lanes->lanes);
    map_finish(&lanes->tracks);
    *lanes = (struct lanes){0};
}
