/* libridge-memory.so: samples the heap of the recorded program (ridge record --memory).
 *
 * The library is preloaded before any other, so that the program's calls of malloc() and its family
 * come here first. Each is passed on to the next allocator, whether of the C library or preloaded
 * by the user. One allocation in about SAMPLE_BYTES is reported to the probe with its stack and the
 * number of bytes that the thread has allocated since the last one; so the reported bytes sum to
 * all bytes. Reported addresses are kept in a table, in which free() looks up its argument.
 *
 * There are no locks: allocation happens in signal handlers, in constructors and between fork() and
 * exec(). dlsym() may allocate while the next allocator is being looked up; it gets memory of a
 * static arena, which is never freed.
 */
#ifdef __linux__
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unwind.h>

#define EXPORT __attribute__((visibility("default")))
#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))

enum {
    SAMPLE_BYTES = 512 << 10,
    FRAMES_MAX = 64,
    FRAMES_OWN = 2, /* sample() and the interposed function */
    ARENA_BYTES = 64 << 10,
    LIVE_SLOTS = 1 << 18, /* of reported allocations */
    LIVE_WINDOW = 8,      /* slots in which an address may be */
};

/* Of the probe, which is loaded with this library. */
void ridge_probe_allocation(uint64_t address, uint64_t bytes, int released, const uint64_t *frames,
                            unsigned count);

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*memalign)(size_t, size_t);
} next;
static _Atomic bool is_ready;

THREAD_LOCAL bool busy;          /* in the probe or in dlsym(): nothing is sampled */
THREAD_LOCAL uint64_t allocated; /* bytes since the last sample */
THREAD_LOCAL uint64_t until;     /* the next sample; 0: not chosen */
THREAD_LOCAL uint64_t random_state;

/* ---- The next allocator ------------------------------------------------------------------ */

static _Alignas(16) char arena[ARENA_BYTES];
static _Atomic size_t arena_used;

static void *arena_allocate(size_t bytes) {
    size_t rounded = (bytes + 31) & ~(size_t)15; /* its size is in front */
    size_t at = atomic_fetch_add(&arena_used, rounded);
    if (rounded < bytes || at + rounded > ARENA_BYTES) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(arena + at, &bytes, sizeof bytes);
    return arena + at + 16;
}

static bool is_of_arena(const void *address) {
    return (const char *)address >= arena && (const char *)address < arena + ARENA_BYTES;
}

static size_t arena_size(const void *address) {
    size_t bytes;
    memcpy(&bytes, (const char *)address - 16, sizeof bytes);
    return bytes;
}

/* Two threads may do this at the same time, with the same result. */
static bool find_next(void) {
    if (atomic_load_explicit(&is_ready, memory_order_acquire))
        return true;
    if (busy)
        return false;
    busy = true;
    *(void **)&next.malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&next.calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&next.realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&next.free = dlsym(RTLD_NEXT, "free");
    *(void **)&next.posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
    *(void **)&next.memalign = dlsym(RTLD_NEXT, "memalign");
    busy = false;
    bool found = next.malloc && next.calloc && next.realloc && next.free;
    atomic_store_explicit(&is_ready, found, memory_order_release);
    return found;
}

__attribute__((constructor)) static void start(void) {
    find_next();
}

/* ---- Reported allocations ---------------------------------------------------------------- */

struct live {
    _Atomic uintptr_t address; /* 0: free */
    _Atomic uint64_t bytes;
};
static struct live *_Atomic live;

static struct live *live_table(void) {
    struct live *table = atomic_load_explicit(&live, memory_order_acquire), *none = NULL;
    if (table)
        return table;
    table = mmap(NULL, LIVE_SLOTS * sizeof *table, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED)
        return NULL;
    if (atomic_compare_exchange_strong(&live, &none, table))
        return table;
    munmap(table, LIVE_SLOTS * sizeof *table); /* another thread was first */
    return none;
}

static size_t window_of(uintptr_t address) {
    return (size_t)((address >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 40) &
           (LIVE_SLOTS - LIVE_WINDOW);
}

/* False when there is no space. */
static bool live_add(void *pointer, uint64_t bytes) {
    struct live *table = live_table();
    size_t at = window_of((uintptr_t)pointer);
    for (unsigned i = 0; table && i < LIVE_WINDOW; i++) {
        uintptr_t none = 0;
        if (atomic_compare_exchange_strong(&table[at + i].address, &none, (uintptr_t)pointer)) {
            atomic_store(&table[at + i].bytes, bytes);
            return true;
        }
    }
    return false;
}

/* The reported bytes; 0: this allocation was not reported. */
static uint64_t live_remove(void *pointer) {
    struct live *table = atomic_load_explicit(&live, memory_order_acquire);
    size_t at = window_of((uintptr_t)pointer);
    for (unsigned i = 0; table && i < LIVE_WINDOW; i++)
        if (atomic_load_explicit(&table[at + i].address, memory_order_relaxed) ==
            (uintptr_t)pointer) {
            uint64_t bytes = atomic_load(&table[at + i].bytes);
            atomic_store(&table[at + i].address, 0);
            return bytes;
        }
    return 0;
}

/* ---- Sampling ---------------------------------------------------------------------------- */

struct frames {
    uint64_t addresses[FRAMES_MAX];
    unsigned count, skipped;
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *into) {
    struct frames *frames = into;
    uintptr_t address = _Unwind_GetIP(context);
    if (frames->skipped < FRAMES_OWN) {
        frames->skipped++;
        return _URC_NO_REASON;
    }
    if (address == 0 || frames->count == FRAMES_MAX)
        return _URC_END_OF_STACK;
    frames->addresses[frames->count++] = address - 1; /* in the call, not behind it */
    return _URC_NO_REASON;
}

/* -ln((i + 1) / 64) in 1/1024. */
static const uint16_t logarithms[64] = {
    4259, 3549, 3134, 2839, 2611, 2424, 2266, 2129, 2009, 1901, 1803, 1714, 1632, 1556, 1486, 1420,
    1357, 1299, 1244, 1191, 1141, 1093, 1048, 1004, 963,  922,  884,  847,  811,  776,  742,  710,
    678,  648,  618,  589,  561,  534,  507,  481,  456,  431,  407,  384,  361,  338,  316,  295,
    273,  253,  233,  213,  193,  174,  155,  137,  119,  101,  83,   66,   49,   33,   16,   0};

static uint64_t next_random(void) {
    if (random_state == 0)
        random_state = (uint64_t)(uintptr_t)&random_state | 1;
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Distances between samples are exponentially distributed, so that every byte is sampled with the
 * same probability, whatever the program's pattern is. Interpolated between the logarithms; the
 * first 64th is the whole distribution again, behind the first logarithm. */
static uint64_t choose_distance(void) {
    uint64_t sum = 0;
    for (unsigned turn = 0; turn < 4; turn++) {
        uint64_t random = next_random(), i = random >> 58;
        if (i > 0) {
            uint64_t width = logarithms[i - 1] - logarithms[i];
            sum += logarithms[i] * 1024 + width * (random >> 8 & 1023);
            break;
        }
        sum += (uint64_t)logarithms[0] * 1024;
    }
    return sum * SAMPLE_BYTES / (1024 * 1024) + 1;
}

static __attribute__((noinline)) void sample(void *pointer) {
    struct frames frames;
    int error = errno;
    uint64_t bytes = allocated;
    busy = true;
    frames.count = frames.skipped = 0;
    allocated = 0;
    until = choose_distance();
    _Unwind_Backtrace(add_frame, &frames);
    bool tracked = live_add(pointer, bytes);
    ridge_probe_allocation(tracked ? (uint64_t)(uintptr_t)pointer : 0, bytes, 0, frames.addresses,
                           frames.count);
    busy = false;
    errno = error;
}

static inline bool is_sampled(const void *pointer, size_t bytes) {
    if (!pointer || busy)
        return false;
    if (until == 0)
        until = choose_distance();
    allocated += bytes;
    return allocated >= until;
}

static void release(void *pointer) {
    uint64_t bytes = pointer ? live_remove(pointer) : 0;
    if (bytes == 0)
        return;
    int error = errno;
    bool was_busy = busy;
    busy = true;
    ridge_probe_allocation((uint64_t)(uintptr_t)pointer, bytes, 1, NULL, 0);
    busy = was_busy;
    errno = error;
}

/* ---- The interposed functions ------------------------------------------------------------ */

EXPORT void *malloc(size_t bytes) {
    if (!find_next())
        return arena_allocate(bytes);
    void *pointer = next.malloc(bytes);
    if (is_sampled(pointer, bytes))
        sample(pointer);
    return pointer;
}

EXPORT void free(void *pointer) {
    if (is_of_arena(pointer) || !find_next())
        return;
    release(pointer);
    next.free(pointer);
}

EXPORT void *calloc(size_t count, size_t bytes) {
    if (!find_next()) /* the arena is zeroed and never reused */
        return bytes && count > SIZE_MAX / bytes ? NULL : arena_allocate(count * bytes);
    void *pointer = next.calloc(count, bytes);
    if (is_sampled(pointer, count * bytes))
        sample(pointer);
    return pointer;
}

/* The old address is released first: the next allocator may give it to another thread at once. When
 * realloc() fails, the block is still there and no longer known. */
EXPORT void *realloc(void *pointer, size_t bytes) {
    if (is_of_arena(pointer)) {
        void *copy = malloc(bytes);
        if (copy)
            memcpy(copy, pointer, arena_size(pointer) < bytes ? arena_size(pointer) : bytes);
        return copy;
    }
    if (!find_next())
        return arena_allocate(bytes);
    release(pointer);
    void *moved = next.realloc(pointer, bytes);
    if (is_sampled(moved, bytes))
        sample(moved);
    return moved;
}

EXPORT int posix_memalign(void **pointer, size_t alignment, size_t bytes) {
    if (!find_next() || !next.posix_memalign)
        return ENOMEM;
    int error = next.posix_memalign(pointer, alignment, bytes);
    if (error == 0 && is_sampled(*pointer, bytes))
        sample(*pointer);
    return error;
}

EXPORT void *memalign(size_t alignment, size_t bytes) {
    if (!find_next() || !next.memalign) {
        errno = ENOMEM;
        return NULL;
    }
    void *pointer = next.memalign(alignment, bytes);
    if (is_sampled(pointer, bytes))
        sample(pointer);
    return pointer;
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes) {
    return memalign(alignment, bytes);
}
#endif
