/* The intervals that --capture-range records. */
#include "record/captures.h"

#include "../test.h"

static void add(struct captures *captures, int64_t start, int64_t end) {
    struct status status = {0};
    CHECK_OK(captures_add(captures, (struct capture){start, end}, &status), status);
}

TEST(captures_that_touch_or_overlap_are_one_whatever_comes_first) {
    struct captures captures = {0};
    add(&captures, 50, 60);
    add(&captures, 10, 20);
    add(&captures, 30, 40);
    add(&captures, 70, 70);
    CHECK_INT(captures.count, 3);
    CHECK(!captures_contain(&captures, 9) && captures_contain(&captures, 10));
    CHECK(captures_contain(&captures, 19) && !captures_contain(&captures, 20));
    CHECK(captures_contain(&captures, 35) && !captures_contain(&captures, 45));
    add(&captures, 20, 32);
    CHECK_INT(captures.count, 2);
    CHECK_INT(captures.list[0].start, 10);
    CHECK_INT(captures.list[0].end, 40);
    add(&captures, 5, 100);
    CHECK_INT(captures.count, 1);
    CHECK(captures.list[0].start == 5 && captures.list[0].end == 100);
    captures_finish(&captures);
}

/* 10..20 and 30..40 have ended, one from 60 on has not. */
TEST(a_span_is_cut_into_its_captured_parts) {
    static const struct capture expected[] = {{15, 20}, {30, 40}, {60, 80}};
    struct captures captures = {0};
    struct capture span = {15, 80}, part;
    size_t count = 0;
    add(&captures, 10, 20);
    add(&captures, 30, 40);
    captures.open_from = 60;
    for (; captures_next(&captures, &span, &part) && count < 3; count++)
        CHECK(part.start == expected[count].start && part.end == expected[count].end);
    CHECK_INT(count, 3);
    CHECK(captures_contain(&captures, 1000));
    captures.open_from = 35; /* of another process */
    span = (struct capture){0, 100};
    CHECK(captures_next(&captures, &span, &part) && part.end == 20);
    CHECK(captures_next(&captures, &span, &part) && part.start == 30 && part.end == 100);
    captures_finish(&captures);
}
