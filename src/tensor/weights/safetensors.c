/* safetensors: eight bytes with the length of a JSON header, the header, then the data.
 *
 * The header is one object: a member for each tensor with its type, shape and place in the data,
 * and perhaps "__metadata__", an object of strings.
 */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/json_read.h"
#include "tensor/weights/file.h"

enum { LENGTH_BYTES = 8, HEADER_MAX = 100 << 20 };

static const struct {
    const char *name;
    enum ridge_dtype dtype;
    unsigned bytes;
} types[] = {
    {"F32", RIDGE_F32, 4}, {"F16", RIDGE_F16, 2}, {"BF16", RIDGE_BF16, 2},
    {"I32", RIDGE_I32, 4}, {"U8", RIDGE_U8, 1},
};

static bool header_length(const unsigned char *bytes, size_t length, uint64_t *header) {
    if (length < LENGTH_BYTES)
        return false;
    memcpy(header, bytes, LENGTH_BYTES);
    return true;
}

bool safetensors_detect(const unsigned char *bytes, size_t length) {
    uint64_t header;
    return header_length(bytes, length, &header) && header > 1 && length > LENGTH_BYTES &&
           bytes[LENGTH_BYTES] == '{';
}

/* The text of a string; one with escapes gets a copy without them. */
static bool plain_text(struct weights *weights, const struct scan_string *string, struct text *text,
                       struct status *status) {
    struct buffer decoded = {0};
    if (string->escaped)
        scan_decode(string->raw, &decoded);
    else
        buffer_text(&decoded, string->raw);
    bool ok = buffer_ok(&decoded, status);
    char *copy = ok ? arena_allocate(&weights->names, decoded.length + 1, status) : NULL;
    if (copy) {
        memcpy(copy, buffer_as_text(&decoded).data, decoded.length);
        *text = (struct text){copy, decoded.length};
    }
    buffer_finish(&decoded);
    return copy != NULL;
}

/* A list of at most `capacity` non-negative integers; NULL if it is not one. */
static const char *read_integers(struct scan *scan, const char *at, int64_t *values,
                                 unsigned capacity, unsigned *count) {
    *count = 0;
    if (*at != '[')
        return scan_fail(scan, at, "expected a list");
    at = scan_space(at + 1);
    while (*at != ']') {
        bool is_number;
        if (*count == capacity)
            return scan_fail(scan, at, "the list is too long");
        if (!(at = scan_integer(scan, at, &values[*count], &is_number)))
            return NULL;
        if (!is_number || values[(*count)++] < 0)
            return scan_fail(scan, at, "expected an integer that is not negative");
        at = scan_space(at);
        if (*at == ',')
            at = scan_space(at + 1);
        else if (*at != ']')
            return scan_fail(scan, at, "expected a comma or a closing bracket");
    }
    return at + 1;
}

struct description {
    struct scan_string type;
    int64_t offsets[2];
    bool has_type, has_shape, has_offsets;
};

/* An object that is in the window as a whole. */
static const char *read_description(struct scan *scan, const char *at,
                                    struct description *description,
                                    struct weights_tensor *tensor) {
    bool closed;
    unsigned count;
    if (*at != '{')
        return scan_fail(scan, at, "expected an object");
    at = scan_first_member(at, &closed);
    while (!closed) {
        struct text key;
        if (!(at = scan_key(scan, at, &key)))
            return NULL;
        if (text_is(key, "dtype")) {
            at = scan_string(scan, at, &description->type);
            description->has_type = at != NULL;
        } else if (text_is(key, "shape")) {
            at = read_integers(scan, at, tensor->sizes, RIDGE_RANK_MAX, &tensor->rank);
            description->has_shape = at != NULL;
        } else if (text_is(key, "data_offsets")) {
            at = read_integers(scan, at, description->offsets, 2, &count);
            description->has_offsets = at != NULL && count == 2;
        } else {
            at = scan_skip(scan, at);
        }
        if (!at || !(at = scan_next_member(scan, at, &closed)))
            return NULL;
    }
    return at;
}

static bool place(const struct weights *weights, const struct description *description,
                  size_t start, struct weights_tensor *tensor, struct status *status) {
    uint64_t space = weights->length - start;
    uint64_t begin = (uint64_t)description->offsets[0], end = (uint64_t)description->offsets[1];
    uint64_t count, bytes;
    snprintf(tensor->type, sizeof tensor->type, "%.*s", TEXT_ARGS(description->type.raw));
    if (begin > end || end > space)
        return status_fail(status, STATUS_INPUT, "its data extends beyond the end of the file");
    if (!weights_elements(tensor, &count))
        return status_fail(status, STATUS_INPUT, "its sizes are too large");
    for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
        if (!text_is(description->type.raw, types[i].name))
            continue;
        if (__builtin_mul_overflow(count, (uint64_t)types[i].bytes, &bytes) || bytes != end - begin)
            return status_fail(status, STATUS_INPUT, "its %llu bytes do not match its shape",
                               (unsigned long long)(end - begin));
        tensor->dtype = types[i].dtype;
        tensor->offset = start + begin;
        tensor->bytes = (size_t)bytes;
    }
    return true;
}

static bool damaged(const struct scan *scan, struct status *status) {
    return status_fail(status, STATUS_INPUT, "%s",
                       scan->error ? scan->error : "its description is damaged");
}

static bool read_tensor(struct weights *weights, struct scan *scan, const struct text *name,
                        size_t start, struct status *status) {
    struct weights_tensor tensor = {.dtype = RIDGE_DTYPES};
    struct description description = {.has_type = false};
    struct scan_string raw_name = {*name, memchr(name->data, '\\', name->length) != NULL};
    if (!plain_text(weights, &raw_name, &tensor.name, status))
        return false;
    bool ok = true;
    if (!read_description(scan, scan->at, &description, &tensor))
        ok = damaged(scan, status);
    else if (!description.has_type || !description.has_shape || !description.has_offsets)
        ok = status_fail(status, STATUS_INPUT, "it lacks a dtype, a shape or data_offsets");
    else
        ok = place(weights, &description, start, &tensor, status);
    if (!ok)
        return status_context(status, "tensor \"%.*s\"", TEXT_ARGS(tensor.name));
    return weights_add(weights, &tensor, status);
}

static bool read_metadata(struct weights *weights, struct scan *scan, struct status *status) {
    const char *at = scan->at;
    bool closed;
    if (*at != '{')
        return status_fail(status, STATUS_INPUT, "__metadata__ is not an object");
    at = scan_first_member(at, &closed);
    while (!closed) {
        struct scan_string key, value;
        struct metadata entry = {.kind = METADATA_TEXT};
        if (!(at = scan_string(scan, at, &key)) || *(at = scan_space(at)) != ':' ||
            !(at = scan_string(scan, scan_space(at + 1), &value)))
            return status_fail(status, STATUS_INPUT,
                               "__metadata__ has values that are not strings");
        if (!plain_text(weights, &key, &entry.key, status) ||
            !plain_text(weights, &value, &entry.text, status) ||
            !weights_add_metadata(weights, &entry, status))
            return false;
        if (!(at = scan_next_member(scan, at, &closed)))
            return status_fail(status, STATUS_INPUT, "__metadata__ is damaged");
    }
    return true;
}

static bool read_header(struct weights *weights, struct scan *scan, size_t start,
                        struct status *status) {
    struct buffer buffer = {0};
    struct text key;
    char byte;
    bool more, ok = scan_peek(scan, &byte, status) && scan_enter(scan, '}', &more, status);
    while (ok && more) {
        const char *after = NULL;
        ok = scan_key_copy(scan, &buffer, &key, status);
        while (ok && !(after = scan_skip(scan, scan->at)))
            ok = scan_more(scan, "the description of a tensor", status);
        ok = ok && (text_is(key, "__metadata__") ? read_metadata(weights, scan, status)
                                                 : read_tensor(weights, scan, &key, start, status));
        if (ok) {
            scan->at = after;
            ok = scan_next(scan, '}', &more, status);
        }
    }
    buffer_finish(&buffer);
    return ok;
}

bool safetensors_read(struct weights *weights, struct status *status) {
    uint64_t length = 0;
    header_length(weights->bytes, weights->available, &length);
    if (length > HEADER_MAX)
        return status_fail(
            status, STATUS_INPUT,
            "neither a GGUF nor a safetensors file: a header of %llu bytes is not valid",
            (unsigned long long)length);
    if (!weights_need(weights, LENGTH_BYTES + length))
        return status_fail(status, STATUS_INPUT, "the file ends in its header");
    struct input input;
    if (!input_open_bytes(&input, weights->bytes + LENGTH_BYTES, (size_t)length, status))
        return false;
    struct scan scan;
    scan_open(&scan, &input);
    bool ok = read_header(weights, &scan, LENGTH_BYTES + (size_t)length, status);
    scan_close(&scan);
    return ok || status_context(status, "the safetensors header");
}
