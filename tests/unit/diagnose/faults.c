/* Host faults in the same loop, one at a time: each must lead the verdict, and its gain must be
 * about what the fault costs. */
#include "../test.h"
#include "loop.h"

static void busy_loop(struct scene *scene, int step) {
    (void)step;
    layers(scene, 200 * US);
}

TEST(a_loop_that_keeps_the_device_busy_is_healthy) {
    check_fault(busy_loop, FINDING_HEALTHY, 0);
}

static void now_and_then_synchronized(struct scene *scene, int step) {
    layers(scene, 200 * US);
    if (step % 8 == 7)
        scene_sync(scene, "cudaDeviceSynchronize");
}

TEST(a_wait_once_in_many_steps_is_no_fault) {
    check_fault(now_and_then_synchronized, FINDING_HEALTHY, 0);
}

TEST(many_tiny_kernels_are_launch_bound) {
    check_fault(tiny, FINDING_LAUNCH_BOUND, 0);
}

TEST(reading_a_value_in_every_layer_is_a_wait_in_the_loop) {
    check_fault(reads_a_value, FINDING_SYNC_IN_LOOP, 0);
}

static void reads_a_value_at_once(struct scene *scene, int step) {
    (void)step;
    layers(scene, 30 * US);
    scene_copy(scene, COPY_DTOH, 4, true, 20000);
}

TEST(a_copy_of_a_value_that_blocks_is_a_wait_in_the_loop) {
    check_fault(reads_a_value_at_once, FINDING_SYNC_IN_LOOP, 0);
}

TEST(waiting_after_every_kernel_is_a_wait_in_the_loop) {
    check_fault(waits_each_layer, FINDING_SYNC_IN_LOOP, 0);
}

static void sleeps(struct scene *scene, int step) {
    (void)step;
    layers(scene, 200 * US);
    scene_sync(scene, "cudaStreamSynchronize");
    scene_host_code(scene, sized(2 * MS));
}

TEST(a_host_that_sleeps_between_steps_is_what_the_device_waits_for) {
    check_fault(sleeps, FINDING_HOST_BOUND, (int64_t)STEPS * 2 * MS);
}

static void sleeps_without_waiting(struct scene *scene, int step) {
    (void)step;
    layers(scene, 100 * US);
    scene_range(scene, RANGE_ANNOTATION, "tokenize", 700 * US + sized(4 * MS));
}

TEST(host_code_longer_than_the_device_works_is_named) {
    check_fault(sleeps_without_waiting, FINDING_HOST_BOUND, 0);
}

static void loads_input(struct scene *scene, int step) {
    (void)step;
    scene_range(scene, RANGE_ANNOTATION, "DataLoader.__next__", 600 * US + sized(3 * MS));
    scene_copy(scene, COPY_HTOD, 1 << 20, false, 50000);
    layers(scene, 100 * US);
}

TEST(a_slow_loader_is_an_input_pipeline) {
    check_fault(loads_input, FINDING_INPUT_PIPELINE, 0);
}

static void calls_a_loader(struct scene *scene, int step) {
    (void)step;
    scene_python(scene, "_BaseDataLoaderIter.__next__ (dataloader.py)",
                 "Images.__getitem__ (train.py)", 600 * US + sized(3 * MS));
    scene_copy(scene, COPY_HTOD, 1 << 20, false, 50000);
    layers(scene, 100 * US);
}

TEST(what_a_loader_calls_is_an_input_pipeline) {
    check_fault(calls_a_loader, FINDING_INPUT_PIPELINE, 0);
    struct scene_report scene = play(calls_a_loader);
    REQUIRE(scene.ok);
    CHECK(scene.report.verdict.findings[0].recoverable > (int64_t)STEPS * 2 * MS); /* of 3.6 */
    scene_finish(&scene);
}

static void runs_python(struct scene *scene, int step) {
    (void)step;
    scene_python(scene, "<module> (train.py)", "augment (train.py)", 600 * US + sized(3 * MS));
    layers(scene, 100 * US);
}

TEST(a_python_function_that_the_device_waits_for_is_named) {
    check_fault(runs_python, FINDING_HOST_BOUND, 0);
    struct scene_report scene = play(runs_python);
    REQUIRE(scene.ok);
    CHECK(strstr(scene.report.verdict.findings[0].summary, "augment (train.py)"));
    scene_finish(&scene);
}

TEST(hundreds_of_small_copies_are_small_transfers) {
    check_fault(many_small_copies, FINDING_SMALL_TRANSFERS, 0);
}

static void many_small_pinned_copies(struct scene *scene, int step) {
    (void)step;
    for (int i = 0; i < sized(100); i++) {
        scene_host_code(scene, 3 * US);
        scene_copy(scene, COPY_HTOD, 8192, false, 20000);
    }
    layers(scene, 100 * US);
}

TEST(small_copies_are_so_from_pinned_memory_too) {
    check_fault(many_small_pinned_copies, FINDING_SMALL_TRANSFERS, 0);
}

static void large_pinned(struct scene *scene, int step) {
    (void)step;
    scene_copy(scene, COPY_HTOD, (uint64_t)sized(64 << 20), false, 52000);
    layers(scene, 250 * US);
}

TEST(a_large_pinned_copy_in_the_kernels_queue_is_exposed) {
    check_fault(large_pinned, FINDING_EXPOSED_TRANSFERS, 0);
}

static void large_pageable(struct scene *scene, int step) {
    (void)step;
    scene_copy(scene, COPY_HTOD, (uint64_t)sized(64 << 20), true, 8000);
    scene_sync(scene, "cudaStreamSynchronize");
    layers(scene, 250 * US);
}

TEST(a_large_copy_from_pageable_memory_is_pageable) {
    check_fault(large_pageable, FINDING_PAGEABLE, 0);
}

static void allocates(struct scene *scene, int step) {
    (void)step;
    for (int i = 0; i < 4; i++) {
        scene_call(scene, CALL_ALLOC, "cudaMalloc", sized(150 * US), 0);
        scene_kernel(scene, GEMM, 120 * US, 1056);
        scene_kernel(scene, RELU, 20 * US, 1056);
        scene_waiting_call(scene, CALL_ALLOC, "cudaFree", sized(200 * US));
    }
}

TEST(allocating_and_freeing_in_the_loop_is_allocation) {
    check_fault(allocates, FINDING_ALLOCATION, 0);
}

TEST(compiling_before_loading_a_module_is_compilation) {
    check_fault(compiles, FINDING_COMPILATION, 0);
}

/* No two steps are alike, so that no steps are found. */
static void never_the_same(struct scene *scene, int step) {
    static const char *const names[] = {GEMM, RELU, ADD, "softmax", "layer_norm", "embedding"};
    (void)step;
    for (int i = 0; i < LAYERS; i++) {
        scene_host_code(scene, 6 * US);
        scene_kernel(scene, names[(scene->random >> 33) % 6], 4 * MS, 1056);
    }
}

TEST(what_a_start_does_is_not_the_loops_where_no_steps_are_found) {
    check_fault(never_the_same, FINDING_HEALTHY, 0);
}

static void out_of_memory(struct scene *scene, int step) {
    (void)step;
    layers(scene, 100 * US);
    scene_call(scene, CALL_ALLOC, "cudaMalloc", 100 * US, 2);
    for (int i = 0; i < 5; i++)
        scene_waiting_call(scene, CALL_ALLOC, "cudaFree", 150 * US);
    scene_call(scene, CALL_ALLOC, "cudaMalloc", 300 * US, 0);
}

TEST(failing_allocations_and_floods_of_releases_are_memory_pressure) {
    check_fault(out_of_memory, FINDING_MEMORY_PRESSURE, 0);
}

static void on_cpu(struct scene *scene, int step) {
    (void)step;
    layers(scene, 60 * US);
    scene_copy(scene, COPY_DTOH, 200000, true, 12000);
    scene_sync(scene, "cudaStreamSynchronize");
    scene_range(scene, RANGE_OP, "aten::sort", sized(3 * MS));
    scene_copy(scene, COPY_HTOD, 200000, true, 12000);
}

TEST(an_operator_that_computes_on_the_cpu_is_found) {
    check_fault(on_cpu, FINDING_ON_CPU, 0);
}

static void now_and_then_long(struct scene *scene, int step) {
    int64_t start = scene->host;
    layers(scene, 200 * US);
    for (int i = 0; i < LAYERS && step % 7 == 5; i++)
        scene_kernel(scene, GEMM, 1 * MS + sized(MS), 1056);
    scene_sync(scene, "cudaDeviceSynchronize");
    scene_annotate(scene, "step", start);
}

TEST(a_few_steps_that_take_much_longer_are_irregular) {
    check_fault(now_and_then_long, FINDING_IRREGULAR_STEPS, 0);
}

static void overlapped_copies(struct scene *scene, int step) {
    (void)step;
    layers(scene, 200 * US);
    scene_copy(scene, COPY_HTOD, 1 << 20, false, 52000);
}

TEST(a_small_part_of_exposed_copies_is_healthy) {
    check_fault(overlapped_copies, FINDING_HEALTHY, 0);
}

/* The last step goes on long after the device's last kernel: that is not in the judged time. */
static void ends_long(struct scene *scene, int step) {
    int64_t start = scene->host;
    layers(scene, 200 * US);
    scene_sync(scene, "cudaDeviceSynchronize");
    scene_host_code(scene, step == STEPS - 1 ? 900 * MS : 0);
    scene_annotate(scene, "step", start);
}

TEST(no_finding_recovers_more_than_the_judged_time) {
    struct scene_report played = play(ends_long);
    const struct verdict *verdict = &played.report.verdict;
    CHECK(played.ok);
    for (size_t i = 0; i < verdict->count; i++)
        CHECK(verdict->findings[i].recoverable <= verdict->time);
    scene_finish(&played);
}
