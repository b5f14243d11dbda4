/* Public reading of model files, over src/tensor/weights. */
#include <string.h>

#include "base/slab.h"
#include "tensor/operation.h"
#include "tensor/weights/weights.h"

struct ridge_file {
    struct weights *weights;
    struct arena texts; /* with a 0 at their ends */
};

static struct slab files = SLAB(struct ridge_file, 3);

static struct ridge_file *file_of(const char *name, const ridge_weights *handle) {
    struct ridge_file *file = slab_find(&files, handle);
    if (!file)
        handle ? tensor_released(name, "file") : tensor_null(name, "file");
    return file;
}

ridge_weights *ridge_weights_open(const char *path) {
    struct status *status = tensor_status();
    if (!path) {
        tensor_null("ridge_weights_open", "path");
        return NULL;
    }
    struct ridge_file *file = slab_allocate(&files, status);
    if (!file)
        return NULL;
    file->weights = weights_open(path, status);
    if (!file->weights) {
        slab_free(&files, file);
        status_context(status, "ridge_weights_open");
        return NULL;
    }
    return slab_handle(&files, file);
}

void ridge_weights_close(ridge_weights *handle) {
    struct ridge_file *file = handle ? file_of("ridge_weights_close", handle) : NULL;
    if (!file)
        return;
    weights_close(file->weights);
    arena_finish(&file->texts);
    slab_free(&files, file);
}

const char *ridge_weights_format(const ridge_weights *handle) {
    const struct ridge_file *file = file_of("ridge_weights_format", handle);
    return file ? weights_format(file->weights) : "";
}

size_t ridge_weights_count(const ridge_weights *handle) {
    const struct ridge_file *file = file_of("ridge_weights_count", handle);
    return file ? weights_count(file->weights) : 0;
}

/* A copy that ends with a 0; NULL when out of memory. */
static const char *kept(struct ridge_file *file, struct text text) {
    char *copy = arena_allocate(&file->texts, text.length + 1, tensor_status());
    if (!copy)
        return NULL;
    if (text.length)
        memcpy(copy, text.data, text.length);
    copy[text.length] = '\0';
    return copy;
}

static bool describe(struct ridge_file *file, const struct weights_tensor *tensor,
                     struct ridge_weight_info *info) {
    *info = (struct ridge_weight_info){
        .name = kept(file, tensor->name),
        .type = tensor->type,
        .loadable = tensor->dtype != RIDGE_DTYPES,
        .dtype = tensor->dtype,
        .rank = tensor->rank,
        .bytes = tensor->bytes,
    };
    memcpy(info->sizes, tensor->sizes, sizeof info->sizes);
    return info->name != NULL;
}

bool ridge_weights_info(const ridge_weights *handle, size_t index, struct ridge_weight_info *info) {
    struct ridge_file *file = file_of("ridge_weights_info", handle);
    if (!file)
        return false;
    if (!info)
        return tensor_null("ridge_weights_info", "memory for the description");
    if (index >= weights_count(file->weights))
        return status_fail(tensor_status(), STATUS_USAGE,
                           "ridge_weights_info: there are only %zu tensors",
                           weights_count(file->weights));
    return describe(file, weights_at(file->weights, index), info);
}

static const struct weights_tensor *find(const struct ridge_file *file, const char *name) {
    return weights_find(file->weights, (struct text){name, strlen(name)});
}

bool ridge_weights_find(const ridge_weights *handle, const char *name,
                        struct ridge_weight_info *info) {
    struct ridge_file *file = file_of("ridge_weights_find", handle);
    if (!file)
        return false;
    if (!name || !info)
        return tensor_null("ridge_weights_find", name ? "memory for the description" : "name");
    const struct weights_tensor *tensor = find(file, name);
    return tensor && describe(file, tensor, info);
}

static ridge_tensor *load(const struct ridge_file *file, ridge_device *device, const char *name,
                          struct status *status) {
    const struct weights_tensor *tensor = find(file, name);
    if (!tensor) {
        status_fail(status, STATUS_INPUT, "the file has no tensor \"%s\"", name);
        return NULL;
    }
    if (tensor->dtype == RIDGE_DTYPES) {
        status_fail(status, STATUS_UNSUPPORTED, "\"%s\" has the type %s, which is not supported",
                    name, tensor->type);
        return NULL;
    }
    void *data = memory_allocate(tensor->bytes + 1, 1, status);
    ridge_tensor *loaded = NULL;
    if (data && weights_read(file->weights, tensor, 0, data, tensor->bytes, status))
        loaded = ridge_from_host(device, tensor->dtype, tensor->rank, tensor->sizes, data);
    memory_free(data);
    return loaded;
}

ridge_tensor *ridge_weights_load(const ridge_weights *handle, ridge_device *device,
                                 const char *name) {
    struct ridge_file *file = file_of("ridge_weights_load", handle);
    if (!file || !device_check(device, "ridge_weights_load"))
        return NULL;
    if (!name) {
        tensor_null("ridge_weights_load", "name");
        return NULL;
    }
    ridge_tensor *loaded = load(file, device, name, tensor_status());
    if (!loaded)
        status_context(tensor_status(), "ridge_weights_load");
    return loaded;
}

/* ---- Metadata --------------------------------------------------------------------------- */

static const char *as_text(struct ridge_file *file, struct text text, size_t *length) {
    if (length)
        *length = text.length;
    return kept(file, text);
}

const char *ridge_weights_text(const ridge_weights *handle, const char *key, size_t *length) {
    struct ridge_file *file = file_of("ridge_weights_text", handle);
    struct text text;
    if (!file || !key || !weights_text(file->weights, key, &text))
        return NULL;
    return as_text(file, text, length);
}

bool ridge_weights_integer(const ridge_weights *handle, const char *key, int64_t *value) {
    struct ridge_file *file = file_of("ridge_weights_integer", handle);
    return file && key && value && weights_integer(file->weights, key, value);
}

bool ridge_weights_number(const ridge_weights *handle, const char *key, double *value) {
    struct ridge_file *file = file_of("ridge_weights_number", handle);
    return file && key && value && weights_number(file->weights, key, value);
}

size_t ridge_weights_array(const ridge_weights *handle, const char *key) {
    struct ridge_file *file = file_of("ridge_weights_array", handle);
    size_t count = 0;
    const struct text *texts;
    const double *numbers;
    return file && key && weights_array(file->weights, key, &count, &texts, &numbers) ? count : 0;
}

const char *ridge_weights_array_text(const ridge_weights *handle, const char *key, size_t index,
                                     size_t *length) {
    struct ridge_file *file = file_of("ridge_weights_array_text", handle);
    size_t count;
    const struct text *texts;
    const double *numbers;
    if (!file || !key || !weights_array(file->weights, key, &count, &texts, &numbers) ||
        index >= count || !texts)
        return NULL;
    return as_text(file, texts[index], length);
}

bool ridge_weights_array_number(const ridge_weights *handle, const char *key, size_t index,
                                double *value) {
    struct ridge_file *file = file_of("ridge_weights_array_number", handle);
    size_t count;
    const struct text *texts;
    const double *numbers;
    if (!file || !key || !value || !weights_array(file->weights, key, &count, &texts, &numbers) ||
        index >= count || !numbers)
        return false;
    *value = numbers[index];
    return true;
}
