/* Each change against the simulated loop with that cost changed. */
#include "scene.h"

#include <stdlib.h>

#include "../test.h"
#include "base/array.h"

/* Launch-bound: kernels are shorter than their launches. */
static const struct loop launch_bound = {.steps = 12,
                                         .kernels = 40,
                                         .host_time = 3000,
                                         .launch = 4000,
                                         .lag = 1500,
                                         .gap = 800,
                                         .duration = 2500,
                                         .sync = 5000,
                                         .sync_lag = 2000};
/* Device-bound: long kernels. */
static const struct loop device_bound = {.steps = 12,
                                         .kernels = 20,
                                         .host_time = 3000,
                                         .launch = 4000,
                                         .lag = 1500,
                                         .gap = 800,
                                         .duration = 30000};

static const struct change graph = {.kind = CHANGE_GRAPH}, no_sync = {.kind = CHANGE_NO_SYNC},
                           fuse = {.kind = CHANGE_FUSE}, pinned = {.kind = CHANGE_PINNED},
                           no_alloc = {.kind = CHANGE_NO_ALLOC},
                           prefetch = {.kind = CHANGE_PREFETCH};

/* Checks that the predicted gain is within a percentage of the true gain. */
static void check_gain(int64_t before, int64_t predicted, int64_t truth, double percent) {
    double gain = (double)(before - truth), off = (double)llabs(predicted - truth);
    if (predicted < 0 || off > gain * percent / 100)
        test_failed(__FILE__, __LINE__, "from %lld to %lld predicted, to %lld in truth",
                    (long long)before, (long long)predicted, (long long)truth);
}

TEST(without_a_change_every_event_of_a_simulated_loop_is_where_it_was) {
    const struct loop *loops[] = {&launch_bound, &device_bound};
    for (int i = 0; i < 2; i++) {
        struct scene scene;
        if (scene_loop(&scene, loops[i])) {
            scene_check_exact(&scene, "loop");
            /* a run begins with its first call */
            CHECK_INT(scene_predict(&scene, NULL, 0), loop_time(loops[i]) - loops[i]->host_time);
            CHECK_INT(scene.steps.count, loops[i]->steps);
        }
        scene_close(&scene);
    }
}

TEST(a_kernel_twice_as_fast_gains_what_it_gains_where_the_device_is_the_bottleneck) {
    struct scene scene;
    struct loop faster = device_bound;
    struct change change = {.kind = CHANGE_FASTER, .pattern = TEXT("gemm"), .factor = 2};
    faster.duration /= 2;
    if (scene_loop(&scene, &device_bound))
        check_gain(loop_time(&device_bound), scene_predict(&scene, &change, 1), loop_time(&faster),
                   2);
    scene_close(&scene);
}

TEST(a_change_of_one_device_leaves_the_kernels_of_others) {
    struct scene scene;
    struct change all = {.kind = CHANGE_FASTER, .pattern = TEXT("gemm"), .factor = 2};
    struct change own = all, other = all;
    own.device = 1;
    other.device = 2;
    if (scene_loop(&scene, &device_bound)) {
        CHECK_INT(scene_predict(&scene, &own, 1), scene_predict(&scene, &all, 1));
        CHECK_INT(scene_predict(&scene, &other, 1), -1);
    }
    scene_close(&scene);
}

TEST(a_factor_that_changes_nothing_is_refused_with_the_reason) {
    static const struct {
        const char *pattern;
        double factor;
        const char *why_not;
    } cases[] = {{"gemm", 0, "the factor must be above 0"},
                 {"gemm", -1, "the factor must be above 0"},
                 {"host", 1, "a factor of 1 changes nothing"}};
    struct scene scene;
    bool opened = scene_loop(&scene, &device_bound);
    for (size_t i = 0; opened && i < sizeof cases / sizeof *cases; i++) {
        struct status status = {0};
        struct outcome outcome;
        struct change change = {
            .kind = CHANGE_FASTER, .pattern = text_of(cases[i].pattern), .factor = cases[i].factor};
        CHECK_OK(replay_run(scene.replay, &change, 1, &outcome, &status), status);
        CHECK(!outcome.applicable);
        CHECK_STRING(outcome.why_not, cases[i].why_not);
        outcome_finish(&outcome);
    }
    scene_close(&scene);
}

TEST(a_faster_host_gains_what_it_gains_where_launches_are_the_bottleneck) {
    struct scene scene;
    struct loop faster = launch_bound;
    struct change change = {.kind = CHANGE_FASTER, .pattern = TEXT("host"), .factor = 2};
    faster.host_time /= 2;
    if (scene_loop(&scene, &launch_bound))
        check_gain(loop_time(&launch_bound), scene_predict(&scene, &change, 1), loop_time(&faster),
                   2);
    scene_close(&scene);
}

TEST(a_synchronization_taken_out_of_the_loop_lets_the_host_run_ahead) {
    struct scene scene;
    struct loop with = device_bound, without = device_bound;
    with.sync = 5000;
    with.sync_lag = 4000;
    with.fetch = 1500;
    without.sync_lag = 4000;
    if (scene_loop(&scene, &with))
        check_gain(loop_time(&with), scene_predict(&scene, &no_sync, 1), loop_time(&without), 8);
    scene_close(&scene);
}

TEST(the_last_synchronization_of_a_run_stays) {
    struct scene scene;
    if (scene_loop(&scene, &device_bound))
        CHECK_INT(scene_predict(&scene, &no_sync, 1), -1);
    scene_close(&scene);
}

TEST(launches_of_a_step_as_a_graph_cost_one_call_and_kernels_follow_each_other) {
    struct scene scene;
    struct loop as_graph = launch_bound;
    as_graph.graph = true;
    if (scene_loop(&scene, &launch_bound)) {
        /* no launch was ever queued here, so the gap between kernels is unknown: half the time of a
         * further empty kernel */
        scene.limits[1].of[DEVICE_LIMIT_GRAPH_KERNEL] = 2 * (double)launch_bound.gap;
        check_gain(loop_time(&launch_bound), scene_predict(&scene, &graph, 1), loop_time(&as_graph),
                   8);
    }
    scene_close(&scene);
}

TEST(element_wise_kernels_fuse_to_one_with_one_read_and_one_write) {
    struct scene scene;
    struct loop apart = device_bound, fused = device_bound;
    apart.kernel = "void at::native::vectorized_elementwise_kernel<4, at::native::sin_kernel, "
                   "at::detail::Array<char*, 2> >(int)";
    apart.kernels = 4;
    apart.sync = fused.sync = 5000;
    fused.kernels = 1;
    fused.duration = apart.duration; /* data movement only; the floor is the launch call */
    if (scene_loop(&scene, &apart))
        check_gain(loop_time(&apart), scene_predict(&scene, &fuse, 1), loop_time(&fused), 8);
    scene_close(&scene);
}

TEST(products_do_not_fuse_unless_they_are_named) {
    struct scene scene;
    struct change named = {.kind = CHANGE_FUSE, .pattern = TEXT("g?mm")};
    if (scene_loop(&scene, &device_bound)) {
        CHECK_INT(scene_predict(&scene, &fuse, 1), -1);
        CHECK(scene_predict(&scene, &named, 1) > 0);
    }
    scene_close(&scene);
}

TEST(pinned_copies_neither_block_the_host_nor_go_through_a_staging_buffer) {
    struct scene scene;
    struct loop pageable = device_bound, fast = device_bound;
    pageable.copy = 4000000;
    pageable.copy_bytes = 16000000;
    pageable.pageable = true;
    fast.copy = 400000; /* 40 GB/s */
    fast.copy_bytes = 16000000;
    fast.copy_call = 4000;
    if (scene_loop(&scene, &pageable)) {
        CHECK_INT(scene_predict(&scene, &pinned, 1), -1); /* the rate is unknown */
        scene.limits[1].of[DEVICE_LIMIT_TO_DEVICE_PINNED] = 40e9;
        scene.limits[1].source[DEVICE_LIMIT_TO_DEVICE_PINNED] = LIMIT_MEASURED;
        check_gain(loop_time(&pageable), scene_predict(&scene, &pinned, 1), loop_time(&fast), 3);
    }
    scene_close(&scene);
}

TEST(the_wait_after_a_copy_of_pageable_memory_is_removed_with_it) {
    struct scene scene;
    struct loop pageable = device_bound, fast = device_bound;
    pageable.copy = 4000000;
    pageable.copy_bytes = 16000000;
    pageable.pageable = pageable.copy_waits = true;
    pageable.sync_lag = fast.sync_lag = 4000;
    fast.copy = 400000; /* 40 GB/s */
    fast.copy_bytes = 16000000;
    fast.copy_call = 4000;
    if (scene_loop(&scene, &pageable)) {
        scene.limits[1].of[DEVICE_LIMIT_TO_DEVICE_PINNED] = 40e9;
        scene.limits[1].source[DEVICE_LIMIT_TO_DEVICE_PINNED] = LIMIT_MEASURED;
        check_gain(loop_time(&pageable), scene_predict(&scene, &pinned, 1), loop_time(&fast), 3);
    }
    scene_close(&scene);
}

/* The gain within all steps but the first. */
static int64_t gain_of_steps(struct scene *scene, const struct change *change) {
    struct status status = {0};
    struct selection selections[4] = {{0}};
    struct replay_source source = scene->replay->source;
    struct outcome outcome;
    struct window window;
    int64_t gain = -1;
    source.selections = selections;
    source.narrowed = true;
    if (!steps_window(&scene->model, &scene->steps, 1, 1, scene->steps.count - 1, &window) ||
        !selection_add(&selections[1], window.start, window.end, &status))
        return -1;
    struct replay *replay = replay_create(&source, &status);
    if (replay && replay_run(replay, change, 1, &outcome, &status)) {
        CHECK_INT(outcome.unchanged, outcome.before);
        gain = outcome.before - outcome.after;
        outcome_finish(&outcome);
    }
    replay_destroy(replay);
    selection_finish(&selections[1]);
    return gain;
}

TEST(steps_that_begin_with_a_copy_gain_what_the_copy_gains) {
    struct scene scene;
    struct loop with = device_bound;
    struct change ahead = {.kind = CHANGE_OVERLAP_COPIES};
    with.copy = 300000;
    with.copy_bytes = 12000000;
    with.copy_call = 4000;
    if (scene_loop(&scene, &with)) { /* all copies but the first are hidden */
        double gain = (double)gain_of_steps(&scene, &ahead);
        double all = (double)with.copy * (with.steps - 1);
        CHECK(gain > 0.95 * all);
        CHECK(gain < 1.05 * all);
    }
    scene_close(&scene);
    with.copy = 4000000;
    with.copy_bytes = 16000000;
    with.pageable = true;
    if (scene_loop(&scene, &with)) {
        scene.limits[1].of[DEVICE_LIMIT_TO_DEVICE_PINNED] = 40e9;
        scene.limits[1].source[DEVICE_LIMIT_TO_DEVICE_PINNED] = LIMIT_MEASURED;
        double gain = (double)gain_of_steps(&scene, &pinned);
        double all = (double)(4000000 - 400000) * (with.steps - 1);
        CHECK(gain > 0.9 * all); /* the host runs ahead as well */
        CHECK(gain < 1.2 * all);
    }
    scene_close(&scene);
}

TEST(allocations_in_the_loop_are_removed_with_their_time) {
    struct scene scene;
    struct loop with = launch_bound;
    with.alloc = 200000;
    if (scene_loop(&scene, &with))
        check_gain(loop_time(&with), scene_predict(&scene, &no_alloc, 1), loop_time(&launch_bound),
                   3);
    scene_close(&scene);
}

TEST(input_that_is_prepared_meanwhile_costs_nothing_until_the_loader_is_the_bottleneck) {
    struct scene scene;
    struct loop little = device_bound, much = device_bound;
    little.sync = much.sync = 5000;
    little.input = 100000;
    much.input = 5000000;
    struct loop none = little;
    none.input = 0;
    if (scene_loop(&scene, &little)) /* all but the first batch */
        check_gain(loop_time(&little), scene_predict(&scene, &prefetch, 1),
                   loop_time(&none) + little.input, 3);
    scene_close(&scene);
    if (scene_loop(&scene, &much)) {
        int64_t predicted = scene_predict(&scene, &prefetch, 1);
        int64_t loading = (much.steps - 1) * much.input; /* the first is before the first call */
        CHECK(predicted >= loading);
        CHECK(predicted < loading + 2 * loop_time(&none) / much.steps);
    }
    scene_close(&scene);
}

TEST(host_code_is_removed_by_the_name_of_its_range) {
    struct scene scene;
    struct loop with = device_bound, without = device_bound;
    struct change change = {.kind = CHANGE_NO_HOST, .pattern = TEXT("DataL*")};
    with.sync = without.sync = 5000;
    with.input = 300000;
    if (scene_loop(&scene, &with)) /* that of the first step precedes the first call */
        check_gain(loop_time(&with), scene_predict(&scene, &change, 1), loop_time(&without), 10);
    scene_close(&scene);
}

TEST(copies_a_step_ahead_run_beside_the_kernels) {
    struct scene scene;
    struct change change = {.kind = CHANGE_OVERLAP_COPIES};
    struct loop with = device_bound;
    with.copy = 300000;
    with.copy_bytes = 12000000;
    with.copy_call = 4000;
    struct loop without = with;
    without.copy = 0;
    if (scene_loop(&scene, &with))
        check_gain(loop_time(&with), scene_predict(&scene, &change, 1),
                   loop_time(&without) + with.copy, 5);
    scene_close(&scene);
}

TEST(several_times_as_much_a_step_shares_the_cost_of_the_host) {
    struct scene scene;
    struct change change = {.kind = CHANGE_BATCH, .factor = 4};
    if (scene_loop(&scene, &launch_bound)) {
        int64_t before = loop_time(&launch_bound);
        int64_t after = scene_predict(&scene, &change, 1);
        int64_t kernels = launch_bound.steps * launch_bound.kernels * launch_bound.duration;
        CHECK(after < before);
        CHECK(after >= kernels);
    }
    scene_close(&scene);
}

TEST(changes_made_together_gain_no_more_than_all_there_is_and_in_any_order_the_same) {
    struct scene scene;
    struct loop with = launch_bound;
    with.alloc = 200000;
    if (scene_loop(&scene, &with)) {
        struct change some[] = {graph, no_sync, no_alloc}, turned[] = {no_alloc, graph, no_sync};
        int64_t together = scene_predict(&scene, some, 3);
        CHECK_INT(together, scene_predict(&scene, turned, 3));
        CHECK(together <= scene_predict(&scene, some, 1));
        CHECK(together >= with.steps * with.kernels * with.duration);
    }
    scene_close(&scene);
}

TEST(a_change_that_does_not_apply_has_a_reason_and_changes_nothing) {
    struct scene scene;
    struct status status = {0};
    struct ranked_change *ranked;
    size_t count;
    if (scene_loop(&scene, &device_bound) && replay_rank(scene.replay, &ranked, &count, &status)) {
        CHECK_INT(count, CHANGE_COUNT + 1);
        bool ended = false;
        for (size_t i = 0; i < count; i++) {
            const struct outcome *outcome = &ranked[i].outcome;
            ended |= !outcome->applicable;
            CHECK(outcome->applicable != ended);
            CHECK((outcome->why_not[0] != 0) == !outcome->applicable);
            CHECK((outcome->what[0] != 0) == outcome->applicable);
            if (!outcome->applicable)
                CHECK_INT(outcome->after, outcome->before);
            if (i > 0 && outcome->applicable)
                CHECK(outcome->after >= ranked[i - 1].outcome.after);
        }
        replay_rank_finish(ranked, count);
    }
    scene_close(&scene);
}

static void write_kernel(struct build *build, int64_t start, int64_t end, uint64_t correlation,
                         uint32_t blocks, uint32_t threads) {
    trace_write_activity(build->writer,
                         &(struct row_activity){
                             .start = start,
                             .duration = end - start,
                             .queue = build->queue[0],
                             .kind = ACTIVITY_KERNEL,
                             .name = trace_writer_string(build->writer, TEXT("gemm")),
                             .correlation = correlation,
                             .grid_x = blocks,
                             .grid_y = 1,
                             .grid_z = 1,
                             .block_x = threads,
                             .block_y = 1,
                             .block_z = 1,
                         });
}

static void write_clock(struct build *build, int64_t time, double value) {
    trace_write_counter(build->writer,
                        &(struct row_counter){
                            .time = time,
                            .device = build->device,
                            .name = trace_writer_string(build->writer, TEXT("clock")),
                            .value = value,
                        });
}

/* The first kernel runs at the full clock, the second at half of it. */
static int64_t gain_at_full_clock(uint32_t blocks, uint32_t threads) {
    static const struct change change = {.kind = CHANGE_FULL_CLOCK};
    struct build build;
    struct scene scene;
    int64_t gain = -1;
    build_begin(&build);
    build_call(&build, 0, CALL_LAUNCH, 0, 1000, "cudaLaunchKernel", 1);
    build_call(&build, 0, CALL_LAUNCH, 1000, 2000, "cudaLaunchKernel", 2);
    write_clock(&build, 0, 1000);
    write_clock(&build, 32000, 500);
    write_kernel(&build, 2000, 32000, 1, 2, 64);
    write_kernel(&build, 32000, 72000, 2, blocks, threads);
    if (scene_open(&scene, build_end(&build)))
        gain = scene_predict(&scene, NULL, 0) - scene_predict(&scene, &change, 1);
    scene_close(&scene);
    return gain;
}

TEST(at_the_full_clock_a_kernel_is_as_fast_as_one_of_its_size_was_there) {
    CHECK_INT(gain_at_full_clock(2, 64), 10000);
    CHECK_INT(gain_at_full_clock(4, 32), 20000); /* as many threads in other blocks */
    CHECK_INT(gain_at_full_clock(2, 32), 20000);
}

TEST(host_code_of_a_nanosecond_can_go) {
    static const struct change change = {.kind = CHANGE_NO_HOST, .pattern = TEXT("think")};
    struct build build;
    struct scene scene;
    build_begin(&build);
    build_call(&build, 0, CALL_LAUNCH, 0, 1000, "cudaLaunchKernel", 1);
    build_range(&build, 0, RANGE_ANNOTATION, 1000, 1001, "think");
    build_call(&build, 0, CALL_LAUNCH, 1001, 2000, "cudaLaunchKernel", 2);
    build_activity(&build, 0, ACTIVITY_KERNEL, 1500, 1800, "gemm", 1);
    build_activity(&build, 0, ACTIVITY_KERNEL, 2500, 9000, "gemm", 2);
    if (scene_open(&scene, build_end(&build)))
        CHECK_INT(scene_predict(&scene, NULL, 0) - scene_predict(&scene, &change, 1), 1);
    scene_close(&scene);
}

TEST(host_code_of_a_trace_without_ranges_and_samples_has_no_names) {
    static const enum change_kind kinds[] = {CHANGE_NO_HOST, CHANGE_PREFETCH};
    struct scene scene;
    struct outcome outcome;
    struct status status = {0};
    struct build build;
    build_begin(&build);
    for (int i = 0; i < 6; i++) {
        build_call(&build, 0, CALL_LAUNCH, 100 * i, 100 * i + 5, "launch", (uint64_t)i + 1);
        build_activity(&build, 0, ACTIVITY_KERNEL, 100 * i + 8, 100 * i + 20, "gemm",
                       (uint64_t)i + 1);
    }
    REQUIRE(scene_open(&scene, build_end(&build)));
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        const struct change change = {.kind = kinds[i], .pattern = TEXT("load")};
        CHECK_OK(replay_run(scene.replay, &change, 1, &outcome, &status), status);
        CHECK(!outcome.applicable);
        CHECK(strstr(outcome.why_not, "the trace has no ranges and no samples"));
        outcome_finish(&outcome);
    }
    scene_close(&scene);
}
