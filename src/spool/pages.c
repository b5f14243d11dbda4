/* Pages from mmap(), and a bump allocator on top of them. */
#include "spool/pages.h"

#include <errno.h>
#include <sys/mman.h>

enum { BLOCK = 64 << 10, ALIGN = 16 };

struct page_arena_block {
    struct page_arena_block *next;
    size_t bytes;
    _Alignas(ALIGN) unsigned char data[];
};

void *pages_allocate(size_t bytes) {
    int saved = errno;
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = saved;
    return pages == MAP_FAILED ? NULL : pages;
}

void pages_free(void *pages, size_t bytes) {
    int saved = errno;
    if (pages)
        munmap(pages, bytes);
    errno = saved;
}

void *page_arena_allocate(struct page_arena *arena, size_t bytes) {
    if (bytes > ((size_t)1 << 30))
        return NULL;
    bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (!arena->blocks || arena->blocks->bytes - arena->used < bytes) {
        size_t whole = bytes + sizeof(struct page_arena_block) > BLOCK
                           ? bytes + sizeof(struct page_arena_block)
                           : (size_t)BLOCK;
        struct page_arena_block *block = pages_allocate(whole);
        if (!block)
            return NULL;
        block->next = arena->blocks;
        block->bytes = whole;
        arena->blocks = block;
        arena->used = sizeof *block;
        arena->total += whole;
    }
    void *piece = (unsigned char *)arena->blocks + arena->used;
    arena->used += bytes;
    return piece;
}

void page_arena_finish(struct page_arena *arena) {
    while (arena->blocks) {
        struct page_arena_block *next = arena->blocks->next;
        pages_free(arena->blocks, arena->blocks->bytes);
        arena->blocks = next;
    }
    arena->used = arena->total = 0;
}
