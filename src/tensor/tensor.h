/* The objects behind the public handles, and how public functions fail.
 *
 * A tensor is a view of either a storage (data on a device) or a node of a graph that is being
 * traced. Tensors share storages, which are reference-counted.
 *
 * A ridge_tensor * is not an address: it is a slab's handle of a struct tensor (base/slab.h),
 * so that a released one is detected. Public functions take and return handles, all others
 * tensors. A ridge_device * is an address; closed devices stay allocated and are marked as
 * closed.
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
    bool foreign; /* memory of the caller, not of the pool */
    void (*release)(void *context);
    void *context;
    unsigned queue; /* last used on */
    unsigned users;
    uint64_t version; /* number of assignments to it */
};

struct graph;
struct tensor;

/* Tensors that are released together. Those that the library opens for itself are on its stack. */
struct scope {
    struct scope *outer;
    struct tensor *tensors;
    unsigned missing; /* of the scopes around it */
    bool own;         /* the library's: users cannot end it */
};

struct tensor {
    ridge_device *device;
    enum ridge_dtype dtype;
    struct view view;
    struct storage *storage; /* NULL while tracing */
    struct graph *graph;     /* NULL unless tracing */
    uint32_t node;
    /* lists: all tensors of the device, and those of the scope */
    struct tensor *device_next, **device_link;
    struct scope *scope;
    struct tensor *scope_next, **scope_link;
};

struct ridge_device {
    bool closed;
    struct ridge_device *next_closed;
    struct device *device;
    struct pool *pool;
    struct recorder *recorder; /* NULL unless a trace is on */
    struct recorder *paused;   /* a trace that is on, but paused */
    unsigned queue;
    char name[32];
    struct tensor *tensors;
    struct compiled *programs;
    struct optimizer *optimizers;
    unsigned compiling;           /* functions that are being traced */
    struct kernel_store *kernels; /* loaded kernels by specification */
    struct plan_store *plans;     /* what single operations compile to, by signature */
    struct tape *tape;            /* eager operations since ridge_tape_begin(), or NULL */
    struct region *region;        /* being timed, or NULL */
    unsigned exports;             /* storages that other libraries hold */
};

/* ---- Failure: the thread's own status ----------------------------------------------------- */

/* The status of public functions and everything they call. */
struct status *tensor_status(void);
/* Prefixes the thread's error with "name(f32 [3, 4]): "; returns NULL. */
struct tensor *tensor_failed(const char *name, const struct tensor *x);
/* Fails with "name: the WHAT is NULL", unless there already is an error. */
bool tensor_null(const char *name, const char *what);
/* Whether the device is there and open. */
bool device_check(const ridge_device *device, const char *name);

/* ---- Handles ---------------------------------------------------------------------------- */

/* NULL of NULL. */
ridge_tensor *tensor_handle(const struct tensor *tensor);
/* NULL when it is NULL or was released. */
struct tensor *tensor_find(const ridge_tensor *handle);
/* The same for a public function of that name that requires a tensor: fails if there is none. */
struct tensor *tensor_of(const char *name, const ridge_tensor *handle);
bool tensor_released(const char *name, const char *what);

/* ---- Tensors ---------------------------------------------------------------------------- */

bool storage_create(ridge_device *device, size_t bytes, struct storage **storage,
                    struct status *status);
void storage_retain(struct storage *storage);
void storage_release(struct storage *storage); /* accepts NULL */

/* A handle in the innermost scope; takes over a reference to the storage on success. */
struct tensor *tensor_create(ridge_device *device, enum ridge_dtype dtype, const struct view *view,
                             struct storage *storage, struct status *status);
/* The same of a graph's node. */
struct tensor *tensor_of_node(struct graph *graph, uint32_t node, const struct view *view,
                              struct status *status);
/* Whether it belongs to a graph that no longer exists; the status then explains that. */
bool tensor_is_gone(const struct tensor *x, struct status *status);
/* Another view of what x is. */
struct tensor *tensor_view(const struct tensor *x, const struct view *view, struct status *status);
void tensor_destroy(struct tensor *tensor);

/* compile.c */
struct compiled;
void compiled_destroy(struct compiled *program);

/* api_share.c */
/* Releases what other libraries have given back, in whatever thread. */
void exports_collect(ridge_device *device);

/* api_region.c */
struct region;
void region_destroy(struct region *region); /* accepts NULL */

/* optimizer.c */
struct optimizer;
void optimizer_destroy(struct optimizer *optimizer);

/* Tensors created in this thread between begin and end are released at the end, unless kept.
 * Ends inner scopes that are still open. */
void scope_begin(struct scope *scope);
void scope_end(struct scope *scope);
/* Moves the tensor to the enclosing scope; NULL gives NULL. */
struct tensor *tensor_keep(struct tensor *tensor);

/* As ridge_to_host() counts them. */
size_t tensor_bytes(const struct tensor *tensor);
/* Bytes of the storage before element `offset`. */
size_t tensor_byte_offset(enum ridge_dtype dtype, int64_t offset);
static inline bool dtype_is_float(enum ridge_dtype dtype) {
    return dtype <= RIDGE_BF16;
}
/* Whether there is such a dtype. */
bool dtype_check(enum ridge_dtype dtype, const char *name);

#endif
