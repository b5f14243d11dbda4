/* Objects behind opaque handles. A handle contains a slot number and the slot's generation. Slots
 * are reused, generations are not, and the memory of slots is never freed, so a freed or invalid
 * handle is detected at any later time. Thread-safe.
 *
 *   static struct slab tensors = SLAB(struct tensor, 1);
 *   struct tensor *tensor = slab_allocate(&tensors, &status); // zeroed; NULL when out of memory
 *   void *handle = slab_handle(&tensors, tensor);
 *   slab_find(&tensors, handle) == tensor;
 *   slab_free(&tensors, tensor);
 *   slab_find(&tensors, handle) == NULL;
 */
#ifndef RIDGE_BASE_SLAB_H
#define RIDGE_BASE_SLAB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/status.h"

enum { SLAB_CHUNKS = 24 };

struct slab {
    size_t size;  /* of an object */
    unsigned tag; /* 0 to 3: distinguishes handles of different slabs */
    pthread_mutex_t lock;
    _Atomic(char *) chunks[SLAB_CHUNKS]; /* each twice as long as the previous */
    uint32_t used;                       /* slots used at least once */
    uint32_t free;                       /* number of the first free slot + 1, or 0 */
};

#define SLAB(type, number)                                                                         \
    { .size = sizeof(type), .tag = (number), .lock = PTHREAD_MUTEX_INITIALIZER }

void *slab_allocate(struct slab *slab, struct status *status);
void slab_free(struct slab *slab, void *object);
void *slab_handle(const struct slab *slab, const void *object);
/* The object of a handle; NULL when the handle is NULL, freed or not of this slab. */
void *slab_find(struct slab *slab, const void *handle);

#endif
