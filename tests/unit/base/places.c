/* Places of the few keys that a walk meets. */
#include "../test.h"

#include "base/array.h"
#include "base/places.h"

TEST(keys_are_numbered_in_the_order_in_which_they_come) {
    const uint64_t keys[] = {7, 0, 7, UINT32_MAX, 0, 9, UINT32_MAX};
    const size_t expected[] = {0, 1, 0, 2, 1, 3, 2};
    struct places places = {0};
    struct status status = {0};
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++) {
        size_t place = SIZE_MAX;
        REQUIRE(places_find(&places, keys[i], &place, &status));
        CHECK_INT(place, expected[i]);
    }
    CHECK_INT(places.count, 4);
    places_finish(&places);
}
