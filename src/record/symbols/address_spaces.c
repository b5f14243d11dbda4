/* Sorted arrays of mappings, looked up by pid. A fork copies the parent's. */
#include "record/symbols/address_spaces.h"

#include <string.h>

#include "base/memory.h"
#include "base/search.h"

enum { MAPPINGS_MAX = 1 << 16 }; /* per process: the kernel's default of vm.max_map_count */

void address_spaces_finish(struct address_spaces *spaces) {
    for (size_t i = 0; i < spaces->count; i++)
        memory_free(spaces->items[i].items);
    memory_free(spaces->items);
    map_finish(&spaces->by_pid);
    *spaces = (struct address_spaces){0};
}

static struct address_space *find_space(const struct address_spaces *spaces, pid_t pid) {
    uint64_t *place = map_find(&spaces->by_pid, (uint64_t)pid);
    return place ? &spaces->items[*place] : NULL;
}

const struct address_space *address_spaces_find(const struct address_spaces *spaces, pid_t pid) {
    return find_space(spaces, pid);
}

static struct address_space *find_or_add_space(struct address_spaces *spaces, pid_t pid,
                                               struct status *status) {
    struct address_space *space = find_space(spaces, pid);
    if (space)
        return space;
    if (!GROW(spaces->items, &spaces->capacity, spaces->count + 1, status) ||
        !map_set(&spaces->by_pid, (uint64_t)pid, spaces->count, status))
        return NULL;
    space = &spaces->items[spaces->count++];
    *space = (struct address_space){.pid = pid, .generation = ++spaces->generations};
    return space;
}

/* The first mapping that ends after the address. */
static size_t mapping_index(const struct address_space *space, uint64_t address) {
    size_t low = 0;
    PARTITION_POINT(low, space->count, i, space->items[i].end <= address);
    return low;
}

const struct mapping *address_space_mapping(const struct address_space *space, uint64_t address) {
    size_t place = mapping_index(space, address);
    return place < space->count && space->items[place].start <= address ? &space->items[place]
                                                                        : NULL;
}

static void insert_mapping(struct address_space *space, size_t place, struct mapping mapping) {
    memmove(space->items + place + 1, space->items + place,
            (space->count - place) * sizeof *space->items);
    space->items[place] = mapping;
    space->count++;
}

/* Removes [start, end) from all mappings. A mapping that extends beyond it is cut, or split in two;
 * the caller has reserved the capacity for one more. */
static void remove_overlap(struct address_space *space, uint64_t start, uint64_t end) {
    size_t place = mapping_index(space, start), last = place;
    if (place == space->count || space->items[place].start >= end)
        return;
    struct mapping *first = &space->items[place];
    if (first->start < start && first->end > end) {
        struct mapping behind = *first;
        behind.offset += end - behind.start;
        behind.start = end;
        first->end = start;
        insert_mapping(space, place + 1, behind);
        return;
    }
    if (first->start < start) {
        first->end = start;
        last = ++place;
    }
    while (last < space->count && space->items[last].end <= end)
        last++;
    if (last < space->count && space->items[last].start < end) {
        space->items[last].offset += end - space->items[last].start;
        space->items[last].start = end;
    }
    memmove(space->items + place, space->items + last,
            (space->count - last) * sizeof *space->items);
    space->count -= last - place;
}

bool address_spaces_map(struct address_spaces *spaces, pid_t pid, uint64_t start, uint64_t length,
                        uint64_t offset, uint32_t file, struct status *status) {
    struct mapping mapping = {.start = start, .offset = offset, .file = file};
    if (length == 0 || __builtin_add_overflow(start, length, &mapping.end))
        return true; /* no code can run there */
    struct address_space *space = find_or_add_space(spaces, pid, status);
    if (!space || !GROW(space->items, &space->capacity, space->count + 2, status))
        return false;
    remove_overlap(space, start, mapping.end);
    space->generation = ++spaces->generations;
    if (space->count < MAPPINGS_MAX)
        insert_mapping(space, mapping_index(space, start), mapping);
    return true;
}

bool address_spaces_fork(struct address_spaces *spaces, pid_t parent, pid_t child,
                         struct status *status) {
    if (!find_or_add_space(spaces, child, status))
        return false;
    struct address_space *to = find_space(spaces, child);
    const struct address_space *from = find_space(spaces, parent);
    address_spaces_exec(spaces, child);
    if (!from || from == to || from->count == 0)
        return true;
    if (!GROW(to->items, &to->capacity, from->count, status))
        return false;
    memcpy(to->items, from->items, from->count * sizeof *to->items);
    to->count = from->count;
    to->parent = parent;
    return true;
}

void address_spaces_exec(struct address_spaces *spaces, pid_t pid) {
    struct address_space *space = find_space(spaces, pid);
    if (!space)
        return;
    space->count = 0;
    space->parent = 0;
    space->generation = ++spaces->generations;
}
