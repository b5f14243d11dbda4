/* Memory: allocation that reports failure, growable arrays, and an arena.
 *
 * Every allocation in ridge goes through here, so that a test can make the Nth one fail.
 */
#ifndef RIDGE_BASE_MEMORY_H
#define RIDGE_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* count * size zeroed bytes; NULL and a failed status when out of memory or when the product
 * overflows. A zero product still gives a unique pointer. Free with memory_free(). */
void *memory_allocate(size_t count, size_t size, struct status *status);

/* `bytes`, not initialized, at a multiple of `alignment` (a power of two, at least that of a
 * pointer); with huge pages where available if several megabytes. */
void *memory_allocate_aligned(size_t bytes, size_t alignment, struct status *status);

/* Takes NULL. */
void memory_free(void *pointer);

/* Grows *array (of *capacity elements of `size` bytes) to hold at least `needed`; the new part is
 * not initialized. Changes nothing on failure. */
bool memory_grow(void **array, size_t *capacity, size_t needed, size_t size, struct status *status);

/* memory_grow() of a typed array: GROW(list, &capacity, count + 1, status). */
#define GROW(array, capacity, needed, status)                                                      \
    memory_grow((void **)&(array), capacity, needed, sizeof *(array), status)

/* For tests: the Nth allocation from now on (1 = the next) and all later ones fail; 0 = never. */
void memory_fail_from(uint64_t nth);
/* For tests: only the Nth allocation from now on fails; 0 = none. Returns what was left of the last
 * number: 0 = that allocation failed. */
uint64_t memory_fail_only(uint64_t nth);

/* Small objects that are freed together. A zeroed arena is empty. */
struct arena {
    struct arena_block *blocks;
    size_t used, size; /* of the newest block */
    size_t total;      /* bytes in all blocks */
};

/* `size` bytes, aligned for any type, not initialized; NULL when out of memory. */
void *arena_allocate(struct arena *arena, size_t size, struct status *status);
void arena_finish(struct arena *arena);

#endif
