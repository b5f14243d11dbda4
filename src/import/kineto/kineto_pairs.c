/* Which begin does an end belong to? Open ranges live in one array, linked downwards from the
 * youngest of each key; closed ones are used again. */
#include "import/kineto/kineto_pairs.h"

#include "base/memory.h"

struct open_range {
    struct row_range row;
    size_t below; /* index + 1 of the one beneath it, or of the next free one */
};

bool open_ranges_begin(struct open_ranges *ranges, uint64_t key, const struct row_range *row,
                       struct status *status) {
    size_t index = ranges->free;
    if (index) {
        index--;
    } else {
        if (!GROW(ranges->ranges, &ranges->capacity, ranges->count + 1, status))
            return false;
        index = ranges->count;
    }
    uint64_t *top = map_find(&ranges->top, key);
    size_t below = top ? (size_t)*top : 0;
    if (!map_set(&ranges->top, key, index + 1, status))
        return false;
    if (index == ranges->count)
        ranges->count++;
    else
        ranges->free = ranges->ranges[index].below;
    ranges->ranges[index] = (struct open_range){*row, below};
    ranges->open++;
    return true;
}

bool open_ranges_end(struct open_ranges *ranges, uint64_t key, struct row_range *row) {
    uint64_t *top = map_find(&ranges->top, key);
    if (!top || *top == 0)
        return false;
    size_t index = (size_t)*top - 1;
    *row = ranges->ranges[index].row;
    *top = ranges->ranges[index].below;
    ranges->ranges[index].below = ranges->free;
    ranges->free = index + 1;
    ranges->open--;
    return true;
}

void open_ranges_finish(struct open_ranges *ranges) {
    map_finish(&ranges->top);
    memory_free(ranges->ranges);
    *ranges = (struct open_ranges){0};
}
