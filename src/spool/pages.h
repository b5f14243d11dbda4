/* Memory for the probe, allocated with mmap().
 *
 * The program may call the probe from a signal handler that interrupted malloc(), or from its own
 * malloc(), so the probe and the spool's writer never call malloc(). An arena must be used by one
 * thread at a time.
 */
#ifndef RIDGE_SPOOL_PAGES_H
#define RIDGE_SPOOL_PAGES_H

#include <stddef.h>

/* Zeroed; NULL when out of memory. */
void *pages_allocate(size_t bytes);
/* Takes NULL; `bytes` as allocated. */
void pages_free(void *pages, size_t bytes);

/* Small allocations that are freed together. Zero-initialized: empty. */
struct page_arena {
    struct page_arena_block *blocks;
    size_t used, total;
};

/* Zeroed and 16-byte aligned; NULL when out of memory. */
void *page_arena_allocate(struct page_arena *arena, size_t bytes);
void page_arena_finish(struct page_arena *arena);

#endif
