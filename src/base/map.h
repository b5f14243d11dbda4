/* A hash map from a 64-bit key to a 64-bit value: correlation ids, foreign ids, addresses. */
#ifndef RIDGE_BASE_MAP_H
#define RIDGE_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A zeroed map is empty. */
struct map {
    struct map_slot *slots;
    size_t count, capacity; /* capacity is a power of two or 0 */
    bool has_zero;          /* key 0 is stored outside the slots */
    uint64_t zero_value;
};

/* Inserts or replaces. */
bool map_set(struct map *map, uint64_t key, uint64_t value, struct status *status);
/* NULL when absent; the pointer is valid until the next map_set(). */
uint64_t *map_find(const struct map *map, uint64_t key);
void map_finish(struct map *map);

#endif
