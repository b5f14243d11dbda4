/* Public functions that share memory with the program and with other libraries.
 *
 * A storage on foreign memory starts at an aligned address at or before the caller's; the rest is
 * the view's offset, from which kernels know the alignment of the first element. The bytes before
 * it are never read.
 */
#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "device/work.h"
#include "tensor/graph.h"

/* ---- Wrapping --------------------------------------------------------------------------- */

#define STRIDE_LIMIT ((int64_t)1 << 56)

struct foreign {
    enum ridge_dtype dtype;
    unsigned rank;
    const int64_t *sizes, *strides; /* strides may be NULL */
    uint64_t address;
    void (*release)(void *context);
    void *context;
};

static bool set_strides(const int64_t *strides, struct view *view, struct status *status) {
    int64_t last = 0, step;
    for (unsigned axis = 0; axis < view->rank; axis++) {
        if (strides[axis] < 0)
            return status_fail(status, STATUS_UNSUPPORTED,
                               "axis %u has the negative stride %lld; copy the data first", axis,
                               (long long)strides[axis]);
        if (view->sizes[axis] > 1 &&
            (__builtin_mul_overflow(view->sizes[axis] - 1, strides[axis], &step) ||
             __builtin_add_overflow(last, step, &last) || last > STRIDE_LIMIT))
            return status_fail(status, STATUS_USAGE, "the strides are too large");
        view->strides[axis] = strides[axis];
    }
    return true;
}

/* The view, with the offset from the aligned address. */
static bool foreign_view(const struct foreign *foreign, uint32_t alignment, struct view *view,
                         struct status *status) {
    if (!view_contiguous(foreign->rank, foreign->sizes, view, status) ||
        (foreign->strides && !set_strides(foreign->strides, view, status)))
        return false;
    size_t element = ridge_dtype_bytes(foreign->dtype, 1), before = foreign->address % alignment;
    if (before % element != 0)
        return status_fail(status, STATUS_USAGE,
                           "the address is not aligned to %zu bytes, the size of %s", element,
                           ridge_dtype_name(foreign->dtype));
    view->offset = (int64_t)(before / element);
    return true;
}

static struct tensor *wrap(ridge_device *device, const struct foreign *foreign) {
    struct status *status = tensor_status();
    struct view view;
    uint32_t alignment = device->device->capabilities.alignment;
    if (!foreign_view(foreign, alignment, &view, status))
        return NULL;
    struct storage *storage = memory_allocate(1, sizeof *storage, status);
    if (!storage)
        return NULL;
    *storage = (struct storage){.owner = device,
                                .queue = device->queue,
                                .users = 1,
                                .foreign = true,
                                .release = foreign->release,
                                .context = foreign->context};
    storage->block.memory.handle = foreign->address - foreign->address % alignment;
    storage->block.memory.bytes = ridge_dtype_bytes(foreign->dtype, view_extent(&view));
    struct tensor *tensor = tensor_create(device, foreign->dtype, &view, storage, status);
    if (!tensor)
        storage->release = NULL;
    storage_release(storage);
    return tensor;
}

ridge_tensor *ridge_wrap_host(ridge_device *device, enum ridge_dtype dtype, unsigned rank,
                              const int64_t *sizes, const int64_t *strides, void *data,
                              void (*release)(void *context), void *context) {
    struct status *status = tensor_status();
    if (!device_check(device, "ridge_wrap_host") || !dtype_check(dtype, "ridge_wrap_host"))
        return NULL;
    if (!data) {
        tensor_null("ridge_wrap_host", "data");
        return NULL;
    }
    if (!device->device->capabilities.host_memory || dtype_is_quantized(dtype)) {
        status_fail(status, STATUS_UNSUPPORTED,
                    "ridge_wrap_host: %s cannot use %s memory of the host; copy it with "
                    "ridge_from_host()",
                    device->name, ridge_dtype_name(dtype));
        return NULL;
    }
    struct foreign foreign = {dtype,   rank,   sizes, strides, (uint64_t)(uintptr_t)data,
                              release, context};
    struct tensor *tensor = wrap(device, &foreign);
    if (!tensor)
        status_context(status, "ridge_wrap_host");
    return tensor_handle(tensor);
}

/* Whether its data can be read: it is no tensor of a function that is being compiled. */
static bool has_data(const struct tensor *tensor, const char *name) {
    return (tensor->storage && !graph_current()) ||
           status_fail(tensor_status(), STATUS_USAGE,
                       "%s: a tensor of a function that is being compiled has no data", name);
}

static void *first_element(const struct tensor *tensor) {
    return (char *)(uintptr_t)tensor->storage->block.memory.handle +
           tensor_byte_offset(tensor->dtype, tensor->view.offset);
}

void *ridge_tensor_data(ridge_tensor *handle) {
    const struct tensor *tensor = tensor_of("ridge_tensor_data", handle);
    if (!tensor || !has_data(tensor, "ridge_tensor_data"))
        return NULL;
    const ridge_device *device = tensor->device;
    if (!device->device->capabilities.host_memory) {
        status_fail(tensor_status(), STATUS_UNSUPPORTED,
                    "ridge_tensor_data: the memory of %s has no address on the host; copy it with "
                    "ridge_to_host()",
                    device->name);
        return NULL;
    }
    return work_wait(device->device, device->recorder, tensor_status()) ? first_element(tensor)
                                                                        : NULL;
}

/* ---- DLPack ----------------------------------------------------------------------------- */

/* As in dlpack.h; the numbers are part of the ABI. */
enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_MANAGED = 13 };
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_BOOL = 6 };
enum { DL_MAJOR = 1, DL_MINOR = 0, DL_READ_ONLY = 1 };

struct dl_device {
    int32_t type, number;
};
struct dl_type {
    uint8_t code, bits;
    uint16_t lanes;
};
struct dl_tensor {
    void *data;
    struct dl_device device;
    int32_t rank;
    struct dl_type type;
    int64_t *sizes, *strides;
    uint64_t byte_offset;
};
struct DLManagedTensor {
    struct dl_tensor tensor;
    void *context;
    void (*deleter)(struct DLManagedTensor *self);
};
struct DLManagedTensorVersioned {
    struct {
        uint32_t major, minor;
    } version;
    void *context;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    struct dl_tensor tensor;
};

static const struct {
    struct dl_type type;
    enum ridge_dtype dtype;
} types[] = {
    {{DL_FLOAT, 32, 1}, RIDGE_F32},   {{DL_FLOAT, 16, 1}, RIDGE_F16},
    {{DL_BFLOAT, 16, 1}, RIDGE_BF16}, {{DL_INT, 32, 1}, RIDGE_I32},
    {{DL_UINT, 8, 1}, RIDGE_U8},      {{DL_BOOL, 8, 1}, RIDGE_U8},
};
enum { TYPES = sizeof types / sizeof types[0] };

static bool dtype_of(struct dl_type type, enum ridge_dtype *dtype, struct status *status) {
    for (unsigned i = 0; i < TYPES; i++)
        if (types[i].type.code == type.code && types[i].type.bits == type.bits &&
            types[i].type.lanes == type.lanes) {
            *dtype = types[i].dtype;
            return true;
        }
    return status_fail(status, STATUS_UNSUPPORTED,
                       "elements of kind %u with %u bits and %u lanes; ridge has f32, f16, bf16, "
                       "i32 and u8: convert first",
                       type.code, type.bits, type.lanes);
}

static bool same_device(const ridge_device *device, struct dl_device other, struct status *status) {
    const struct device *own = device->device;
    bool ok = own->capabilities.host_memory && own->ops == &device_cpu
                  ? other.type == DL_CPU
                  : own->ops == &device_cuda &&
                        (other.type == DL_CUDA || other.type == DL_CUDA_MANAGED) &&
                        other.number == (int32_t)own->index;
    return ok || status_fail(status, STATUS_UNSUPPORTED,
                             "the memory of DLPack device %d, number %d, cannot be used on %s",
                             other.type, other.number, device->name);
}

static ridge_tensor *import(ridge_device *device, const struct dl_tensor *tensor,
                            void (*release)(void *context), void *context) {
    struct status *status = tensor_status();
    struct foreign foreign = {.rank = (unsigned)tensor->rank,
                              .sizes = tensor->sizes,
                              .strides = tensor->strides,
                              .release = release,
                              .context = context};
    foreign.address = (uint64_t)(uintptr_t)tensor->data + tensor->byte_offset;
    struct tensor *made = NULL;
    if (tensor->rank < 0)
        status_fail(status, STATUS_INPUT, "the rank is %d", tensor->rank);
    else if (same_device(device, tensor->device, status) &&
             dtype_of(tensor->type, &foreign.dtype, status))
        made = wrap(device, &foreign);
    if (!made)
        status_context(status, "ridge_from_dlpack");
    return tensor_handle(made);
}

static void call_deleter(void *context) {
    struct DLManagedTensor *managed = context;
    if (managed->deleter)
        managed->deleter(managed);
}

ridge_tensor *ridge_from_dlpack(ridge_device *device, struct DLManagedTensor *managed) {
    if (!device_check(device, "ridge_from_dlpack"))
        return NULL;
    if (!managed) {
        tensor_null("ridge_from_dlpack", "managed tensor");
        return NULL;
    }
    return import(device, &managed->tensor, call_deleter, managed);
}

static void call_versioned_deleter(void *context) {
    struct DLManagedTensorVersioned *managed = context;
    if (managed->deleter)
        managed->deleter(managed);
}

ridge_tensor *ridge_from_dlpack_versioned(ridge_device *device,
                                          struct DLManagedTensorVersioned *managed) {
    struct status *status = tensor_status();
    if (!device_check(device, "ridge_from_dlpack_versioned"))
        return NULL;
    if (!managed) {
        tensor_null("ridge_from_dlpack_versioned", "managed tensor");
        return NULL;
    }
    if (managed->version.major != DL_MAJOR || managed->flags & DL_READ_ONLY) {
        status_fail(status, STATUS_UNSUPPORTED,
                    managed->version.major != DL_MAJOR
                        ? "ridge_from_dlpack_versioned: DLPack %u is not known, 1 is"
                        : "ridge_from_dlpack_versioned: the tensor is read-only: copy it",
                    managed->version.major);
        return NULL;
    }
    return import(device, &managed->tensor, call_versioned_deleter, managed);
}

/* What ridge_to_dlpack() returns. It holds a reference to the storage, which only the thread of the
 * device may release: the deleter puts it on a list. */
struct export {
    union {
        struct DLManagedTensor plain;
        struct DLManagedTensorVersioned versioned;
    } managed;
    int64_t sizes[RIDGE_RANK_MAX], strides[RIDGE_RANK_MAX];
    struct storage *storage;
    struct export *next;
};

static pthread_mutex_t returned_lock = PTHREAD_MUTEX_INITIALIZER;
static struct export *returned;

static void give_back(struct export *export) {
    pthread_mutex_lock(&returned_lock);
    export->next = returned;
    returned = export;
    pthread_mutex_unlock(&returned_lock);
}

static void delete_plain(struct DLManagedTensor *self) {
    give_back(self->context);
}

static void delete_versioned(struct DLManagedTensorVersioned *self) {
    give_back(self->context);
}

void exports_collect(ridge_device *device) {
    struct export *own = NULL, **link = &returned;
    pthread_mutex_lock(&returned_lock);
    while (*link) {
        struct export *export = *link;
        if (export->storage->owner != device) {
            link = &export->next;
            continue;
        }
        *link = export->next;
        export->next = own;
        own = export;
    }
    pthread_mutex_unlock(&returned_lock);
    while (own) {
        struct export *next = own->next;
        storage_release(own->storage);
        memory_free(own);
        device->exports--;
        own = next;
    }
}

static bool describe(struct export *export, const struct tensor *tensor, struct dl_tensor *out,
                     struct status *status) {
    const ridge_device *device = tensor->device;
    unsigned type = 0;
    while (type < TYPES && types[type].dtype != tensor->dtype)
        type++;
    bool cuda = device->device->ops == &device_cuda, cpu = device->device->ops == &device_cpu;
    if (type == TYPES || !(cuda || cpu))
        return status_fail(status, STATUS_UNSUPPORTED,
                           "%s tensors of %s have no form in DLPack: %s",
                           ridge_dtype_name(tensor->dtype), device->name,
                           type == TYPES ? "dequantize them first" : "copy them to the host");
    memcpy(export->sizes, tensor->view.sizes, sizeof export->sizes);
    memcpy(export->strides, tensor->view.strides, sizeof export->strides);
    *out = (struct dl_tensor){
        .data = first_element(tensor),
        .device = {cuda ? DL_CUDA : DL_CPU, cuda ? (int32_t)device->device->index : 0},
        .rank = (int32_t)tensor->view.rank,
        .type = types[type].type,
        .sizes = export->sizes,
        .strides = export->strides,
    };
    return true;
}

static struct export *export_tensor(ridge_tensor *handle, const char *name, bool versioned) {
    struct status *status = tensor_status();
    const struct tensor *tensor = tensor_of(name, handle);
    if (!tensor || !has_data(tensor, name))
        return NULL;
    ridge_device *device = tensor->device;
    struct export *export = memory_allocate(1, sizeof *export, status);
    if (!export)
        return NULL;
    struct dl_tensor *described =
        versioned ? &export->managed.versioned.tensor : &export->managed.plain.tensor;
    if (!describe(export, tensor, described, status) ||
        !work_wait(device->device, device->recorder, status)) {
        status_context(status, "%s", name);
        memory_free(export);
        return NULL;
    }
    export->storage = tensor->storage;
    storage_retain(export->storage);
    device->exports++;
    return export;
}

struct DLManagedTensor *ridge_to_dlpack(ridge_tensor *tensor) {
    struct export *export = export_tensor(tensor, "ridge_to_dlpack", false);
    if (!export)
        return NULL;
    export->managed.plain.context = export;
    export->managed.plain.deleter = delete_plain;
    return &export->managed.plain;
}

struct DLManagedTensorVersioned *ridge_to_dlpack_versioned(ridge_tensor *tensor) {
    struct export *export = export_tensor(tensor, "ridge_to_dlpack_versioned", true);
    if (!export)
        return NULL;
    struct DLManagedTensorVersioned *managed = &export->managed.versioned;
    managed->version.major = DL_MAJOR;
    managed->version.minor = DL_MINOR;
    managed->context = export;
    managed->deleter = delete_versioned;
    return managed;
}
