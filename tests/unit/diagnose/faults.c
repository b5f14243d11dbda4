/* Each fault in the same loop, one at a time: it must be what the verdict leads with, and what it
 * is said to cost must be about what it costs. */
#include <stdlib.h>
#include <unistd.h>

#include "../test.h"
#include "base/memory.h"
#include "scene.h"

#define GEMM "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT"
#define F32_GEMM "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x128x8_ffma"
#define ADD                                                                                        \
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "       \
    "std::array<char*, 3ul>>(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"
#define RELU                                                                                       \
    "void at::native::vectorized_elementwise_kernel<4, relu_lambda, std::array<char*, 2ul>>(int, " \
    "relu_lambda, std::array<char*, 2ul>)"
#define STRIDED                                                                                    \
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<"              \
    "at::native::direct_copy_kernel_cuda>>(int)"

/* How large the faults are: time of what is put into the loop. */
static double size;

static int64_t sized(int64_t time) {
    return (int64_t)((double)time * size);
}

enum { STEPS = 24, LAYERS = 6, MS = 1000000, US = 1000 };

/* Six layers that keep the device busy and the host well ahead of it. */
static void layers(struct scene *scene, int64_t time) {
    for (int i = 0; i < LAYERS; i++) {
        scene_think(scene, 6 * US);
        scene_kernel(scene, GEMM, time, 1056);
        scene_think(scene, 6 * US);
        scene_kernel(scene, RELU, time / 8, 4096);
    }
}

typedef void act(struct scene *scene, int step);

/* What a program does before its loop: the context, modules, weights and their initialisation. */
static void start(struct scene *scene) {
    static const char *const names[] = {"fill", "uniform", "normal", "copy", "arange"};
    scene_think(scene, 30 * MS);
    scene_call(scene, CALL_ALLOC, "cudaMalloc", 80 * MS, 0);
    for (int i = 0; i < 160; i++) {
        unsigned chosen = (unsigned)(scene->random >> 33);
        if (chosen % 6 == 0)
            scene_call(scene, CALL_COMPILE, "cuLibraryLoadData", 2 * MS, 0);
        if (chosen % 5 == 0)
            scene_call(scene, CALL_ALLOC, "cudaMalloc", 300 * US, 0);
        if (chosen % 7 == 0) {
            scene_copy(scene, COPY_HTOD, 4 << 20, true, 6000);
            scene_sync(scene, "cudaStreamSynchronize");
        }
        scene_think(scene, 40 * US);
        scene_kernel(scene, names[chosen % 5], 3 * US, 132);
    }
    scene_sync(scene, "cudaDeviceSynchronize");
}

static struct scene_report play(act *step) {
    struct scene scene;
    scene_begin(&scene);
    start(&scene);
    for (int i = 0; i < STEPS; i++) {
        scene_think(&scene, 20 * US);
        step(&scene, i);
    }
    scene_sync(&scene, "cudaDeviceSynchronize");
    return scene_report(&scene);
}

static void show(const struct verdict *verdict) {
    for (size_t i = 0; i < verdict->count; i++)
        fprintf(stderr, "    %s %.1f%% (%s%s): %s\n", finding_key(verdict->findings[i].kind),
                100.0 * (double)verdict->findings[i].recoverable / (double)verdict->time,
                confidence_name(verdict->findings[i].confidence),
                verdict->findings[i].minor ? ", minor" : "", verdict->findings[i].summary);
}

/* The verdict leads with `kind`. With a cost (of all steps), its recoverable time is within a fifth
 * of that. */
static void check_one(act *step, enum finding_kind kind, int64_t cost) {
    struct scene_report played = play(step);
    if (!played.ok)
        return;
    const struct verdict *verdict = &played.report.verdict;
    if (verdict->count == 0 || verdict->findings[0].kind != kind) {
        test_failed(__FILE__, __LINE__, "at size %g it is %s, not %s", size,
                    verdict->count ? finding_key(verdict->findings[0].kind) : "nothing",
                    finding_key(kind));
        show(verdict);
    } else if (cost && verdict->steps) {
        double off = (double)verdict->findings[0].recoverable / ((double)cost * size);
        if (off < 0.75 || off > 1.2) {
            test_failed(__FILE__, __LINE__, "at size %g %s is said to cost %.2f times what it does",
                        size, finding_key(kind), off);
            show(verdict);
        }
    }
    scene_finish(&played);
}

static void check_fault(act *step, enum finding_kind kind, int64_t cost) {
    static const double sizes[] = {0.3, 1, 4};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size = sizes[i];
        check_one(step, kind, cost);
    }
}

static void busy_loop(struct scene *scene, int step) {
    (void)step;
    layers(scene, 200 * US);
}

TEST(a_loop_that_keeps_the_device_busy_is_healthy) {
    check_fault(busy_loop, FINDING_HEALTHY, 0);
}

static void now_and_then_synchronised(struct scene *scene, int step) {
    layers(scene, 200 * US);
    if (step % 8 == 7)
        scene_sync(scene, "cudaDeviceSynchronize");
}

TEST(a_wait_once_in_many_steps_is_no_fault) {
    check_fault(now_and_then_synchronised, FINDING_HEALTHY, 0);
}

static void tiny(struct scene *scene, int step) {
    (void)step;
    for (int i = 0; i < 20 + sized(40); i++) {
        scene_think(scene, 4 * US);
        scene_kernel(scene, i % 2 ? ADD : RELU, 1800, 64);
    }
}

TEST(many_tiny_kernels_are_bound_by_launching) {
    check_fault(tiny, FINDING_LAUNCH_BOUND, 0);
}

static void reads_a_value(struct scene *scene, int step) {
    (void)step;
    for (int i = 0; i < LAYERS; i++) {
        layers(scene, 40 * US);
        scene_copy(scene, COPY_DTOH, 4, true, 20000);
        scene_sync(scene, "cudaStreamSynchronize");
    }
}

TEST(reading_a_value_in_every_layer_is_a_wait_in_the_loop) {
    check_fault(reads_a_value, FINDING_SYNC_IN_LOOP, 0);
}

static void waits_each_layer(struct scene *scene, int step) {
    (void)step;
    for (int i = 0; i < 8; i++) {
        scene_think(scene, 15 * US);
        scene_kernel(scene, GEMM, 60 * US, 1056);
        scene_sync(scene, "cudaDeviceSynchronize");
    }
}

TEST(waiting_after_every_kernel_is_a_wait_in_the_loop) {
    check_fault(waits_each_layer, FINDING_SYNC_IN_LOOP, 0);
}

static void sleeps(struct scene *scene, int step) {
    (void)step;
    layers(scene, 200 * US);
    scene_sync(scene, "cudaStreamSynchronize");
    scene_think(scene, sized(2 * MS));
}

TEST(a_host_that_sleeps_between_steps_is_what_the_device_waits_for) {
    check_fault(sleeps, FINDING_HOST_BOUND, (int64_t)STEPS * 2 * MS);
}

static void sleeps_without_waiting(struct scene *scene, int step) {
    (void)step;
    layers(scene, 100 * US);
    scene_range(scene, RANGE_ANNOTATION, "tokenise", 700 * US + sized(4 * MS));
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

static void many_small_copies(struct scene *scene, int step) {
    (void)step;
    for (int i = 0; i < sized(100); i++) {
        scene_think(scene, 3 * US);
        scene_copy(scene, COPY_HTOD, 16384, true, 12000);
        scene_sync(scene, "cudaStreamSynchronize");
    }
    layers(scene, 100 * US);
}

TEST(hundreds_of_small_copies_are_small_transfers) {
    check_fault(many_small_copies, FINDING_SMALL_TRANSFERS, 0);
}

static void many_small_pinned_copies(struct scene *scene, int step) {
    (void)step;
    for (int i = 0; i < sized(100); i++) {
        scene_think(scene, 3 * US);
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

static void compiles(struct scene *scene, int step) {
    (void)step;
    layers(scene, 150 * US);
    scene_think(scene, 800 * US + sized(6 * MS));
    scene_call(scene, CALL_COMPILE, "cuModuleLoadData", 300 * US, 0);
    scene_kernel(scene, "generated", 50 * US, 1056);
}

TEST(compiling_before_loading_a_module_is_compilation) {
    check_fault(compiles, FINDING_COMPILATION, 0);
}

static void chain(struct scene *scene, int step) {
    (void)step;
    for (int i = 0; i < 8; i++) {
        scene_think(scene, 5 * US);
        scene_kernel(scene, i % 2 ? ADD : RELU, sized(300 * US), 65536);
    }
}

TEST(a_chain_of_large_element_wise_kernels_is_bound_by_memory) {
    check_fault(chain, FINDING_MEMORY_BOUND, 0);
}

static void strided(struct scene *scene, int step) {
    (void)step;
    scene_think(scene, 5 * US);
    scene_kernel(scene, STRIDED, sized(2 * MS), 65536);
    scene_kernel(scene, GEMM, 300 * US, 1056);
}

TEST(strided_copies_are_bound_by_memory) {
    check_fault(strided, FINDING_MEMORY_BOUND, 0);
}

static void f32(struct scene *scene, int step) {
    (void)step;
    for (int i = 0; i < LAYERS; i++) {
        scene_think(scene, 5 * US);
        scene_kernel(scene, F32_GEMM, sized(800 * US), 1056);
    }
}

TEST(f32_products_without_matrix_units_are_bound_by_arithmetic) {
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

static void slows_down(struct scene *scene, int step) {
    scene->pace = step < STEPS / 3 ? 1 : 1 + 0.4 * size;
    scene_counter(scene, "clock (MHz)", 1980 / scene->pace);
    scene_counter(scene, "throttle reasons", scene->pace > 1 ? 0x20 : 0);
    layers(scene, 200 * US);
}

TEST(a_lower_clock_is_throttling) {
    check_fault(slows_down, FINDING_THROTTLING, 0);
}

static void slows_down_unseen(struct scene *scene, int step) {
    scene->pace = step < STEPS / 3 ? 1 : 1 + 0.4 * size;
    layers(scene, 200 * US);
}

TEST(kernels_that_slow_down_together_are_throttling_without_a_clock_too) {
    check_fault(slows_down_unseen, FINDING_THROTTLING, 0);
}

static void power_capped(struct scene *scene, int step) {
    scene_counter(scene, "clock (MHz)", step < 2 ? 1980 : 1700);
    scene_counter(scene, "throttle reasons", 0x4);
    layers(scene, 200 * US);
}

TEST(a_device_at_its_power_limit_under_full_load_is_healthy) {
    check_fault(power_capped, FINDING_HEALTHY, 0);
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

static void sleeps_over_f32(struct scene *scene, int step) {
    (void)step;
    for (int i = 0; i < LAYERS; i++) {
        scene_think(scene, 5 * US);
        scene_kernel(scene, F32_GEMM, 300 * US, 1056);
    }
    scene_sync(scene, "cudaStreamSynchronize");
    scene_think(scene, sized(1 * MS));
}

TEST(slow_arithmetic_does_not_hide_a_host_that_sleeps) {
    check_fault(sleeps_over_f32, FINDING_HOST_BOUND, 0);
}

static void waits_in_a_chain(struct scene *scene, int step) {
    chain(scene, step);
    for (int i = 0; i < 8; i++) {
        scene_copy(scene, COPY_DTOH, 8, true, 20000);
        scene_sync(scene, "cudaStreamSynchronize");
        scene_think(scene, 20 * US + sized(60 * US));
        scene_kernel(scene, GEMM, 50 * US + sized(60 * US), 1056);
    }
}

TEST(a_chain_that_could_be_fused_does_not_hide_waits) {
    size = 1;
    check_one(waits_in_a_chain, FINDING_SYNC_IN_LOOP, 0);
}

/* Two faults: the costlier leads and the other is among the findings that count. */
static void check_pair(act *step, enum finding_kind first, enum finding_kind second) {
    struct scene_report played = play(step);
    if (!played.ok)
        return;
    const struct verdict *verdict = &played.report.verdict;
    bool found = false;
    for (size_t i = 1; i < verdict->count; i++)
        found |= verdict->findings[i].kind == second && !verdict->findings[i].minor;
    if (verdict->findings[0].kind != first || !found) {
        test_failed(__FILE__, __LINE__, "not %s, then %s", finding_key(first), finding_key(second));
        show(verdict);
    }
    scene_finish(&played);
}

static void sleeps_and_allocates(struct scene *scene, int step) {
    (void)step;
    scene_call(scene, CALL_ALLOC, "cudaMalloc", 400 * US, 0);
    layers(scene, 100 * US);
    scene_waiting_call(scene, CALL_ALLOC, "cudaFree", 400 * US);
    scene_think(scene, 3 * MS);
}

TEST(of_sleeping_and_allocating_the_costlier_leads) {
    check_pair(sleeps_and_allocates, FINDING_HOST_BOUND, FINDING_ALLOCATION);
}

static void pageable_and_waits(struct scene *scene, int step) {
    scene_copy(scene, COPY_HTOD, 48 << 20, true, 8000);
    scene_sync(scene, "cudaStreamSynchronize");
    waits_each_layer(scene, step);
    waits_each_layer(scene, step);
}

TEST(of_pageable_copies_and_waits_the_costlier_leads) {
    check_pair(pageable_and_waits, FINDING_PAGEABLE, FINDING_SYNC_IN_LOOP);
}

static void compiles_and_copies(struct scene *scene, int step) {
    size = 0.5;
    many_small_copies(scene, step);
    size = 1;
    compiles(scene, step);
}

TEST(of_compiling_and_small_copies_the_costlier_leads) {
    check_pair(compiles_and_copies, FINDING_COMPILATION, FINDING_SMALL_TRANSFERS);
}

static struct trace *open_scene(struct scene *scene) {
    struct trace *trace = NULL;
    struct status status = {0};
    for (int i = 0; i < STEPS; i++) {
        reads_a_value(scene, i);
        many_small_copies(scene, i);
        tiny(scene, i);
    }
    if (!trace_writer_finish(scene->writer, &status) ||
        !trace_open_fd(scene->fd, "scene", &trace, &status))
        test_failed(__FILE__, __LINE__, "%s", status.message);
    trace_writer_destroy(scene->writer);
    close(scene->fd);
    return trace;
}

TEST(a_diagnosis_without_memory_fails_and_leaves_nothing) {
    struct status status = {0};
    struct report report;
    struct scene scene;
    size = 0.3;
    scene_begin(&scene);
    struct trace *trace = open_scene(&scene);
    REQUIRE(trace != NULL);
    struct report_options options = {.trace_name = "scene", .top = 10};
    for (uint64_t nth = 1; nth < 100000; nth += 1 + nth / 8) {
        memory_fail_from(nth);
        bool ok = report_build(&report, trace, &options, &status);
        memory_fail_from(0);
        if (ok) {
            report_finish(&report);
            break;
        }
        CHECK_INT(status.code, STATUS_MEMORY);
    }
    trace_close(trace);
}
