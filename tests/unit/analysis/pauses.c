/* Paused time is excluded from all results, and no recorded work is lost. */
#include "../test.h"
#include "build.h"

#include <time.h>

#include "report/report.h"
#include "ridge.h"

static bool report_of(struct build *build, struct report *report, struct trace **trace) {
    struct status status = {0};
    *trace = build_end(build);
    if (*trace && report_build(report, *trace, &(struct report_options){.top = 5}, &status))
        return true;
    test_failed(__FILE__, __LINE__, "%s", status.message);
    return false;
}

static void done(struct report *report, struct trace *trace) {
    report_finish(report);
    trace_close(trace);
}

TEST(a_pause_is_in_no_window_no_gap_and_no_run_time) {
    struct build build;
    struct report report;
    struct trace *trace;
    build_begin(&build);
    build_call(&build, 0, CALL_LAUNCH, 0, 10, "cudaLaunchKernel", 1);
    build_activity(&build, 0, ACTIVITY_KERNEL, 20, 100, "a", 1); /* runs on into the pause */
    build_range(&build, 0, RANGE_OVERHEAD, 60, 500, RANGE_PAUSED);
    build_call(&build, 0, CALL_LAUNCH, 510, 520, "cudaLaunchKernel", 2);
    build_activity(&build, 0, ACTIVITY_KERNEL, 530, 600, "b", 2);
    build_activity(&build, 0, ACTIVITY_KERNEL, 600, 600, "instant", 2);
    if (!report_of(&build, &report, &trace))
        return;
    REQUIRE(report.device_count == 1);
    const struct account *account = &report.devices[0].account;
    CHECK_INT(report.quality.pauses, 1);
    CHECK_INT(report.quality.paused, 440);
    CHECK_INT(report_wall(&report), 600 - 440);
    CHECK_INT(account->busy, 80 + 70);
    CHECK_INT(account->window, 80 + 101); /* and one nanosecond for what lasts none */
    CHECK_INT(account->kernels, 3);
    CHECK_INT(account->busy + account->exposed_copy + account->idle, account->window);
    CHECK_INT(report.devices[0].gaps.total, account->idle);
    CHECK_INT(report.devices[0].gaps.cause_time[CAUSE_HOST], 10);
    done(&report, trace);
}

TEST(a_pause_of_one_process_is_no_pause_while_another_is_recorded) {
    struct build build;
    struct report report;
    struct trace *trace;
    build_begin(&build);
    uint32_t other = trace_write_process(build.writer, &(struct row_process){.pid = 4711});
    uint32_t thread =
        trace_write_thread(build.writer, &(struct row_thread){.process = other, .tid = 4711});
    build_call(&build, 0, CALL_LAUNCH, 0, 10, "cudaLaunchKernel", 1);
    build_activity(&build, 0, ACTIVITY_KERNEL, 20, 100, "a", 1);
    build_activity(&build, 0, ACTIVITY_KERNEL, 900, 1000, "b", 2);
    build_range(&build, 0, RANGE_OVERHEAD, 200, 500, RANGE_PAUSED);
    build_range(&build, 0, RANGE_OVERHEAD, 400, 700, RANGE_PAUSED);
    trace_write_range(build.writer, &(struct row_range){.start = 300,
                                                        .duration = 600,
                                                        .thread = thread,
                                                        .name = trace_writer_string(
                                                            build.writer, TEXT(RANGE_PAUSED)),
                                                        .category = RANGE_OVERHEAD});
    if (!report_of(&build, &report, &trace))
        return;
    CHECK_INT(report.quality.pauses, 1);
    CHECK_INT(report.quality.paused, 400); /* 300 to 700 */
    done(&report, trace);
}

/* The runtime itself: an operation, a pause with an operation in it, an operation. */
static bool record_with_pause(const char *path) {
    ridge_device *device = ridge_device_open("cpu");
    struct timespec a_while = {0, 3000000};
    if (!device)
        return false;
    ridge_tensor *x = ridge_randn(device, RIDGE_F32, 1, (int64_t[]){64}, 1);
    bool ok = x && ridge_trace_begin(device, path);
    ok = ok && ridge_add(x, x) && ridge_synchronize(device) && ridge_trace_pause(device);
    ok = ok && ridge_mul(x, x) && ridge_synchronize(device);
    nanosleep(&a_while, NULL);
    ok = ok && ridge_trace_resume(device) && ridge_add(x, x) && ridge_synchronize(device) &&
         ridge_trace_end(device);
    ridge_device_close(device);
    return ok;
}

TEST(a_trace_paused_by_the_runtime_is_accounted_without_the_pause) {
    const char *path = test_temporary(".ridge");
    struct status status = {0};
    struct report report;
    struct trace *trace = NULL;
    struct window window;
    REQUIRE(record_with_pause(path));
    REQUIRE(trace_open(path, &trace, &status));
    REQUIRE(report_build(&report, trace, &(struct report_options){.top = 5}, &status));
    REQUIRE(report.device_count == 1);
    const struct account *account = &report.devices[0].account;
    CHECK_INT(report.quality.pauses, 1);
    CHECK(report.quality.paused >= 3000000);
    CHECK_INT(account->kernels, 2);
    REQUIRE(model_device_window(&report.model, report.devices[0].id, &window));
    CHECK(account->window <= window.end - window.start + 1 - 3000000);
    CHECK_INT(account->busy + account->exposed_copy + account->idle, account->window);
    CHECK_INT(report_wall(&report), report.model.last - report.model.first - report.quality.paused);
    done(&report, trace);
}
