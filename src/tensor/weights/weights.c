/* Opening a file of weights and finding a tensor in it.
 *
 * The file is read with pread(), never mapped: another process may truncate it, and a mapping would
 * then raise SIGBUS. Only the header is kept in memory. Its length is not known in advance: a
 * reader that runs out of bytes says how many it needs and is started again with more.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tensor/weights/file.h"

enum { FIRST_READ = 1 << 20, HEADER_MAX = 1 << 30 };

bool weights_need(struct weights *weights, uint64_t end) {
    if (end <= weights->available)
        return true;
    if (end <= weights->length)
        weights->needed = end;
    return false;
}

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
            return status_fail(status, STATUS_INPUT, "two tensors have the name \"%.*s\"",
                               TEXT_ARGS(tensors[i].name));
    return true;
}

static bool read_content(struct weights *weights, struct status *status) {
    const unsigned char *bytes = weights->bytes;
    bool ok;
    if (gguf_detect(bytes, weights->available)) {
        weights->format = "GGUF";
        ok = gguf_read(weights, status);
    } else if (safetensors_detect(bytes, weights->available)) {
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
    *weights = (struct weights){.bytes = bytes, .available = length, .length = length, .fd = -1};
    if (!read_content(weights, status)) {
        weights_close(weights);
        return NULL;
    }
    return weights;
}

static int open_file(const char *path, uint64_t *length, struct status *status) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (fd < 0) {
        status_fail_errno(status, "cannot open %s", path);
        return -1;
    }
    if (fstat(fd, &about) != 0)
        status_fail_errno(status, "cannot read %s", path);
    else if (!S_ISREG(about.st_mode))
        status_fail(status, STATUS_INPUT, "%s is not a file", path);
    else if (about.st_size == 0)
        status_fail(status, STATUS_INPUT, "%s is empty", path);
    else {
        *length = (uint64_t)about.st_size;
        return fd;
    }
    close(fd);
    return -1;
}

static bool read_at(int fd, uint64_t offset, void *bytes, size_t length, struct status *status) {
    while (length > 0) {
        ssize_t got = pread(fd, bytes, length, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return status_fail_errno(status, "cannot read it");
        if (got == 0)
            return status_fail(status, STATUS_INPUT,
                               "was truncated while it was being read; try again when no program "
                               "writes to it");
        bytes = (char *)bytes + got;
        offset += (uint64_t)got;
        length -= (size_t)got;
    }
    return true;
}

static void forget_content(struct weights *weights) {
    memory_free(weights->tensors);
    memory_free(weights->metadata);
    memory_free(weights->header);
    arena_finish(&weights->names);
    *weights = (struct weights){.length = weights->length, .fd = weights->fd};
}

static bool read_prefix(struct weights *weights, uint64_t bytes, struct status *status) {
    size_t size = (size_t)(bytes < weights->length ? bytes : weights->length);
    forget_content(weights);
    weights->bytes = weights->header = memory_allocate(size, 1, status);
    weights->available = size;
    return weights->header && read_at(weights->fd, 0, weights->header, size, status) &&
           read_content(weights, status);
}

static bool read_header(struct weights *weights, struct status *status) {
    uint64_t bytes = FIRST_READ;
    while (!read_prefix(weights, bytes, status)) {
        if (weights->needed <= weights->available)
            return false;
        if (weights->needed > HEADER_MAX)
            return status_fail(status, STATUS_INPUT, "its header is longer than 1 GiB");
        while (bytes < weights->needed)
            bytes *= 2;
    }
    return true;
}

struct weights *weights_open(const char *path, struct status *status) {
    uint64_t length = 0;
    int fd = open_file(path, &length, status);
    if (fd < 0)
        return NULL;
    struct weights *weights = memory_allocate(1, sizeof *weights, status);
    if (!weights) {
        close(fd);
        return NULL;
    }
    *weights = (struct weights){.length = length, .fd = fd};
    if (!read_header(weights, status)) {
        weights_close(weights);
        status_context(status, "%s", path);
        return NULL;
    }
    return weights;
}

bool weights_read(const struct weights *weights, const struct weights_tensor *tensor, size_t skip,
                  void *to, size_t bytes, struct status *status) {
    if (weights->fd >= 0)
        return read_at(weights->fd, tensor->offset + skip, to, bytes, status);
    if (bytes)
        memcpy(to, weights->bytes + tensor->offset + skip, bytes);
    return true;
}

void weights_close(struct weights *weights) {
    if (!weights)
        return;
    if (weights->fd >= 0)
        close(weights->fd);
    forget_content(weights);
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

/* There are a few dozen keys, each looked up once. */
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
    if (!found || found->kind == METADATA_TEXT || found->kind == METADATA_ARRAY)
        return false;
    *value = found->kind == METADATA_NUMBER ? found->number : (double)found->integer;
    return true;
}

bool weights_array(const struct weights *weights, const char *key, size_t *count,
                   const struct text **texts, const double **numbers) {
    const struct metadata *found = find_metadata(weights, key);
    if (!found || found->kind != METADATA_ARRAY)
        return false;
    *count = found->count;
    *texts = found->texts;
    *numbers = found->numbers;
    return true;
}
