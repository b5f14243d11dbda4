/* Activities that were launched before recording began, by the ids of their processes. */
#include "../test.h"
#include "build.h"

#include "analysis/model.h"

TEST(each_process_counts_its_launches_on_its_own) {
    struct build build;
    struct status status = {0};
    struct model model;
    build_begin(&build);
    build_activity(&build, 0, ACTIVITY_KERNEL, 0, 10, "k", 5);
    build_call(&build, 0, CALL_LAUNCH, 12, 14, "cudaLaunchKernel", 10);
    build_activity(&build, 0, ACTIVITY_KERNEL, 20, 30, "k", 10);
    /* another process on another device, with larger ids */
    struct trace_writer *writer = build.writer;
    uint32_t other = trace_write_process(writer, &(struct row_process){.pid = 8});
    uint32_t device = trace_write_device(
        writer, &(struct row_device){.label = trace_writer_string(writer, TEXT("1")), .listed = 1});
    build.thread[1] = trace_write_thread(writer, &(struct row_thread){.process = other, .tid = 80});
    build.queue[1] = trace_write_queue(
        writer, &(struct row_queue){.device = device, .process = other, .stream = 9});
    build_activity(&build, 1, ACTIVITY_KERNEL, 0, 10, "k", 500);
    build_call(&build, 1, CALL_LAUNCH, 12, 14, "cudaLaunchKernel", 1000);
    build_activity(&build, 1, ACTIVITY_KERNEL, 20, 30, "k", 1000);
    build_activity(&build, 1, ACTIVITY_KERNEL, 40, 50, "k", 1001); /* its launch is lost */
    struct trace *trace = build_end(&build);
    REQUIRE(trace && model_build(&model, trace, &status));
    CHECK_INT(model.unmatched_early, 2);
    CHECK_INT(model.unmatched_lost, 1);
    model_finish(&model);
    trace_close(trace);
}
