/* Each cause of idleness, in the smallest trace that shows it. */
#include "../test.h"
#include "build.h"

#include "analysis/gaps.h"

/* Two kernels with an idle gap 100..200 between them, launched by thread 0; the second one's launch
 * call is at `launch` and takes 10. */
static void two_kernels(struct build *build, int64_t launch) {
    build_begin(build);
    build_call(build, 0, CALL_LAUNCH, 0, 10, "cudaLaunchKernel", 1);
    build_activity(build, 0, ACTIVITY_KERNEL, 20, 100, "first", 1);
    build_call(build, 0, CALL_LAUNCH, launch, launch + 10, "cudaLaunchKernel", 2);
    build_activity(build, 0, ACTIVITY_KERNEL, 200, 300, "second", 2);
}

static bool find(struct build *build, struct gaps *gaps, struct trace **trace) {
    struct status status = {0};
    struct model model;
    struct host host;
    struct selection selection = {.everything = true};
    *trace = build_end(build);
    bool ok = *trace && model_build(&model, *trace, &status);
    ok = ok && host_build(&host, &model, &status);
    ok = ok && selection_add(&selection, 20, 300, &status) &&
         gaps_find(&model, &host, 1, &selection, gaps, &status);
    if (!ok) {
        test_failed(__FILE__, __LINE__, "%s", status.message);
        return false;
    }
    selection_finish(&selection);
    host_finish(&host);
    model_finish(&model);
    CHECK_INT(gaps->count, 1);
    CHECK_INT(gaps->total, 100);
    return true;
}

static void done(struct gaps *gaps, struct trace *trace) {
    gaps_finish(gaps);
    trace_close(trace);
}

TEST(a_gap_of_host_code_is_named_by_the_innermost_range) {
    struct build build;
    struct gaps gaps;
    struct trace *trace;
    two_kernels(&build, 180);
    build_range(&build, 0, RANGE_ANNOTATION, 5, 400, "outer");
    build_range(&build, 0, RANGE_PYTHON, 90, 150, "inner");
    if (!find(&build, &gaps, &trace))
        return;
    CHECK_INT(gaps.cause_time[CAUSE_HOST], 80);
    CHECK_INT(gaps.cause_time[CAUSE_LAUNCH], 10);
    CHECK_INT(gaps.cause_time[CAUSE_DEVICE], 10);
    REQUIRE(gaps.host_names.count == 2);
    CHECK(text_is(trace_text(trace, gaps.host_names.list[0].name), "inner"));
    CHECK_INT(gaps.host_names.list[0].time, 50);
    CHECK_INT(gaps.host_names.list[1].time, 30);
    done(&gaps, trace);
}

TEST(host_time_is_split_by_whether_the_launching_thread_ran_and_waiting_is_named_by_its_function) {
    struct build build;
    struct gaps gaps;
    struct trace *trace;
    two_kernels(&build, 180);
    build_range(&build, 0, RANGE_ANNOTATION, 5, 400, "step");
    build_state(&build, 0, STATE_RUNNING, 0, 120);
    build_sample(&build, 0, 110, "pthread_cond_wait");
    build_state(&build, 0, STATE_BLOCKED, 120, 150);
    build_state(&build, 0, STATE_READY, 150, 155);
    build_state(&build, 0, STATE_RUNNING, 155, 170);
    build_state(&build, 1, STATE_BLOCKED, 0, 400); /* of a thread that launches nothing */
    if (!find(&build, &gaps, &trace))
        return;
    CHECK(gaps.states_known);
    CHECK_INT(gaps.cause_time[CAUSE_HOST], 80);
    CHECK_INT(gaps.host_state[STATE_RUNNING].time, 20 + 15);
    CHECK_INT(gaps.host_state[STATE_BLOCKED].time, 30);
    CHECK_INT(gaps.host_state[STATE_READY].time, 5);
    CHECK_INT(gaps.host_state[STATE_UNKNOWN].time, 10);
    REQUIRE(gaps.host_state[STATE_BLOCKED].names.count == 1);
    CHECK(text_is(gaps.host_state[STATE_BLOCKED].names.list[0].text, "pthread_cond_wait"));
    REQUIRE(gaps.host_state[STATE_RUNNING].names.count == 1);
    CHECK(text_is(gaps.host_state[STATE_RUNNING].names.list[0].text, "step"));
    done(&gaps, trace);
}

TEST(waiting_after_an_interval_without_a_sample_is_named_by_the_range) {
    struct build build;
    struct gaps gaps;
    struct trace *trace;
    two_kernels(&build, 180);
    build_range(&build, 0, RANGE_ANNOTATION, 5, 400, "step");
    build_sample(&build, 0, 40, "long_ago");
    build_state(&build, 0, STATE_BLOCKED, 60, 90);
    build_state(&build, 0, STATE_RUNNING, 90, 120);
    build_state(&build, 0, STATE_BLOCKED, 120, 180);
    if (!find(&build, &gaps, &trace))
        return;
    REQUIRE(gaps.host_state[STATE_BLOCKED].names.count == 1);
    CHECK(text_is(gaps.host_state[STATE_BLOCKED].names.list[0].text, "step"));
    CHECK_INT(gaps.host_state[STATE_BLOCKED].time, 60);
    done(&gaps, trace);
}

TEST(host_time_without_recorded_states_is_in_an_unknown_one) {
    struct build build;
    struct gaps gaps;
    struct trace *trace;
    two_kernels(&build, 180);
    if (!find(&build, &gaps, &trace))
        return;
    CHECK(!gaps.states_known);
    CHECK_INT(gaps.host_state[STATE_UNKNOWN].time, gaps.cause_time[CAUSE_HOST]);
    done(&gaps, trace);
}

TEST(waiting_in_a_synchronizing_call_owns_the_gap_until_the_call_ends) {
    struct build build;
    struct gaps gaps;
    struct trace *trace;
    two_kernels(&build, 180);
    build_call(&build, 0, CALL_SYNC, 15, 130, "cudaDeviceSynchronize", 0);
    if (!find(&build, &gaps, &trace))
        return;
    CHECK_INT(gaps.cause_time[CAUSE_SYNC], 30);
    CHECK_INT(gaps.cause_time[CAUSE_HOST], 50);
    REQUIRE(gaps.sync_names.count == 1);
    CHECK(text_is(trace_text(trace, gaps.sync_names.list[0].name), "cudaDeviceSynchronize"));
    done(&gaps, trace);
}

TEST(allocating_and_compiling_and_blocking_copies_have_causes_of_their_own) {
    struct build build;
    struct gaps gaps;
    struct trace *trace;
    two_kernels(&build, 190);
    build_call(&build, 0, CALL_ALLOC, 100, 120, "cudaMalloc", 0);
    build_call(&build, 0, CALL_COMPILE, 120, 150, "cuModuleLoadData", 0);
    build_call(&build, 0, CALL_COPY, 150, 165, "cudaMemcpy", 0);
    build_call(&build, 0, CALL_COPY, 165, 170, "cudaMemcpyAsync", 0);
    if (!find(&build, &gaps, &trace))
        return;
    CHECK_INT(gaps.cause_time[CAUSE_ALLOC], 20);
    CHECK_INT(gaps.cause_time[CAUSE_COMPILE], 30);
    CHECK_INT(gaps.cause_time[CAUSE_COPY_CALL], 15);
    CHECK_INT(gaps.cause_time[CAUSE_LAUNCH], 15); /* the asynchronous copy's call and the launch */
    CHECK_INT(gaps.cause_time[CAUSE_HOST], 20);
    done(&gaps, trace);
}

TEST(work_that_was_queued_before_the_gap_waits_for_the_device) {
    struct build build;
    struct gaps gaps;
    struct trace *trace;
    two_kernels(&build, 40);
    if (!find(&build, &gaps, &trace))
        return;
    CHECK_INT(gaps.cause_time[CAUSE_DEVICE], 100);
    done(&gaps, trace);
}

TEST(work_that_was_queued_behind_another_queues_event_is_a_dependency) {
    struct build build;
    struct gaps gaps;
    struct trace *trace;
    two_kernels(&build, 40);
    trace_write_wait(build.writer, &(struct row_wait){.start = 30,
                                                      .duration = 2,
                                                      .queue = build.queue[0],
                                                      .kind = WAIT_STREAM_EVENT,
                                                      .awaited = build.queue[1]});
    if (!find(&build, &gaps, &trace))
        return;
    CHECK_INT(gaps.cause_time[CAUSE_DEPENDENCY], 100);
    done(&gaps, trace);
}

TEST(a_dependency_is_one_in_every_window_that_the_gap_reaches_into) {
    struct build build;
    struct status status = {0};
    struct model model;
    struct host host;
    struct gaps gaps;
    struct selection part = {0};
    two_kernels(&build, 40);
    trace_write_wait(build.writer, &(struct row_wait){.start = 30,
                                                      .duration = 2,
                                                      .queue = build.queue[0],
                                                      .kind = WAIT_STREAM_EVENT,
                                                      .awaited = build.queue[1]});
    struct trace *trace = build_end(&build);
    REQUIRE(trace);
    REQUIRE(model_build(&model, trace, &status));
    REQUIRE(host_build(&host, &model, &status));
    REQUIRE(selection_add(&part, 90, 120, &status) && selection_add(&part, 150, 220, &status));
    REQUIRE(gaps_find(&model, &host, 1, &part, &gaps, &status));
    CHECK_INT(gaps.count, 2);
    CHECK_INT(gaps.cause_time[CAUSE_DEPENDENCY], 20 + 50);
    selection_finish(&part);
    host_finish(&host);
    model_finish(&model);
    done(&gaps, trace);
}

TEST(the_rest_of_an_asynchronous_call_that_copied_pageable_memory_is_a_blocking_copy) {
    struct build build;
    struct gaps gaps;
    struct trace *trace;
    build_begin(&build);
    build_call(&build, 0, CALL_COPY, 0, 130, "cudaMemcpyAsync", 1);
    trace_write_activity(build.writer, &(struct row_activity){.start = 20,
                                                              .duration = 80,
                                                              .queue = build.queue[0],
                                                              .kind = ACTIVITY_COPY,
                                                              .correlation = 1,
                                                              .from_memory = MEMORY_DEVICE,
                                                              .to_memory = MEMORY_PAGEABLE});
    build_call(&build, 0, CALL_LAUNCH, 180, 190, "cudaLaunchKernel", 2);
    build_activity(&build, 0, ACTIVITY_KERNEL, 200, 300, "second", 2);
    if (!find(&build, &gaps, &trace))
        return;
    CHECK_INT(gaps.cause_time[CAUSE_COPY_CALL], 30);
    CHECK_INT(gaps.cause_time[CAUSE_HOST], 50);
    done(&gaps, trace);
}

TEST(a_gap_before_an_activity_without_a_launch_record_is_unknown) {
    struct build build;
    struct gaps gaps;
    struct trace *trace;
    build_begin(&build);
    build_activity(&build, 0, ACTIVITY_KERNEL, 20, 100, "first", 1);
    build_activity(&build, 0, ACTIVITY_KERNEL, 200, 300, "second", 2);
    if (!find(&build, &gaps, &trace))
        return;
    CHECK_INT(gaps.cause_time[CAUSE_UNKNOWN], 100);
    done(&gaps, trace);
}

TEST(only_the_launching_thread_explains_a_gap) {
    struct build build;
    struct gaps gaps;
    struct trace *trace;
    two_kernels(&build, 180);
    build_call(&build, 1, CALL_SYNC, 90, 190, "cudaDeviceSynchronize", 0);
    if (!find(&build, &gaps, &trace))
        return;
    CHECK_INT(gaps.cause_time[CAUSE_SYNC], 0);
    CHECK_INT(gaps.cause_time[CAUSE_HOST], 80);
    done(&gaps, trace);
}

TEST(where_two_calls_share_a_correlation_id_the_last_row_is_the_launch) {
    struct build build;
    struct status status = {0};
    struct model model;
    build_begin(&build);
    build_call(&build, 0, CALL_LAUNCH, 50, 60, "cuLaunchKernel", 9);
    build_call(&build, 0, CALL_LAUNCH, 40, 70, "cudaLaunchKernel", 9);
    build_activity(&build, 0, ACTIVITY_KERNEL, 80, 90, "k", 9);
    struct trace *trace = build_end(&build);
    REQUIRE(trace);
    REQUIRE(model_build(&model, trace, &status));
    CHECK(text_is(trace_text(trace, trace->call.name[model.launch[0]]), "cudaLaunchKernel"));
    model_finish(&model);
    trace_close(trace);
}
