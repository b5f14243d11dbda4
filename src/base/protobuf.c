/* Reads and writes the protobuf wire format.
 *
 * A message is a sequence of keys (number << 3 | type), each followed by a varint, eight bytes,
 * four bytes, or a length and that many bytes. The reader never looks beyond `end`, stops at the
 * first field that does not fit, and leaves `at` there so that the caller can report where.
 *
 * The length of a nested message precedes it and is not known until its end. The writer reserves
 * one byte for it and moves the rare message whose length needs more.
 */
#include "base/protobuf.h"

#include <string.h>

enum { GROUP_START = 3, GROUP_END = 4, VARINT_BYTES_MAX = 10, KEY_TYPE_BITS = 3 };
#define FIELD_NUMBER_MAX ((1u << 29) - 1)

static bool take_varint(const unsigned char **at, const unsigned char *end, uint64_t *value) {
    const unsigned char *byte = *at;
    uint64_t result = 0;
    for (unsigned count = 0; count < VARINT_BYTES_MAX && byte < end; count++, byte++) {
        if (count == VARINT_BYTES_MAX - 1 && *byte > 1)
            return false;
        result |= (uint64_t)(*byte & 0x7F) << 7 * count;
        if (*byte < 0x80) {
            *value = result;
            *at = byte + 1;
            return true;
        }
    }
    return false;
}

static bool take_fixed(const unsigned char **at, const unsigned char *end, unsigned size,
                       uint64_t *value) {
    if ((size_t)(end - *at) < size)
        return false;
    uint64_t result = 0;
    for (unsigned i = 0; i < size; i++)
        result |= (uint64_t)(*at)[i] << 8 * i;
    *value = result;
    *at += size;
    return true;
}

static bool take_bytes(const unsigned char **at, const unsigned char *end, struct text *bytes) {
    uint64_t length;
    if (!take_varint(at, end, &length) || length > (size_t)(end - *at))
        return false;
    *bytes = (struct text){(const char *)*at, (size_t)length};
    *at += length;
    return true;
}

/* One key and its value. Group marks are returned as they are, without a value. */
static bool take_field(const unsigned char **at, const unsigned char *end,
                       struct protobuf_field *field) {
    uint64_t key;
    if (!take_varint(at, end, &key) || key >> KEY_TYPE_BITS == 0 ||
        key >> KEY_TYPE_BITS > FIELD_NUMBER_MAX)
        return false;
    field->number = (uint32_t)(key >> KEY_TYPE_BITS);
    field->type = (enum protobuf_type)(key & 7);
    field->value = 0;
    field->bytes = TEXT("");
    switch ((unsigned)field->type) {
    case PROTOBUF_VARINT:
        return take_varint(at, end, &field->value);
    case PROTOBUF_FIXED64:
        return take_fixed(at, end, 8, &field->value);
    case PROTOBUF_FIXED32:
        return take_fixed(at, end, 4, &field->value);
    case PROTOBUF_BYTES:
        return take_bytes(at, end, &field->bytes);
    case GROUP_START:
    case GROUP_END:
        return true;
    default:
        return false;
    }
}

bool protobuf_next(struct protobuf *message, struct protobuf_field *field) {
    if (message->damaged)
        return false;
    const unsigned char *at = message->at;
    uint64_t groups_open = 0;
    while (at < message->end) {
        if (!take_field(&at, message->end, field))
            break;
        if ((unsigned)field->type == GROUP_START) {
            groups_open++;
        } else if ((unsigned)field->type == GROUP_END) {
            if (groups_open == 0)
                break;
            groups_open--;
        } else if (groups_open == 0) {
            message->at = at;
            return true;
        }
        if (groups_open == 0)
            message->at = at;
    }
    message->damaged = message->at < message->end;
    return false;
}

bool protobuf_varint(struct protobuf *message, uint64_t *value) {
    if (message->damaged || message->at == message->end)
        return false;
    message->damaged = !take_varint(&message->at, message->end, value);
    return !message->damaged;
}

double protobuf_number(const struct protobuf_field *field) {
    if (field->type == PROTOBUF_FIXED64) {
        double number;
        memcpy(&number, &field->value, sizeof number);
        return number;
    }
    if (field->type == PROTOBUF_FIXED32) {
        float number;
        uint32_t bits = (uint32_t)field->value;
        memcpy(&number, &bits, sizeof number);
        return (double)number;
    }
    return 0;
}

/* ---- Writing ---- */

static size_t encode_varint(uint64_t value, unsigned char bytes[VARINT_BYTES_MAX]) {
    size_t length = 0;
    do {
        bytes[length++] = (unsigned char)(value & 0x7F) | (value > 0x7F ? 0x80 : 0);
        value >>= 7;
    } while (value);
    return length;
}

static void put_varint(struct buffer *bytes, uint64_t value) {
    unsigned char encoded[VARINT_BYTES_MAX];
    buffer_append(bytes, encoded, encode_varint(value, encoded));
}

static void put_tag(struct buffer *bytes, uint32_t field, enum protobuf_type type) {
    put_varint(bytes, (uint64_t)field << KEY_TYPE_BITS | type);
}

void protobuf_put_integer(struct buffer *bytes, uint32_t field, uint64_t value) {
    put_tag(bytes, field, PROTOBUF_VARINT);
    put_varint(bytes, value);
}

void protobuf_put_fixed64(struct buffer *bytes, uint32_t field, uint64_t value) {
    unsigned char little[8];
    put_tag(bytes, field, PROTOBUF_FIXED64);
    for (unsigned i = 0; i < 8; i++)
        little[i] = (unsigned char)(value >> 8 * i);
    buffer_append(bytes, little, sizeof little);
}

void protobuf_put_double(struct buffer *bytes, uint32_t field, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    protobuf_put_fixed64(bytes, field, bits);
}

void protobuf_put_text(struct buffer *bytes, uint32_t field, struct text value) {
    put_tag(bytes, field, PROTOBUF_BYTES);
    put_varint(bytes, value.length);
    buffer_text(bytes, value);
}

size_t protobuf_begin(struct buffer *bytes, uint32_t field) {
    put_tag(bytes, field, PROTOBUF_BYTES);
    buffer_byte(bytes, 0);
    return bytes->length;
}

void protobuf_end(struct buffer *bytes, size_t begun) {
    if (bytes->failed)
        return;
    unsigned char encoded[VARINT_BYTES_MAX];
    size_t length = bytes->length - begun, size = encode_varint(length, encoded);
    if (size > 1) {
        buffer_append(bytes, encoded, size - 1); /* reserves space; overwritten by the move */
        if (bytes->failed)
            return;
        memmove(bytes->data + begun + size - 1, bytes->data + begun, length);
    }
    memcpy(bytes->data + begun - 1, encoded, size);
}
