/* Objects behind opaque handles. A handle holds the number of a slot and the slot's generation. A
 * slot is used again, a generation never, and the memory of slots is never freed: a handle that was
 * given back, or never was one, is recognised at any later time. Safe in several threads.
 *
 *   static struct slab tensors = SLAB(struct tensor, 1);
 *   struct tensor *tensor = slab_allocate(&tensors, &status);    // zeroed; NULL when out of memory
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
    unsigned tag; /* 0 to 3: tells handles of different slabs apart */
    pthread_mutex_t lock;
    _Atomic(char *) chunks[SLAB_CHUNKS]; /* each twice as long as the one before */
    uint32_t used;                       /* slots that were taken at least once */
    uint32_t free;                       /* the first free one's number + 1, or 0 */
};

#define SLAB(type, number)                                                                         \
    { .size = sizeof(type), .tag = (number), .lock = PTHREAD_MUTEX_INITIALIZER }

void *slab_allocate(struct slab *slab, struct status *status);
void slab_free(struct slab *slab, void *object);
void *slab_handle(const struct slab *slab, const void *object);
/* The object of a handle; NULL when the handle is NULL, was given back or is not of this slab. */
void *slab_find(struct slab *slab, const void *handle);

#endif
