/* Memory for a guest: pages straight from the system.
 *
 * A program may call into the probe from a signal handler that interrupted malloc(), or from a
 * malloc() of its own, so nothing in src/spool's writer and in src/probe calls malloc(). Callers
 * see to it that one thread at a time uses an arena.
 */
#ifndef RIDGE_SPOOL_PAGES_H
#define RIDGE_SPOOL_PAGES_H

#include <stddef.h>

/* Zeroed; NULL when there are none. */
void *pages_allocate(size_t bytes);
/* Takes NULL; `bytes` as it was allocated. */
void pages_free(void *pages, size_t bytes);

/* Small pieces that die together. A zeroed arena is empty. */
struct page_arena {
    struct page_arena_block *blocks;
    size_t used, total;
};

/* Aligned for a pointer and zeroed; NULL when there is no memory. */
void *page_arena_allocate(struct page_arena *arena, size_t bytes);
void page_arena_finish(struct page_arena *arena);

#endif
