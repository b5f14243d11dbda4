/* Steps from ranges and from periodic activities, and what is too little for a loop. */
#include "../test.h"
#include "build.h"

#include "analysis/steps.h"

TEST(ranges_that_repeat_in_the_same_order_are_steps_and_slow_first_ones_are_warm_up) {
    struct build build;
    struct status status = {0};
    struct model model;
    struct steps steps;
    int64_t now = 0;
    build_begin(&build);
    for (int i = 0; i < 10; i++) {
        int64_t slow = i < 2 ? 5000 : 0;
        build_range(&build, 0, RANGE_ANNOTATION, now, now + 300 + slow, "data");
        build_range(&build, 0, RANGE_ANNOTATION, now + 310 + slow, now + 900 + slow, "forward");
        build_range(&build, 0, RANGE_ANNOTATION, now + 400 + slow, now + 500 + slow, "layer 1");
        build_call(&build, 0, CALL_LAUNCH, now + 410 + slow, now + 420 + slow, "launch",
                   (uint64_t)i + 1);
        build_activity(&build, 0, ACTIVITY_KERNEL, now + 450 + slow, now + 480 + slow, "k",
                       (uint64_t)i + 1);
        now += 1000 + slow;
    }
    struct trace *trace = build_end(&build);
    REQUIRE(trace);
    REQUIRE(model_build(&model, trace, &status));
    REQUIRE(steps_find(&model, NULL, &steps, &status));
    CHECK_INT(steps.source, STEPS_RANGES);
    CHECK_INT(steps.count, 10);
    CHECK_INT(steps.warm_up, 2);
    CHECK(steps.settled);
    CHECK_INT(steps.median, 1000);
    struct window a, b;
    REQUIRE(steps_window(&model, &steps, 1, 2, 3, &a) && steps_window(&model, &steps, 1, 4, 9, &b));
    CHECK_INT(a.end, b.start); /* windows of consecutive steps touch */
    steps_finish(&steps);
    model_finish(&model);
    trace_close(trace);
}

TEST(activities_that_repeat_exactly_are_steps_when_nothing_better_is_known) {
    struct build build;
    struct status status = {0};
    struct model model;
    struct steps steps;
    static const char *const names[] = {"a", "b", "a", "c"};
    int64_t now = 0;
    build_begin(&build);
    build_activity(&build, 0, ACTIVITY_KERNEL, now, now + 10, "start-up", 0);
    now += 100;
    for (int i = 0; i < 80; i++) {
        build_activity(&build, 0, ACTIVITY_KERNEL, now, now + 10, names[i % 4], 0);
        now += i % 4 == 3 ? 90 : 12; /* an iteration ends after c */
    }
    struct trace *trace = build_end(&build);
    REQUIRE(trace);
    REQUIRE(model_build(&model, trace, &status));
    REQUIRE(steps_find(&model, NULL, &steps, &status));
    CHECK_INT(steps.source, STEPS_PERIODIC);
    CHECK_INT(steps.period, 4);
    CHECK_INT(steps.count, 20);
    CHECK_INT(steps.list[0].start, 100);
    CHECK_INT(steps.median, 126);
    steps_finish(&steps);
    model_finish(&model);
    trace_close(trace);
}

/* A start of activities that do not repeat, followed by a loop of one activity. */
static size_t count_steps_behind_start(int turns, int64_t time) {
    struct build build;
    struct status status = {0};
    struct model model;
    struct steps steps = {0};
    int64_t now = 0;
    char name[16];
    build_begin(&build);
    for (int i = 0; i < 120; i++, now += 50) {
        snprintf(name, sizeof name, "start %d", i);
        build_activity(&build, 0, ACTIVITY_KERNEL, now, now + 40, name, 0);
    }
    for (int i = 0; i < turns; i++, now += time)
        build_activity(&build, 0, ACTIVITY_KERNEL, now, now + time - 10, "graph", 0);
    struct trace *trace = build_end(&build);
    if (!trace)
        return 0;
    CHECK_OK(model_build(&model, trace, &status), status);
    CHECK_OK(steps_find(&model, NULL, &steps, &status), status);
    size_t count = steps.count;
    steps_finish(&steps);
    model_finish(&model);
    trace_close(trace);
    return count;
}

TEST(one_activity_that_repeats_behind_a_start_is_a_loop_when_it_has_much_of_the_time) {
    CHECK_INT(count_steps_behind_start(12, 1000), 12);
    CHECK_INT(count_steps_behind_start(12, 50), 0);
}

TEST(annotations_that_touch_are_not_inside_each_other) {
    struct build build;
    struct status status = {0};
    struct model model;
    struct steps steps;
    build_begin(&build);
    for (int i = 0; i < 10; i++) {
        int64_t now = 1000 * i;
        build_range(&build, 0, RANGE_ANNOTATION, now, now + 400, "forward");
        build_range(&build, 0, RANGE_ANNOTATION, now + 400, now + 1000, "backward");
        build_call(&build, 0, CALL_LAUNCH, now + 410, now + 420, "launch", (uint64_t)i + 1);
        build_activity(&build, 0, ACTIVITY_KERNEL, now + 450, now + 480, "k", (uint64_t)i + 1);
    }
    struct trace *trace = build_end(&build);
    REQUIRE(trace);
    REQUIRE(model_build(&model, trace, &status));
    REQUIRE(steps_find(&model, NULL, &steps, &status));
    CHECK_INT(steps.source, STEPS_RANGES);
    REQUIRE(steps.count == 10);
    for (size_t i = 0; i < steps.count; i++) {
        CHECK_INT(steps.list[i].start, 1000 * (int64_t)i);
        CHECK_INT(steps.list[i].end, 1000 * (int64_t)i + 1000);
        CHECK(text_is(trace_text(trace, steps.list[i].name), "forward"));
    }
    steps_finish(&steps);
    model_finish(&model);
    trace_close(trace);
}
