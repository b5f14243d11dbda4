/* Memory of the Vulkan part: blocks whose sizes are powers of two, cut from pages and recycled. The
 * head of a block has its size class.
 */
#include "probe/vulkan/vulkan.h"

#include <string.h>

#include "spool/lock.h"
#include "spool/pages.h"

enum {
    HEAD = 16, /* keeps blocks aligned */
    CLASS_MIN = 6,
    CLASS_MAX = 15, /* larger blocks are mapped one by one */
    CHUNK = 256 << 10,
};

struct idle_block {
    struct idle_block *next;
};

static _Atomic uint32_t lock;
static struct idle_block *idle[CLASS_MAX + 1];
static unsigned char *chunk;
static size_t chunk_left;

static unsigned class_of(size_t bytes) {
    unsigned class = CLASS_MIN;
    while (class <= CLASS_MAX && ((size_t)1 << class) < bytes)
        class ++;
    return class;
}

/* With the lock. */
static unsigned char *cut(size_t bytes) {
    if (chunk_left < bytes) {
        chunk = pages_allocate(CHUNK);
        chunk_left = chunk ? CHUNK : 0;
    }
    if (chunk_left < bytes)
        return NULL;
    chunk_left -= bytes;
    return chunk + chunk_left;
}

static unsigned char *take_block(unsigned class) {
    if (!lock_acquire(&lock))
        return NULL;
    unsigned char *block = (unsigned char *)idle[class];
    if (block)
        idle[class] = idle[class]->next;
    else
        block = cut((size_t)1 << class);
    lock_release(&lock);
    return block;
}

void *vulkan_allocate(size_t bytes) {
    if (bytes > SIZE_MAX / 2)
        return NULL;
    unsigned class = class_of(bytes + HEAD);
    bool mapped = class > CLASS_MAX;
    unsigned char *block = mapped ? pages_allocate(bytes + HEAD) : take_block(class);
    if (!block)
        return NULL;
    if (!mapped)
        memset(block, 0, (size_t)1 << class);
    uint64_t head[2] = {class, bytes + HEAD};
    memcpy(block, head, sizeof head);
    return block + HEAD;
}

void vulkan_free(void *data) {
    if (!data)
        return;
    unsigned char *block = (unsigned char *)data - HEAD;
    uint64_t head[2];
    memcpy(head, block, sizeof head);
    if (head[0] > CLASS_MAX) {
        pages_free(block, (size_t)head[1]);
        return;
    }
    if (!lock_acquire(&lock))
        return;
    struct idle_block *freed = (struct idle_block *)(void *)block;
    freed->next = idle[head[0]];
    idle[head[0]] = freed;
    lock_release(&lock);
}

bool vulkan_grow(void **array, uint32_t *capacity, uint32_t count, size_t size) {
    if (count <= *capacity)
        return true;
    uint32_t larger = *capacity < 8 ? 8 : *capacity;
    while (larger < count && larger < UINT32_MAX / 2)
        larger *= 2;
    void *grown = larger >= count ? vulkan_allocate((size_t)larger * size) : NULL;
    if (!grown)
        return false;
    if (*array)
        memcpy(grown, *array, (size_t)*capacity * size);
    vulkan_free(*array);
    *array = grown;
    *capacity = larger;
    return true;
}
