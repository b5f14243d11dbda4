/* Allocation with a status, a fault-injection counter for tests, and a bump arena. */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static _Atomic uint64_t fail_countdown; /* 0: off; 1: the next allocation fails, and so on */
static _Atomic bool fail_once;

void memory_fail_from(uint64_t nth) {
    atomic_store(&fail_once, false);
    atomic_store(&fail_countdown, nth);
}

uint64_t memory_fail_only(uint64_t nth) {
    atomic_store(&fail_once, true);
    return atomic_exchange(&fail_countdown, nth);
}

static bool allocation_refused(void) {
    uint64_t left = atomic_load_explicit(&fail_countdown, memory_order_relaxed);
    /* several threads count down together, none below 1 */
    while (left > 1)
        if (atomic_compare_exchange_weak(&fail_countdown, &left, left - 1))
            return false;
    if (left == 1 && atomic_load(&fail_once))
        atomic_store(&fail_countdown, 0);
    return left == 1;
}

enum { LARGE = 4 << 20, HUGE_PAGE = 2 << 20 };

/* Columns of millions of rows are accessed from end to end: huge pages save most page faults. */
static void prefer_large_pages(void *pointer, size_t bytes) {
#ifdef MADV_HUGEPAGE
    if (bytes >= LARGE) {
        uintptr_t start = ((uintptr_t)pointer + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
        uintptr_t end = ((uintptr_t)pointer + bytes) & ~(uintptr_t)(HUGE_PAGE - 1);
        if (end > start)
            madvise((void *)start, end - start, MADV_HUGEPAGE);
    }
#else
    (void)pointer;
    (void)bytes;
#endif
}

void *memory_allocate(size_t count, size_t size, struct status *status) {
    void *pointer = NULL;
    size_t bytes;
    if (!__builtin_mul_overflow(count, size, &bytes) && !allocation_refused())
        pointer = calloc(count ? count : 1, size ? size : 1);
    if (pointer)
        prefer_large_pages(pointer, count * size);
    else
        status_no_memory(status);
    return pointer;
}

void *memory_allocate_aligned(size_t bytes, size_t alignment, struct status *status) {
    void *pointer = NULL;
    if (bytes >= LARGE && alignment < HUGE_PAGE)
        alignment = HUGE_PAGE; /* so that all of it uses huge pages */
    if (bytes > PTRDIFF_MAX || allocation_refused() ||
        posix_memalign(&pointer, alignment, bytes ? bytes : 1) != 0) {
        status_no_memory(status);
        return NULL;
    }
    prefer_large_pages(pointer, bytes);
    return pointer;
}

void memory_free(void *pointer) {
    free(pointer);
}

bool memory_grow(void **array, size_t *capacity, size_t needed, size_t size,
                 struct status *status) {
    if (needed <= *capacity)
        return true;
    size_t wanted = *capacity < 16 ? 16 : *capacity + *capacity / 2;
    if (wanted < needed)
        wanted = needed;
    size_t bytes;
    if (__builtin_mul_overflow(wanted, size, &bytes) || allocation_refused())
        return status_no_memory(status);
    void *grown = realloc(*array, bytes);
    if (!grown)
        return status_no_memory(status);
    prefer_large_pages(grown, bytes);
    *array = grown;
    *capacity = wanted;
    return true;
}

enum { ARENA_BLOCK = 64 * 1024, ARENA_ALIGN = 16 };

struct arena_block {
    struct arena_block *next;
    _Alignas(ARENA_ALIGN) unsigned char bytes[];
};

void *arena_allocate(struct arena *arena, size_t size, struct status *status) {
    if (size > SIZE_MAX - ARENA_BLOCK) {
        status_no_memory(status);
        return NULL;
    }
    size = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    if (!arena->blocks || arena->size - arena->used < size) {
        size_t block_size = size > ARENA_BLOCK ? size : ARENA_BLOCK;
        struct arena_block *block = NULL;
        if (!allocation_refused())
            block = malloc(sizeof *block + block_size);
        if (!block) {
            status_no_memory(status);
            return NULL;
        }
        block->next = arena->blocks;
        arena->blocks = block;
        arena->used = 0;
        arena->size = block_size;
        arena->total += block_size;
    }
    void *pointer = arena->blocks->bytes + arena->used;
    arena->used += size;
    return pointer;
}

void arena_finish(struct arena *arena) {
    while (arena->blocks) {
        struct arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    memset(arena, 0, sizeof *arena);
}
