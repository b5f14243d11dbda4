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

#define THREADS "smsp__sass_thread_inst_executed_op"
#define PER_CYCLE "_pred_on.sum.per_cycle_elapsed"

/* A millisecond at 2 GHz: 2,000,000 cycles. */
TEST(counted_operations_and_bytes_are_the_work_of_a_launch) {
    struct stage stage = {0};
    struct limits limits[2] = {0};
    struct work work;
    struct host host = {0};
    struct status status = {0};
    build_begin(&stage.build);
    static const struct {
        uint64_t launch;
        const char *kernel, *name;
        double value;
    } counted[] = {
        {1, "tensor", "dram__bytes.sum", 100},
        {1, "tensor", "sm__ops_path_tensor_src_fp16_dst_fp32.sum", 1000},
        {1, "tensor", "sm__ops_path_tensor_src_bf16_dst_fp32.sum", 500},
        {1, "tensor", "sm__ops_path_tensor_src_fp16_sparsity_on.sum", 7},
        {1, "tensor", "sm__ops_path_tensor_src_int8.avg", 7},
        {1, "tensor", THREADS "s_fadd_fmul_ffma_pred_on.sum", 1400},
        {2, "f64", "dram__bytes.sum", 101},
        {2, "f64", THREADS "s_dadd_dmul_dfma_pred_on.sum", 60},
        {2, "f64", THREADS "s_fadd_fmul_ffma_pred_on.sum", 50},
        {3, "f32", "dram__bytes.sum", 102},
        {3, "f32", THREADS "s_fadd_fmul_ffma_pred_on.sum", 50},
        {3, "f32", THREADS "s_hadd_hmul_hfma_pred_on.sum", 20},
        {4, "rates", "dram__bytes.sum.per_second", 5e9},
        {4, "rates", "smsp__cycles_elapsed.avg.per_second", 2e9},
        {4, "rates", THREADS "_fadd" PER_CYCLE, 1},
        {4, "rates", THREADS "_fmul" PER_CYCLE, 2},
        {4, "rates", THREADS "_ffma" PER_CYCLE, 4},
        {5, "bytes", "dram__bytes.sum", 104},
        {6, "operations", THREADS "s_fadd_fmul_ffma_pred_on.sum", 50},
    };
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        if (i == 0 || counted[i].launch != counted[i - 1].launch) {
            kernel(&stage, counted[i].kernel, 8);
            counter(&stage, counted[i].launch, counted[i].kernel, 8, DURATION, 1e6);
        }
        counter(&stage, counted[i].launch, counted[i].kernel, 8, counted[i].name, counted[i].value);
    }
    if (!find(&stage))
        return;
    bool ok = host_build(&host, &stage.model, &status) &&
              work_find(&stage.model, &host, limits, &stage.counters, &work, &status);
    CHECK_OK(ok, status);
    if (ok) {
        static const struct {
            double flops, bytes;
            enum device_limit unit;
        } expected[] = {{2900, 100, DEVICE_LIMIT_MATRIX_F16},
                        {110, 101, DEVICE_LIMIT_F64},
                        {70, 102, DEVICE_LIMIT_F32},
                        {11 * 2e6, 5e6, DEVICE_LIMIT_F32}};
        for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
            CHECK_INT(work.source[i], WORK_COUNTED);
            CHECK_INT(work.flops[i], expected[i].flops);
            CHECK_INT(work.bytes[i], expected[i].bytes);
            CHECK_INT(work.arithmetic[i], expected[i].unit);
        }
        CHECK(work.source[4] != WORK_COUNTED); /* bytes alone */
        CHECK(work.source[5] != WORK_COUNTED);
        work_finish(&work);
    }
    host_finish(&host);
    finish(&stage);
}
