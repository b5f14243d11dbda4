/* Sources of limits and their precedence. */
#include "../test.h"
#include "build.h"

#include "analysis/limits.h"
#include "base/array.h"
#include "base/memory.h"

struct stage {
    struct build build;
    struct trace *trace;
    struct model model;
    struct limits *limits;
};

static bool stage_find(struct stage *stage, const struct limits *given) {
    struct status status = {0};
    stage->trace = build_end(&stage->build);
    if (stage->trace && model_build(&stage->model, stage->trace, &status)) {
        if (limits_find(&stage->model, given, &stage->limits, &status))
            return true;
        model_finish(&stage->model);
    }
    test_failed(__FILE__, __LINE__, "%s", status.message);
    trace_close(stage->trace);
    return false;
}

static void stage_finish(struct stage *stage) {
    memory_free(stage->limits);
    model_finish(&stage->model);
    trace_close(stage->trace);
}

static bool is(const struct limits *limits, enum device_limit limit, double value,
               enum limit_source source) {
    return limits->of[limit] == value && limits->source[limit] == source;
}

static void meta(struct stage *stage, const char *key, const char *value) {
    trace_writer_meta(stage->build.writer, key, text_of(value));
}

/* Another device than the one that build_begin() makes, of that label and name. */
static uint32_t add_device(struct stage *stage, const char *label, const char *name) {
    struct trace_writer *writer = stage->build.writer;
    return trace_write_device(writer, &(struct row_device){
                                          .index = 7,
                                          .label = trace_writer_string(writer, text_of(label)),
                                          .name = trace_writer_string(writer, text_of(name)),
                                          .multiprocessors = 132,
                                          .clock_hz = 2000000000,
                                          .bandwidth = 4000000000000,
                                          .compute_major = 9,
                                      });
}

TEST(a_measured_limit_comes_before_a_given_one_and_that_before_a_stated_one) {
    struct stage stage;
    build_begin(&stage.build);
    add_device(&stage, "7", "big");
    meta(&stage, "roof.7.name", "big");
    meta(&stage, "roof.7.memory_copy", "4.2e12");
    meta(&stage, "roof.7.launch", "2990.5");
    struct limits given[3] = {0};
    given[2].of[DEVICE_LIMIT_MEMORY] = 1e12;
    given[2].of[DEVICE_LIMIT_F32] = 64.9e12;
    REQUIRE(stage_find(&stage, given));
    const struct limits *limits = &stage.limits[2];
    CHECK(is(limits, DEVICE_LIMIT_MEMORY, 4.2e12, LIMIT_MEASURED));
    CHECK(is(limits, DEVICE_LIMIT_LAUNCH, 2990.5, LIMIT_MEASURED));
    CHECK(is(limits, DEVICE_LIMIT_F32, 64.9e12, LIMIT_MEASURED));
    CHECK(is(limits, DEVICE_LIMIT_MATRIX_F16, 132 * 2e9 * 4096, LIMIT_STATED));
    CHECK(is(limits, DEVICE_LIMIT_CACHE, 0, LIMIT_UNKNOWN));
    stage_finish(&stage);
}

TEST(roofs_of_a_namesake_with_another_name_are_not_taken) {
    struct stage stage;
    build_begin(&stage.build);
    uint32_t device = add_device(&stage, "a.7", "small");
    meta(&stage, "roof.a.7.name", "big");
    meta(&stage, "roof.a.7.memory_copy", "9e12");
    meta(&stage, "roof.a.7.name", "small");
    meta(&stage, "roof.a.7.memory_copy", "1e12");
    REQUIRE(stage_find(&stage, NULL));
    CHECK(is(&stage.limits[device], DEVICE_LIMIT_MEMORY, 1e12, LIMIT_MEASURED));
    stage_finish(&stage);
}

TEST(roofs_that_are_no_numbers_are_passed_over) {
    static const char *const values[] = {"", "fast", "-1", "0", "nan", "1e400", "1e99999999"};
    for (size_t i = 0; i < ARRAY_COUNT(values); i++) {
        struct stage stage;
        build_begin(&stage.build);
        uint32_t device = add_device(&stage, "7", "big");
        meta(&stage, "roof.7.memory_copy", values[i]);
        meta(&stage, "roof.", "5");
        meta(&stage, "roof.memory_copy", "5");
        meta(&stage, "roof.7.", "5");
        meta(&stage, "roof.7.speed", "5");
        REQUIRE(stage_find(&stage, NULL));
        CHECK(is(&stage.limits[device], DEVICE_LIMIT_MEMORY, 4e12, LIMIT_STATED));
        stage_finish(&stage);
    }
}

TEST(what_the_trace_shows_is_a_limit_where_nothing_better_is_known) {
    struct stage stage;
    build_begin(&stage.build);
    for (int i = 0; i < 20; i++) {
        int64_t start = i * 10000;
        build_call(&stage.build, 0, CALL_LAUNCH, start, start + 2000 + i, "cudaLaunchKernel",
                   (uint64_t)i + 1);
        build_activity(&stage.build, 0, ACTIVITY_KERNEL, start + 4000 + i, start + 6000, "k",
                       (uint64_t)i + 1);
    }
    trace_write_activity(stage.build.writer, &(struct row_activity){.start = 300000,
                                                                    .duration = 100000,
                                                                    .queue = stage.build.queue[0],
                                                                    .kind = ACTIVITY_COPY,
                                                                    .bytes = 2 << 20,
                                                                    .direction = COPY_HTOD,
                                                                    .from_memory = MEMORY_PINNED});
    REQUIRE(stage_find(&stage, NULL));
    const struct limits *limits = &stage.limits[stage.build.device];
    CHECK(is(limits, DEVICE_LIMIT_LAUNCH_CALL, 2002, LIMIT_OBSERVED)); /* a tenth is no longer */
    CHECK(is(limits, DEVICE_LIMIT_LAUNCH_TO_START, 4002, LIMIT_OBSERVED));
    CHECK(is(limits, DEVICE_LIMIT_LAUNCH, 10001, LIMIT_OBSERVED));
    CHECK(is(limits, DEVICE_LIMIT_TO_DEVICE_PINNED, (2 << 20) / 100e-6, LIMIT_OBSERVED));
    CHECK(is(limits, DEVICE_LIMIT_TO_DEVICE_PAGEABLE, 0, LIMIT_UNKNOWN));
    CHECK(is(limits, DEVICE_LIMIT_MEMORY, 0, LIMIT_UNKNOWN));
    stage_finish(&stage);
}

TEST(limits_of_an_empty_trace_are_unknown) {
    struct stage stage;
    build_begin(&stage.build);
    REQUIRE(stage_find(&stage, NULL));
    for (unsigned limit = 0; limit < DEVICE_LIMIT_COUNT; limit++)
        CHECK(is(&stage.limits[stage.build.device], limit, 0, LIMIT_UNKNOWN));
    stage_finish(&stage);
}

TEST(a_limit_is_replaced_by_a_better_source_and_never_by_an_impossible_value) {
    struct limits limits = {0};
    limits_offer(&limits, DEVICE_LIMIT_LAUNCH, 0.5, LIMIT_MEASURED);
    CHECK(limits.of[DEVICE_LIMIT_LAUNCH] == 0.5);
    CHECK_INT(limits.source[DEVICE_LIMIT_LAUNCH], LIMIT_MEASURED);
    limits_offer(&limits, DEVICE_LIMIT_LAUNCH, 7, LIMIT_MEASURED);
    CHECK(limits.of[DEVICE_LIMIT_LAUNCH] == 0.5);
    limits_offer(&limits, DEVICE_LIMIT_LAUNCH_CALL, 0, LIMIT_MEASURED);
    limits_offer(&limits, DEVICE_LIMIT_LAUNCH_CALL, -1, LIMIT_MEASURED);
    limits_offer(&limits, DEVICE_LIMIT_LAUNCH_CALL, DEVICE_LIMIT_MAX, LIMIT_MEASURED);
    CHECK(limits.of[DEVICE_LIMIT_LAUNCH_CALL] == 0);
}

TEST(a_device_of_a_known_name_has_the_attainable_share_of_its_published_peaks) {
    struct stage stage;
    build_begin(&stage.build);
    struct trace_writer *writer = stage.build.writer;
    uint32_t named = trace_write_device(
        writer,
        &(struct row_device){.label = trace_writer_string(writer, text_of("8")),
                             .name = trace_writer_string(writer, text_of("AMD Instinct MI300X")),
                             .vendor = trace_writer_string(writer, text_of("AMD")),
                             .multiprocessors = 304});
    uint32_t nameless = trace_write_device(
        writer, &(struct row_device){.label = trace_writer_string(writer, text_of("9")),
                                     .vendor = trace_writer_string(writer, text_of("AMD"))});
    REQUIRE(stage_find(&stage, NULL));
    CHECK(is(&stage.limits[named], DEVICE_LIMIT_MEMORY, 5300e9 * 0.88, LIMIT_PUBLISHED));
    CHECK(is(&stage.limits[named], DEVICE_LIMIT_MATRIX_F16, 1307.4 * 1e12 * 0.81, LIMIT_PUBLISHED));
    CHECK(limits_published_peak(&stage.limits[named], DEVICE_LIMIT_MEMORY) == 5300e9);
    CHECK(limits_published_peak(&stage.limits[named], DEVICE_LIMIT_LAUNCH) == 0);
    CHECK(is(&stage.limits[nameless], DEVICE_LIMIT_MEMORY, 5300e9 * 0.88, LIMIT_PUBLISHED));
    stage_finish(&stage);
}

/* The newest row of the same major version that is not newer. */
TEST(stated_rates_follow_the_compute_capability) {
    static const struct {
        uint32_t major, minor;
        double f32, ratio;
    } cases[] = {
        {4, 0, 0, 0},     {5, 0, 256, 0}, {5, 3, 256, 0},  {6, 0, 128, 0},  {6, 1, 256, 0},
        {6, 2, 256, 0},   {7, 0, 128, 0}, {7, 5, 128, 0},  {8, 0, 128, 8},  {8, 5, 128, 8},
        {8, 6, 256, 2},   {8, 7, 256, 2}, {8, 9, 256, 2},  {9, 0, 256, 8},  {0, 9, 0, 0},
        {10, 0, 256, 16}, {11, 0, 0, 0},  {12, 0, 256, 2}, {12, 1, 256, 2}, {0, 0, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        double stated = limits_stated_f32(cases[i].major, cases[i].minor, 3, 1000000000);
        if (stated != cases[i].f32 * 3e9 ||
            limits_matrix_ratio(cases[i].major, cases[i].minor) != cases[i].ratio)
            test_failed(__FILE__, __LINE__, "%u.%u: %g, matrix units %g times as fast",
                        cases[i].major, cases[i].minor, stated,
                        limits_matrix_ratio(cases[i].major, cases[i].minor));
    }
}

TEST(a_measured_limit_of_zero_or_of_words_is_none) {
    static const char *const values[] = {"0", "0.000", "-5", "", "fast", "1e", "0.0001"};
    for (size_t i = 0; i < ARRAY_COUNT(values); i++) {
        struct stage stage;
        build_begin(&stage.build);
        uint32_t device = add_device(&stage, "odd.gpu", "NVIDIA H200");
        meta(&stage, "roof.odd.gpu.memory_copy", values[i]);
        if (!stage_find(&stage, NULL))
            return;
        if (stage.limits[device].source[DEVICE_LIMIT_MEMORY] != LIMIT_STATED)
            test_failed(__FILE__, __LINE__, "\"%s\" is taken for a limit", values[i]);
        stage_finish(&stage);
    }
}
