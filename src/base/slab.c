/* A slot is a header and an object. Its generation is odd while it is in use. A handle's 64 bits
 * are the generation, the slot number and the slab's tag. */
#include "base/slab.h"

#include <string.h>

#include "base/memory.h"

enum { FIRST_CHUNK = 64, TAG_BITS = 2 };
#define SLOTS_MAX ((uint32_t)1 << (32 - TAG_BITS))

_Static_assert(sizeof(void *) == sizeof(uint64_t), "a handle is a pointer of 64 bits");

struct slot {
    _Alignas(16) _Atomic uint32_t generation;
    uint32_t number;
    uint32_t next_free; /* its number + 1, or 0 */
};

static size_t stride(const struct slab *slab) {
    return sizeof(struct slot) + (slab->size + 15) / 16 * 16;
}

static struct slot *slot_of(const void *object) {
    return (struct slot *)((char *)object - sizeof(struct slot));
}

/* The chunk of a slot and its index there: chunk c begins with slot FIRST_CHUNK * (2^c - 1). */
static unsigned locate(uint32_t number, uint32_t *place) {
    uint64_t shifted = (uint64_t)number + FIRST_CHUNK;
    unsigned chunk = 63 - (unsigned)__builtin_clzll(shifted / FIRST_CHUNK);
    *place = (uint32_t)(shifted - ((uint64_t)FIRST_CHUNK << chunk));
    return chunk;
}

static struct slot *slot_at(struct slab *slab, uint32_t number) {
    uint32_t place;
    unsigned chunk = locate(number, &place);
    char *slots = chunk < SLAB_CHUNKS
                      ? atomic_load_explicit(&slab->chunks[chunk], memory_order_acquire)
                      : NULL;
    return slots ? (struct slot *)(slots + place * stride(slab)) : NULL;
}

/* Requires the lock. */
static struct slot *add_slot(struct slab *slab, struct status *status) {
    uint32_t place;
    unsigned chunk = locate(slab->used, &place);
    if (chunk >= SLAB_CHUNKS || slab->used >= SLOTS_MAX) {
        status_no_memory(status);
        return NULL;
    }
    if (!slab->chunks[chunk]) {
        char *slots = memory_allocate((size_t)FIRST_CHUNK << chunk, stride(slab), status);
        if (!slots)
            return NULL;
        atomic_store_explicit(&slab->chunks[chunk], slots, memory_order_release);
    }
    struct slot *slot = slot_at(slab, slab->used);
    slot->number = slab->used++;
    return slot;
}

void *slab_allocate(struct slab *slab, struct status *status) {
    pthread_mutex_lock(&slab->lock);
    struct slot *slot;
    if (slab->free) {
        slot = slot_at(slab, slab->free - 1);
        slab->free = slot->next_free;
    } else {
        slot = add_slot(slab, status);
    }
    pthread_mutex_unlock(&slab->lock);
    if (!slot)
        return NULL;
    memset(slot + 1, 0, slab->size);
    atomic_fetch_add_explicit(&slot->generation, 1, memory_order_release);
    return slot + 1;
}

void slab_free(struct slab *slab, void *object) {
    struct slot *slot = slot_of(object);
    uint32_t generation = atomic_fetch_add_explicit(&slot->generation, 1, memory_order_release) + 1;
    if (generation == 0)
        return; /* all generations are used up */
    pthread_mutex_lock(&slab->lock);
    slot->next_free = slab->free;
    slab->free = slot->number + 1;
    pthread_mutex_unlock(&slab->lock);
}

void *slab_handle(const struct slab *slab, const void *object) {
    struct slot *slot = slot_of(object);
    uint32_t generation = atomic_load_explicit(&slot->generation, memory_order_relaxed);
    uint64_t bits = (uint64_t)generation << 32 | (uint64_t)slot->number << TAG_BITS | slab->tag;
    return (void *)(uintptr_t)bits;
}

void *slab_find(struct slab *slab, const void *handle) {
    uint64_t bits = (uint64_t)(uintptr_t)handle;
    uint32_t generation = (uint32_t)(bits >> 32), low = (uint32_t)bits;
    if (generation % 2 == 0 || low % (1u << TAG_BITS) != slab->tag)
        return NULL;
    struct slot *slot = slot_at(slab, low >> TAG_BITS);
    bool live = slot && atomic_load_explicit(&slot->generation, memory_order_acquire) == generation;
    return live ? slot + 1 : NULL;
}
