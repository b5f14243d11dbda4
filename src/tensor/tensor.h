/* The objects behind the public handles, and how public functions fail.
 *
 * A tensor is a view of either a storage (data on a device) or a node of a graph that is being
 * traced. Handles are plain: what is shared is the storage, which counts its users.
 */
#ifndef RIDGE_TENSOR_TENSOR_H
#define RIDGE_TENSOR_TENSOR_H

#include <ridge.h>

#include "base/status.h"
#include "device/device.h"
#include "device/pool.h"
#include "device/recorder.h"
#include "gen/dtype.h"
#include "tensor/view.h"

struct storage {
    ridge_device *owner;
    struct pool_block block;
    unsigned queue; /* last used on */
    unsigned users;
};

struct scope;
struct graph;

struct ridge_tensor {
    ridge_device *device;
    enum ridge_dtype dtype;
    struct view view;
    struct storage *storage; /* NULL while tracing */
    struct graph *graph;     /* NULL unless tracing */
    uint32_t node;
    /* lists: all tensors of the device, and those of the scope */
    struct ridge_tensor *device_next, **device_link;
    struct scope *scope;
    struct ridge_tensor *scope_next, **scope_link;
};

struct ridge_device {
    struct device *device;
    struct pool *pool;
    struct recorder *recorder; /* NULL unless a trace is on */
    struct recorder *paused;   /* a trace that is on, but paused */
    unsigned queue;
    char name[32];
    struct ridge_tensor *tensors;
    struct ridge_program *programs;
    struct kernel_store *kernels; /* loaded kernels by specification */
    struct plan_store *plans;     /* what single operations compile to, by signature */
};

/* ---- Failure: the thread's own status ----------------------------------------------------- */

/* Where a public function and all below it put their failure. */
struct status *tensor_status(void);
/* Puts "name(f32 [3, 4]): " in front of the thread's failure; returns NULL. */
ridge_tensor *tensor_failed(const char *name, const ridge_tensor *x);

/* ---- Handles ---------------------------------------------------------------------------- */

bool storage_create(ridge_device *device, size_t bytes, struct storage **storage,
                    struct status *status);
void storage_retain(struct storage *storage);
void storage_release(struct storage *storage); /* takes NULL */

/* A handle in the innermost scope; takes a user of the storage on success. */
ridge_tensor *tensor_create(ridge_device *device, enum ridge_dtype dtype, const struct view *view,
                            struct storage *storage, struct status *status);
/* The same of a graph's node. */
ridge_tensor *tensor_of_node(struct graph *graph, uint32_t node, const struct view *view,
                             struct status *status);
/* Whether it was traced into a graph that is no more; the status then says so. */
bool tensor_is_gone(const ridge_tensor *x, struct status *status);
/* Another view of what x is. */
ridge_tensor *tensor_view(const ridge_tensor *x, const struct view *view, struct status *status);
void tensor_destroy(ridge_tensor *tensor);

/* Bytes of the storage before element `offset`. */
size_t tensor_byte_offset(enum ridge_dtype dtype, int64_t offset);
static inline bool dtype_is_float(enum ridge_dtype dtype) {
    return dtype <= RIDGE_BF16;
}
static inline bool dtype_is_quantised(enum ridge_dtype dtype) {
    return dtype >= RIDGE_Q8_0;
}

#endif
