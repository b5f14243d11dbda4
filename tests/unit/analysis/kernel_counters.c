/* Figures from hardware counters, and the launches that they belong to. */
#include "../test.h"
#include "build.h"

#include "analysis/kernel_counters.h"
#include "analysis/work.h"

struct stage {
    struct build build;
    struct trace *trace;
    struct model model;
    struct kernel_counters counters;
    int64_t time;
};

static uint32_t string(struct stage *stage, const char *text) {
    return trace_writer_string(stage->build.writer, text_of(text));
}

static void counter(struct stage *stage, uint64_t launch, const char *kernel, uint32_t grid,
                    const char *name, double value) {
    trace_write_metric(stage->build.writer, &(struct row_metric){.launch = launch,
                                                                 .kernel = string(stage, kernel),
                                                                 .grid_x = grid,
                                                                 .grid_y = 1,
                                                                 .grid_z = 1,
                                                                 .block_x = 32,
                                                                 .block_y = 1,
                                                                 .block_z = 1,
                                                                 .name = string(stage, name),
                                                                 .value = value});
}

static void kernel(struct stage *stage, const char *name, uint32_t grid) {
    trace_write_activity(stage->build.writer, &(struct row_activity){.start = stage->time,
                                                                     .duration = 1000,
                                                                     .queue = stage->build.queue[0],
                                                                     .kind = ACTIVITY_KERNEL,
                                                                     .name = string(stage, name),
                                                                     .bytes = BYTES_UNKNOWN,
                                                                     .grid_x = grid,
                                                                     .grid_y = 1,
                                                                     .grid_z = 1,
                                                                     .block_x = 32,
                                                                     .block_y = 1,
                                                                     .block_z = 1});
    stage->time += 1000;
}

static bool find(struct stage *stage) {
    struct status status = {0};
    stage->trace = build_end(&stage->build);
    bool ok = stage->trace && model_build(&stage->model, stage->trace, &status) &&
              kernel_counters_find(&stage->model, &stage->counters, &status);
    if (!ok)
        test_failed(__FILE__, __LINE__, "%s", status.message);
    return ok;
}

static void finish(struct stage *stage) {
    kernel_counters_finish(&stage->counters);
    model_finish(&stage->model);
    trace_close(stage->trace);
}

#define DURATION "gpu__time_duration.sum"
#define OCCUPANCY "sm__warps_active.avg.pct_of_peak_sustained_active"

TEST(shares_of_launches_are_weighted_by_duration_and_amounts_add_up) {
    struct stage stage = {0};
    build_begin(&stage.build);
    counter(&stage, 1, "void f<int>(int)", 8, DURATION, 1000);
    counter(&stage, 1, "void f<int>(int)", 8, OCCUPANCY, 10);
    counter(&stage, 1, "void f<int>(int)", 8, "dram__bytes_read.sum", 5);
    counter(&stage, 1, "void f<int>(int)", 8, "dram__bytes_write.sum", 6);
    counter(&stage, 2, "void f<int>(int)", 8, DURATION, 3000);
    counter(&stage, 2, "void f<int>(int)", 8, OCCUPANCY, 50);
    counter(&stage, 2, "void f<int>(int)", 8, "dram__bytes.sum", 100);
    if (!find(&stage))
        return;
    CHECK_INT(stage.counters.launch_count, 2);
    CHECK_INT(stage.counters.kernel_count, 1);
    const struct kernel_figures *figures = &stage.counters.kernels[0].figures;
    double value;
    CHECK(kernel_figure(figures, KERNEL_OCCUPANCY_FIGURE, &value) && value > 0.3999 &&
          value < 0.4001);
    CHECK(kernel_figure(figures, KERNEL_DRAM_BYTES_FIGURE, &value) && value == 111);
    CHECK(!kernel_figure(figures, KERNEL_SM_FIGURE, &value));
    finish(&stage);
}

TEST(measured_launches_belong_to_activities_by_name_grid_and_order) {
    struct stage stage = {0};
    build_begin(&stage.build);
    kernel(&stage, "_Z1fIiEvi", 8);
    kernel(&stage, "f<int>", 16);
    kernel(&stage, "f<int>", 8);
    kernel(&stage, "f<int>", 8);
    kernel(&stage, "g", 8);
    counter(&stage, 1, "void f<(int)4>(T1)", 8, DURATION, 1);
    counter(&stage, 2, "void f<(int)4>(T1)", 8, DURATION, 2);
    counter(&stage, 3, "void f<(int)4>(T1)", 16, DURATION, 3);
    if (!find(&stage))
        return;
    CHECK_INT(stage.counters.launch_of[1], 2);
    CHECK_INT(stage.counters.launch_of[2], 1);
    CHECK_INT(stage.counters.launch_of[3], 0); /* in turn */
    CHECK_INT(stage.counters.launch_of[4], NO_ROW);
    finish(&stage);
}

TEST(the_busiest_unit_of_counters_is_the_roof) {
    struct stage stage = {0};
    struct limits limits[2] = {0};
    struct work work;
    struct host host = {0};
    struct status status = {0};
    build_begin(&stage.build);
    kernel(&stage, "f", 8);
    kernel(&stage, "g", 8);
    counter(&stage, 1, "f", 8, DURATION, 1000);
    counter(&stage, 1, "f", 8, "sm__throughput.avg.pct_of_peak_sustained_elapsed", 20);
    counter(&stage, 1, "f", 8, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
            80);
    counter(&stage, 2, "g", 8, DURATION, 1000);
    counter(&stage, 2, "g", 8, "sm__throughput.avg.pct_of_peak_sustained_elapsed", 30);
    counter(&stage, 2, "g", 8, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
            10);
    if (!find(&stage))
        return;
    bool ok = host_build(&host, &stage.model, &status) &&
              work_find(&stage.model, &host, limits, &stage.counters, &work, &status);
    CHECK_OK(ok, status);
    if (ok) {
        CHECK_INT(work.bound[0], BOUND_MEMORY);
        CHECK_INT(work.roof_ns[0], 800);
        CHECK_INT(work.bound[1], BOUND_UNKNOWN);
        CHECK_INT(work.roof_ns[1], 300);
        work_finish(&work);
    }
    host_finish(&host);
    finish(&stage);
}

TEST(operations_of_tensor_cores_that_were_not_counted_are_unknown) {
    struct kernel_figures figures = {0};
    double value;
    figures.known = (uint64_t)1 << KERNEL_F32_FLOPS_FIGURE | (uint64_t)1 << KERNEL_TENSOR_FIGURE;
    figures.value[KERNEL_F32_FLOPS_FIGURE] = 10;
    CHECK(kernel_figures_flops(&figures, &value) && value == 10);
    figures.value[KERNEL_TENSOR_FIGURE] = 0.5;
    CHECK(!kernel_figures_flops(&figures, &value));
    figures.known |= (uint64_t)1 << KERNEL_TENSOR_FLOPS_FIGURE;
    figures.value[KERNEL_TENSOR_FLOPS_FIGURE] = 100;
    CHECK(kernel_figures_flops(&figures, &value) && value == 110);
}

TEST(the_occupancy_limiter_is_the_smallest_block_limit) {
    struct kernel_figures figures = {0};
    CHECK(kernel_occupancy_limiter(&figures) == NULL);
    figures.known = (uint64_t)1 << KERNEL_LIMIT_REGISTERS_FIGURE | (uint64_t)1
                                                                       << KERNEL_LIMIT_WARPS_FIGURE;
    figures.value[KERNEL_LIMIT_REGISTERS_FIGURE] = 4;
    figures.value[KERNEL_LIMIT_WARPS_FIGURE] = 8;
    CHECK_STRING(kernel_occupancy_limiter(&figures), "registers");
}
