/* Numbers for the few keys that a walk meets. */
#include "../test.h"

#include "base/array.h"
#include "base/key_index.h"

TEST(keys_are_numbered_in_the_order_in_which_they_come) {
    const uint64_t keys[] = {7, 0, 7, UINT32_MAX, 0, 9, UINT32_MAX};
    const size_t expected[] = {0, 1, 0, 2, 1, 3, 2};
    struct key_index index = {0};
    struct status status = {0};
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++) {
        size_t found = SIZE_MAX;
        REQUIRE(key_index_find(&index, keys[i], &found, &status));
        CHECK_INT(found, expected[i]);
    }
    CHECK_INT(index.count, 4);
    key_index_finish(&index);
}
