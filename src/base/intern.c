/* Open addressing over ids; the texts (terminated) are in an arena. */
#include "base/intern.h"

#include <string.h>

#include "base/checksum.h"

static size_t find_slot(const struct intern *table, struct text text, uint64_t hash) {
    size_t at = hash & (table->slot_capacity - 1);
    while (table->slots[at] != 0) {
        uint32_t id = table->slots[at] - 1;
        if (table->hashes[id] == hash && text_equal(table->texts[id], text))
            break;
        at = (at + 1) & (table->slot_capacity - 1);
    }
    return at;
}

static bool widen(struct intern *table, struct status *status) {
    size_t capacity = table->slot_capacity ? table->slot_capacity * 2 : 256;
    uint32_t *slots = memory_allocate(capacity, sizeof *slots, status);
    if (!slots)
        return false;
    for (size_t id = 0; id < table->count; id++) {
        size_t at = table->hashes[id] & (capacity - 1);
        while (slots[at] != 0)
            at = (at + 1) & (capacity - 1);
        slots[at] = (uint32_t)id + 1;
    }
    memory_free(table->slots);
    table->slots = slots;
    table->slot_capacity = capacity;
    return true;
}

static bool append(struct intern *table, struct text text, uint64_t hash, struct status *status) {
    if (table->count >= UINT32_MAX - 1)
        return status_fail(status, STATUS_INPUT, "more than 4 billion distinct strings");
    if (!GROW(table->texts, &table->texts_capacity, table->count + 1, status) ||
        !GROW(table->hashes, &table->hashes_capacity, table->count + 1, status))
        return false;
    char *copy = arena_allocate(&table->arena, text.length + 1, status);
    if (!copy)
        return false;
    memcpy(copy, text.data, text.length);
    copy[text.length] = 0;
    table->texts[table->count] = (struct text){copy, text.length};
    table->hashes[table->count] = hash;
    table->count++;
    return true;
}

bool intern_add(struct intern *table, struct text text, uint32_t *id, struct status *status) {
    if (table->count >= table->slot_capacity / 4 * 3 && !widen(table, status))
        return false;
    if (table->count == 0) {
        uint64_t hash = checksum64("", 0);
        size_t at = find_slot(table, TEXT(""), hash);
        if (!append(table, TEXT(""), hash, status))
            return false;
        table->slots[at] = 1;
    }
    uint64_t hash = checksum64(text.data, text.length);
    size_t at = find_slot(table, text, hash);
    if (table->slots[at] == 0) {
        if (!append(table, text, hash, status))
            return false;
        table->slots[at] = (uint32_t)table->count;
    }
    *id = table->slots[at] - 1;
    return true;
}

uint32_t intern_find(const struct intern *table, struct text text) {
    if (table->slot_capacity == 0)
        return UINT32_MAX;
    size_t at = find_slot(table, text, checksum64(text.data, text.length));
    return table->slots[at] ? table->slots[at] - 1 : UINT32_MAX;
}

void intern_finish(struct intern *table) {
    memory_free(table->texts);
    memory_free(table->hashes);
    memory_free(table->slots);
    arena_finish(&table->arena);
    memset(table, 0, sizeof *table);
}
