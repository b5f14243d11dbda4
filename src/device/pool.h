/* A pool of device memory, common to all kinds of devices.
 *
 * Requests are rounded up to size classes (a quarter of a power of two apart up to 1 MiB, an eighth
 * above it, at least 512 bytes), and released blocks stay in their class. A block is reused at once
 * on the queue that used it last. On another queue, later work is ordered after the block's last
 * use, so the host never waits.
 */
#ifndef RIDGE_DEVICE_POOL_H
#define RIDGE_DEVICE_POOL_H

#include "device/device.h"

enum { POOL_CAPACITY = 64 }; /* idle blocks of a class, unless set */

struct pool;

/* Copied by value; released exactly once. */
struct pool_block {
    struct device_memory memory;
    size_t requested;
    uint64_t queues; /* mask of the queues that used it; see pool_used() */
    uint32_t class;
};

struct pool *pool_create(struct device *device, struct status *status);
/* Frees idle blocks. Accepts NULL. */
void pool_destroy(struct pool *pool);

/* Memory of at least `bytes` (0 is fine) for work on `queue`. If the device is full, waits for
 * it, frees idle blocks and retries once; then STATUS_MEMORY. */
bool pool_allocate(struct pool *pool, size_t bytes, unsigned queue, struct pool_block *block,
                   struct status *status);
/* Records that the block is used on a queue other than the one it was allocated for. */
static inline void pool_used(struct pool_block *block, unsigned queue) {
    block->queues |= (uint64_t)1 << (queue & 63);
}
/* `queue` used it last; that work need not be complete. */
void pool_release(struct pool *pool, struct pool_block block, unsigned queue);

/* Bytes that used and idle blocks may have together; 0: as many as the device has. Set it before
 * the first allocation. */
void pool_set_limit(struct pool *pool, uint64_t bytes);

/* Bytes that a request of `bytes` occupies; 0 if no class is that large. */
size_t pool_class_bytes(size_t bytes);

/* Counts how often memory was returned to the device: addresses and handles from before the last
 * time may now refer to other memory. */
uint64_t pool_returns(const struct pool *pool);

/* As the functions of the same names in ridge.h. */
void pool_stats(const struct pool *pool, struct ridge_pool_stats *stats);
bool pool_set_capacity(struct pool *pool, unsigned buffers_per_class, struct status *status);
bool pool_shrink_to_fit(struct pool *pool, uint64_t bytes, struct status *status);
bool pool_clear(struct pool *pool, struct status *status);
bool pool_clear_size(struct pool *pool, uint64_t bytes, struct status *status);

/* Called at each allocation and release with the block, whether it was released, and afterwards
 * the bytes in live blocks and in live and idle blocks. NULL: none. */
typedef void pool_observer(void *context, const struct pool_block *block, bool released,
                           uint64_t used_bytes, uint64_t reserved_bytes);
void pool_set_observer(struct pool *pool, pool_observer *observer, void *context);
/* Records allocations and releases, and separately the calls by which the pool allocates memory
 * from the device, frees it or waits. NULL: none. */
struct recorder;
void pool_set_recorder(struct pool *pool, struct recorder *recorder);

#endif
