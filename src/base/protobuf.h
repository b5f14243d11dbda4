/* The protobuf wire format.
 *
 * Reading is in place: nothing is copied or allocated, and every length is checked against the
 * message that holds it.
 *
 *   struct protobuf message = protobuf_of(bytes);
 *   struct protobuf_field field;
 *   while (protobuf_next(&message, &field))
 *       if (field.number == 4 && field.type == PROTOBUF_BYTES)
 *           read_event(protobuf_of(field.bytes));
 *   if (message.damaged) ...
 *
 * A field may carry any wire type whatever its number: compare both, or use the accessors, which
 * give 0 or "" for a field of another type.
 *
 * Writing appends to a buffer. It cannot fail but for memory: check buffer_ok() once.
 *
 *   size_t event = protobuf_begin(&bytes, 11);
 *   protobuf_put_integer(&bytes, 9, 1);
 *   protobuf_put_text(&bytes, 23, name);
 *   protobuf_end(&bytes, event);
 */
#ifndef RIDGE_BASE_PROTOBUF_H
#define RIDGE_BASE_PROTOBUF_H

#include <stdint.h>

#include "base/text.h"

enum protobuf_type {
    PROTOBUF_VARINT = 0,
    PROTOBUF_FIXED64 = 1,
    PROTOBUF_BYTES = 2,
    PROTOBUF_FIXED32 = 5,
};

struct protobuf {
    const unsigned char *at, *end;
    bool damaged; /* `at` is then the start of the bad field */
};

struct protobuf_field {
    uint32_t number;
    enum protobuf_type type;
    uint64_t value;    /* all types but BYTES: the bits on the wire */
    struct text bytes; /* BYTES: points into the message */
};

static inline struct protobuf protobuf_of(struct text bytes) {
    const unsigned char *start = (const unsigned char *)bytes.data;
    return (struct protobuf){.at = start, .end = bytes.length ? start + bytes.length : start};
}

/* The next field; false at the end and on damage. Groups (obsolete) are skipped. */
bool protobuf_next(struct protobuf *message, struct protobuf_field *field);

/* The next bare varint, as in a packed repeated field or before a delimited message. */
bool protobuf_varint(struct protobuf *message, uint64_t *value);

/* An int32, int64, uint64, bool or enum. */
static inline int64_t protobuf_integer(const struct protobuf_field *field) {
    return field->type == PROTOBUF_BYTES ? 0 : (int64_t)field->value;
}
/* A sint32 or sint64. */
static inline int64_t protobuf_zigzag(const struct protobuf_field *field) {
    return (int64_t)(field->value >> 1) ^ -(int64_t)(field->value & 1);
}
static inline struct text protobuf_text(const struct protobuf_field *field) {
    return field->type == PROTOBUF_BYTES ? field->bytes : TEXT("");
}
/* A double or a float. */
double protobuf_number(const struct protobuf_field *field);

/* An int64, uint64, bool or enum; a negative value takes ten bytes. */
void protobuf_put_integer(struct buffer *bytes, uint32_t field, uint64_t value);
void protobuf_put_fixed64(struct buffer *bytes, uint32_t field, uint64_t value);
void protobuf_put_double(struct buffer *bytes, uint32_t field, double value);
void protobuf_put_text(struct buffer *bytes, uint32_t field, struct text value);

/* A nested message: everything put until protobuf_end() belongs to it. */
size_t protobuf_begin(struct buffer *bytes, uint32_t field);
void protobuf_end(struct buffer *bytes, size_t begun);

#endif
