/* Device memory kept for the next tensors: above every kind of device.
 *
 * Requests are rounded up to size classes (a quarter of a power of two apart up to 1 MiB, an eighth
 * above it, at least 512 bytes), and released blocks wait in their class. A block is given out
 * again at once on the queue that used it last; on another queue that queue's later work is ordered
 * after the block's last use, so no one waits on the host.
 */
#ifndef RIDGE_DEVICE_POOL_H
#define RIDGE_DEVICE_POOL_H

#include "device/device.h"

enum { POOL_CAPACITY = 64 }; /* idle blocks of a class, unless set */

struct pool;

/* Copied by value; who holds it gives it back once. */
struct pool_block {
    struct device_memory memory;
    size_t requested;
    uint64_t queues; /* bit by queue that it was used on; see pool_used() */
    uint32_t class;
};

struct pool *pool_create(struct device *device, struct status *status);
/* Gives back what is idle. Takes NULL. */
void pool_destroy(struct pool *pool);

/* Memory of at least `bytes` (0 is fine) for work on `queue`. When the device is full, waits for
 * it, gives back what is idle and tries once more; then STATUS_MEMORY. */
bool pool_allocate(struct pool *pool, size_t bytes, unsigned queue, struct pool_block *block,
                   struct status *status);
/* Says that the block is used on a queue besides the one that it was allocated for. */
static inline void pool_used(struct pool_block *block, unsigned queue) {
    block->queues |= (uint64_t)1 << (queue & 63);
}
/* `queue` is where it was used last; that work need not be done yet. */
void pool_release(struct pool *pool, struct pool_block block, unsigned queue);

/* How many bytes a request of `bytes` takes; 0 when no class is that large. */
size_t pool_class_bytes(size_t bytes);

/* How often memory was given back to the device: what was built on addresses or handles from before
 * the last time may mean other memory since. */
uint64_t pool_returns(const struct pool *pool);

/* As the functions of the same names in ridge.h. */
void pool_stats(const struct pool *pool, struct ridge_pool_stats *stats);
bool pool_set_capacity(struct pool *pool, unsigned buffers_per_class, struct status *status);
bool pool_shrink_to_fit(struct pool *pool, uint64_t bytes, struct status *status);
bool pool_clear(struct pool *pool, struct status *status);
bool pool_clear_size(struct pool *pool, uint64_t bytes, struct status *status);

/* Told of each allocation and release: the block, whether it was released, the bytes in live blocks
 * and in live and idle ones after it. NULL tells no one. */
typedef void pool_observer(void *context, const struct pool_block *block, bool released,
                           uint64_t used_bytes, uint64_t reserved_bytes);
void pool_set_observer(struct pool *pool, pool_observer *observer, void *context);
/* Records allocations and releases, and apart from them the calls by which the pool gets memory
 * from the device, gives it back or waits. NULL ends that. */
struct recorder;
void pool_set_recorder(struct pool *pool, struct recorder *recorder);

#endif
