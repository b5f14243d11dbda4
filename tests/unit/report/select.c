/* Which part of the run a report is about, on the host and on each device. */
#include "../test.h"
#include "../analysis/build.h"

#include "base/array.h"
#include "report/report.h"

TEST(a_range_selects_what_its_own_process_launched_in_it) {
    struct build build;
    struct status status = {0};
    struct report report;
    build_begin(&build);
    /* process 7: the range, and a kernel launched in it */
    build_range(&build, 0, RANGE_ANNOTATION, 0, 100, "forward");
    build_call(&build, 0, CALL_LAUNCH, 10, 20, "cudaLaunchKernel", 1);
    build_activity(&build, 0, ACTIVITY_KERNEL, 30, 50, "mine", 1);
    /* another process launches at the same time, without that range */
    struct trace_writer *writer = build.writer;
    uint32_t other = trace_write_process(writer, &(struct row_process){.pid = 8});
    build.thread[1] = trace_write_thread(writer, &(struct row_thread){.process = other, .tid = 80});
    build.queue[1] = trace_write_queue(
        writer, &(struct row_queue){.device = build.device, .process = other, .stream = 9});
    build_call(&build, 1, CALL_LAUNCH, 40, 45, "cudaLaunchKernel", 1);
    build_activity(&build, 1, ACTIVITY_KERNEL, 200, 290, "other", 1);
    struct trace *trace = build_end(&build);
    REQUIRE(trace);
    struct report_options options = {.trace_name = "t", .top = 10, .range = "forward"};
    REQUIRE(report_build(&report, trace, &options, &status));
    REQUIRE(report.device_count == 1);
    CHECK_INT(report.devices[0].account.window, 20);
    CHECK_INT(report.devices[0].account.kernels, 1);
    CHECK_INT(report.devices[0].account.busy, 20);
    report_finish(&report);
    trace_close(trace);
}

TEST(turns_of_a_range_are_windows_of_their_own) {
    struct build build;
    struct status status = {0};
    struct report report;
    build_begin(&build);
    for (uint64_t turn = 0; turn < 3; turn++) {
        int64_t at = (int64_t)turn * 100;
        build_range(&build, 0, RANGE_ANNOTATION, at, at + 100, "step");
        build_call(&build, 0, CALL_LAUNCH, at + 10, at + 20, "cudaLaunchKernel", turn + 1);
        build_activity(&build, 0, ACTIVITY_KERNEL, at + 30, at + 60, "k", turn + 1);
    }
    struct trace *trace = build_end(&build);
    REQUIRE(trace);
    struct report_options options = {.trace_name = "t", .top = 10, .range = "step"};
    REQUIRE(report_build(&report, trace, &options, &status));
    CHECK_INT(report.host_selection.count, 3);
    CHECK_INT(report.devices[0].selection->count, 3);
    CHECK_INT(report.devices[0].account.window, 90);
    CHECK_INT(report.devices[0].account.idle, 0);
    report_finish(&report);
    trace_close(trace);
}

TEST(options_that_make_no_sense_are_refused_with_what_would) {
    struct build build;
    struct status status = {0};
    struct report report;
    build_begin(&build);
    build_activity(&build, 0, ACTIVITY_KERNEL, 30, 50, "k", 0);
    struct trace *trace = build_end(&build);
    REQUIRE(trace);
    const struct {
        struct report_options options;
        const char *says;
    } wrong[] = {
        {{.range = "x", .steps = "1"}, "no range is named"},
        {{.window = "10,20"}, "times with units"},
        {{.window = "10ns,20"}, "times with units"},
        {{.steps = "1"}, "no steps were found"},
        {{.steps = "2-1"}, "takes A-B"},
        {{.window = "5"}, "takes two times"},
        {{.window = "1s,2s"}, "after the run ends"},
        {{.range = "nothing"}, "no range is named"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(wrong); i++) {
        CHECK(!report_build(&report, trace, &wrong[i].options, &status));
        CHECK_INT(status.code, STATUS_USAGE);
        CHECK(strstr(status.message, wrong[i].says));
    }
    trace_close(trace);
}

/* Five steps of 100 ns with a range in each; the device has work 30 to 60 ns after a step's start.
 */
static struct trace *stepping_trace(bool devices) {
    struct build build;
    build_begin(&build);
    for (uint64_t step = 0; step < 5; step++) {
        int64_t at = (int64_t)step * 100;
        char name[40];
        snprintf(name, sizeof name, "ProfilerStep#%d", (int)step);
        build_range(&build, 0, RANGE_ANNOTATION, at, at + 100, name);
        build_range(&build, 0, RANGE_ANNOTATION, at + 5, at + 25, "forward");
        if (!devices)
            continue;
        build_call(&build, 0, CALL_LAUNCH, at + 10, at + 20, "cudaLaunchKernel", step + 1);
        build_activity(&build, 0, ACTIVITY_KERNEL, at + 30, at + 60, "k", step + 1);
    }
    return build_end(&build);
}

TEST(a_range_and_steps_select_what_is_in_both) {
    struct status status = {0};
    struct report report;
    struct trace *trace = stepping_trace(true);
    REQUIRE(trace);
    struct report_options options = {
        .trace_name = "t", .top = 9, .range = "forward", .steps = "2-3"};
    REQUIRE(report_build(&report, trace, &options, &status));
    CHECK_INT(report.host_selection.count, 2);
    CHECK_INT(selection_length(&report.host_selection), 40);
    REQUIRE(report.device_count == 1);
    CHECK_INT(report.devices[0].selection->count, 2);
    CHECK_INT(report.devices[0].account.window, 60);
    report_finish(&report);
    options.window = "235ns,1us"; /* the run starts at 10, the third step's kernel at 230 */
    REQUIRE(report_build(&report, trace, &options, &status));
    CHECK_INT(report.devices[0].account.window, 15);
    report_finish(&report);
    options.window = "0,20ns";
    CHECK(!report_build(&report, trace, &options, &status));
    CHECK(strstr(status.message, "nothing is in all of the selected parts"));
    trace_close(trace);
}

TEST(what_if_times_the_steps_that_the_verdict_is_about) {
    struct status status = {0};
    struct report judged, timed;
    struct outcome unchanged;
    struct trace *trace = stepping_trace(true);
    REQUIRE(trace);
    struct report_options options = {.trace_name = "t", .top = 9};
    REQUIRE(report_build(&judged, trace, &options, &status));
    int64_t time = judged.verdict.time;
    CHECK(judged.verdict.steps > 0);
    report_finish(&judged);
    options.steady = options.keep_replay = options.no_verdict = true;
    REQUIRE(report_build(&timed, trace, &options, &status));
    CHECK(timed.steady_by_default);
    REQUIRE(replay_run(timed.replay, NULL, 0, &unchanged, &status));
    CHECK_INT(unchanged.before, time);
    outcome_finish(&unchanged);
    report_finish(&timed);
    options.steps = "all";
    REQUIRE(report_build(&timed, trace, &options, &status));
    CHECK(!timed.narrowed);
    report_finish(&timed);
    trace_close(trace);
}

TEST(a_part_without_a_device_is_as_long_as_it_is_on_the_host) {
    struct status status = {0};
    struct report report;
    struct trace *trace = stepping_trace(false);
    REQUIRE(trace);
    struct report_options options = {.trace_name = "t", .top = 9, .window = "100ns,250ns"};
    REQUIRE(report_build(&report, trace, &options, &status));
    CHECK_INT(report.verdict.time, 150);
    report_finish(&report);
    trace_close(trace);
}
