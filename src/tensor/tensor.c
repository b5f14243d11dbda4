/* Handles, storages and scopes: ownership. */
#include "tensor/tensor.h"

#include <string.h>

#include "base/memory.h"
#include "base/slab.h"
#include "tensor/graph.h"

static struct slab tensors = SLAB(struct tensor, 1);
static _Thread_local struct status thread_status;
static _Thread_local struct scope *innermost;
/* Scopes that could not be allocated: begin and end still pair up, and tensors belong to the
 * enclosing scope. */
static _Thread_local unsigned missing_scopes;

struct status *tensor_status(void) {
    return &thread_status;
}

struct tensor *tensor_failed(const char *name, const struct tensor *x) {
    struct buffer shape = {0};
    view_describe(&shape, x->dtype, &x->view);
    status_context(&thread_status, "%s(%.*s)", name, TEXT_ARGS(buffer_as_text(&shape)));
    buffer_finish(&shape);
    return NULL;
}

bool tensor_null(const char *name, const char *what) {
    if (thread_status.code == STATUS_OK)
        status_fail(&thread_status, STATUS_USAGE, "%s: the %s is NULL", name, what);
    return false;
}

bool tensor_released(const char *name, const char *what) {
    return status_fail(&thread_status, STATUS_USAGE, "%s: the %s was already released", name, what);
}

bool device_check(const ridge_device *device, const char *name) {
    if (!device)
        return tensor_null(name, "device");
    return !device->closed ||
           status_fail(&thread_status, STATUS_USAGE, "%s: the device was already closed", name);
}

bool dtype_check(enum ridge_dtype dtype, const char *name) {
    return (unsigned)dtype < RIDGE_DTYPES ||
           status_fail(&thread_status, STATUS_USAGE, "%s: unknown dtype %d", name, (int)dtype);
}

ridge_tensor *tensor_handle(const struct tensor *tensor) {
    return tensor ? slab_handle(&tensors, tensor) : NULL;
}

struct tensor *tensor_find(const ridge_tensor *handle) {
    return slab_find(&tensors, handle);
}

struct tensor *tensor_of(const char *name, const ridge_tensor *handle) {
    struct tensor *tensor = tensor_find(handle);
    if (!tensor)
        handle ? tensor_released(name, "tensor") : tensor_null(name, "tensor");
    return tensor;
}

const char *ridge_error_message(void) {
    return thread_status.code == STATUS_OK ? "" : thread_status.message;
}

enum ridge_error ridge_error_code(void) {
    return (enum ridge_error)thread_status.code;
}

void ridge_error_clear(void) {
    thread_status.code = STATUS_OK;
    thread_status.message[0] = '\0';
}

_Static_assert((int)STATUS_USAGE == (int)RIDGE_ERROR_USAGE &&
                   (int)STATUS_MEMORY == (int)RIDGE_ERROR_MEMORY,
               "the public codes are the internal ones");

bool storage_create(ridge_device *device, size_t bytes, struct storage **storage,
                    struct status *status) {
    if (device->exports)
        exports_collect(device);
    *storage = memory_allocate(1, sizeof **storage, status);
    if (!*storage)
        return false;
    **storage = (struct storage){.owner = device, .queue = device->queue, .users = 1};
    if (pool_allocate(device->pool, bytes, device->queue, &(*storage)->block, status))
        return true;
    memory_free(*storage);
    *storage = NULL;
    return false;
}

void storage_retain(struct storage *storage) {
    storage->users++;
}

/* Its owner may reuse the memory at once, so the work on it must be done. */
static void release_foreign(struct storage *storage) {
    struct device *device = storage->owner->device;
    struct status ignored;
    device->ops->finish(device, &ignored);
    if (storage->release)
        storage->release(storage->context);
}

void storage_release(struct storage *storage) {
    if (!storage || --storage->users > 0)
        return;
    if (storage->foreign)
        release_foreign(storage);
    else
        pool_release(storage->owner->pool, storage->block, storage->queue);
    memory_free(storage);
}

static void link_scope(struct tensor *tensor, struct scope *scope) {
    tensor->scope = scope;
    if (!scope)
        return;
    tensor->scope_next = scope->tensors;
    tensor->scope_link = &scope->tensors;
    if (scope->tensors)
        scope->tensors->scope_link = &tensor->scope_next;
    scope->tensors = tensor;
}

static void unlink_scope(struct tensor *tensor) {
    if (!tensor->scope)
        return;
    *tensor->scope_link = tensor->scope_next;
    if (tensor->scope_next)
        tensor->scope_next->scope_link = tensor->scope_link;
    tensor->scope = NULL;
}

static struct tensor *create(ridge_device *device, enum ridge_dtype dtype, const struct view *view,
                             struct status *status) {
    struct tensor *tensor = slab_allocate(&tensors, status);
    if (!tensor)
        return NULL;
    tensor->device = device;
    tensor->dtype = dtype;
    tensor->view = *view;
    tensor->device_next = device->tensors;
    tensor->device_link = &device->tensors;
    if (device->tensors)
        device->tensors->device_link = &tensor->device_next;
    device->tensors = tensor;
    link_scope(tensor, innermost);
    return tensor;
}

struct tensor *tensor_create(ridge_device *device, enum ridge_dtype dtype, const struct view *view,
                             struct storage *storage, struct status *status) {
    struct tensor *tensor = create(device, dtype, view, status);
    if (!tensor)
        return NULL;
    storage_retain(storage);
    tensor->storage = storage;
    return tensor;
}

struct tensor *tensor_of_node(struct graph *graph, uint32_t node, const struct view *view,
                              struct status *status) {
    struct tensor *tensor = create(graph->device, graph->nodes[node].dtype, view, status);
    if (!tensor)
        return NULL;
    tensor->graph = graph;
    tensor->node = node;
    return tensor;
}

bool tensor_is_gone(const struct tensor *x, struct status *status) {
    return !x->graph && !x->storage &&
           !status_fail(
               status, STATUS_USAGE,
               "the tensor belongs to a function that is compiled: return it as an output instead");
}

struct tensor *tensor_view(const struct tensor *x, const struct view *view, struct status *status) {
    if (tensor_is_gone(x, status))
        return NULL;
    return x->graph ? tensor_of_node(x->graph, x->node, view, status)
                    : tensor_create(x->device, x->dtype, view, x->storage, status);
}

void tensor_destroy(struct tensor *tensor) {
    unlink_scope(tensor);
    *tensor->device_link = tensor->device_next;
    if (tensor->device_next)
        tensor->device_next->device_link = tensor->device_link;
    storage_release(tensor->storage);
    slab_free(&tensors, tensor);
}

size_t tensor_byte_offset(enum ridge_dtype dtype, int64_t offset) {
    return ridge_dtype_bytes(dtype, offset);
}

/* ---- Scopes ----------------------------------------------------------------------------- */

void scope_begin(struct scope *scope) {
    *scope = (struct scope){.outer = innermost, .missing = missing_scopes, .own = true};
    innermost = scope;
    missing_scopes = 0;
}

static void empty_scope(struct scope *scope) {
    while (scope->tensors)
        tensor_destroy(scope->tensors);
    innermost = scope->outer;
}

void scope_end(struct scope *scope) {
    while (innermost != scope) {
        struct scope *open = innermost;
        empty_scope(open);
        memory_free(open);
    }
    empty_scope(scope);
    missing_scopes = scope->missing;
}

struct tensor *tensor_keep(struct tensor *tensor) {
    if (tensor && tensor->scope) {
        struct scope *outer = tensor->scope->outer;
        unlink_scope(tensor);
        link_scope(tensor, outer);
    }
    return tensor;
}

void ridge_scope_begin(void) {
    struct scope *scope = missing_scopes ? NULL : memory_allocate(1, sizeof *scope, &thread_status);
    if (!scope) {
        missing_scopes++;
        return;
    }
    scope->outer = innermost;
    innermost = scope;
}

void ridge_scope_end(void) {
    if (missing_scopes) {
        missing_scopes--;
        return;
    }
    struct scope *scope = innermost;
    if (!scope || scope->own) {
        status_fail(&thread_status, STATUS_USAGE, "ridge_scope_end: no scope is open");
        return;
    }
    empty_scope(scope);
    memory_free(scope);
}

ridge_tensor *ridge_keep(ridge_tensor *handle) {
    return tensor_handle(tensor_keep(tensor_of("ridge_keep", handle)));
}

/* ---- Public functions of handles ---------------------------------------------------------- */

ridge_tensor *ridge_retain(ridge_tensor *handle) {
    struct tensor *tensor = tensor_of("ridge_retain", handle);
    return tensor ? tensor_handle(tensor_view(tensor, &tensor->view, &thread_status)) : NULL;
}

void ridge_release(ridge_tensor *handle) {
    struct tensor *tensor = tensor_find(handle);
    if (tensor)
        tensor_destroy(tensor);
    else if (handle)
        tensor_released("ridge_release", "tensor");
}

enum ridge_dtype ridge_tensor_dtype(const ridge_tensor *handle) {
    const struct tensor *tensor = tensor_of("ridge_tensor_dtype", handle);
    return tensor ? tensor->dtype : RIDGE_F32;
}

unsigned ridge_tensor_rank(const ridge_tensor *handle) {
    const struct tensor *tensor = tensor_of("ridge_tensor_rank", handle);
    return tensor ? tensor->view.rank : 0;
}

/* The axis' number counted from the front, or -1. */
static int counted_axis(const struct tensor *tensor, int axis) {
    int rank = tensor ? (int)tensor->view.rank : 0;
    axis = axis < 0 ? axis + rank : axis;
    return axis < rank ? axis : -1;
}

int64_t ridge_tensor_size(const ridge_tensor *handle, int axis) {
    const struct tensor *tensor = tensor_of("ridge_tensor_size", handle);
    axis = counted_axis(tensor, axis);
    return axis < 0 ? 0 : tensor->view.sizes[axis];
}

int64_t ridge_tensor_stride(const ridge_tensor *handle, int axis) {
    const struct tensor *tensor = tensor_of("ridge_tensor_stride", handle);
    axis = counted_axis(tensor, axis);
    return axis < 0 ? 0 : tensor->view.strides[axis];
}

int64_t ridge_tensor_count(const ridge_tensor *handle) {
    const struct tensor *tensor = tensor_of("ridge_tensor_count", handle);
    return tensor ? view_count(&tensor->view) : 0;
}

size_t tensor_bytes(const struct tensor *tensor) {
    return ridge_dtype_bytes(tensor->dtype, view_count(&tensor->view));
}

size_t ridge_tensor_bytes(const ridge_tensor *handle) {
    const struct tensor *tensor = tensor_of("ridge_tensor_bytes", handle);
    return tensor ? tensor_bytes(tensor) : 0;
}

bool ridge_tensor_contiguous(const ridge_tensor *handle) {
    const struct tensor *tensor = tensor_of("ridge_tensor_contiguous", handle);
    return tensor && view_is_contiguous(&tensor->view);
}

ridge_device *ridge_tensor_device(const ridge_tensor *handle) {
    const struct tensor *tensor = tensor_of("ridge_tensor_device", handle);
    return tensor ? tensor->device : NULL;
}
