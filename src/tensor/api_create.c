/* Public functions that make tensors from numbers, and numbers from tensors. */
#include <math.h>
#include <string.h>

#include "device/work.h"
#include "tensor/operation.h"

static bool check_new(ridge_device *device, enum ridge_dtype dtype, unsigned rank,
                      const int64_t *sizes, struct view *view, const char *name) {
    struct status *status = tensor_status();
    if (!device_check(device, name) || !dtype_check(dtype, name))
        return false;
    if (!view_contiguous(rank, sizes, view, status))
        return status_context(status, "%s", name);
    int64_t block = dtype_block(dtype);
    if (block > 1 && (rank == 0 || sizes[rank - 1] % block != 0))
        return status_fail(status, STATUS_USAGE,
                           "%s: the last size of a %s tensor must be a multiple of %lld", name,
                           ridge_dtype_name(dtype), (long long)block);
    return true;
}

static struct tensor *create_and_run(ridge_device *device, enum ridge_dtype dtype,
                                     const struct view *view) {
    struct status *status = tensor_status();
    struct storage *storage;
    if (!storage_create(device, ridge_dtype_bytes(dtype, view_count(view)), &storage, status))
        return NULL;
    struct tensor *tensor = tensor_create(device, dtype, view, storage, status);
    storage_release(storage);
    return tensor;
}

ridge_tensor *ridge_from_host(ridge_device *device, enum ridge_dtype dtype, unsigned rank,
                              const int64_t *sizes, const void *data) {
    struct view view;
    if (!check_new(device, dtype, rank, sizes, &view, "ridge_from_host"))
        return NULL;
    struct tensor *tensor = create_and_run(device, dtype, &view);
    size_t bytes = ridge_dtype_bytes(dtype, view_count(&view));
    if (!tensor || !data || bytes == 0)
        return tensor_handle(tensor);
    if (work_copy_in(device->device, device->recorder, device->queue, tensor->storage->block.memory,
                     0, data, bytes, tensor_status()))
        return tensor_handle(tensor);
    tensor_destroy(tensor);
    return NULL;
}

ridge_tensor *ridge_from_floats(ridge_device *device, enum ridge_dtype dtype, unsigned rank,
                                const int64_t *sizes, const float *data) {
    struct view view;
    struct scope scope;
    if (dtype == RIDGE_F32)
        return ridge_from_host(device, dtype, rank, sizes, data);
    if (!check_new(device, dtype, rank, sizes, &view, "ridge_from_floats"))
        return NULL;
    scope_begin(&scope);
    ridge_tensor *floats = ridge_from_host(device, RIDGE_F32, rank, sizes, data);
    ridge_tensor *result =
        dtype_is_quantized(dtype) ? ridge_quantize(floats, dtype) : ridge_cast(floats, dtype);
    tensor_keep(tensor_find(result));
    scope_end(&scope);
    return result;
}

bool ridge_to_host(ridge_tensor *handle, void *data, size_t bytes) {
    struct status *status = tensor_status();
    const struct tensor *tensor = tensor_of("ridge_to_host", handle);
    if (!tensor)
        return false;
    if (!tensor->storage || graph_current())
        return status_fail(status, STATUS_USAGE,
                           "ridge_to_host: a tensor of a function that is being compiled has no "
                           "data to read");
    if (bytes != tensor_bytes(tensor))
        return status_fail(status, STATUS_USAGE, "ridge_to_host: the tensor has %zu bytes, not %zu",
                           tensor_bytes(tensor), bytes);
    if (bytes == 0)
        return true;
    if (!data)
        return tensor_null("ridge_to_host", "memory for the data");
    struct scope scope;
    scope_begin(&scope);
    const struct tensor *whole = tensor_find(ridge_contiguous(handle));
    ridge_device *device = tensor->device;
    bool ok =
        whole && work_copy_out(device->device, device->recorder, device->queue, data,
                               whole->storage->block.memory,
                               tensor_byte_offset(whole->dtype, whole->view.offset), bytes, status);
    scope_end(&scope);
    return ok;
}

bool ridge_to_floats(ridge_tensor *handle, float *data, size_t count) {
    const struct tensor *tensor = tensor_of("ridge_to_floats", handle);
    if (!tensor)
        return false;
    if (count != (size_t)view_count(&tensor->view))
        return status_fail(tensor_status(), STATUS_USAGE,
                           "ridge_to_floats: the tensor has %lld elements, not %zu",
                           (long long)view_count(&tensor->view), count);
    if (count > 0 && !data)
        return tensor_null("ridge_to_floats", "memory for the data");
    if (tensor->dtype == RIDGE_F32)
        return ridge_to_host(handle, data, count * sizeof *data);
    struct scope scope;
    scope_begin(&scope);
    ridge_tensor *floats = dtype_is_quantized(tensor->dtype) ? ridge_dequantize(handle, RIDGE_F32)
                                                             : ridge_cast(handle, RIDGE_F32);
    bool ok = floats && ridge_to_host(floats, data, count * sizeof *data);
    scope_end(&scope);
    return ok;
}

/* ---- Values ----------------------------------------------------------------------------- */

static bool build_full(struct builder *build, const struct operation *operation,
                       struct tensor *const *inputs, struct tensor **outputs) {
    (void)inputs;
    enum ridge_dtype dtype = (enum ridge_dtype)operation->integers[0];
    struct tensor *value = build_constant(build, dtype, operation->numbers[0]);
    struct view view;
    if (!value || !view_broadcast(&value->view, (unsigned)operation->integers[1],
                                  &operation->integers[2], &view, build->status))
        return false;
    outputs[0] = build_copy(build, build_view(build, value, &view));
    return outputs[0] != NULL;
}

static bool build_generate(struct builder *build, const struct operation *operation,
                           struct tensor *const *inputs, struct tensor **outputs) {
    (void)inputs;
    struct node_parameters parameters = {.value = operation->numbers[0],
                                         .step = operation->numbers[1],
                                         .seed = (uint64_t)operation->integers[10]};
    struct view view;
    if (!view_contiguous((unsigned)operation->integers[1], &operation->integers[2], &view,
                         build->status))
        return false;
    outputs[0] =
        build_kernel(build, (enum op)operation->integers[11],
                     (enum ridge_dtype)operation->integers[0], &view, NULL, 0, &parameters);
    return outputs[0] != NULL;
}

/* The integers of both: dtype, rank, sizes. */
static struct operation filling(const char *name, operation_builder *build, ridge_device *device,
                                enum ridge_dtype dtype, const struct view *view) {
    struct operation operation = {
        .name = name, .build = build, .device = device, .output_count = 1};
    operation.integers[0] = dtype;
    operation.integers[1] = view->rank;
    memcpy(&operation.integers[2], view->sizes, view->rank * sizeof view->sizes[0]);
    return operation;
}

static ridge_tensor *full(ridge_device *device, enum ridge_dtype dtype, unsigned rank,
                          const int64_t *sizes, double value, const char *name) {
    struct view view;
    if (!check_new(device, dtype, rank, sizes, &view, name))
        return NULL;
    if (dtype_is_quantized(dtype)) {
        struct scope scope;
        scope_begin(&scope);
        ridge_tensor *floats = full(device, RIDGE_F32, rank, sizes, value, name);
        ridge_tensor *result = ridge_quantize(floats, dtype);
        tensor_keep(tensor_find(result));
        scope_end(&scope);
        return result;
    }
    struct operation operation = filling(name, build_full, device, dtype, &view);
    if (dtype == RIDGE_U8)
        value = (double)((int64_t)value & 255);
    operation.numbers[0] = value;
    return operation_result(&operation);
}

ridge_tensor *ridge_zeros(ridge_device *device, enum ridge_dtype dtype, unsigned rank,
                          const int64_t *sizes) {
    return full(device, dtype, rank, sizes, 0, "ridge_zeros");
}

ridge_tensor *ridge_full(ridge_device *device, enum ridge_dtype dtype, unsigned rank,
                         const int64_t *sizes, double value) {
    if (!dtype_is_float(dtype) && !dtype_is_quantized(dtype) &&
        !(value >= INT32_MIN && value <= INT32_MAX)) {
        status_fail(tensor_status(), STATUS_USAGE, "ridge_full: %g does not fit into %s", value,
                    ridge_dtype_name(dtype));
        return NULL;
    }
    return full(device, dtype, rank, sizes, value, "ridge_full");
}

static ridge_tensor *generate(ridge_device *device, enum ridge_dtype dtype, unsigned rank,
                              const int64_t *sizes, enum op op, uint64_t seed, double start,
                              double step, const char *name) {
    struct view view;
    if (!check_new(device, dtype, rank, sizes, &view, name))
        return NULL;
    if (op == OP_ARANGE ? dtype_is_quantized(dtype) : !dtype_is_float(dtype)) {
        status_fail(tensor_status(), STATUS_USAGE, "%s: it creates %s, not %s", name,
                    op == OP_ARANGE ? "floats and integers" : "f32, f16 and bf16",
                    ridge_dtype_name(dtype));
        return NULL;
    }
    struct operation operation = filling(name, build_generate, device, dtype, &view);
    operation.integers[10] = (int64_t)seed;
    operation.integers[11] = op;
    operation.numbers[0] = start;
    operation.numbers[1] = step;
    return operation_result(&operation);
}

ridge_tensor *ridge_arange(ridge_device *device, enum ridge_dtype dtype, int64_t count,
                           double start, double step) {
    return generate(device, dtype, 1, &count, OP_ARANGE, 0, start, step, "ridge_arange");
}

ridge_tensor *ridge_rand(ridge_device *device, enum ridge_dtype dtype, unsigned rank,
                         const int64_t *sizes, uint64_t seed) {
    return generate(device, dtype, rank, sizes, OP_RAND, seed, 0, 0, "ridge_rand");
}

ridge_tensor *ridge_randn(ridge_device *device, enum ridge_dtype dtype, unsigned rank,
                          const int64_t *sizes, uint64_t seed) {
    return generate(device, dtype, rank, sizes, OP_RANDN, seed, 0, 0, "ridge_randn");
}
