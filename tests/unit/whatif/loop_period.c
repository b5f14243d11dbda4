/* Turns of a loop, found in the pauses before its launches. */
#include "../test.h"
#include "whatif/run.h"

#include "base/array.h"

/* `turn` launches each, the first after a pause that is longer by `more`; the host grows slower. */
static void fill(int64_t *pauses, size_t count, size_t turn, size_t phase, int64_t more) {
    for (size_t i = 0; i < count; i++)
        pauses[i] = 8000 + (int64_t)(i * 4000 / count) + (int64_t)(i * 7 % 3) * 500 +
                    (i % turn == phase ? more : 0);
}

TEST(a_loop_that_only_launches_is_found_by_its_longer_pauses) {
    static const size_t turns[] = {3, 4, 6, 33, 300};
    static int64_t pauses[3000];
    for (size_t i = 0; i < ARRAY_COUNT(turns); i++) {
        struct status status = {0};
        size_t turn, phase, count = turns[i] * 9 + 1;
        fill(pauses, count, turns[i], turns[i] / 2, 14000);
        CHECK(loop_period_find(pauses, count, &turn, &phase, &status));
        CHECK_INT(turn, turns[i]);
        CHECK_INT(phase, turns[i] / 2);
    }
}

TEST(even_pauses_and_a_few_long_ones_show_no_turn) {
    struct status status = {0};
    int64_t pauses[200];
    size_t turn, phase;
    fill(pauses, 200, 10, 0, 0);
    CHECK(loop_period_find(pauses, 200, &turn, &phase, &status));
    CHECK_INT(turn, 0);
    pauses[13] = pauses[90] = pauses[101] = 90000;
    CHECK(loop_period_find(pauses, 200, &turn, &phase, &status));
    CHECK_INT(turn, 0);
    CHECK(loop_period_find(pauses, 3, &turn, &phase, &status));
    CHECK_INT(turn, 0);
    fill(pauses, 200, 10, 0, 0);
    pauses[20] = pauses[80] = pauses[140] = 90000; /* two equal distances are too few */
    CHECK(loop_period_find(pauses, 200, &turn, &phase, &status));
    CHECK_INT(turn, 0);
}
