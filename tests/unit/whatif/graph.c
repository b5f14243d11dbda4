/* Parts of the graph and of its changes, tested directly. */
#include "scene.h"

#include "../test.h"
#include "base/array.h"
#include "base/memory.h"

/* Two recordings with a device and a thread each; the second device has the timed part. */
struct two_recordings {
    struct trace trace;
    struct replay replay;
    struct selection windows[3];
    struct window part;
    uint32_t device_session[3], thread_session[3], call_thread[1];
    int64_t call_start[1], host_time[1];
};

static void two_recordings(struct two_recordings *two) {
    *two = (struct two_recordings){.part = {100, 200}, .call_start = {150}};
    two->windows[2] = (struct selection){.windows = &two->part, .count = 1};
    for (uint32_t i = 1; i < 3; i++)
        two->device_session[i] = two->thread_session[i] = i - 1;
    two->trace.device_session = two->device_session;
    two->trace.thread_session = two->thread_session;
    two->trace.call.thread = two->call_thread;
    two->replay = (struct replay){.trace = &two->trace,
                                  .devices = 3,
                                  .windows = two->windows,
                                  .narrowed = true,
                                  .call_start = two->call_start,
                                  .host_time = two->host_time};
}

TEST(a_thread_has_its_part_on_the_devices_of_its_own_recording) {
    struct two_recordings two;
    two_recordings(&two);
    CHECK_INT(inside_thread_part(&two.replay, 2, 50, 150), 50);
    CHECK_INT(inside_thread_part(&two.replay, 1, 50, 150), 0);
}

TEST(thinking_is_in_the_part_as_far_as_its_time_is) {
    struct two_recordings two;
    two_recordings(&two);
    two.call_thread[0] = 2;
    two.host_time[0] = 100;
    CHECK_INT(host_time_in_part(&two.replay, 0, 40), 20);
    two.call_start[0] = 100; /* host time of one nanosecond just before the part */
    two.host_time[0] = 1;
    CHECK_INT(host_time_in_part(&two.replay, 0, 1), 0);
}

TEST(a_clock_error_of_up_to_a_millisecond_is_accepted) {
    static const struct {
        int64_t stated, taken;
    } cases[] = {{0, 0}, {1000000, 1000000}, {1000001, 1000}, {-1, 1000}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct build build;
        struct scene scene;
        build_begin(&build);
        trace_writer_meta_integer(build.writer, META_CLOCK_ERROR, cases[i].stated);
        build_activity(&build, 0, ACTIVITY_KERNEL, 0, 100, "gemm", 0);
        if (scene_open(&scene, build_end(&build)))
            CHECK_INT(scene.replay->clock_error, cases[i].taken);
        scene_close(&scene);
    }
}

/* "waits" starts when "first" has ended in another queue, and precedes "queued", which was queued
 * and awaited nothing else. "late" was launched while that one ran. */
TEST(the_lag_of_a_queue_is_that_of_queued_activities_without_other_dependencies) {
    struct build build;
    struct scene scene;
    build_begin(&build);
    build_call(&build, 0, CALL_LAUNCH, 0, 100, "cudaLaunchKernel", 1);
    build_call(&build, 0, CALL_LAUNCH, 200, 300, "cudaLaunchKernel", 2);
    build_call(&build, 0, CALL_LAUNCH, 400, 500, "cudaLaunchKernel", 3);
    build_call(&build, 0, CALL_LAUNCH, 120000, 120100, "cudaLaunchKernel", 4);
    build_activity(&build, 0, ACTIVITY_KERNEL, 1000, 100000, "first", 1);
    build_activity(&build, 1, ACTIVITY_KERNEL, 101000, 200000, "waits", 3);
    build_activity(&build, 0, ACTIVITY_KERNEL, 107000, 150000, "queued", 2);
    build_activity(&build, 0, ACTIVITY_KERNEL, 150050, 160000, "late", 4);
    if (scene_open(&scene, build_end(&build))) {
        CHECK_INT(scene.replay->depends.count, 1);
        CHECK_INT(scene.replay->typical[1].queue, 7000);
    }
    scene_close(&scene);
}

TEST(kernels_without_a_launch_fuse_too) {
    struct build build;
    struct scene scene;
    struct status status = {0};
    struct outcome outcome;
    struct change fuse = {.kind = CHANGE_FUSE, .pattern = TEXT("relu")};
    build_begin(&build);
    for (int i = 0; i < 4; i++)
        build_activity(&build, 0, ACTIVITY_KERNEL, i * 11000, i * 11000 + 10000,
                       "vectorized_elementwise_kernel<4, relu>", 0);
    if (scene_open(&scene, build_end(&build)) &&
        replay_run(scene.replay, &fuse, 1, &outcome, &status)) {
        CHECK(outcome.applicable);
        CHECK_STRING(outcome.what, "4 kernels become 1");
        outcome_finish(&outcome);
    }
    scene_close(&scene);
}

TEST(a_change_without_memory_fails) {
    static change_maker *const makers[] = {
        change_graph,    change_fuse,       change_no_sync, change_batch_copies,  change_no_alloc,
        change_prefetch, change_no_compile, change_no_host, change_overlap_copies};
    static const struct loop loop = {.steps = 4,
                                     .kernels = 4,
                                     .host_time = 3000,
                                     .launch = 4000,
                                     .duration = 5000,
                                     .alloc = 9000};
    struct scene scene;
    if (scene_loop(&scene, &loop))
        for (size_t i = 0; i < ARRAY_COUNT(makers); i++) {
            struct status status = {0};
            struct run run;
            struct outcome outcome = {0};
            run_begin(&run, scene.replay);
            memory_fail_from(1);
            bool ok = makers[i](&run, &(struct change){0}, &outcome, &status);
            memory_fail_from(0);
            CHECK(!ok && status.code == STATUS_MEMORY);
            run_finish(&run);
        }
    scene_close(&scene);
}

/* The copy is queued behind the kernel: the call waits for both. */
TEST(a_blocking_copy_returns_earlier_when_the_kernel_before_it_is_faster) {
    struct build build;
    struct scene scene;
    build_begin(&build);
    build_call(&build, 0, CALL_LAUNCH, 0, 1000, "cudaLaunchKernel", 1);
    build_call(&build, 0, CALL_COPY, 2000, 960000, "cudaMemcpy", 2);
    build_call(&build, 0, CALL_ALLOC, 970000, 980000, "cudaFree", 3);
    build_activity(&build, 0, ACTIVITY_KERNEL, 2000, 902000, "slow", 1);
    build_activity(&build, 0, ACTIVITY_COPY, 903000, 950000, "Memcpy DtoH", 2);
    struct change faster = {.kind = CHANGE_FASTER, .pattern = TEXT("slow"), .factor = 10};
    if (scene_open(&scene, build_end(&build)))
        CHECK_INT(980000 - 810000, scene_predict(&scene, &faster, 1));
    scene_close(&scene);
}
