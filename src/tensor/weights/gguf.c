/* GGUF, the format of llama.cpp: a header of key-value pairs and tensor descriptions, then the data
 * at offsets that are multiples of an alignment which one of the keys may set.
 *
 * Every length is checked against the rest of the file before it is used, and a list grows only
 * as its elements are read, so a wrong count costs nothing.
 */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "tensor/weights/file.h"

enum { ALIGNMENT_DEFAULT = 32, NAME_MAX_LENGTH = 4096 };

/* The types of values. */
enum {
    VALUE_U8,
    VALUE_I8,
    VALUE_U16,
    VALUE_I16,
    VALUE_U32,
    VALUE_I32,
    VALUE_F32,
    VALUE_BOOL,
    VALUE_TEXT,
    VALUE_ARRAY,
    VALUE_U64,
    VALUE_I64,
    VALUE_F64,
    VALUE_TYPES
};
static const unsigned char value_bytes[VALUE_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/* The types of tensors, by their number in the file. */
struct tensor_type {
    const char *name;
    enum ridge_dtype dtype;
    unsigned block, block_bytes; /* of those that ridge has */
};
#define NAMED(word)                                                                                \
    { word, RIDGE_DTYPES, 0, 0 }
static const struct tensor_type tensor_types[] = {
    [0] = {"F32", RIDGE_F32, 1, 4},
    [1] = {"F16", RIDGE_F16, 1, 2},
    [2] = {"Q4_0", RIDGE_Q4_0, 32, 18},
    [3] = {"Q4_1", RIDGE_Q4_1, 32, 20},
    [6] = {"Q5_0", RIDGE_Q5_0, 32, 22},
    [7] = {"Q5_1", RIDGE_Q5_1, 32, 24},
    [8] = {"Q8_0", RIDGE_Q8_0, 32, 34},
    [9] = NAMED("Q8_1"),
    [10] = {"Q2_K", RIDGE_Q2_K, 256, 84},
    [11] = {"Q3_K", RIDGE_Q3_K, 256, 110},
    [12] = {"Q4_K", RIDGE_Q4_K, 256, 144},
    [13] = {"Q5_K", RIDGE_Q5_K, 256, 176},
    [14] = {"Q6_K", RIDGE_Q6_K, 256, 210},
    [15] = NAMED("Q8_K"),
    [16] = NAMED("IQ2_XXS"),
    [17] = NAMED("IQ2_XS"),
    [18] = NAMED("IQ3_XXS"),
    [19] = NAMED("IQ1_S"),
    [20] = NAMED("IQ4_NL"),
    [21] = NAMED("IQ3_S"),
    [22] = NAMED("IQ2_S"),
    [23] = {"IQ4_XS", RIDGE_IQ4_XS, 256, 136},
    [24] = NAMED("I8"),
    [25] = NAMED("I16"),
    [26] = {"I32", RIDGE_I32, 1, 4},
    [27] = NAMED("I64"),
    [28] = NAMED("F64"),
    [29] = NAMED("IQ1_M"),
    [30] = {"BF16", RIDGE_BF16, 1, 2},
    [34] = NAMED("TQ1_0"),
    [35] = NAMED("TQ2_0"),
    [39] = NAMED("MXFP4"),
};

struct cursor {
    struct weights *weights;
    const unsigned char *bytes;
    size_t at;
};

/* Whether `size` more bytes are available. */
static bool has(const struct cursor *cursor, uint64_t size, const char *what,
                struct status *status) {
    uint64_t end;
    if (!__builtin_add_overflow((uint64_t)cursor->at, size, &end) &&
        weights_need(cursor->weights, end))
        return true;
    return status_fail(status, STATUS_INPUT, "the file ends in %s, at byte %zu", what, cursor->at);
}

static bool take(struct cursor *cursor, void *value, size_t size, const char *what,
                 struct status *status) {
    if (!has(cursor, size, what, status))
        return false;
    memcpy(value, cursor->bytes + cursor->at, size);
    cursor->at += size;
    return true;
}

static bool skip(struct cursor *cursor, uint64_t count, size_t size, const char *what,
                 struct status *status) {
    uint64_t total;
    if (__builtin_mul_overflow(count, (uint64_t)size, &total))
        total = UINT64_MAX;
    if (!has(cursor, total, what, status))
        return false;
    cursor->at += (size_t)total;
    return true;
}

static bool take_text(struct cursor *cursor, struct text *text, const char *what,
                      struct status *status) {
    uint64_t length;
    if (!take(cursor, &length, sizeof length, what, status))
        return false;
    const char *start = (const char *)cursor->bytes + cursor->at;
    if (!skip(cursor, length, 1, what, status))
        return false;
    *text = (struct text){start, (size_t)length};
    return true;
}

static bool take_name(struct cursor *cursor, struct text *name, const char *what,
                      struct status *status) {
    if (!take_text(cursor, name, what, status))
        return false;
    if (name->length == 0 || name->length > NAME_MAX_LENGTH ||
        text_utf8_valid(*name) != name->length || memchr(name->data, 0, name->length))
        return status_fail(status, STATUS_INPUT, "%s before byte %zu is damaged", what, cursor->at);
    return true;
}

static bool take_number(struct cursor *cursor, uint32_t type, struct metadata *value,
                        struct status *status) {
    union {
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        int32_t i32;
        uint64_t u64;
        int64_t i64;
        float f32;
        double f64;
    } raw = {0};
    if (!take(cursor, &raw, value_bytes[type], "a value", status))
        return false;
    value->kind = type == VALUE_F32 || type == VALUE_F64 ? METADATA_NUMBER : METADATA_INTEGER;
    switch (type) {
    case VALUE_I8:
        value->integer = raw.i8;
        break;
    case VALUE_U16:
        value->integer = raw.u16;
        break;
    case VALUE_I16:
        value->integer = raw.i16;
        break;
    case VALUE_U32:
        value->integer = raw.u32;
        break;
    case VALUE_I32:
        value->integer = raw.i32;
        break;
    case VALUE_I64:
        value->integer = raw.i64;
        break;
    case VALUE_U64:
        value->integer = raw.u64 > INT64_MAX ? INT64_MAX : (int64_t)raw.u64;
        break;
    case VALUE_F32:
        value->number = (double)raw.f32;
        break;
    case VALUE_F64:
        value->number = raw.f64;
        break;
    default:
        value->integer = raw.u8;
        break;
    }
    return true;
}

/* An element takes at least this many bytes of the file, so the memory is bounded by its length. */
static uint64_t least_bytes(uint32_t type) {
    return type == VALUE_TEXT ? sizeof(uint64_t) : value_bytes[type];
}

static bool take_elements(struct weights *weights, struct cursor *cursor, uint32_t type,
                          struct metadata *value, struct status *status) {
    for (size_t i = 0; i < value->count; i++) {
        struct metadata element = {.kind = METADATA_TEXT};
        bool ok = type == VALUE_TEXT
                      ? take_text(cursor, &value->texts[i], "an array of strings", status)
                      : take_number(cursor, type, &element, status);
        if (!ok)
            return false;
        if (type != VALUE_TEXT)
            value->numbers[i] =
                element.kind == METADATA_NUMBER ? element.number : (double)element.integer;
    }
    return weights_add_metadata(weights, value, status);
}

static bool take_array(struct weights *weights, struct cursor *cursor, struct metadata *value,
                       struct status *status) {
    uint32_t type;
    uint64_t count, bytes;
    if (!take(cursor, &type, sizeof type, "an array", status) ||
        !take(cursor, &count, sizeof count, "an array", status))
        return false;
    if (type >= VALUE_TYPES)
        return status_fail(status, STATUS_INPUT, "an array has elements of unknown type %u", type);
    if (type == VALUE_ARRAY)
        return status_fail(status, STATUS_UNSUPPORTED, "an array contains arrays");
    if (__builtin_mul_overflow(count, least_bytes(type), &bytes))
        bytes = UINT64_MAX;
    if (!has(cursor, bytes, "an array", status))
        return false;
    value->kind = METADATA_ARRAY;
    value->count = (size_t)count;
    if (type == VALUE_TEXT)
        value->texts =
            arena_allocate(&weights->names, ((size_t)count + 1) * sizeof *value->texts, status);
    else
        value->numbers =
            arena_allocate(&weights->names, ((size_t)count + 1) * sizeof *value->numbers, status);
    return (value->texts || value->numbers) && take_elements(weights, cursor, type, value, status);
}

static bool take_metadata(struct weights *weights, struct cursor *cursor, struct status *status) {
    struct metadata value = {.kind = METADATA_TEXT};
    uint32_t type;
    if (!take_name(cursor, &value.key, "a key", status) ||
        !take(cursor, &type, sizeof type, "a value", status))
        return false;
    if (type >= VALUE_TYPES)
        return status_fail(status, STATUS_INPUT, "the value of \"%.*s\" has unknown type %u",
                           TEXT_ARGS(value.key), type);
    if (type == VALUE_ARRAY)
        return take_array(weights, cursor, &value, status) ||
               status_context(status, "\"%.*s\"", TEXT_ARGS(value.key));
    bool ok = type == VALUE_TEXT ? take_text(cursor, &value.text, "a value", status)
                                 : take_number(cursor, type, &value, status);
    return ok && weights_add_metadata(weights, &value, status);
}

/* The file lists the fastest-varying size first. */
static bool take_sizes(struct cursor *cursor, struct weights_tensor *tensor,
                       struct status *status) {
    uint32_t rank;
    if (!take(cursor, &rank, sizeof rank, "a tensor's description", status))
        return false;
    if (rank > RIDGE_RANK_MAX)
        return status_fail(status, STATUS_INPUT, "it has %u axes; the maximum is %d", rank,
                           RIDGE_RANK_MAX);
    tensor->rank = rank;
    for (uint32_t i = 0; i < rank; i++) {
        uint64_t size;
        if (!take(cursor, &size, sizeof size, "a tensor's sizes", status))
            return false;
        if (size > INT64_MAX)
            return status_fail(status, STATUS_INPUT, "its sizes are too large");
        tensor->sizes[rank - 1 - i] = (int64_t)size;
    }
    return true;
}

static bool set_type(struct weights_tensor *tensor, uint32_t number, struct status *status) {
    const struct tensor_type *type = number < ARRAY_COUNT(tensor_types) && tensor_types[number].name
                                         ? &tensor_types[number]
                                         : &(struct tensor_type){NULL, RIDGE_DTYPES, 0, 0};
    if (type->name)
        snprintf(tensor->type, sizeof tensor->type, "%s", type->name);
    else
        snprintf(tensor->type, sizeof tensor->type, "type %u", number);
    tensor->dtype = type->dtype;
    uint64_t count, total;
    if (!weights_elements(tensor, &count))
        return status_fail(status, STATUS_INPUT, "its sizes are too large");
    if (type->dtype == RIDGE_DTYPES)
        return true;
    int64_t last = tensor->rank > 0 ? tensor->sizes[tensor->rank - 1] : 1;
    if (last % type->block != 0)
        return status_fail(status, STATUS_INPUT, "rows of %lld are not whole blocks of %s",
                           (long long)last, type->name);
    if (__builtin_mul_overflow(count / type->block, (uint64_t)type->block_bytes, &total) ||
        total > SIZE_MAX)
        return status_fail(status, STATUS_INPUT, "its sizes are too large");
    tensor->bytes = (size_t)total;
    return true;
}

/* The offset is from the end of the header. */
static bool take_tensor(struct weights *weights, struct cursor *cursor, uint64_t *offset,
                        struct status *status) {
    struct weights_tensor tensor = {.dtype = RIDGE_DTYPES};
    uint32_t type;
    if (!take_name(cursor, &tensor.name, "a tensor's name", status))
        return false;
    if (!take_sizes(cursor, &tensor, status) ||
        !take(cursor, &type, sizeof type, "a tensor's type", status) ||
        !take(cursor, offset, sizeof *offset, "a tensor's offset", status) ||
        !set_type(&tensor, type, status))
        return status_context(status, "tensor \"%.*s\"", TEXT_ARGS(tensor.name));
    return weights_add(weights, &tensor, status);
}

static bool place(const struct weights *weights, struct weights_tensor *tensor, uint64_t start,
                  uint64_t offset, uint64_t alignment, struct status *status) {
    if (offset % alignment != 0)
        return status_fail(status, STATUS_INPUT,
                           "tensor \"%.*s\" is not at a multiple of the file's alignment",
                           TEXT_ARGS(tensor->name));
    uint64_t space = weights->length - start;
    if (offset > space || tensor->bytes > space - offset)
        return status_fail(status, STATUS_INPUT,
                           "the data of tensor \"%.*s\" extends beyond the end of the file",
                           TEXT_ARGS(tensor->name));
    tensor->offset = start + offset;
    return true;
}

static bool read_tensors(struct weights *weights, struct cursor *cursor, uint64_t count,
                         struct status *status) {
    int64_t alignment = ALIGNMENT_DEFAULT;
    weights_integer(weights, "general.alignment", &alignment);
    if (alignment <= 0 || alignment > 1 << 20 || (alignment & (alignment - 1)) != 0)
        return status_fail(status, STATUS_INPUT, "an alignment of %lld bytes is not valid",
                           (long long)alignment);
    uint64_t *offsets = NULL;
    size_t capacity = 0;
    bool ok = true;
    for (uint64_t i = 0; ok && i < count; i++)
        ok = GROW(offsets, &capacity, (size_t)i + 1, status) &&
             take_tensor(weights, cursor, &offsets[i], status);
    size_t padding = (size_t)alignment - 1;
    uint64_t start = cursor->at + (-cursor->at & padding);
    if (start > weights->length)
        start = weights->length;
    for (size_t i = 0; ok && i < weights->count; i++)
        ok = place(weights, &weights->tensors[i], start, offsets[i], (uint64_t)alignment, status);
    memory_free(offsets);
    return ok;
}

bool gguf_detect(const unsigned char *bytes, size_t length) {
    return length >= 4 && memcmp(bytes, "GGUF", 4) == 0;
}

bool gguf_read(struct weights *weights, struct status *status) {
    struct cursor cursor = {weights, weights->bytes, 4};
    uint32_t version;
    uint64_t tensors, values;
    if (!take(&cursor, &version, sizeof version, "the header", status))
        return false;
    if (version == 2u << 24 || version == 3u << 24)
        return status_fail(status, STATUS_UNSUPPORTED, "a big-endian GGUF file");
    if (version != 2 && version != 3)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "GGUF version %u is not supported; ridge reads 2 and 3", version);
    if (!take(&cursor, &tensors, sizeof tensors, "the header", status) ||
        !take(&cursor, &values, sizeof values, "the header", status))
        return false;
    for (uint64_t i = 0; i < values; i++)
        if (!take_metadata(weights, &cursor, status))
            return false;
    return read_tensors(weights, &cursor, tensors, status);
}
