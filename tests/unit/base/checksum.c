/* The checksum against published values of XXH64 with seed 0. */
#include "../test.h"

#include "base/checksum.h"

TEST(the_checksum_is_xxh64) {
    CHECK(checksum64("", 0) == 0xEF46DB3751D8E999u);
    CHECK(checksum64(NULL, 0) == checksum64("", 0));
    CHECK(checksum64("a", 1) == 0xD24EC4F1A98C6E5Bu);
    CHECK(checksum64("abc", 3) == 0x44BC2CF5AD770999u);
    /* longer than the 32 bytes that four lanes take */
    static const char text[] = "Nobody inspects the spammish repetition";
    CHECK(checksum64(text, sizeof text - 1) == 0xFBCEA83C8A378BF1u);
}

TEST(every_bit_of_the_input_counts) {
    unsigned char bytes[100] = {0};
    for (size_t length = 1; length <= sizeof bytes; length++) {
        uint64_t plain = checksum64(bytes, length);
        for (size_t bit = 0; bit < length * 8; bit += 7) {
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
            CHECK(checksum64(bytes, length) != plain);
            bytes[bit / 8] = 0;
        }
    }
}
