/* Resident warps against the vendor's occupancy calculator. */
#include "../test.h"
#include "build.h"

#include "analysis/kernels.h"
#include "analysis/occupancy.h"
#include "base/array.h"

/* A device of that compute capability without other attributes. */
static bool multiprocessor(uint32_t major, uint32_t minor, struct multiprocessor *has) {
    uint32_t majors[2] = {0, major}, minors[2] = {0, minor}, none[2] = {0};
    struct trace trace = {
        .device =
            {
                .count = 2,
                .compute_major = majors,
                .compute_minor = minors,
                .warp_size = none,
                .threads_per_multiprocessor = none,
                .registers_per_multiprocessor = none,
                .shared_per_multiprocessor = none,
                .blocks_per_multiprocessor = none,
                .shared_reserved_per_block = none,
            },
    };
    return multiprocessor_of(&trace, 1, has);
}

TEST(occupancy_equals_the_vendors_calculator) {
    static const struct {
        uint32_t major, minor;
        struct block_needs needs;
        uint32_t warps;
        enum occupancy_limit limit;
    } known[] = {
        {9, 0, {256, 32, 0}, 64, LIMIT_WARPS},
        {9, 0, {1024, 64, 0}, 32, LIMIT_REGISTERS},
        {9, 0, {128, 255, 0}, 8, LIMIT_REGISTERS},
        {9, 0, {128, 33, 0}, 48, LIMIT_REGISTERS},       /* 33 * 32 are 5 units of 256 */
        {9, 0, {32, 16, 0}, 32, LIMIT_BLOCKS},           /* half of the warps at most */
        {9, 0, {256, 32, 227 * 1024}, 8, LIMIT_SHARED},  /* the maximum of a block */
        {9, 0, {256, 32, 113 * 1024}, 16, LIMIT_SHARED}, /* 1 KiB per block is reserved */
        {9, 0, {256, 32, 114 * 1024}, 8, LIMIT_SHARED},
        {9, 0, {33, 32, 0}, 64, LIMIT_WARPS}, /* two warps, one nearly empty */
        {8, 6, {256, 32, 0}, 48, LIMIT_WARPS},
        {8, 6, {512, 40, 0}, 48, LIMIT_WARPS},
        {8, 9, {32, 16, 0}, 24, LIMIT_BLOCKS},
        {7, 5, {1024, 32, 0}, 32, LIMIT_WARPS},
        {7, 0, {256, 32, 48 * 1024}, 16, LIMIT_SHARED},
        {6, 0, {256, 168, 0}, 8, LIMIT_REGISTERS}, /* two parts with 6 warps each */
        {12, 0, {384, 40, 0}, 48, LIMIT_WARPS},
    };
    for (size_t i = 0; i < ARRAY_COUNT(known); i++) {
        struct multiprocessor has;
        enum occupancy_limit limit;
        REQUIRE(multiprocessor(known[i].major, known[i].minor, &has));
        uint32_t warps = occupancy_warps(&has, &known[i].needs, &limit);
        if (warps != known[i].warps || limit != known[i].limit)
            test_failed(__FILE__, __LINE__, "row %zu: %u warps by %s, not %u by %s", i, warps,
                        occupancy_limit_name(limit), known[i].warps,
                        occupancy_limit_name(known[i].limit));
    }
}

TEST(a_launch_that_cannot_be_has_no_occupancy) {
    struct multiprocessor has;
    enum occupancy_limit limit;
    REQUIRE(multiprocessor(9, 0, &has));
    CHECK_INT(occupancy_warps(&has, &(struct block_needs){0, 32, 0}, &limit), 0);
    CHECK_INT(occupancy_warps(&has, &(struct block_needs){UINT64_MAX, 32, 0}, &limit), 0);
    CHECK_INT(occupancy_warps(&has, &(struct block_needs){256, UINT32_MAX, 0}, &limit), 0);
    CHECK_INT(occupancy_warps(&has, &(struct block_needs){256, 32, 300 << 10}, &limit), 0);
    CHECK(!multiprocessor(2, 1, &has));
    CHECK(!multiprocessor(0, 0, &has));
}

/* A trace with one device of sm_90 and kernels with and without their registers. */
TEST(a_kernel_groups_occupancy_is_the_mean_over_its_time) {
    struct build build;
    struct status status = {0};
    struct model model;
    struct occupancy occupancy;
    struct kernels kernels;
    build_begin(&build);
    uint32_t device = trace_write_device(
        build.writer, &(struct row_device){.index = 9,
                                           .label = trace_writer_string(build.writer, TEXT("9")),
                                           .compute_major = 9,
                                           .blocks_per_multiprocessor = 2});
    uint32_t queue =
        trace_write_queue(build.writer, &(struct row_queue){.device = device, .stream = 1});
    struct row_activity row = {.queue = queue,
                               .name = trace_writer_string(build.writer, TEXT("k")),
                               .duration = 30,
                               .block_x = 32,
                               .block_y = 2,
                               .block_z = 4,
                               .registers = 32};
    trace_write_activity(build.writer, &row); /* 2 blocks of 8 warps: a quarter */
    row.start = 100;
    row.duration = 10;
    row.block_x = 128; /* 2 blocks of 32 warps */
    trace_write_activity(build.writer, &row);
    row.start = 200;
    row.registers = 0; /* unknown */
    trace_write_activity(build.writer, &row);
    struct trace *trace = build_end(&build);
    REQUIRE(trace);
    REQUIRE(model_build(&model, trace, &status));
    REQUIRE(occupancy_find(&model, &occupancy, &status));
    REQUIRE(kernels_find(&model, &occupancy, &(struct work){0}, 0, NULL, &kernels, &status));
    REQUIRE(kernels.group_count == 1);
    const struct kernel_occupancy *mean = &kernels.groups[0].occupancy;
    CHECK_INT(mean->time, 40);
    CHECK(kernel_occupancy_mean(mean) > 0.4374 && kernel_occupancy_mean(mean) < 0.4376);
    CHECK(kernel_occupancy_limit(mean) == LIMIT_BLOCKS);
    kernels_finish(&kernels);
    occupancy_finish(&occupancy);
    model_finish(&model);
    trace_close(trace);
}

TEST(an_unknown_compute_capability_is_taken_for_the_last_older_one_of_its_major) {
    static const uint32_t cases[][3] = {{3, 1, 0}, {5, 9, 3}, {7, 1, 0},  {8, 5, 0},
                                        {8, 8, 7}, {9, 5, 0}, {10, 2, 1}, {12, 7, 1}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct multiprocessor has, expected;
        REQUIRE(multiprocessor(cases[i][0], cases[i][1], &has) &&
                multiprocessor(cases[i][0], cases[i][2], &expected));
        CHECK(memcmp(&has, &expected, sizeof has) == 0);
    }
    struct multiprocessor has;
    CHECK(!multiprocessor(4, 5, &has));
    CHECK(!multiprocessor(13, 0, &has));
}
