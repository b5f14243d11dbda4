/* Thresholds at their exact value, and the figures that a finding states. */
#include <string.h>

#include "../test.h"
#include "loop.h"

static const struct finding *find(const struct verdict *verdict, enum finding_kind kind) {
    for (size_t i = 0; i < verdict->count; i++)
        if (verdict->findings[i].kind == kind)
            return &verdict->findings[i];
    return NULL;
}

static bool has_evidence(const struct finding *finding, const char *words) {
    for (size_t i = 0; finding && i < finding->evidence_count; i++)
        if (strstr(finding->evidence[i].words, words))
            return true;
    return false;
}

static double later_clock;

static void has_a_later_clock(struct scene *scene, int step) {
    scene_counter(scene, "clock (MHz)", step < STEPS / 3 ? 2000 : later_clock);
    scene_counter(scene, "throttle reasons", 0x20);
    layers(scene, 200 * US);
}

TEST(a_clock_of_19_twentieths_is_not_lower) {
    for (int less = 0; less < 2; less++) {
        later_clock = 1900 - less;
        struct scene_report played = play(has_a_later_clock);
        REQUIRE(played.ok);
        const struct finding *found = find(&played.report.verdict, FINDING_THROTTLING);
        CHECK((found != NULL) == (less == 1));
        if (found)
            CHECK(strstr(found->summary, "as low as 1899 MHz, below the maximum of 2000 MHz"));
        scene_finish(&played);
    }
}

/* One range of 10 ms in another thread, beside calls that load what was compiled. */
static void compiles_in_another_thread(struct scene *scene, int step) {
    if (step == STEPS / 2) {
        uint32_t thread = trace_write_thread(scene->writer, &(struct row_thread){.tid = 8});
        trace_write_range(scene->writer,
                          &(struct row_range){
                              .start = scene->host,
                              .duration = 10 * MS,
                              .thread = thread,
                              .name = trace_writer_string(scene->writer, TEXT("inductor compile")),
                              .category = RANGE_ANNOTATION});
    }
    scene_range(scene, RANGE_ANNOTATION, "forward", 50 * US);
    compiles(scene, step);
}

TEST(a_range_that_compiles_counts_once) {
    struct scene_report played = play(compiles_in_another_thread);
    REQUIRE(played.ok);
    const struct finding *found = find(&played.report.verdict, FINDING_COMPILATION);
    REQUIRE(found);
    CHECK(has_evidence(found, "Ranges that compile, such as inductor compile: 10.0 ms"));
    scene_finish(&played);
}

static int64_t tail_more;

/* Of exactly that duration, at the time the device is free. */
static void exact_kernel(struct scene *scene, const char *name, int64_t time, uint32_t blocks) {
    int64_t start = scene->device_free > scene->host ? scene->device_free : scene->host;
    trace_write_activity(scene->writer, &(struct row_activity){.start = start,
                                                               .duration = time,
                                                               .queue = scene->queue,
                                                               .name = trace_writer_string(
                                                                   scene->writer, text_of(name)),
                                                               .correlation = scene->correlation,
                                                               .grid_x = blocks,
                                                               .grid_y = 1,
                                                               .grid_z = 1,
                                                               .block_x = 256,
                                                               .block_y = 1,
                                                               .block_z = 1,
                                                               .registers = 32,
                                                               .bytes = BYTES_UNKNOWN});
    scene->device_free = start + time;
}

/* The last of 1.5 waves leaves a quarter of the time unused: a tenth of the kernel time. */
static void has_a_tail(struct scene *scene, int step) {
    (void)step;
    exact_kernel(scene, GEMM, 400 * US, 132 * 8 * 3 / 2);
    exact_kernel(scene, RELU, 600 * US + tail_more, 132 * 8 * 100);
    scene->host = scene->device_free;
}

TEST(tails_of_a_tenth_of_the_kernel_time_are_found) {
    for (tail_more = 0; tail_more <= US; tail_more += US) {
        struct scene scene;
        scene_begin(&scene);
        for (int i = 0; i < STEPS; i++)
            has_a_tail(&scene, i);
        struct scene_report played = scene_report(&scene);
        REQUIRE(played.ok);
        CHECK((find(&played.report.verdict, FINDING_TAIL) != NULL) == (tail_more == 0));
        scene_finish(&played);
    }
}

/* No correlation between calls and activities. */
static void copies_without_calls(struct scene *scene, int step) {
    (void)step;
    trace_write_activity(scene->writer, &(struct row_activity){.start = scene->device_free,
                                                               .duration = MS,
                                                               .queue = scene->queue,
                                                               .kind = ACTIVITY_COPY,
                                                               .bytes = 20 << 20,
                                                               .direction = COPY_HTOD,
                                                               .from_memory = MEMORY_PINNED,
                                                               .to_memory = MEMORY_DEVICE});
    scene->device_free += MS;
    exact_kernel(scene, GEMM, 2 * MS, 1056);
}

TEST(copies_that_cannot_be_replayed_recover_what_no_kernel_hides) {
    struct scene scene;
    scene_begin(&scene);
    for (int i = 0; i < STEPS; i++)
        copies_without_calls(&scene, i);
    struct scene_report played = scene_report(&scene);
    REQUIRE(played.ok);
    const struct finding *found = find(&played.report.verdict, FINDING_EXPOSED_TRANSFERS);
    REQUIRE(found);
    CHECK_INT(found->change_count, 0);
    CHECK_INT(found->confidence, CONFIDENCE_MEDIUM);
    CHECK_INT(3 * found->recoverable, played.report.verdict.time);
    scene_finish(&played);
}

static int64_t loose_time;

/* Kernels that a compiler fused have half of the time, and element-wise ones less than a third. */
static void is_mostly_fused(struct scene *scene, int step) {
    (void)step;
    scene_host_code(scene, 5 * US);
    scene_kernel(scene, "triton_poi_fused_add_mul_0", 500 * US, 65536);
    scene_host_code(scene, 5 * US);
    scene_kernel(scene, GEMM, 500 * US - loose_time, 1056);
    for (int i = 0; i < 4; i++) {
        scene_host_code(scene, 5 * US);
        scene_kernel(scene, i % 2 ? ADD : RELU, loose_time / 4, 65536);
    }
}

TEST(element_wise_kernels_of_a_third_of_the_time_are_worth_fusing) {
    for (loose_time = 290 * US; loose_time <= 390 * US; loose_time += 100 * US) {
        struct scene_report played = play(is_mostly_fused);
        REQUIRE(played.ok);
        const struct finding *found = find(&played.report.verdict, FINDING_MEMORY_BOUND);
        CHECK((found != NULL) == (loose_time == 390 * US));
        if (found)
            CHECK(found->change_count == 1 && found->changes[0].kind == CHANGE_FUSE);
        scene_finish(&played);
    }
}

/* To merge the small copies would save more than overlapping, and less than half of what copies
 * take. */
static void copies_much_and_often(struct scene *scene, int step) {
    (void)step;
    scene_copy(scene, COPY_HTOD, 200 << 20, false, 27000);
    for (int i = 0; i < 600; i++)
        scene_copy(scene, COPY_HTOD, 16384, false, 27000);
    layers(scene, 10 * US);
}

TEST(copies_that_fill_the_time_lead_though_other_findings_save_more) {
    struct scene_report played = play(copies_much_and_often);
    REQUIRE(played.ok && played.report.verdict.count > 1);
    const struct finding *findings = played.report.verdict.findings;
    CHECK_INT(findings[0].kind, FINDING_EXPOSED_TRANSFERS);
    CHECK(findings[1].recoverable > findings[0].recoverable && !findings[1].minor);
    scene_finish(&played);
}

static const char *rows_of_product;

/* The work of somewhat less than half of the time is known. */
static void multiplies_known_rows(struct scene *scene, int step) {
    (void)step;
    for (int i = 0; i < LAYERS; i++) {
        char detail[256];
        snprintf(detail, sizeof detail,
                 "{\"Input Dims\":[[%s,16384],[16384,16384]],"
                 "\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\"]}",
                 rows_of_product);
        int64_t start = scene->host;
        scene_kernel(scene, GEMM, 140 * US, 1056);
        trace_write_range(scene->writer,
                          &(struct row_range){
                              .start = start,
                              .duration = scene->host - start,
                              .thread = scene->thread,
                              .name = trace_writer_string(scene->writer, TEXT("aten::mm")),
                              .category = RANGE_OP,
                              .detail = trace_writer_string(scene->writer, text_of(detail)),
                          });
        scene_host_code(scene, 6 * US);
        scene_kernel(scene, "nvjet_other", 200 * US, 1056);
    }
}

TEST(products_of_few_rows_are_not_called_compute_bound) {
    for (int many = 0; many < 2; many++) {
        rows_of_product = many ? "128" : "8";
        struct scene_report played = play(multiplies_known_rows);
        REQUIRE(played.ok);
        const struct finding *found = find(&played.report.verdict, FINDING_HEALTHY);
        REQUIRE(found);
        CHECK((strstr(found->summary, "compute-bound") != NULL) == many);
        scene_finish(&played);
    }
}
