/* The protobuf wire format: valid and damaged messages. */
#include "../test.h"

#include "base/protobuf.h"

#define BYTES(literal) ((struct text){literal, sizeof(literal) - 1})

TEST(fields_of_all_wire_types_are_read) {
    struct protobuf message = protobuf_of(BYTES("\x08\x96\x01"
                                                "\x11\x00\x00\x00\x00\x00\x00\xF8\x3F"
                                                "\x1A\x03"
                                                "abc"
                                                "\x25\x00\x00\x20\x40"));
    struct protobuf_field field;
    REQUIRE(protobuf_next(&message, &field));
    CHECK_INT(field.number, 1);
    CHECK_INT(field.type, PROTOBUF_VARINT);
    CHECK_INT(protobuf_integer(&field), 150);
    REQUIRE(protobuf_next(&message, &field));
    CHECK_INT(field.number, 2);
    CHECK(protobuf_number(&field) == 1.5);
    REQUIRE(protobuf_next(&message, &field));
    CHECK(text_is(protobuf_text(&field), "abc"));
    CHECK_INT(protobuf_integer(&field), 0);
    REQUIRE(protobuf_next(&message, &field));
    CHECK_INT(field.number, 4);
    CHECK(protobuf_number(&field) == 2.5);
    CHECK(!protobuf_next(&message, &field));
    CHECK(!message.damaged);
}

TEST(negative_and_zigzag_integers_are_read) {
    struct protobuf message = protobuf_of(BYTES("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"
                                                "\x10\x03"));
    struct protobuf_field field;
    REQUIRE(protobuf_next(&message, &field));
    CHECK_INT(protobuf_integer(&field), -1);
    REQUIRE(protobuf_next(&message, &field));
    CHECK_INT(protobuf_zigzag(&field), -2);
}

TEST(groups_are_stepped_over_however_deep) {
    struct protobuf message = protobuf_of(BYTES("\x0B\x13\x08\x05\x14\x0C"
                                                "\x18\x07"));
    struct protobuf_field field;
    REQUIRE(protobuf_next(&message, &field));
    CHECK_INT(field.number, 3);
    CHECK_INT(field.value, 7);
    char deep[4096];
    memset(deep, 0x0B, sizeof deep);
    message = protobuf_of((struct text){deep, sizeof deep});
    CHECK(!protobuf_next(&message, &field));
    CHECK(message.damaged);
}

static void check_damaged_at(struct text bytes, size_t offset) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    while (protobuf_next(&message, &field))
        ;
    CHECK(message.damaged);
    CHECK_INT((const char *)message.at - bytes.data, offset);
    CHECK(!protobuf_next(&message, &field));
}

TEST(damage_is_reported_where_the_bad_field_begins) {
    check_damaged_at(BYTES("\x08\x01\x12\x05"
                           "abc"),
                     2); /* longer than the message */
    check_damaged_at(BYTES("\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"), 0); /* 2^64-1 bytes */
    check_damaged_at(BYTES("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02"), 0); /* 65 bits */
    check_damaged_at(BYTES("\x08\x80"), 0);                                     /* cut off */
    check_damaged_at(BYTES("\x00\x01"), 0);                                     /* field 0 */
    check_damaged_at(BYTES("\x08\x01\x0E"), 2);                                 /* type 6 */
    check_damaged_at(BYTES("\x0C"), 0);         /* end of no group */
    check_damaged_at(BYTES("\x09\x01\x02"), 0); /* short fixed64 */
}

TEST(packed_varints_are_read_to_the_end) {
    struct protobuf packed = protobuf_of(BYTES("\x01\x80\x01\x7F"));
    uint64_t value, sum = 0;
    while (protobuf_varint(&packed, &value))
        sum += value;
    CHECK_INT(sum, 1 + 128 + 127);
    CHECK(!packed.damaged);
    packed = protobuf_of(BYTES("\x80"));
    CHECK(!protobuf_varint(&packed, &value));
    CHECK(packed.damaged);
}
