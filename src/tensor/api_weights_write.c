/* Public writing of model files: GGUF version 3, or safetensors. Tensors are copied to host memory
 * as they are added; the file is written as a whole at the end and appears under its name only when
 * it is complete. */
#include <string.h>

#include "base/json_write.h"
#include "base/output.h"
#include "base/slab.h"
#include "gen/dtype.h"
#include "tensor/operation.h"

enum { ALIGNMENT = 32, GGUF_VERSION = 3 };

/* Types of values in GGUF. */
enum { GGUF_I32 = 5, GGUF_F32 = 6, GGUF_TEXT = 8, GGUF_ARRAY = 9, GGUF_I64 = 11, GGUF_F64 = 12 };

static const struct {
    uint32_t gguf;
    const char *safetensors; /* NULL: it has no such type */
} type_names[RIDGE_DTYPES] = {
    [RIDGE_F32] = {0, "F32"},    [RIDGE_F16] = {1, "F16"},        [RIDGE_BF16] = {30, "BF16"},
    [RIDGE_I32] = {26, "I32"},   [RIDGE_U8] = {UINT32_MAX, "U8"}, [RIDGE_Q8_0] = {8, NULL},
    [RIDGE_Q4_K] = {12, NULL},   [RIDGE_Q4_0] = {2, NULL},        [RIDGE_Q4_1] = {3, NULL},
    [RIDGE_Q5_0] = {6, NULL},    [RIDGE_Q5_1] = {7, NULL},        [RIDGE_Q2_K] = {10, NULL},
    [RIDGE_Q3_K] = {11, NULL},   [RIDGE_Q5_K] = {13, NULL},       [RIDGE_Q6_K] = {14, NULL},
    [RIDGE_IQ4_XS] = {23, NULL},
};

struct written {
    char *name;
    enum ridge_dtype dtype;
    struct view view;
    void *data;
    size_t bytes;
};

struct writer {
    char *path;
    bool safetensors;
    struct buffer values; /* GGUF: encoded; safetensors: members of an object */
    uint64_t value_count;
    struct written *tensors;
    size_t count, capacity;
    struct arena names;
};

static struct slab writers = SLAB(struct writer, 0);

static struct writer *writer_of(const char *name, const ridge_weights_writer *handle) {
    struct writer *writer = slab_find(&writers, handle);
    if (!writer)
        handle ? tensor_released(name, "writer") : tensor_null(name, "writer");
    return writer;
}

static char *copied(struct arena *arena, const char *text, struct status *status) {
    size_t length = strlen(text) + 1;
    char *copy = arena_allocate(arena, length, status);
    return copy ? memcpy(copy, text, length) : NULL;
}

static void destroy(struct writer *writer) {
    for (size_t i = 0; i < writer->count; i++)
        memory_free(writer->tensors[i].data);
    memory_free(writer->tensors);
    buffer_finish(&writer->values);
    arena_finish(&writer->names);
    slab_free(&writers, writer);
}

ridge_weights_writer *ridge_weights_create(const char *path) {
    struct status *status = tensor_status();
    if (!path) {
        tensor_null("ridge_weights_create", "path");
        return NULL;
    }
    struct writer *writer = slab_allocate(&writers, status);
    if (!writer)
        return NULL;
    size_t length = strlen(path), ending = strlen(".safetensors");
    *writer = (struct writer){.safetensors = length >= ending &&
                                             strcmp(path + length - ending, ".safetensors") == 0};
    writer->path = copied(&writer->names, path, status);
    if (!writer->path || !output_check(path, true, status)) {
        destroy(writer);
        status_context(status, "ridge_weights_create");
        return NULL;
    }
    return slab_handle(&writers, writer);
}

void ridge_weights_abandon(ridge_weights_writer *handle) {
    struct writer *writer = handle ? writer_of("ridge_weights_abandon", handle) : NULL;
    if (writer)
        destroy(writer);
}

/* ---- Values ----------------------------------------------------------------------------- */

static void append_text(struct buffer *out, const char *text) {
    uint64_t length = strlen(text);
    buffer_append(out, &length, sizeof length);
    buffer_append(out, text, (size_t)length);
}

/* The key and the type of a value, for which the caller appends the bytes. */
static struct buffer *begin_value(const char *name, ridge_weights_writer *handle, const char *key,
                                  uint32_t type) {
    struct writer *writer = writer_of(name, handle);
    if (!writer)
        return NULL;
    if (!key || !*key) {
        tensor_null(name, "key");
        return NULL;
    }
    if (writer->safetensors) {
        status_fail(tensor_status(), STATUS_UNSUPPORTED,
                    "%s: safetensors have only text as metadata", name);
        return NULL;
    }
    append_text(&writer->values, key);
    buffer_append(&writer->values, &type, sizeof type);
    writer->value_count++;
    return &writer->values;
}

static bool end_value(const struct buffer *out) {
    return out && buffer_ok(out, tensor_status());
}

bool ridge_weights_put_text(ridge_weights_writer *handle, const char *key, const char *value) {
    struct writer *writer = writer_of("ridge_weights_put_text", handle);
    if (!writer)
        return false;
    if (!key || !*key || !value)
        return tensor_null("ridge_weights_put_text", key && *key ? "value" : "key");
    if (writer->safetensors) {
        struct output output = output_into(&writer->values);
        struct json json = {.output = &output};
        buffer_string(&writer->values, writer->value_count++ ? "," : "");
        json_string(&json, key);
        buffer_string(&writer->values, ":");
        json = (struct json){.output = &output};
        json_string(&json, value);
        return end_value(&writer->values);
    }
    struct buffer *out = begin_value("ridge_weights_put_text", handle, key, GGUF_TEXT);
    if (out)
        append_text(out, value);
    return end_value(out);
}

bool ridge_weights_put_integer(ridge_weights_writer *handle, const char *key, int64_t value) {
    /* Readers of GGUF expect sizes as 32 bits wherever they fit. */
    bool fits = value >= INT32_MIN && value <= INT32_MAX;
    int32_t narrow = (int32_t)value;
    uint32_t type = !fits ? GGUF_I64 : value >= 0 ? 4 : GGUF_I32;
    struct buffer *out = begin_value("ridge_weights_put_integer", handle, key, type);
    if (out)
        buffer_append(out, fits ? (const void *)&narrow : &value, fits ? 4 : 8);
    return end_value(out);
}

bool ridge_weights_put_number(ridge_weights_writer *handle, const char *key, double value) {
    float narrow = (float)value;
    struct buffer *out = begin_value("ridge_weights_put_number", handle, key, GGUF_F32);
    if (out)
        buffer_append(out, &narrow, sizeof narrow);
    return end_value(out);
}

static struct buffer *begin_array(const char *name, ridge_weights_writer *handle, const char *key,
                                  const void *values, size_t count, uint32_t type) {
    if (!values && count > 0) {
        tensor_null(name, "array of values");
        return NULL;
    }
    struct buffer *out = begin_value(name, handle, key, GGUF_ARRAY);
    uint64_t length = count;
    if (out) {
        buffer_append(out, &type, sizeof type);
        buffer_append(out, &length, sizeof length);
    }
    return out;
}

bool ridge_weights_put_texts(ridge_weights_writer *handle, const char *key,
                             const char *const *values, size_t count) {
    for (size_t i = 0; values && i < count; i++)
        if (!values[i])
            return tensor_null("ridge_weights_put_texts", "value");
    struct buffer *out =
        begin_array("ridge_weights_put_texts", handle, key, values, count, GGUF_TEXT);
    for (size_t i = 0; out && i < count; i++)
        append_text(out, values[i]);
    return end_value(out);
}

bool ridge_weights_put_numbers(ridge_weights_writer *handle, const char *key, const float *values,
                               size_t count) {
    struct buffer *out =
        begin_array("ridge_weights_put_numbers", handle, key, values, count, GGUF_F32);
    if (out && count)
        buffer_append(out, values, count * sizeof *values);
    return end_value(out);
}

bool ridge_weights_put_integers(ridge_weights_writer *handle, const char *key,
                                const int32_t *values, size_t count) {
    struct buffer *out =
        begin_array("ridge_weights_put_integers", handle, key, values, count, GGUF_I32);
    if (out && count)
        buffer_append(out, values, count * sizeof *values);
    return end_value(out);
}

/* ---- Tensors ---------------------------------------------------------------------------- */

static bool check_tensor(const struct writer *writer, const char *name, const struct tensor *x,
                         struct status *status) {
    bool known = writer->safetensors ? type_names[x->dtype].safetensors != NULL
                                     : type_names[x->dtype].gguf != UINT32_MAX;
    if (!known)
        return status_fail(status, STATUS_UNSUPPORTED, "%s has no tensors of type %s: \"%s\"",
                           writer->safetensors ? "safetensors" : "GGUF", ridge_dtype_name(x->dtype),
                           name);
    if (!writer->safetensors && x->view.rank > 4)
        return status_fail(status, STATUS_UNSUPPORTED, "GGUF has at most 4 axes, \"%s\" has %u",
                           name, x->view.rank);
    for (size_t i = 0; i < writer->count; i++)
        if (strcmp(writer->tensors[i].name, name) == 0)
            return status_fail(status, STATUS_USAGE, "there is already a tensor \"%s\"", name);
    return true;
}

static bool put(struct writer *writer, const char *name, ridge_tensor *handle,
                struct status *status) {
    const struct tensor *x = tensor_of("ridge_weights_put", handle);
    if (!x || !check_tensor(writer, name, x, status) ||
        !GROW(writer->tensors, &writer->capacity, writer->count + 1, status))
        return false;
    struct written written = {.name = copied(&writer->names, name, status),
                              .dtype = x->dtype,
                              .view = x->view,
                              .bytes = tensor_bytes(x)};
    written.data = memory_allocate(written.bytes + 1, 1, status);
    if (!written.name || !written.data || !ridge_to_host(handle, written.data, written.bytes)) {
        memory_free(written.data);
        return false;
    }
    writer->tensors[writer->count++] = written;
    return true;
}

bool ridge_weights_put(ridge_weights_writer *handle, const char *name, ridge_tensor *tensor) {
    struct writer *writer = writer_of("ridge_weights_put", handle);
    if (!writer)
        return false;
    if (!name || !*name)
        return tensor_null("ridge_weights_put", "name");
    return put(writer, name, tensor, tensor_status()) ||
           status_context(tensor_status(), "ridge_weights_put");
}

/* ---- The file --------------------------------------------------------------------------- */

static uint64_t aligned(uint64_t at) {
    return (at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void gguf_header(const struct writer *writer, struct buffer *out) {
    uint32_t version = GGUF_VERSION;
    uint64_t count = writer->count, offset = 0;
    buffer_append(out, "GGUF", 4);
    buffer_append(out, &version, sizeof version);
    buffer_append(out, &count, sizeof count);
    buffer_append(out, &writer->value_count, sizeof writer->value_count);
    if (writer->values.length)
        buffer_append(out, writer->values.data, writer->values.length);
    for (size_t i = 0; i < writer->count; i++) {
        const struct written *tensor = &writer->tensors[i];
        uint32_t rank = tensor->view.rank;
        append_text(out, tensor->name);
        buffer_append(out, &rank, sizeof rank);
        for (unsigned axis = rank; axis-- > 0;)
            buffer_append(out, &tensor->view.sizes[axis], sizeof tensor->view.sizes[axis]);
        buffer_append(out, &type_names[tensor->dtype].gguf, sizeof(uint32_t));
        buffer_append(out, &offset, sizeof offset);
        offset = aligned(offset + tensor->bytes);
    }
    while (out->length % ALIGNMENT && !out->failed)
        buffer_append(out, "", 1);
}

static void safetensors_header(const struct writer *writer, struct buffer *out) {
    struct buffer text = {0};
    struct output output = output_into(&text);
    uint64_t offset = 0;
    buffer_string(&text, "{\"__metadata__\":{");
    if (writer->values.length)
        buffer_append(&text, writer->values.data, writer->values.length);
    buffer_string(&text, "}");
    for (size_t i = 0; i < writer->count; i++) {
        const struct written *tensor = &writer->tensors[i];
        struct json json = {.output = &output};
        buffer_string(&text, ",");
        json_string(&json, tensor->name);
        buffer_printf(&text, ":{\"dtype\":\"%s\",\"shape\":[",
                      type_names[tensor->dtype].safetensors);
        for (unsigned axis = 0; axis < tensor->view.rank; axis++)
            buffer_printf(&text, "%s%lld", axis ? "," : "", (long long)tensor->view.sizes[axis]);
        buffer_printf(&text, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)offset,
                      (unsigned long long)(offset + tensor->bytes));
        offset += tensor->bytes;
    }
    buffer_string(&text, "}");
    while (text.length % 8 && !text.failed)
        buffer_string(&text, " ");
    uint64_t length = text.length;
    buffer_append(out, &length, sizeof length);
    buffer_append(out, text.data, text.length);
    out->failed = out->failed || text.failed;
    buffer_finish(&text);
}

static bool write_file(const struct writer *writer, struct status *status) {
    struct buffer header = {0};
    struct output output;
    if (writer->safetensors)
        safetensors_header(writer, &header);
    else
        gguf_header(writer, &header);
    bool ok = buffer_ok(&header, status) && output_open(&output, writer->path, true, status);
    if (ok) {
        static const char zeros[ALIGNMENT];
        output_write(&output, header.data, header.length);
        for (size_t i = 0; i < writer->count; i++) {
            size_t bytes = writer->tensors[i].bytes;
            output_write(&output, writer->tensors[i].data, bytes);
            if (!writer->safetensors)
                output_write(&output, zeros, (size_t)(aligned(bytes) - bytes));
        }
        ok = output_commit(&output, status);
    }
    buffer_finish(&header);
    return ok;
}

bool ridge_weights_finish(ridge_weights_writer *handle) {
    struct writer *writer = writer_of("ridge_weights_finish", handle);
    if (!writer)
        return false;
    bool ok =
        (buffer_ok(&writer->values, tensor_status()) && write_file(writer, tensor_status())) ||
        status_context(tensor_status(), "ridge_weights_finish");
    destroy(writer);
    return ok;
}
