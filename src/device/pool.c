/* Idle blocks are in one array per size class, the most recently released last: its memory is
 * warm and, on one queue, free to use at once.
 *
 * An event costs a driver call, so none is recorded while only one queue is used. With several
 * queues a release records an event, so that another queue waits no longer than necessary. For
 * a block released before that, or used on several queues, an event is recorded when it is
 * reused.
 */
#include "device/pool.h"

#include <string.h>

#include "base/format.h"
#include "base/memory.h"
#include "device/work.h"

enum {
    SMALLEST_BITS = 9, /* 512 bytes and less */
    COARSE_BITS = 20,  /* up to here 4 classes for each power of two, then 8 */
    LARGEST_BITS = 62,
    COARSE_STEPS = 4,
    FINE_STEPS = 8,
    COARSE_CLASSES = (COARSE_BITS - SMALLEST_BITS) * COARSE_STEPS,
    CLASSES = COARSE_CLASSES + (LARGEST_BITS - COARSE_BITS) * FINE_STEPS + 1,
    NO_CLASS = CLASSES,
    LOOKED_AT = 16, /* idle blocks, for one of the same queue */
};

struct idle {
    struct device_memory memory;
    uint64_t queues;           /* that used it */
    struct device_event event; /* if has_event: after its last use, on its one queue */
    bool has_event;
};

struct class {
    size_t bytes; /* of each block */
    struct idle *idle;
    size_t count, capacity;
};

struct pool {
    struct device *device;
    unsigned capacity;
    uint64_t limit;  /* bytes; 0: none */
    uint64_t queues; /* that were ever used */
    uint64_t returns;
    struct ridge_pool_stats stats;
    pool_observer *observer;
    void *context;
    struct recorder *recorder; /* or NULL */
    struct class classes[CLASSES];
};

/* Classes are numbered by size; class 0 is the smallest. */
static unsigned class_of(uint64_t bytes) {
    if (bytes <= (uint64_t)1 << SMALLEST_BITS)
        return 0;
    if (bytes > (uint64_t)1 << LARGEST_BITS)
        return NO_CLASS;
    unsigned bits = 63 - (unsigned)__builtin_clzll(bytes - 1); /* 2^bits < bytes <= 2^(bits + 1) */
    bool coarse = bits < COARSE_BITS;
    unsigned step_bits = coarse ? bits - 2 : bits - 3;
    unsigned step = (unsigned)((bytes - 1 - ((uint64_t)1 << bits)) >> step_bits);
    return (coarse ? (bits - SMALLEST_BITS) * COARSE_STEPS
                   : COARSE_CLASSES + (bits - COARSE_BITS) * FINE_STEPS) +
           step + 1;
}

static size_t bytes_of(unsigned class) {
    if (class == 0)
        return (size_t)1 << SMALLEST_BITS;
    class -= 1;
    bool coarse = class < COARSE_CLASSES;
    unsigned steps = coarse ? COARSE_STEPS : FINE_STEPS;
    if (!coarse)
        class -= COARSE_CLASSES;
    size_t power = (size_t)1 << ((coarse ? SMALLEST_BITS : COARSE_BITS) + class / steps);
    return power + power / steps * (class % steps + 1);
}

size_t pool_class_bytes(size_t bytes) {
    unsigned class = class_of(bytes);
    return class == NO_CLASS ? 0 : bytes_of(class);
}

struct pool *pool_create(struct device *device, struct status *status) {
    struct pool *pool = memory_allocate(1, sizeof *pool, status);
    if (!pool)
        return NULL;
    pool->device = device;
    pool->capacity = POOL_CAPACITY;
    for (unsigned i = 0; i < CLASSES; i++)
        pool->classes[i].bytes = bytes_of(i);
    return pool;
}

void pool_set_limit(struct pool *pool, uint64_t bytes) {
    pool->limit = bytes;
}

/* Removes block i from its class; keeps the order of the others. */
static struct idle remove_idle(struct pool *pool, unsigned number, size_t i) {
    struct class *class = &pool->classes[number];
    struct idle taken = class->idle[i];
    class->count--;
    memmove(&class->idle[i], &class->idle[i + 1], (class->count - i) * sizeof taken);
    pool->stats.pooled_buffers--;
    pool->stats.pooled_bytes -= class->bytes;
    pool->stats.size_classes -= class->count == 0;
    return taken;
}

static void release_event(struct pool *pool, struct idle *idle) {
    if (idle->has_event)
        pool->device->ops->event_release(pool->device, idle->event);
    idle->has_event = false;
}

/* Returns the oldest block of the class to the device. */
static void give_back(struct pool *pool, unsigned number) {
    struct idle idle = remove_idle(pool, number, 0);
    release_event(pool, &idle);
    work_release(pool->device, pool->recorder, idle.memory);
    pool->returns++;
}

/* Largest first, until at most `bytes` are idle. */
static void give_back_down_to(struct pool *pool, uint64_t bytes) {
    for (unsigned number = CLASSES; number-- > 0;)
        while (pool->classes[number].count > 0 && pool->stats.pooled_bytes > bytes)
            give_back(pool, number);
}

void pool_destroy(struct pool *pool) {
    if (!pool)
        return;
    give_back_down_to(pool, 0);
    for (unsigned i = 0; i < CLASSES; i++)
        memory_free(pool->classes[i].idle);
    memory_free(pool);
}

/* Makes the queue's later work start after the last use of the block on all other queues. */
static bool order_after_uses(struct pool *pool, struct idle *idle, unsigned queue,
                             struct status *status) {
    const struct device_ops *ops = pool->device->ops;
    uint64_t others = idle->queues & ~((uint64_t)1 << queue);
    if (others != 0 && idle->has_event)
        return ops->reached(pool->device, idle->event) ||
               ops->order(pool->device, queue, idle->event, status);
    for (unsigned other = 0; others >> other != 0; other++) {
        struct device_event event;
        if (!(others >> other & 1))
            continue;
        if (!ops->record(pool->device, other, &event, status))
            return false;
        bool ordered = ops->order(pool->device, queue, event, status);
        ops->event_release(pool->device, event);
        if (!ordered)
            return false;
    }
    return true;
}

/* The most recent block used only on this queue, otherwise the one that has been idle longest. */
static size_t pool_choose(const struct class *class, unsigned queue) {
    for (size_t i = class->count; i-- > 0 && class->count - i <= LOOKED_AT;)
        if (class->idle[i].queues == (uint64_t)1 << queue)
            return i;
    return 0;
}

static bool reuse(struct pool *pool, unsigned number, unsigned queue, struct device_memory *memory,
                  struct status *status) {
    struct class *class = &pool->classes[number];
    size_t i = pool_choose(class, queue);
    if (!order_after_uses(pool, &class->idle[i], queue, status))
        return false; /* it stays idle */
    struct idle idle = remove_idle(pool, number, i);
    release_event(pool, &idle);
    *memory = idle.memory;
    pool->stats.reuses++;
    return true;
}

static bool device_is_full(struct pool *pool, size_t bytes, struct status *status) {
    char asked[FORMAT_SIZE], used[FORMAT_SIZE], idle[FORMAT_SIZE], total[FORMAT_SIZE];
    const struct device_capabilities *capabilities = &pool->device->capabilities;
    if (pool->limit)
        return status_fail(status, STATUS_MEMORY,
                           "the memory limit of %s is reached on %s: %s requested, %s used by "
                           "tensors; release tensors or raise the limit",
                           format_bytes(pool->limit, total), capabilities->description,
                           format_bytes(bytes, asked), format_bytes(pool->stats.used_bytes, used));
    return status_fail(status, STATUS_MEMORY,
                       "out of memory on %s: %s requested, %s used by tensors, %s idle in the "
                       "pool, %s in total; release tensors or use smaller sizes",
                       capabilities->description, format_bytes(bytes, asked),
                       format_bytes(pool->stats.used_bytes, used),
                       format_bytes(pool->stats.pooled_bytes, idle),
                       capabilities->memory_bytes ? format_bytes(capabilities->memory_bytes, total)
                                                  : "an unknown total");
}

static bool allocate_within_limit(struct pool *pool, size_t bytes, struct device_memory *memory,
                                  struct status *status) {
    uint64_t reserved = pool->stats.used_bytes + pool->stats.pooled_bytes;
    if (pool->limit && (bytes > pool->limit || reserved > pool->limit - bytes))
        return status_fail(status, STATUS_MEMORY, "the memory limit is reached");
    return work_allocate(pool->device, pool->recorder, bytes, memory, status);
}

/* Allocates from the device; if it is full, frees idle blocks and retries once. */
static bool allocate_anew(struct pool *pool, size_t bytes, struct device_memory *memory,
                          struct status *status) {
    struct device *device = pool->device;
    struct status first = {0};
    if (allocate_within_limit(pool, bytes, memory, &first))
        return true;
    if (first.code != STATUS_MEMORY) {
        *status = first;
        return false;
    }
    if (!work_wait(device, pool->recorder, status))
        return false;
    give_back_down_to(pool, 0);
    pool->stats.flushes++;
    if (allocate_within_limit(pool, bytes, memory, status))
        return true;
    return status->code == STATUS_MEMORY ? device_is_full(pool, bytes, status) : false;
}

static void notify_observer(struct pool *pool, const struct pool_block *block, bool released) {
    if (pool->observer)
        pool->observer(pool->context, block, released, pool->stats.used_bytes,
                       pool->stats.used_bytes + pool->stats.pooled_bytes);
}

bool pool_allocate(struct pool *pool, size_t bytes, unsigned queue, struct pool_block *block,
                   struct status *status) {
    unsigned class = class_of(bytes);
    struct device_memory memory;
    queue &= 63;
    if (class == NO_CLASS)
        return device_is_full(pool, bytes, status);
    size_t whole = pool->classes[class].bytes;
    if (!(pool->classes[class].count > 0 ? reuse(pool, class, queue, &memory, status)
                                         : allocate_anew(pool, whole, &memory, status)))
        return false;
    struct ridge_pool_stats *stats = &pool->stats;
    stats->allocations++;
    stats->used_bytes += whole;
    stats->requested_bytes += bytes;
    if (stats->used_bytes + stats->pooled_bytes > stats->high_water_bytes)
        stats->high_water_bytes = stats->used_bytes + stats->pooled_bytes;
    pool->queues |= (uint64_t)1 << queue;
    *block = (struct pool_block){
        .memory = memory,
        .requested = bytes,
        .queues = (uint64_t)1 << queue,
        .class = class,
    };
    notify_observer(pool, block, false);
    return true;
}

static bool is_one_queue(uint64_t queues) {
    return (queues & (queues - 1)) == 0;
}

void pool_release(struct pool *pool, struct pool_block block, unsigned queue) {
    struct class *class = &pool->classes[block.class];
    struct device *device = pool->device;
    struct status ignored;
    queue &= 63;
    pool_used(&block, queue);
    pool->queues |= block.queues;
    pool->stats.used_bytes -= class->bytes;
    pool->stats.requested_bytes -= block.requested;
    /* The block goes back to the device only if its class is full or there is no memory to
     * record it. */
    if (class->count >= pool->capacity ||
        !GROW(class->idle, &class->capacity, class->count + 1, &ignored)) {
        work_release(device, pool->recorder, block.memory);
        pool->returns++;
    } else {
        struct idle *idle = &class->idle[class->count++];
        *idle = (struct idle){.memory = block.memory, .queues = block.queues};
        if (!is_one_queue(pool->queues) && is_one_queue(block.queues))
            idle->has_event = device->ops->record(device, queue, &idle->event, &ignored);
        pool->stats.pooled_buffers++;
        pool->stats.pooled_bytes += class->bytes;
        pool->stats.size_classes += class->count == 1;
    }
    notify_observer(pool, &block, true);
}

uint64_t pool_returns(const struct pool *pool) {
    return pool->returns;
}

void pool_stats(const struct pool *pool, struct ridge_pool_stats *stats) {
    *stats = pool->stats;
    stats->reuse_rate = stats->allocations ? (double)stats->reuses / (double)stats->allocations : 0;
}

bool pool_set_capacity(struct pool *pool, unsigned buffers_per_class, struct status *status) {
    if (!work_wait(pool->device, pool->recorder, status))
        return false;
    pool->capacity = buffers_per_class;
    for (unsigned number = 0; number < CLASSES; number++)
        while (pool->classes[number].count > buffers_per_class)
            give_back(pool, number);
    return true;
}

bool pool_shrink_to_fit(struct pool *pool, uint64_t bytes, struct status *status) {
    if (!work_wait(pool->device, pool->recorder, status))
        return false;
    give_back_down_to(pool, bytes);
    return true;
}

bool pool_clear(struct pool *pool, struct status *status) {
    return pool_shrink_to_fit(pool, 0, status);
}

bool pool_clear_size(struct pool *pool, uint64_t bytes, struct status *status) {
    unsigned number = class_of(bytes);
    if (!work_wait(pool->device, pool->recorder, status))
        return false;
    while (number != NO_CLASS && pool->classes[number].count > 0)
        give_back(pool, number);
    return true;
}

void pool_set_observer(struct pool *pool, pool_observer *observer, void *context) {
    pool->observer = observer;
    pool->context = context;
}

void pool_set_recorder(struct pool *pool, struct recorder *recorder) {
    pool_set_observer(pool, recorder ? recorder_memory : NULL, recorder);
    pool->recorder = recorder;
}
