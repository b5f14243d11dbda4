/* Change points of series with known levels. */
#include "../test.h"

#include <stdint.h>

#include "base/memory.h"
#include "compare/change_points.h"

static uint64_t state = 5;

static double noise(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0 - 0.5;
}

TEST(a_series_of_one_level_has_no_change_points) {
    unsigned found_in = 0;
    for (unsigned trial = 0; trial < 60; trial++) {
        double values[50];
        struct change_point *points;
        size_t found;
        struct status status = {0};
        for (size_t i = 0; i < 50; i++)
            values[i] = 100 + 4 * noise();
        REQUIRE(change_points_find(values, 50, &points, &found, &status));
        found_in += found > 0;
        memory_free(points);
    }
    CHECK(found_in <= 3);
}

TEST(change_points_lie_where_the_level_changes) {
    double values[90];
    struct change_point *points;
    size_t found;
    struct status status = {0};
    for (size_t i = 0; i < 90; i++)
        values[i] = (i < 30 ? 100 : i < 60 ? 105 : 98) + 4 * noise();
    REQUIRE(change_points_find(values, 90, &points, &found, &status));
    REQUIRE(found == 2);
    CHECK(points[0].at >= 29 && points[0].at <= 31);
    CHECK(points[1].at >= 59 && points[1].at <= 61);
    CHECK(points[0].before > 99 && points[0].before < 101 && points[0].after > 104);
    memory_free(points);
}

TEST(an_outlier_and_short_series_are_no_change_points) {
    double values[40];
    struct change_point *points;
    size_t found;
    struct status status = {0};
    for (size_t i = 0; i < 40; i++)
        values[i] = 100 + noise();
    values[20] = 200;
    REQUIRE(change_points_find(values, 40, &points, &found, &status));
    CHECK_INT(found, 0);
    memory_free(points);
    for (size_t count = 0; count < 8; count++) {
        REQUIRE(change_points_find(values, count, &points, &found, &status));
        CHECK_INT(found, 0);
        memory_free(points);
    }
}
