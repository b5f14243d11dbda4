/* Handles, storages and scopes: who owns what. */
#include "tensor/tensor.h"

#include <string.h>

#include "base/memory.h"
#include "tensor/graph.h"

struct scope {
    struct scope *outer;
    struct ridge_tensor *tensors;
};

static _Thread_local struct status thread_status;
static _Thread_local struct scope *innermost;
/* Scopes that could not be had: begin and end still pair up, tensors then stay with the one around.
 */
static _Thread_local unsigned missing_scopes;

struct status *tensor_status(void) {
    return &thread_status;
}

ridge_tensor *tensor_failed(const char *name, const ridge_tensor *x) {
    struct buffer shape = {0};
    view_describe(&shape, x->dtype, &x->view);
    status_context(&thread_status, "%s(%.*s)", name, TEXT_ARGS(buffer_as_text(&shape)));
    buffer_finish(&shape);
    return NULL;
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

void storage_release(struct storage *storage) {
    if (!storage || --storage->users > 0)
        return;
    pool_release(storage->owner->pool, storage->block, storage->queue);
    memory_free(storage);
}

static void link_scope(ridge_tensor *tensor, struct scope *scope) {
    tensor->scope = scope;
    if (!scope)
        return;
    tensor->scope_next = scope->tensors;
    tensor->scope_link = &scope->tensors;
    if (scope->tensors)
        scope->tensors->scope_link = &tensor->scope_next;
    scope->tensors = tensor;
}

static void unlink_scope(ridge_tensor *tensor) {
    if (!tensor->scope)
        return;
    *tensor->scope_link = tensor->scope_next;
    if (tensor->scope_next)
        tensor->scope_next->scope_link = tensor->scope_link;
    tensor->scope = NULL;
}

static ridge_tensor *create_handle(ridge_device *device, enum ridge_dtype dtype,
                                   const struct view *view, struct status *status) {
    ridge_tensor *tensor = memory_allocate(1, sizeof *tensor, status);
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

ridge_tensor *tensor_create(ridge_device *device, enum ridge_dtype dtype, const struct view *view,
                            struct storage *storage, struct status *status) {
    ridge_tensor *tensor = create_handle(device, dtype, view, status);
    if (!tensor)
        return NULL;
    storage_retain(storage);
    tensor->storage = storage;
    return tensor;
}

ridge_tensor *tensor_of_node(struct graph *graph, uint32_t node, const struct view *view,
                             struct status *status) {
    ridge_tensor *tensor = create_handle(graph->device, graph->nodes[node].dtype, view, status);
    if (!tensor)
        return NULL;
    tensor->graph = graph;
    tensor->node = node;
    return tensor;
}

bool tensor_is_gone(const ridge_tensor *x, struct status *status) {
    return !x->graph && !x->storage &&
           !status_fail(status, STATUS_USAGE,
                        "the tensor belongs to a function whose compiling is over: return it as an "
                        "output instead");
}

ridge_tensor *tensor_view(const ridge_tensor *x, const struct view *view, struct status *status) {
    if (tensor_is_gone(x, status))
        return NULL;
    return x->graph ? tensor_of_node(x->graph, x->node, view, status)
                    : tensor_create(x->device, x->dtype, view, x->storage, status);
}

void tensor_destroy(ridge_tensor *tensor) {
    unlink_scope(tensor);
    *tensor->device_link = tensor->device_next;
    if (tensor->device_next)
        tensor->device_next->device_link = tensor->device_link;
    storage_release(tensor->storage);
    memory_free(tensor);
}

size_t tensor_byte_offset(enum ridge_dtype dtype, int64_t offset) {
    return ridge_dtype_bytes(dtype, offset);
}

ridge_tensor *ridge_retain(ridge_tensor *tensor) {
    return tensor ? tensor_view(tensor, &tensor->view, &thread_status) : NULL;
}

void ridge_release(ridge_tensor *tensor) {
    if (tensor)
        tensor_destroy(tensor);
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
    if (!scope)
        return;
    while (scope->tensors)
        tensor_destroy(scope->tensors);
    innermost = scope->outer;
    memory_free(scope);
}

ridge_tensor *ridge_keep(ridge_tensor *tensor) {
    if (tensor && tensor->scope) {
        struct scope *outer = tensor->scope->outer;
        unlink_scope(tensor);
        link_scope(tensor, outer);
    }
    return tensor;
}

enum ridge_dtype ridge_tensor_dtype(const ridge_tensor *tensor) {
    return tensor ? tensor->dtype : RIDGE_F32;
}

unsigned ridge_tensor_rank(const ridge_tensor *tensor) {
    return tensor ? tensor->view.rank : 0;
}

/* The axis' number counted from the front, or -1. */
static int counted_axis(const ridge_tensor *tensor, int axis) {
    int rank = tensor ? (int)tensor->view.rank : 0;
    axis = axis < 0 ? axis + rank : axis;
    return axis < rank ? axis : -1;
}

int64_t ridge_tensor_size(const ridge_tensor *tensor, int axis) {
    axis = counted_axis(tensor, axis);
    return axis < 0 ? 0 : tensor->view.sizes[axis];
}

int64_t ridge_tensor_stride(const ridge_tensor *tensor, int axis) {
    axis = counted_axis(tensor, axis);
    return axis < 0 ? 0 : tensor->view.strides[axis];
}

int64_t ridge_tensor_count(const ridge_tensor *tensor) {
    return tensor ? view_count(&tensor->view) : 0;
}

size_t ridge_tensor_bytes(const ridge_tensor *tensor) {
    return tensor ? ridge_dtype_bytes(tensor->dtype, view_count(&tensor->view)) : 0;
}

bool ridge_tensor_contiguous(const ridge_tensor *tensor) {
    return tensor && view_is_contiguous(&tensor->view);
}

ridge_device *ridge_tensor_device(const ridge_tensor *tensor) {
    return tensor ? tensor->device : NULL;
}
