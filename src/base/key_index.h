/* Numbers keys from 0 in order of first appearance: for tables of the few keys, out of very many,
 * that a walk meets. Looking up the same key repeatedly is free. */
#ifndef RIDGE_BASE_KEY_INDEX_H
#define RIDGE_BASE_KEY_INDEX_H

#include "base/map.h"

/* Zeroed, it has no keys. */
struct key_index {
    struct map map;
    size_t count;
    uint64_t latest; /* key of latest_index; meaningful when count > 0 */
    size_t latest_index;
};

/* The index of the key, which is added if absent: *index is then count - 1. */
static inline bool key_index_find(struct key_index *keys, uint64_t key, size_t *index,
                                  struct status *status) {
    if (keys->count == 0 || keys->latest != key) {
        const uint64_t *found = map_find(&keys->map, key);
        if (!found && !map_set(&keys->map, key, keys->count, status))
            return false;
        keys->latest = key;
        keys->latest_index = found ? (size_t)*found : keys->count++;
    }
    *index = keys->latest_index;
    return true;
}

static inline void key_index_finish(struct key_index *keys) {
    map_finish(&keys->map);
    *keys = (struct key_index){0};
}

#endif
