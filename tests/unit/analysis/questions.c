/* The smaller questions: kernels and their names, launches, copies, ranges. */
#include "../test.h"
#include "build.h"

#include "analysis/kernels.h"
#include "analysis/launches.h"
#include "analysis/memory_use.h"
#include "analysis/ranges.h"
#include "analysis/timeline.h"
#include "analysis/data_quality.h"
#include "base/array.h"
#include "base/memory.h"

static const char *shortened(const char *full) {
    static char text[512];
    struct buffer buffer = {0};
    struct status status = {0};
    if (!kernel_short_name(text_of(full), &buffer, &status))
        return "failed";
    snprintf(text, sizeof text, "%.*s", (int)buffer.length, buffer.data);
    buffer_finish(&buffer);
    return text;
}

TEST(kernel_names_lose_types_parameters_and_namespaces_but_keep_the_operation) {
    CHECK_STRING(shortened("void at::native::vectorized_elementwise_kernel<4, "
                           "at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int, "
                           "at::native::CUDAFunctor_add<float>)"),
                 "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, Array<char*, 3>>");
    CHECK_STRING(shortened("void (anonymous namespace)::softmax_warp<float, 10>(float*, int)"),
                 "softmax_warp<float, 10>");
    CHECK_STRING(shortened("void at::native::elementwise_kernel<128, 2, "
                           "at::native::gpu_kernel_impl_nocast<at::native::mul_cuda(at::Tensor&)::"
                           "{lambda()#1}::operator()() const::{lambda(float)#2}>(at::Tensor&)::"
                           "{lambda(int)#1}>(int, float)"),
                 "elementwise_kernel<128, 2, gpu_kernel_impl_nocast<mul_cuda>>");
    CHECK_STRING(shortened("triton_poi_fused_add_0"), "triton_poi_fused_add_0");
    CHECK_STRING(shortened("Memcpy HtoD (Pinned -> Device)"), "Memcpy HtoD (Pinned -> Device)");
    CHECK_STRING(shortened(""), "");
    CHECK_STRING(shortened("<<<>>>((({{{"), "<<<>>>"); /* nonsense in, something out */
}

TEST(kernels_are_grouped_and_ranked_by_time) {
    struct build build;
    struct status status = {0};
    struct model model;
    struct kernels kernels;
    build_begin(&build);
    build_activity(&build, 0, ACTIVITY_KERNEL, 0, 10, "void f<int>(int)", 0);
    build_activity(&build, 0, ACTIVITY_KERNEL, 10, 40, "void a::f<int>(int)", 0);
    build_activity(&build, 0, ACTIVITY_KERNEL, 50, 52, "g", 0);
    build_activity(&build, 0, ACTIVITY_COPY, 60, 90, "copy", 0);
    struct trace *trace = build_end(&build);
    REQUIRE(trace);
    REQUIRE(model_build(&model, trace, &status));
    REQUIRE(kernels_find(&model, &(struct occupancy){0}, &(struct work){0}, 0, NULL, &kernels,
                         &status));
    CHECK_INT(kernels.count, 3);
    CHECK_INT(kernels.total, 42);
    CHECK_INT(kernels.median, 10);
    CHECK_INT(kernels.variant_count, 3);
    REQUIRE(kernels.group_count == 2);
    CHECK(text_is(kernels.groups[0].short_name, "f<int>"));
    CHECK_INT(kernels.groups[0].count, 2);
    CHECK_INT(kernels.groups[0].full_names, 2);
    CHECK(text_is(trace_text(trace, kernels.groups[0].full_name), "void a::f<int>(int)"));
    CHECK_INT(kernels.groups[0].median, 30);
    kernels_finish(&kernels);
    model_finish(&model);
    trace_close(trace);
}

TEST(queue_depth_counts_what_was_launched_and_has_not_ended) {
    struct build build;
    struct status status = {0};
    struct model model;
    struct launches launches;
    build_begin(&build);
    for (int i = 0; i < 4; i++) { /* four launches at once, kernels one after another */
        build_call(&build, 0, CALL_LAUNCH, i, i + 1, "cudaLaunchKernel", (uint64_t)i + 1);
        build_activity(&build, 0, ACTIVITY_KERNEL, 100 + 10 * i, 110 + 10 * i, "k",
                       (uint64_t)i + 1);
    }
    build_call(&build, 0, CALL_LAUNCH, 500, 520, "cudaGraphLaunch", 9);
    build_activity(&build, 0, ACTIVITY_KERNEL, 530, 540, "k", 9);
    build_activity(&build, 0, ACTIVITY_KERNEL, 540, 550, "k", 9);
    build_activity(&build, 0, ACTIVITY_KERNEL, 560, 570, "k", 77);
    struct trace *trace = build_end(&build);
    REQUIRE(trace);
    REQUIRE(model_build(&model, trace, &status));
    REQUIRE(launches_find(&model, 0, NULL, &launches, &status));
    CHECK_INT(launches.matched, 6);
    CHECK_INT(launches.unmatched, 1);
    CHECK_INT(launches.calls, 5);
    CHECK_INT(launches.graph_kernels, 2);
    CHECK_INT(launches.depth_max, 3);
    CHECK_INT(launches.found_empty, 2);
    CHECK_INT(launches.call_longer, 2);
    CHECK_INT(launches.delay_sum, 100 + 109 + 118 + 127 + 30 + 40);
    model_finish(&model);
    trace_close(trace);
}

TEST(a_range_owns_what_was_launched_inside_it_also_by_threads_that_work_for_it) {
    struct build build;
    struct status status = {0};
    struct model model;
    struct ranges ranges;
    build_begin(&build);
    build_range(&build, 0, RANGE_ANNOTATION, 0, 100, "forward");
    build_range(&build, 0, RANGE_OP, 10, 60, "aten::linear");
    build_range(&build, 0, RANGE_OP, 20, 50, "aten::linear"); /* inside one of its own name */
    build_range(&build, 0, RANGE_ANNOTATION, 100, 200, "backward");
    build_call(&build, 0, CALL_LAUNCH, 30, 32, "launch", 1);
    build_activity(&build, 0, ACTIVITY_KERNEL, 40, 47, "k", 1);
    build_call(&build, 1, CALL_LAUNCH, 150, 152, "launch", 2); /* the autograd thread */
    build_activity(&build, 0, ACTIVITY_KERNEL, 160, 165, "k", 2);
    struct trace *trace = build_end(&build);
    REQUIRE(trace);
    REQUIRE(model_build(&model, trace, &status));
    REQUIRE(ranges_find(&model, NULL, &ranges, &status));
    CHECK_INT(ranges.device_time, 12);
    CHECK_INT(ranges.device_outside, 0);
    CHECK_INT(ranges.count, 3);
    for (size_t i = 0; i < ranges.count; i++) {
        const struct range_group *group = &ranges.groups[i];
        struct text name = trace_text(trace, group->name);
        if (text_is(name, "forward")) {
            CHECK_INT(group->device_time, 7);
            CHECK_INT(group->host_time, 100);
            CHECK_INT(group->host_self, 50);
        } else if (text_is(name, "aten::linear")) {
            CHECK_INT(group->device_time, 7);
            CHECK_INT(group->host_time, 50);
            CHECK_INT(group->count, 2);
        } else {
            CHECK_INT(group->device_time, 5);
            CHECK_INT(group->activities, 1);
        }
    }
    ranges_finish(&ranges);
    model_finish(&model);
    trace_close(trace);
}

static uint32_t seed = 4711;
static int64_t random_below(uint32_t limit) {
    seed = seed * 1664525u + 1013904223u;
    return (int64_t)((uint64_t)seed * limit >> 32);
}

enum { SPAN = 200, RANGES = 12, LAUNCHES = 20 };

/* One thread: ranges with names "A", "B" and so on, and launches of kernels of 1 ns. */
struct overlapping {
    int names;
    struct window range[RANGES];
    int64_t launch[LAUNCHES];
};

static bool is_open(const struct overlapping *what, int range, int64_t time) {
    return what->range[range].start <= time && time < what->range[range].end;
}

/* The name of the range that opened last among those open at that time; -1: none. Of two that open
 * together the longer one is the outer one. */
static int innermost_at(const struct overlapping *what, int64_t time) {
    int best = -1;
    for (int i = 0; i < RANGES; i++) {
        const struct window *range = &what->range[i], *known = &what->range[best < 0 ? i : best];
        if (is_open(what, i, time) && (range->start > known->start ||
                                       (range->start == known->start && range->end <= known->end)))
            best = i;
    }
    return best < 0 ? -1 : best % what->names;
}

static bool is_inside(const struct overlapping *what, int name, int64_t time) {
    for (int i = name; i < RANGES; i += what->names)
        if (is_open(what, i, time))
            return true;
    return false;
}

static void check_overlapping(const struct overlapping *what, const struct range_group *group) {
    int name = group->text.data[0] - 'A';
    int64_t host = 0, self = 0, device = 0, device_self = 0;
    for (int64_t time = 0; time < 2 * SPAN; time++) {
        host += is_inside(what, name, time);
        self += innermost_at(what, time) == name;
    }
    for (int i = 0; i < LAUNCHES; i++) {
        device += is_inside(what, name, what->launch[i]);
        device_self += innermost_at(what, what->launch[i]) == name;
    }
    CHECK_INT(group->host_time, host);
    CHECK_INT(group->host_self, self);
    CHECK_INT(group->device_time, device);
    CHECK_INT(group->activities, device);
    CHECK_INT(group->device_self, device_self);
}

TEST(ranges_that_overlap_without_nesting_own_exactly_what_was_launched_inside_them) {
    for (int round = 0; round < 300; round++) {
        struct build build;
        struct status status = {0};
        struct model model;
        struct ranges ranges;
        struct overlapping what = {.names = round % 2 ? RANGES : 3};
        build_begin(&build);
        for (int i = 0; i < RANGES; i++) {
            int64_t start = random_below(SPAN);
            what.range[i] = (struct window){start, start + random_below(SPAN / 2)};
            build_range(&build, 0, RANGE_ANNOTATION, start, what.range[i].end,
                        (char[]){(char)('A' + i % what.names), 0});
        }
        for (int i = 0; i < LAUNCHES; i++) {
            uint64_t id = (uint64_t)i + 1;
            what.launch[i] = random_below(2 * SPAN);
            build_call(&build, 0, CALL_LAUNCH, what.launch[i], what.launch[i] + 1, "launch", id);
            build_activity(&build, 0, ACTIVITY_KERNEL, 1000 + i, 1001 + i, "k", id);
        }
        struct trace *trace = build_end(&build);
        REQUIRE(trace);
        REQUIRE(model_build(&model, trace, &status));
        REQUIRE(ranges_find(&model, NULL, &ranges, &status));
        int64_t outside = 0;
        for (int i = 0; i < LAUNCHES; i++)
            outside += innermost_at(&what, what.launch[i]) < 0;
        CHECK_INT(ranges.device_outside, outside);
        CHECK_INT(ranges.count, what.names);
        for (size_t i = 0; i < ranges.count; i++)
            check_overlapping(&what, &ranges.groups[i]);
        ranges_finish(&ranges);
        model_finish(&model);
        trace_close(trace);
    }
}

TEST(a_timeline_shows_copies_only_where_no_kernel_ran) {
    struct build build;
    struct status status = {0};
    struct model model;
    struct timeline_cell cells[2];
    build_begin(&build);
    build_activity(&build, 0, ACTIVITY_COPY, 0, 50, "copy", 0);
    build_activity(&build, 1, ACTIVITY_KERNEL, 10, 60, "k", 0);
    build_activity(&build, 0, ACTIVITY_COPY, 55, 130, "copy", 0);
    struct trace *trace = build_end(&build);
    REQUIRE(trace);
    REQUIRE(model_build(&model, trace, &status));
    timeline_draw(&model, 1, (struct window){0, 200}, cells, 2);
    CHECK_INT(cells[0].busy, 50);
    CHECK_INT(cells[0].copy, 10 + 40);
    CHECK_INT(cells[1].busy, 0);
    CHECK_INT(cells[1].copy, 30);
    model_finish(&model);
    trace_close(trace);
}

TEST(a_cell_of_a_timeline_is_drawn_by_what_fills_it) {
    static const struct {
        struct timeline_cell cell;
        const char *glyph;
        enum timeline_look look;
    } cells[] = {
        {{100, 0, 100}, "█", LOOK_KERNELS}, {{70, 30, 100}, "▓", LOOK_KERNELS},
        {{30, 0, 100}, "▒", LOOK_KERNELS},  {{2, 0, 100}, "░", LOOK_KERNELS},
        {{1, 0, 100}, "·", LOOK_IDLE},      {{0, 4, 100}, "·", LOOK_IDLE},
        {{0, 0, 100}, " ", LOOK_IDLE},      {{10, 60, 100}, "=", LOOK_COPIES},
        {{0, 5, 100}, "-", LOOK_COPIES},    {{0, 0, 0}, " ", LOOK_IDLE},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cells); i++) {
        enum timeline_look look;
        CHECK_STRING(timeline_glyph(&cells[i].cell, &look), cells[i].glyph);
        CHECK_INT(look, cells[i].look);
    }
}

TEST(without_any_call_no_activity_counts_as_launched_before_recording) {
    struct build build;
    struct status status = {0};
    struct model model;
    struct data_quality quality;
    build_begin(&build);
    build_activity(&build, 0, ACTIVITY_KERNEL, 0, 10, "k", 5);
    struct trace *trace = build_end(&build);
    REQUIRE(trace);
    REQUIRE(model_build(&model, trace, &status));
    REQUIRE(data_quality_find(&model, &(struct pauses){0}, &quality, &status));
    CHECK_INT(quality.without_launch_early, 0);
    CHECK_INT(quality.without_launch, 1);
    CHECK(quality.no_calls);
    data_quality_finish(&quality);
    model_finish(&model);
    trace_close(trace);
}

TEST(recordings_of_which_one_is_not_on_the_unix_clock_share_none_however_many_writers_say_unix) {
    struct build build;
    struct status status = {0};
    struct model model;
    struct data_quality quality;
    build_begin(&build);
    trace_writer_meta(build.writer, META_CLOCK_BASE, TEXT("unix"));
    trace_writer_meta(build.writer, META_CLOCK_BASE, TEXT("unix"));
    trace_writer_next_session(build.writer);
    trace_writer_meta(build.writer, META_CLOCK_BASE, TEXT("monotonic"));
    struct trace *trace = build_end(&build);
    REQUIRE(trace);
    REQUIRE(model_build(&model, trace, &status));
    REQUIRE(data_quality_find(&model, &(struct pauses){0}, &quality, &status));
    CHECK(quality.mixed_clocks);
    data_quality_finish(&quality);
    model_finish(&model);
    trace_close(trace);
}

TEST(memory_that_was_in_use_when_a_window_begins_counts_for_its_high_water) {
    struct build build;
    struct status status = {0};
    struct model model;
    struct memory_use *use;
    struct selection part = {0};
    build_begin(&build);
    trace_write_memory(build.writer, &(struct row_memory){.time = 10, .bytes = 1000});
    trace_write_memory(build.writer, &(struct row_memory){.time = 60, .bytes = 200});
    trace_write_memory(build.writer,
                       &(struct row_memory){.time = 70, .operation = MEMORY_FREE, .bytes = 1000});
    struct trace *trace = build_end(&build);
    REQUIRE(trace);
    REQUIRE(model_build(&model, trace, &status));
    REQUIRE(selection_add(&part, 50, 100, &status));
    REQUIRE(memory_use_find(&model, &part, &use, &status));
    CHECK_INT(use[0].high_water, 1200);
    CHECK_INT(use[0].high_water_time, 60);
    CHECK_INT(use[0].allocations, 1);
    CHECK_INT(use[0].allocated_bytes, 200);
    CHECK_INT(use[0].freed_bytes, 1000);
    memory_free(use);
    selection_finish(&part);
    model_finish(&model);
    trace_close(trace);
}

TEST(a_rate_over_no_time_is_zero) {
    struct kernel_limits limits = {.bytes = 5, .flops = 7};
    CHECK(kernel_limits_byte_rate(&limits) == 0);
    CHECK(kernel_limits_flop_rate(&limits) == 0);
    limits.bytes_time = limits.flops_time = 1;
    CHECK(kernel_limits_byte_rate(&limits) == 5e9);
    CHECK(kernel_limits_flop_rate(&limits) == 7e9);
}
