/* Numbers keys from 0 in the order in which they come: for a table of the few keys, of very many,
 * that a walk meets. Asking for the same key again and again costs nothing. */
#ifndef RIDGE_BASE_PLACES_H
#define RIDGE_BASE_PLACES_H

#include "base/map.h"

/* Zeroed, it has no keys. */
struct places {
    struct map map;
    size_t count;
    uint64_t latest; /* key of latest_place; meaningful when count > 0 */
    size_t latest_place;
};

/* The key's place; a new one when it was not there: then *place is count - 1. */
static inline bool places_find(struct places *places, uint64_t key, size_t *place,
                               struct status *status) {
    if (places->count == 0 || places->latest != key) {
        const uint64_t *found = map_find(&places->map, key);
        if (!found && !map_set(&places->map, key, places->count, status))
            return false;
        places->latest = key;
        places->latest_place = found ? (size_t)*found : places->count++;
    }
    *place = places->latest_place;
    return true;
}

static inline void places_finish(struct places *places) {
    map_finish(&places->map);
    *places = (struct places){0};
}

#endif
