/* Open addressing with linear probing; at most 3/4 full. A slot with key 0 is free. */
#include "base/map.h"

#include <string.h>

#include "base/checksum.h"
#include "base/memory.h"

struct map_slot {
    uint64_t key, value;
};

static struct map_slot *slot_for(struct map_slot *slots, size_t capacity, uint64_t key) {
    size_t at = hash_u64(key) & (capacity - 1);
    while (slots[at].key != 0 && slots[at].key != key)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool widen(struct map *map, struct status *status) {
    size_t capacity = map->capacity ? map->capacity * 2 : 64;
    struct map_slot *slots = memory_allocate(capacity, sizeof *slots, status);
    if (!slots)
        return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].key != 0)
            *slot_for(slots, capacity, map->slots[i].key) = map->slots[i];
    memory_free(map->slots);
    map->slots = slots;
    map->capacity = capacity;
    return true;
}

bool map_set(struct map *map, uint64_t key, uint64_t value, struct status *status) {
    if (key == 0) {
        map->has_zero = true;
        map->zero_value = value;
        return true;
    }
    if (map->count >= map->capacity / 4 * 3 && !widen(map, status))
        return false;
    struct map_slot *slot = slot_for(map->slots, map->capacity, key);
    if (slot->key == 0)
        map->count++;
    slot->key = key;
    slot->value = value;
    return true;
}

uint64_t *map_find(const struct map *map, uint64_t key) {
    if (key == 0)
        return map->has_zero ? (uint64_t *)&map->zero_value : NULL;
    if (map->capacity == 0)
        return NULL;
    struct map_slot *slot = slot_for(map->slots, map->capacity, key);
    return slot->key ? &slot->value : NULL;
}

void map_finish(struct map *map) {
    memory_free(map->slots);
    memset(map, 0, sizeof *map);
}
