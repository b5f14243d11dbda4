/* Opening a file of weights and finding a tensor in it.
 *
 * The file is mapped, so a model of many gigabytes costs nothing until its tensors are copied to a
 * device. A file that another process cuts short while it is mapped ends this one with a bus error,
 * as with any mapped file; files of weights are written once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensor/weights/file.h"

bool weights_add(struct weights *weights, const struct weights_tensor *tensor,
                 struct status *status) {
    if (!GROW(weights->tensors, &weights->capacity, weights->count + 1, status))
        return false;
    weights->tensors[weights->count++] = *tensor;
    return true;
}

bool weights_add_metadata(struct weights *weights, const struct metadata *metadata,
                          struct status *status) {
    if (!GROW(weights->metadata, &weights->metadata_capacity, weights->metadata_count + 1, status))
        return false;
    weights->metadata[weights->metadata_count++] = *metadata;
    return true;
}

bool weights_elements(const struct weights_tensor *tensor, uint64_t *count) {
    *count = 1;
    for (unsigned i = 0; i < tensor->rank; i++)
        if (tensor->sizes[i] < 0 ||
            __builtin_mul_overflow(*count, (uint64_t)tensor->sizes[i], count))
            return false;
    return *count <= INT64_MAX;
}

static int by_name(const void *a, const void *b) {
    const struct weights_tensor *x = a, *y = b;
    return text_compare(x->name, y->name);
}

static bool put_in_order(struct weights *weights, struct status *status) {
    struct weights_tensor *tensors = weights->tensors;
    if (weights->count > 1)
        qsort(tensors, weights->count, sizeof *tensors, by_name);
    for (size_t i = 1; i < weights->count; i++)
        if (text_equal(tensors[i - 1].name, tensors[i].name))
            return status_fail(status, STATUS_INPUT, "two tensors are called \"%.*s\"",
                               TEXT_ARGS(tensors[i].name));
    return true;
}

static bool read_content(struct weights *weights, struct status *status) {
    const unsigned char *bytes = weights->bytes;
    bool ok;
    if (gguf_recognise(bytes, weights->length)) {
        weights->format = "GGUF";
        ok = gguf_read(weights, status);
    } else if (safetensors_recognise(bytes, weights->length)) {
        weights->format = "safetensors";
        ok = safetensors_read(weights, status);
    } else {
        return status_fail(status, STATUS_INPUT, "neither a GGUF nor a safetensors file");
    }
    return ok && put_in_order(weights, status);
}

struct weights *weights_open_bytes(const void *bytes, size_t length, struct status *status) {
    struct weights *weights = memory_allocate(1, sizeof *weights, status);
    if (!weights)
        return NULL;
    *weights = (struct weights){.bytes = bytes, .length = length};
    if (!read_content(weights, status)) {
        weights_close(weights);
        return NULL;
    }
    return weights;
}

static bool map_file(const char *path, void **bytes, size_t *length, struct status *status) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return status_fail_errno(status, "cannot open %s", path);
    struct stat about;
    bool ok = false;
    if (fstat(fd, &about) != 0)
        status_fail_errno(status, "cannot read %s", path);
    else if (!S_ISREG(about.st_mode))
        status_fail(status, STATUS_INPUT, "%s is not a file", path);
    else if (about.st_size == 0)
        status_fail(status, STATUS_INPUT, "%s is empty", path);
    else
        ok = true;
    if (ok) {
        *length = (size_t)about.st_size;
        *bytes = mmap(NULL, *length, PROT_READ, MAP_PRIVATE, fd, 0);
        if (*bytes == MAP_FAILED)
            ok = status_fail_errno(status, "cannot map %s", path);
    }
    close(fd);
    return ok;
}

struct weights *weights_open(const char *path, struct status *status) {
    void *bytes = NULL;
    size_t length = 0;
    if (!map_file(path, &bytes, &length, status))
        return NULL;
    struct weights *weights = weights_open_bytes(bytes, length, status);
    if (!weights) {
        munmap(bytes, length);
        status_context(status, "%s", path);
        return NULL;
    }
    weights->mapped = true;
    return weights;
}

void weights_close(struct weights *weights) {
    if (!weights)
        return;
    if (weights->mapped)
        munmap((void *)weights->bytes, weights->length);
    memory_free(weights->tensors);
    memory_free(weights->metadata);
    arena_finish(&weights->names);
    memory_free(weights);
}

const char *weights_format(const struct weights *weights) {
    return weights->format;
}

size_t weights_count(const struct weights *weights) {
    return weights->count;
}

const struct weights_tensor *weights_at(const struct weights *weights, size_t index) {
    return &weights->tensors[index];
}

const struct weights_tensor *weights_find(const struct weights *weights, struct text name) {
    size_t low = 0, high = weights->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = text_compare(weights->tensors[middle].name, name);
        if (order == 0)
            return &weights->tensors[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* There are some dozens of keys, asked for once each. */
static const struct metadata *find_metadata(const struct weights *weights, const char *key) {
    for (size_t i = 0; i < weights->metadata_count; i++)
        if (text_is(weights->metadata[i].key, key))
            return &weights->metadata[i];
    return NULL;
}

bool weights_text(const struct weights *weights, const char *key, struct text *value) {
    const struct metadata *found = find_metadata(weights, key);
    if (!found || found->kind != METADATA_TEXT)
        return false;
    *value = found->text;
    return true;
}

bool weights_integer(const struct weights *weights, const char *key, int64_t *value) {
    const struct metadata *found = find_metadata(weights, key);
    if (!found || found->kind != METADATA_INTEGER)
        return false;
    *value = found->integer;
    return true;
}

bool weights_number(const struct weights *weights, const char *key, double *value) {
    const struct metadata *found = find_metadata(weights, key);
    if (!found || found->kind == METADATA_TEXT)
        return false;
    *value = found->kind == METADATA_NUMBER ? found->number : (double)found->integer;
    return true;
}
