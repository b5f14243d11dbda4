/* Faults of the kernels and the device, one at a time in the same loop. */
#include "../test.h"
#include "loop.h"

#include <string.h>

TEST(a_chain_of_large_element_wise_kernels_is_memory_bound) {
    check_fault(chain, FINDING_MEMORY_BOUND, 0);
}

static void strided(struct scene *scene, int step) {
    (void)step;
    scene_host_code(scene, 5 * US);
    scene_kernel(scene, STRIDED, sized(2 * MS), 65536);
    scene_kernel(scene, GEMM, 300 * US, 1056);
}

TEST(strided_copies_are_memory_bound) {
    check_fault(strided, FINDING_MEMORY_BOUND, 0);
}

static void f32(struct scene *scene, int step) {
    (void)step;
    for (int i = 0; i < LAYERS; i++) {
        scene_host_code(scene, 5 * US);
        scene_kernel(scene, F32_GEMM, sized(800 * US), 1056);
    }
}

TEST(f32_products_without_tensor_cores_are_compute_bound) {
    check_fault(f32, FINDING_COMPUTE_BOUND, 0);
}

static void few_blocks(struct scene *scene, int step) {
    (void)step;
    layers(scene, 100 * US);
    scene_kernel(scene, "void reduce_one_row<float>(float*)", sized(3 * MS), 4);
}

TEST(long_kernels_of_a_few_blocks_have_a_small_grid) {
    check_fault(few_blocks, FINDING_SMALL_GRID, (int64_t)STEPS * 2900 * US);
}

/* 32 blocks on each of 132 multiprocessors, each for 8.4 us. */
static void small_blocks(struct scene *scene, int step) {
    (void)step;
    scene_kernel(scene, GEMM, 1 * MS, 1056);
    for (uint32_t i = 0; i < 2; i++) {
        trace_write_activity(
            scene->writer,
            &(struct row_activity){.start = scene->device_free,
                                   .duration = 1 * MS,
                                   .queue = scene->queue,
                                   .name = trace_writer_string(scene->writer, TEXT("scatter")),
                                   .grid_x = 500000,
                                   .grid_y = 1,
                                   .grid_z = 1,
                                   .block_x = 8,
                                   .block_y = 2,
                                   .block_z = 2,
                                   .registers = 32,
                                   .bytes = BYTES_UNKNOWN});
        scene->device_free += 1 * MS;
    }
}

TEST(many_short_blocks_of_few_threads_are_too_small) {
    struct scene_report played = play(small_blocks);
    REQUIRE(played.ok);
    const struct verdict *verdict = &played.report.verdict;
    const struct finding *found = NULL;
    for (size_t i = 0; i < verdict->count; i++)
        if (verdict->findings[i].kind == FINDING_LOW_OCCUPANCY)
            found = &verdict->findings[i];
    REQUIRE(found);
    CHECK_INT(found->recoverable, (int64_t)STEPS * 2 * MS * 7 / 8); /* 32 threads, not 256 */
    CHECK_INT(found->error, found->recoverable / 4);
    CHECK(strstr(found->summary, "scatter") && strstr(found->summary, "32 threads"));
    CHECK(!strstr(found->cause, "A warp has 32 threads"));
    scene_finish(&played);
}

/* Eight queues run a kernel at the same time: one whole wave of blocks, and a few blocks more. */
static void tails_beside_each_other(struct scene *scene, int step) {
    (void)step;
    scene_kernel(scene, GEMM, 3 * MS, 1056);
    for (int64_t stream = 8; stream < 16; stream++) {
        uint32_t queue = trace_write_queue(
            scene->writer, &(struct row_queue){.device = scene->device, .stream = stream});
        trace_write_activity(
            scene->writer,
            &(struct row_activity){.start = scene->device_free - 2 * MS,
                                   .duration = 2 * MS,
                                   .queue = queue,
                                   .name = trace_writer_string(scene->writer, TEXT(GEMM)),
                                   .correlation = scene->correlation,
                                   .grid_x = 1100,
                                   .grid_y = 1,
                                   .grid_z = 1,
                                   .block_x = 256,
                                   .block_y = 1,
                                   .block_z = 1,
                                   .registers = 32,
                                   .bytes = BYTES_UNKNOWN});
    }
}

TEST(kernels_beside_each_other_save_no_more_than_the_run_takes) {
    struct scene_report played = play(tails_beside_each_other);
    REQUIRE(played.ok);
    const struct verdict *verdict = &played.report.verdict;
    bool found = false;
    for (size_t i = 0; i < verdict->count; i++) {
        found = found || verdict->findings[i].kind == FINDING_TAIL;
        CHECK(verdict->findings[i].recoverable <= verdict->time);
    }
    CHECK(found);
    scene_finish(&played);
}

static void slows_down(struct scene *scene, int step) {
    scene->pace = step < STEPS / 3 ? 1 : 1 + 0.4 * fault_size;
    scene_counter(scene, "clock (MHz)", 1980 / scene->pace);
    scene_counter(scene, "throttle reasons", scene->pace > 1 ? 0x20 : 0);
    layers(scene, 200 * US);
}

TEST(a_lower_clock_is_throttling) {
    check_fault(slows_down, FINDING_THROTTLING, 0);
}

static void slows_down_unseen(struct scene *scene, int step) {
    scene->pace = step < STEPS / 3 ? 1 : 1 + 0.4 * fault_size;
    layers(scene, 200 * US);
}

TEST(kernels_that_slow_down_together_are_throttling_without_a_clock_too) {
    fault_size = 2;
    check_one(slows_down_unseen, FINDING_THROTTLING, 0);
}

/* Other programs slow them down as well. */
TEST(kernels_on_a_cpu_that_slow_down_together_are_no_throttling) {
    fault_size = 2;
    scene_device_label = "cpu:0";
    struct scene_report played = play(slows_down_unseen);
    scene_device_label = "0";
    REQUIRE(played.ok);
    for (size_t i = 0; i < played.report.verdict.count; i++)
        CHECK(played.report.verdict.findings[i].kind != FINDING_THROTTLING);
    scene_finish(&played);
}

TEST(a_slowdown_that_a_power_limit_explains_is_a_remark) {
    fault_size = 0.7;
    check_remark(slows_down_unseen, FINDING_THROTTLING);
}

/* Products take a device to its power limit in any type. */
static void f64_slows_down_unseen(struct scene *scene, int step) {
    scene->pace = step < STEPS / 3 ? 1 : 1.2;
    for (int i = 0; i < LAYERS; i++) {
        scene_host_code(scene, 5 * US);
        scene_kernel(scene, F64_GEMM, 800 * US, 1056);
    }
}

TEST(f64_products_at_a_power_limit_are_compute_bound_first) {
    fault_size = 1;
    check_one(f64_slows_down_unseen, FINDING_COMPUTE_BOUND, 0);
    struct scene_report played = play(f64_slows_down_unseen);
    REQUIRE(played.ok && played.report.verdict.count > 1);
    const struct finding *findings = played.report.verdict.findings;
    CHECK(strstr(findings[0].summary, "in f64 matrix products"));
    CHECK_INT(findings[1].kind, FINDING_THROTTLING);
    CHECK(findings[1].minor);
    scene_finish(&played);
}

static void power_capped(struct scene *scene, int step) {
    scene_counter(scene, "clock (MHz)", step < 2 ? 1980 : 1700);
    scene_counter(scene, "throttle reasons", 0x4);
    layers(scene, 200 * US);
}

TEST(a_device_at_its_power_limit_under_full_load_is_healthy) {
    check_fault(power_capped, FINDING_HEALTHY, 0);
    check_remark(power_capped, FINDING_THROTTLING);
}

/* Counters are written when they change: the reason is there before the steps are, and stays. */
static void power_capped_before(struct scene *scene, int step) {
    scene->pace = step ? 1.3 : 1;
    scene_counter(scene, "clock (MHz)", 1980 / scene->pace);
    if (step == 0) {
        scene_counter(scene, "throttle reasons", 0x4);
        scene_kernel(scene, "first", 200 * US, 1056);
    }
    layers(scene, 200 * US);
}

TEST(a_reason_that_was_read_before_the_steps_still_holds) {
    check_remark(power_capped_before, FINDING_THROTTLING);
}
