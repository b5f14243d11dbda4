/* Timestamp queries of a device, in blocks that recordings take and return. A pool of queries is
 * made when all blocks are in use; none is destroyed before the device.
 */
#include "probe/vulkan/vulkan.h"

#include "spool/lock.h"

enum {
    POOLS_MAX = 512,
    POOL_BLOCKS = 128,
    POOL_QUERIES = POOL_BLOCKS * QUERY_BLOCK,
};

/* With the lock. */
static bool add_pool(struct vulkan_device *device) {
    struct vulkan_queries *queries = &device->queries;
    struct vk_query_pool_create_info info = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = POOL_QUERIES,
    };
    if (!queries->pools)
        queries->pools = vulkan_allocate(POOLS_MAX * sizeof *queries->pools);
    if (!queries->idle)
        queries->idle = vulkan_allocate((size_t)POOLS_MAX * POOL_BLOCKS * sizeof *queries->idle);
    if (!queries->pools || !queries->idle || queries->pool_count == POOLS_MAX ||
        device->next.vkCreateQueryPool(device->handle, &info, NULL,
                                       &queries->pools[queries->pool_count]) != VK_SUCCESS)
        return false;
    for (uint32_t i = POOL_BLOCKS; i > 0; i--)
        queries->idle[queries->idle_count++] = queries->pool_count * POOL_BLOCKS + i - 1;
    queries->pool_count++;
    return true;
}

static bool take_block(struct vulkan_device *device, uint32_t *block) {
    struct vulkan_queries *queries = &device->queries;
    if (!lock_acquire(&queries->lock))
        return false;
    bool taken = queries->idle_count > 0 || add_pool(device);
    if (taken)
        *block = queries->idle[--queries->idle_count];
    lock_release(&queries->lock);
    return taken;
}

static vk_handle pool_of(const struct vulkan_device *device, uint32_t block) {
    return device->queries.pools[block / POOL_BLOCKS];
}

static uint32_t first_of(uint32_t block) {
    return block % POOL_BLOCKS * QUERY_BLOCK;
}

bool vulkan_queries_add_block(struct vulkan_recording *recording, vk_command_buffer buffer) {
    struct vulkan_device *device = recording->device;
    uint32_t block;
    if (!vulkan_grow((void **)&recording->blocks, &recording->block_capacity,
                     recording->block_count + 1, sizeof *recording->blocks) ||
        !take_block(device, &block))
        return false;
    recording->blocks[recording->block_count++] = block;
    device->next.vkCmdResetQueryPool(buffer, pool_of(device, block), first_of(block), QUERY_BLOCK);
    return true;
}

void vulkan_queries_release(struct vulkan_recording *recording) {
    struct vulkan_queries *queries = &recording->device->queries;
    if (recording->block_count == 0 || !lock_acquire(&queries->lock))
        return;
    for (uint32_t i = 0; i < recording->block_count; i++)
        queries->idle[queries->idle_count++] = recording->blocks[i];
    recording->block_count = 0;
    lock_release(&queries->lock);
}

void vulkan_query_locate(const struct vulkan_recording *recording, uint32_t query, vk_handle *pool,
                         uint32_t *number) {
    uint32_t block = recording->blocks[query / QUERY_BLOCK];
    *pool = pool_of(recording->device, block);
    *number = first_of(block) + query % QUERY_BLOCK;
}

uint64_t vulkan_queries_copy(const struct vulkan_recording *recording, vk_command_buffer buffer,
                             vk_handle to, uint64_t offset) {
    struct vulkan_device *device = recording->device;
    for (uint32_t copied = 0; copied < recording->query_count; copied += QUERY_BLOCK) {
        uint32_t left = recording->query_count - copied;
        uint32_t count = left < QUERY_BLOCK ? left : QUERY_BLOCK;
        uint32_t block = recording->blocks[copied / QUERY_BLOCK];
        device->next.vkCmdCopyQueryPoolResults(buffer, pool_of(device, block), first_of(block),
                                               count, to, offset, sizeof(uint64_t),
                                               VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
        offset += count * sizeof(uint64_t);
    }
    return offset;
}

void vulkan_queries_destroy(struct vulkan_device *device) {
    struct vulkan_queries *queries = &device->queries;
    for (uint32_t i = 0; i < queries->pool_count; i++)
        device->next.vkDestroyQueryPool(device->handle, queries->pools[i], NULL);
    vulkan_free(queries->pools);
    vulkan_free(queries->idle);
    *queries = (struct vulkan_queries){0};
}
