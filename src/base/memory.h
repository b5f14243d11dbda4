/* Memory: plain allocation that reports failure, growable arrays, and an arena.
 *
 * Every allocation in ridge goes through here, so that a test can make the Nth one fail.
 */
#ifndef RIDGE_BASE_MEMORY_H
#define RIDGE_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* count * size bytes, zeroed; NULL (and a failed status) when there are none or the product
 * overflows. A zero product still gives a unique pointer. Free with memory_free(). */
void *memory_allocate(size_t count, size_t size, struct status *status);

/* `bytes` at a multiple of `alignment` (a power of two, at least that of a pointer), not
 * initialised; of several megabytes at large pages where the system has them. */
void *memory_allocate_aligned(size_t bytes, size_t alignment, struct status *status);

/* Takes NULL. */
void memory_free(void *pointer);

/* Grows *array (of `size`-byte elements, *capacity of them) to hold at least `needed`; the new part
 * is not initialised. Leaves everything as it was when it fails. */
bool memory_grow(void **array, size_t *capacity, size_t needed, size_t size, struct status *status);

/* memory_grow() of a typed array: GROW(list, &capacity, count + 1, status). */
#define GROW(array, capacity, needed, status)                                                      \
    memory_grow((void **)&(array), capacity, needed, sizeof *(array), status)

/* For tests: the Nth allocation from now fails (1 = the next one), and all after it; 0 = never. */
void memory_fail_from(uint64_t nth);

/* Many small objects that die together. A zeroed arena is empty. */
struct arena {
    struct arena_block *blocks;
    size_t used, size; /* of the newest block */
    size_t total;      /* bytes in all blocks */
};

/* `size` bytes, aligned for any type, not initialised; NULL when out of memory. */
void *arena_allocate(struct arena *arena, size_t size, struct status *status);
void arena_finish(struct arena *arena);

#endif
