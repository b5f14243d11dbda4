/* Protobuf in a growing buffer. A message's length stands in front of it and is not known until its
 * end: one byte is kept free, and the rare message that needs more is moved up. */
#include "base/protobuf_write.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, VARINT_MAX = 10 };

static size_t encode_varint(uint64_t value, unsigned char bytes[VARINT_MAX]) {
    size_t length = 0;
    do {
        bytes[length++] = (unsigned char)(value & 0x7F) | (value > 0x7F ? 0x80 : 0);
        value >>= 7;
    } while (value);
    return length;
}

static void put_varint(struct buffer *bytes, uint64_t value) {
    unsigned char encoded[VARINT_MAX];
    buffer_append(bytes, encoded, encode_varint(value, encoded));
}

static void put_tag(struct buffer *bytes, uint32_t field, unsigned wire) {
    put_varint(bytes, (uint64_t)field << 3 | wire);
}

void protobuf_put_integer(struct buffer *bytes, uint32_t field, uint64_t value) {
    put_tag(bytes, field, WIRE_VARINT);
    put_varint(bytes, value);
}

void protobuf_put_fixed64(struct buffer *bytes, uint32_t field, uint64_t value) {
    unsigned char little[8];
    put_tag(bytes, field, WIRE_FIXED64);
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
    put_tag(bytes, field, WIRE_BYTES);
    put_varint(bytes, value.length);
    buffer_text(bytes, value);
}

size_t protobuf_begin(struct buffer *bytes, uint32_t field) {
    put_tag(bytes, field, WIRE_BYTES);
    buffer_byte(bytes, 0);
    return bytes->length;
}

void protobuf_end(struct buffer *bytes, size_t begun) {
    if (bytes->failed)
        return;
    unsigned char encoded[VARINT_MAX];
    size_t length = bytes->length - begun, size = encode_varint(length, encoded);
    if (size > 1) {
        buffer_append(bytes, encoded, size - 1); /* makes room; overwritten by the move */
        if (bytes->failed)
            return;
        memmove(bytes->data + begun + size - 1, bytes->data + begun, length);
    }
    memcpy(bytes->data + begun - 1, encoded, size);
}
