/* Two faults at once: the larger leads and the other is found. And a diagnosis that runs out of
 * memory. */
#include <unistd.h>

#include "../test.h"
#include "base/memory.h"
#include "loop.h"

#include "base/array.h"

static void sleeps_over_f32(struct scene *scene, int step) {
    (void)step;
    for (int i = 0; i < LAYERS; i++) {
        scene_host_code(scene, 5 * US);
        scene_kernel(scene, F32_GEMM, 300 * US, 1056);
    }
    scene_sync(scene, "cudaStreamSynchronize");
    scene_host_code(scene, 400 * US + sized(1 * MS));
}

TEST(slow_arithmetic_does_not_hide_a_host_that_sleeps) {
    check_fault(sleeps_over_f32, FINDING_HOST_BOUND, 0);
}

static void waits_in_a_chain(struct scene *scene, int step) {
    chain(scene, step);
    for (int i = 0; i < 24; i++) {
        scene_copy(scene, COPY_DTOH, 8, true, 20000);
        scene_sync(scene, "cudaStreamSynchronize");
        scene_host_code(scene, 20 * US + sized(60 * US));
        scene_kernel(scene, GEMM, 50 * US + sized(60 * US), 1056);
    }
}

TEST(a_chain_that_could_be_fused_does_not_hide_waits) {
    fault_size = 1;
    check_one(waits_in_a_chain, FINDING_SYNC_IN_LOOP, 0);
}

static void sleeps_and_allocates(struct scene *scene, int step) {
    (void)step;
    scene_call(scene, CALL_ALLOC, "cudaMalloc", 400 * US, 0);
    layers(scene, 100 * US);
    scene_waiting_call(scene, CALL_ALLOC, "cudaFree", 400 * US);
    scene_host_code(scene, 3 * MS);
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
    fault_size = 0.5;
    many_small_copies(scene, step);
    fault_size = 1;
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
    fault_size = 0.3;
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

TEST(the_order_of_findings_is_explained_where_a_later_one_recovers_more) {
    static const struct {
        int64_t first, second;
        enum finding_kind kind;
        bool holds, minor, explained;
    } cases[] = {
        {5, 6, FINDING_HOST_BOUND, false, false, true},
        {6, 6, FINDING_HOST_BOUND, false, false, false},
        {7, 6, FINDING_HOST_BOUND, false, false, false},
        {5, 6, FINDING_UNDECIDED, false, false, false},
        {5, 6, FINDING_HOST_BOUND, true, false, false},
        {5, 6, FINDING_HOST_BOUND, false, true, false},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct finding findings[3] = {
            {.kind = FINDING_HOST_BOUND, .recoverable = 9},
            {.kind = cases[i].kind, .recoverable = cases[i].first, .holds = cases[i].holds},
            {.recoverable = cases[i].second, .minor = cases[i].minor}};
        struct verdict verdict = {.findings = findings, .count = 3};
        CHECK_INT(verdict_order_words(&verdict) != NULL, cases[i].explained);
        verdict.count = 2;
        CHECK(verdict_order_words(&verdict) == NULL);
    }
}
