/* A long run is replayed by a sample of its steps. */
#include <stdlib.h>
#include <string.h>

#include "../test.h"
#include "../whatif/scene.h"

#include "report/report.h"

static struct trace *open_loop(void) {
    struct build build;
    const struct loop loop = {.steps = 6000,
                              .kernels = 6,
                              .host_time = 4000,
                              .launch = 3000,
                              .lag = 2000,
                              .gap = 1000,
                              .duration = 9000,
                              .sync = 2000,
                              .sync_lag = 5000};
    build_begin(&build);
    loop_write(&build, &loop);
    return build_end(&build);
}

/* What the run would take without synchronization, if at most `events` are replayed one by one. */
static bool predict(struct trace *trace, size_t events, struct outcome *outcome) {
    struct status status = {0};
    struct report report;
    struct report_options options = {.trace_name = "t",
                                     .top = 10,
                                     .steps = "steady",
                                     .keep_replay = true,
                                     .replay_events = events};
    struct change change = {.kind = CHANGE_NO_SYNC};
    if (!report_build(&report, trace, &options, &status))
        return false;
    bool ok = replay_run(report.replay, &change, 1, outcome, &status);
    report_finish(&report);
    return ok;
}

TEST(a_sample_of_the_steps_predicts_as_all_of_them_do) {
    struct outcome all, sampled;
    struct trace *trace = open_loop();
    REQUIRE(trace);
    REQUIRE(predict(trace, 0, &all));
    trace_close(trace);
    trace = open_loop(); /* its rows are in order only once */
    REQUIRE(trace && predict(trace, 10000, &sampled));
    trace_close(trace);
    CHECK(!strstr(all.assumes, "which were replayed"));
    CHECK(strstr(sampled.assumes, "which were replayed"));
    CHECK(strstr(sampled.what, "in steps "));
    CHECK_INT(sampled.before, all.before);
    CHECK(all.after < all.before - all.before / 20);
    CHECK(llabs(sampled.after - all.after) < all.before / 100);
    REQUIRE(sampled.device_count == 1 && all.device_count == 1);
    const struct outcome_device *device = &sampled.devices[0];
    CHECK_INT(device->window,
              device->busy + device->exposed_communication + device->exposed_copy + device->idle);
    CHECK(llabs(device->busy - all.devices[0].busy) < all.before / 100);
    outcome_finish(&all);
    outcome_finish(&sampled);
}

TEST(a_part_of_a_trace_has_the_events_of_its_time) {
    struct status status = {0};
    struct trace *whole = open_loop(), *part;
    REQUIRE(whole && trace_load(whole, TABLE_ACTIVITY, "start", &status));
    size_t middle = whole->activity.count / 2;
    int64_t at = whole->activity.start[middle];
    REQUIRE(trace_open_part(whole, at, at + 1, &part, &status));
    REQUIRE(trace_load(part, TABLE_ACTIVITY, "start name", &status));
    CHECK(part->activity.count > 0 && part->activity.count < whole->activity.count / 2);
    CHECK(part->activity.start[0] <= at);
    CHECK(part->activity.start[part->activity.count - 1] >= at);
    CHECK_INT(part->strings.count, whole->strings.count);
    CHECK_INT(part->queue.count, whole->queue.count);
    trace_close(part);
    trace_close(whole);
}
