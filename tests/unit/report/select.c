/* Which part of the run a report is about, on the host and on each device. */
#include "../test.h"
#include "../analysis/build.h"

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
        {{.range = "x", .steps = "1"}, "exclude each other"},
        {{.steps = "1"}, "no steps were found"},
        {{.steps = "2-1"}, "takes A-B"},
        {{.window = "5"}, "takes two times"},
        {{.window = "1s,2s"}, "after the run ends"},
        {{.range = "nothing"}, "no range is named"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK(!report_build(&report, trace, &wrong[i].options, &status));
        CHECK_INT(status.code, STATUS_USAGE);
        CHECK(strstr(status.message, wrong[i].says));
    }
    trace_close(trace);
}
