/* All gaps as intervals of one cause each, for drawing. */
#include "../test.h"
#include "build.h"

#include "analysis/gaps.h"

static bool list(struct build *build, struct gap_intervals *intervals) {
    struct status status = {0};
    struct model model;
    struct host host;
    struct selection selection = {.everything = true};
    struct trace *trace = build_end(build);
    bool ok = trace && model_build(&model, trace, &status) && host_build(&host, &model, &status) &&
              selection_add(&selection, 20, 300, &status) &&
              gaps_list(&model, &host, 1, &selection, intervals, &status);
    if (!ok) {
        test_failed(__FILE__, __LINE__, "%s", status.message);
        return false;
    }
    selection_finish(&selection);
    host_finish(&host);
    model_finish(&model);
    trace_close(trace);
    return true;
}

TEST(a_gap_is_listed_as_touching_intervals_in_the_order_of_their_causes) {
    struct build build;
    struct gap_intervals intervals = {0};
    build_begin(&build);
    build_call(&build, 0, CALL_LAUNCH, 0, 10, "cudaLaunchKernel", 1);
    build_activity(&build, 0, ACTIVITY_KERNEL, 20, 100, "first", 1);
    build_call(&build, 0, CALL_SYNC, 90, 130, "cudaDeviceSynchronize", 3);
    build_call(&build, 0, CALL_LAUNCH, 180, 190, "cudaLaunchKernel", 2);
    build_activity(&build, 0, ACTIVITY_KERNEL, 200, 300, "second", 2);
    if (!list(&build, &intervals))
        return;
    static const struct {
        int64_t start, length;
        enum gap_cause cause;
    } expected[] = {{100, 30, CAUSE_SYNC},
                    {130, 50, CAUSE_HOST},
                    {180, 10, CAUSE_LAUNCH},
                    {190, 10, CAUSE_DEVICE}};
    REQUIRE(intervals.count == 4);
    for (size_t i = 0; i < 4; i++) {
        CHECK_INT(intervals.list[i].start, expected[i].start);
        CHECK_INT(intervals.list[i].length, expected[i].length);
        CHECK_INT(intervals.list[i].cause, expected[i].cause);
        CHECK_INT(intervals.list[i].device, 1);
        CHECK_INT(intervals.list[i].next, 1);
    }
    gap_intervals_finish(&intervals);
    CHECK(!intervals.list && intervals.count == 0); /* an empty list again */
}

TEST(a_device_that_is_always_busy_has_no_intervals) {
    struct build build;
    struct gap_intervals intervals = {0};
    build_begin(&build);
    build_activity(&build, 0, ACTIVITY_KERNEL, 20, 300, "only", 1);
    if (!list(&build, &intervals))
        return;
    CHECK_INT(intervals.count, 0);
    gap_intervals_finish(&intervals);
}
