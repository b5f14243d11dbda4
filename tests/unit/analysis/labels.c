/* Labels of command buffers: time on their queue, less that of the labels inside them. */
#include "../test.h"
#include "build.h"

#include <stdlib.h>

#include "analysis/ranges.h"
#include "analysis/timeline.h"

static void label(struct build *build, int queue, int64_t start, int64_t end, const char *name) {
    trace_write_range(build->writer, &(struct row_range){.start = start,
                                                         .duration = end - start,
                                                         .queue = build->queue[queue],
                                                         .category = RANGE_ANNOTATION,
                                                         .name = trace_writer_string(
                                                             build->writer, text_of(name))});
}

TEST(a_label_has_the_time_of_its_queue_and_self_time_without_nested_labels) {
    struct build build;
    struct model model;
    struct ranges ranges;
    struct status status = {0};
    build_begin(&build);
    label(&build, 0, 0, 100, "frame");
    label(&build, 0, 10, 60, "shadows");
    label(&build, 0, 20, 40, "blur");
    label(&build, 1, 30, 50, "copy");  /* beside them, on another queue */
    label(&build, 0, 60, 90, "light"); /* begins where the one before ends */
    label(&build, 0, 100, 120, "frame");
    build_activity(&build, 0, ACTIVITY_KERNEL, 5, 8, "a", 0);
    build_activity(&build, 0, ACTIVITY_KERNEL, 12, 18, "b", 0);
    build_activity(&build, 0, ACTIVITY_KERNEL, 20, 31, "c", 0);
    build_activity(&build, 1, ACTIVITY_KERNEL, 30, 47, "d", 0);
    build_activity(&build, 0, ACTIVITY_KERNEL, 60, 83, "e", 0);
    build_activity(&build, 0, ACTIVITY_KERNEL, 100, 101, "f", 0);
    struct trace *trace = build_end(&build);
    REQUIRE(trace && model_build(&model, trace, &status));
    REQUIRE(ranges_find(&model, NULL, &ranges, &status));
    static const struct {
        const char *name;
        int64_t time, self;
        uint64_t count, activities;
        unsigned depth;
    } expected[] = {{"frame", 44, 4, 2, 5, 0},
                    {"light", 23, 23, 1, 1, 1},
                    {"shadows", 17, 6, 1, 2, 1},
                    {"copy", 17, 17, 1, 1, 0},
                    {"blur", 11, 11, 1, 1, 2}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        size_t k = 0;
        while (k < ranges.count &&
               !text_is(trace_text(trace, ranges.groups[k].name), expected[i].name))
            k++;
        REQUIRE(k < ranges.count);
        CHECK_INT(ranges.groups[k].device_time, expected[i].time);
        CHECK_INT(ranges.groups[k].device_self, expected[i].self);
        CHECK_INT(ranges.groups[k].count, expected[i].count);
        CHECK_INT(ranges.groups[k].activities, expected[i].activities);
        CHECK_INT(ranges.groups[k].depth, expected[i].depth);
    }
    ranges_finish(&ranges);
    model_finish(&model);
    trace_close(trace);
}

/* On intervals of every length, against a nanosecond-by-nanosecond count. */
TEST(the_cells_of_a_timeline_have_every_nanosecond_once) {
    enum { LENGTH = 97, CELLS_MAX = 130 };
    srand(5);
    for (size_t count = 1; count <= CELLS_MAX; count += count < 8 ? 1 : 61) {
        struct timeline_cell cells[CELLS_MAX] = {{0}};
        struct timeline timeline;
        char at[LENGTH] = {0}; /* 1: a copy, 2: a kernel */
        timeline_begin(&timeline, (struct window){10, 10 + LENGTH}, cells, count);
        for (int64_t start = 0; start < LENGTH + 20; start += rand() % 9) {
            int64_t end = start + rand() % 12;
            bool kernel = rand() % 2;
            timeline_add(&timeline, start, end, kernel);
            for (int64_t t = start; t < end; t++)
                if (t >= 10 && t < 10 + LENGTH && at[t - 10] < 1 + kernel)
                    at[t - 10] = (char)(1 + kernel);
        }
        timeline_end(&timeline);
        int64_t t = 0;
        for (size_t i = 0; i < count; i++) {
            int64_t busy = 0, copy = 0;
            for (int64_t k = 0; k < cells[i].length; k++, t++) {
                busy += at[t] == 2;
                copy += at[t] == 1;
            }
            CHECK_INT(cells[i].busy, busy);
            CHECK_INT(cells[i].copy, copy);
        }
        CHECK_INT(t, LENGTH);
    }
}
