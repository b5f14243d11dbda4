/* Files of weights made by tests: GGUF and safetensors from a list of tensors. */
#include "made_weights.h"

#include <stdio.h>

#include "../test.h"
#include "base/output.h"

enum { ALIGNMENT = 32, GGUF_U32 = 4, GGUF_TEXT = 8 };

static void put_u32(struct buffer *file, uint32_t value) {
    buffer_append(file, &value, sizeof value);
}

static void put_u64(struct buffer *file, uint64_t value) {
    buffer_append(file, &value, sizeof value);
}

static void put_text(struct buffer *file, const char *text) {
    put_u64(file, strlen(text));
    buffer_string(file, text);
}

static size_t padded(size_t length) {
    return (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void pad(struct buffer *file) {
    while (file->length % ALIGNMENT != 0)
        buffer_byte(file, 0);
}

void made_gguf(struct buffer *file, const struct made_tensor *tensors, size_t count,
               const struct made_pair *pairs, size_t pair_count) {
    size_t offset = 0;
    buffer_string(file, "GGUF");
    put_u32(file, 3);
    put_u64(file, count);
    put_u64(file, pair_count);
    for (size_t i = 0; i < pair_count; i++) {
        put_text(file, pairs[i].key);
        put_u32(file, pairs[i].text ? GGUF_TEXT : GGUF_U32);
        if (pairs[i].text)
            put_text(file, pairs[i].text);
        else
            put_u32(file, pairs[i].integer);
    }
    for (size_t i = 0; i < count; i++) {
        put_text(file, tensors[i].name);
        put_u32(file, tensors[i].rank);
        for (unsigned axis = tensors[i].rank; axis-- > 0;)
            put_u64(file, (uint64_t)tensors[i].sizes[axis]);
        put_u32(file, tensors[i].number);
        put_u64(file, offset);
        offset += padded(tensors[i].bytes);
    }
    pad(file);
    for (size_t i = 0; i < count; i++) {
        buffer_append(file, tensors[i].data, tensors[i].bytes);
        pad(file);
    }
}

void made_safetensors(struct buffer *file, const struct made_tensor *tensors, size_t count) {
    struct buffer header = {0};
    size_t offset = 0;
    buffer_string(&header, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (size_t i = 0; i < count; i++) {
        buffer_printf(&header, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[", tensors[i].name,
                      tensors[i].type);
        for (unsigned axis = 0; axis < tensors[i].rank; axis++)
            buffer_printf(&header, "%s%lld", axis ? "," : "", (long long)tensors[i].sizes[axis]);
        buffer_printf(&header, "],\"data_offsets\":[%zu,%zu]}", offset, offset + tensors[i].bytes);
        offset += tensors[i].bytes;
    }
    buffer_byte(&header, '}');
    put_u64(file, header.length);
    buffer_text(file, buffer_as_text(&header));
    for (size_t i = 0; i < count; i++)
        buffer_append(file, tensors[i].data, tensors[i].bytes);
    buffer_finish(&header);
}

const char *made_file(const struct buffer *file, const char *suffix) {
    const char *path = test_temporary(suffix);
    struct output output;
    struct status status;
    CHECK_OK(output_open(&output, path, true, &status), status);
    output_write(&output, file->data, file->length);
    CHECK_OK(output_commit(&output, &status), status);
    return path;
}
