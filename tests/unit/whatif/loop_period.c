/* Iterations of a loop, found in the pauses before its launches. */
#include "../test.h"
#include "whatif/run.h"

#include "base/array.h"

/* Iterations of `period` launches, the first after a pause that is longer by `more`; the host slows
 * down over time. */
static void fill(int64_t *pauses, size_t count, size_t period, size_t phase, int64_t more) {
    for (size_t i = 0; i < count; i++)
        pauses[i] = 8000 + (int64_t)(i * 4000 / count) + (int64_t)(i * 7 % 3) * 500 +
                    (i % period == phase ? more : 0);
}

TEST(a_loop_that_only_launches_is_found_by_its_longer_pauses) {
    static const size_t periods[] = {3, 4, 6, 33, 300};
    static int64_t pauses[3000];
    for (size_t i = 0; i < ARRAY_COUNT(periods); i++) {
        struct status status = {0};
        size_t period, phase, count = periods[i] * 9 + 1;
        fill(pauses, count, periods[i], periods[i] / 2, 14000);
        CHECK(loop_period_find(pauses, count, &period, &phase, &status));
        CHECK_INT(period, periods[i]);
        CHECK_INT(phase, periods[i] / 2);
    }
}

TEST(even_pauses_and_a_few_long_ones_show_no_period) {
    struct status status = {0};
    int64_t pauses[200];
    size_t period, phase;
    fill(pauses, 200, 10, 0, 0);
    CHECK(loop_period_find(pauses, 200, &period, &phase, &status));
    CHECK_INT(period, 0);
    pauses[13] = pauses[90] = pauses[101] = 90000;
    CHECK(loop_period_find(pauses, 200, &period, &phase, &status));
    CHECK_INT(period, 0);
    CHECK(loop_period_find(pauses, 3, &period, &phase, &status));
    CHECK_INT(period, 0);
    fill(pauses, 200, 10, 0, 0);
    pauses[20] = pauses[80] = pauses[140] = 90000; /* two equal distances are too few */
    CHECK(loop_period_find(pauses, 200, &period, &phase, &status));
    CHECK_INT(period, 0);
}
