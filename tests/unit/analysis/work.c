/* Which kernels get an operator's work, and what they are bound by. */
#include "../test.h"
#include "build.h"

#include "analysis/kernels.h"
#include "analysis/work.h"
#include "base/memory.h"

static const char product[] =
    "{\"Input Dims\":[[1000,1000],[1000,1000]],\"Input type\":[\"float\",\"float\"]}";
static const char halves[] =
    "{\"Input Dims\":[[1000,1000],[1000,1000]],\"Input type\":[\"c10::Half\",\"c10::Half\"]}";
static const char sum[] =
    "{\"Input Dims\":[[1000000],[1000000]],\"Input type\":[\"float\",\"float\"]}";

struct stage {
    struct build build;
    struct trace *trace;
    struct model model;
    struct host host;
    struct work work;
    int64_t time;
    uint64_t correlation;
};

static void stage_begin(struct stage *stage) {
    *stage = (struct stage){0};
    build_begin(&stage->build);
}

/* A kernel of that many nanoseconds and blocks, launched at this time. */
static void kernel(struct stage *stage, const char *name, int64_t ns, uint32_t blocks) {
    struct trace_writer *writer = stage->build.writer;
    build_call(&stage->build, 0, CALL_LAUNCH, stage->time, stage->time + 5000, "cudaLaunchKernel",
               ++stage->correlation);
    trace_write_activity(writer, &(struct row_activity){
                                     .start = stage->time + 6000,
                                     .duration = ns,
                                     .queue = stage->build.queue[0],
                                     .kind = ACTIVITY_KERNEL,
                                     .name = trace_writer_string(writer, text_of(name)),
                                     .correlation = stage->correlation,
                                     .bytes = BYTES_UNKNOWN,
                                     .grid_x = blocks,
                                     .grid_y = 1,
                                     .grid_z = 1,
                                     .block_x = 128,
                                     .block_y = 1,
                                     .block_z = 1,
                                 });
    stage->time += 10000000;
}

/* What was launched since `start` was launched by this operator. */
static void operator(struct stage *stage, int64_t start, const char *name, const char *detail) {
    struct trace_writer *writer = stage->build.writer;
    trace_write_range(writer, &(struct row_range){
                                  .start = start,
                                  .duration = stage->time - start,
                                  .thread = stage->build.thread[0],
                                  .name = trace_writer_string(writer, text_of(name)),
                                  .category = RANGE_OP,
                                  .detail = trace_writer_string(writer, text_of(detail)),
                              });
}

/* A device with 1 TB/s of memory, 10 TFLOP/s of f32 and 100 of half matrices. */
static void set_limits(struct limits *limits) {
    limits->of[DEVICE_LIMIT_MEMORY] = 1e12;
    limits->of[DEVICE_LIMIT_F32] = 10e12;
    limits->of[DEVICE_LIMIT_MATRIX_F32] = 50e12;
    limits->of[DEVICE_LIMIT_MATRIX_F16] = 100e12;
    limits->of[DEVICE_LIMIT_GRAPH_KERNEL] = 1000;
    limits->source[DEVICE_LIMIT_GRAPH_KERNEL] = LIMIT_MEASURED;
}

static bool stage_find_with(struct stage *stage, const struct limits *limits) {
    struct status status = {0};
    stage->trace = build_end(&stage->build);
    if (!stage->trace)
        return false;
    stage->trace->device.multiprocessors[1] = 100;
    bool ok = model_build(&stage->model, stage->trace, &status) &&
              host_build(&stage->host, &stage->model, &status) &&
              work_find(&stage->model, &stage->host, limits, NULL, &stage->work, &status);
    if (!ok)
        test_failed(__FILE__, __LINE__, "%s", status.message);
    return ok;
}

static bool stage_find(struct stage *stage) {
    struct limits limits[2] = {0};
    set_limits(&limits[1]);
    return stage_find_with(stage, limits);
}

static void stage_finish(struct stage *stage) {
    work_finish(&stage->work);
    host_finish(&stage->host);
    model_finish(&stage->model);
    trace_close(stage->trace);
}

TEST(a_kernel_has_the_work_of_the_operator_that_launched_it) {
    struct stage stage;
    stage_begin(&stage);
    kernel(&stage, "ampere_sgemm_128x64_nn", 300000, 1000);
    operator(&stage, 0, "aten::mm", product);
    int64_t second = stage.time;
    kernel(&stage, "cutlass_80_tensorop_s1688gemm", 100000, 1000);
    operator(&stage, second, "aten::mm", product);
    int64_t third = stage.time;
    kernel(&stage, "ampere_fp16_s16816gemm", 30000, 1000);
    operator(&stage, third, "aten::mm", halves);
    int64_t fourth = stage.time;
    kernel(&stage, "vectorized_elementwise_kernel", 20000, 1000);
    operator(&stage, fourth, "aten::add", sum);
    kernel(&stage, "my_kernel", 20000, 1000);
    REQUIRE(stage_find(&stage));
    const struct work *work = &stage.work;
    CHECK(work->flops[0] == 2e9 && work->bytes[0] == 12e6);
    CHECK_INT(work->source[0], WORK_OPERATOR);
    CHECK_INT(work->arithmetic[0], DEVICE_LIMIT_F32);
    CHECK_INT(work->arithmetic[1], DEVICE_LIMIT_MATRIX_F32);
    CHECK_INT(work->arithmetic[2], DEVICE_LIMIT_MATRIX_F16);
    CHECK(work->roof_ns[0] == 200000.0f); /* 2e9 operations at 10e12 */
    CHECK(work->roof_ns[1] == 40000.0f);
    CHECK(work->roof_ns[2] == 20000.0f);
    CHECK(work->roof_ns[3] == 12000.0f); /* 12 MB at 1 TB/s */
    CHECK_INT(work->bound[0], BOUND_COMPUTE);
    CHECK_INT(work->bound[3], BOUND_MEMORY);
    CHECK_INT(work->source[4], WORK_UNKNOWN);
    CHECK_INT(work->bound[4], BOUND_UNKNOWN);
    stage_finish(&stage);
}

TEST(shapes_without_types_are_of_the_type_in_the_kernels_name) {
    static const char shapes[] = "{\"Input Dims\":[[1000, 1000], [1000, 1000]]}";
    struct stage stage;
    stage_begin(&stage);
    kernel(&stage, "sm80_xmma_gemm_f16f16_f16f32_f32", 30000, 1000);
    operator(&stage, 0, "aten::mm", shapes);
    int64_t second = stage.time;
    kernel(&stage, "sgemm_128x64_nn", 300000, 1000);
    operator(&stage, second, "aten::mm", shapes);
    int64_t third = stage.time;
    kernel(&stage, "gemm", 300000, 1000);
    operator(&stage, third, "aten::mm", shapes);
    REQUIRE(stage_find(&stage));
    CHECK(stage.work.bytes[0] == 6e6 && stage.work.arithmetic[0] == DEVICE_LIMIT_MATRIX_F16);
    CHECK(stage.work.bytes[1] == 12e6 && stage.work.arithmetic[1] == DEVICE_LIMIT_F32);
    CHECK_INT(stage.work.source[2], WORK_UNKNOWN);
    stage_finish(&stage);
}

TEST(a_kernel_is_held_against_both_roofs_or_none) {
    struct stage stage;
    struct limits limits[2] = {0};
    stage_begin(&stage);
    kernel(&stage, "ampere_sgemm_128x64_nn", 300000, 1000);
    operator(&stage, 0, "aten::mm", product);
    int64_t second = stage.time;
    kernel(&stage, "vectorized_elementwise_kernel", 20000, 1000);
    operator(&stage, second, "aten::add", sum);
    limits[1].of[DEVICE_LIMIT_MEMORY] = 1e12; /* as a large copy in the trace shows it */
    REQUIRE(stage_find_with(&stage, limits));
    CHECK_INT(stage.work.bound[0], BOUND_UNKNOWN);
    CHECK(stage.work.roof_ns[0] == 0);
    CHECK_INT(stage.work.bound[1], BOUND_MEMORY); /* a twelfth of an operation per byte */
    stage_finish(&stage);
}

TEST(the_launch_of_an_element_wise_kernel_gives_its_bytes_to_a_block) {
    struct stage stage;
    stage_begin(&stage);
    kernel(&stage,
           "void vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, "
           "std::array<char*, 3ul> >",
           40000, 1001);
    kernel(&stage,
           "void vectorized_elementwise_kernel<4, CompareEqFunctor<float>, "
           "std::array<char*, 3ul> >",
           40000, 1001);
    kernel(&stage,
           "void vectorized_elementwise_kernel<2, AddFunctor<float>, "
           "std::array<char*, 3ul> >",
           40000, 1001);
    kernel(&stage,
           "void vectorized_elementwise_kernel<8, AddFunctor<c10::Half>, "
           "std::array<char*, 2ul> >",
           40000, 7);
    REQUIRE(stage_find(&stage));
    CHECK(stage.work.bytes[0] == 1000.0 * 128 * 4 * 3 * 4); /* blocks, threads, width, arrays */
    CHECK_INT(stage.work.source[0], WORK_GEOMETRY);
    CHECK_INT(stage.work.source[1], WORK_UNKNOWN); /* writes booleans */
    CHECK_INT(stage.work.source[2], WORK_UNKNOWN); /* unaligned: elements per thread not known */
    CHECK_INT(stage.work.source[3], WORK_UNKNOWN); /* too few blocks */
    stage_finish(&stage);
}

TEST(of_several_kernels_the_one_that_multiplies_has_the_products_work) {
    struct stage stage;
    stage_begin(&stage);
    kernel(&stage, "sm80_xmma_gemm", 300000, 1000);
    kernel(&stage, "splitKreduce_kernel", 10000, 1000);
    operator(&stage, 0, "aten::mm", product);
    REQUIRE(stage_find(&stage));
    CHECK(stage.work.flops[0] == 2e9);
    CHECK(stage.work.flops[1] == 0 && stage.work.source[1] == WORK_UNKNOWN);
    stage_finish(&stage);
}

TEST(kernels_that_do_an_operators_work_together_share_it_by_their_time) {
    struct stage stage;
    stage_begin(&stage);
    kernel(&stage, "first_half", 30000, 1000);
    kernel(&stage, "second_half", 10000, 1000);
    operator(&stage, 0, "aten::add", sum);
    REQUIRE(stage_find(&stage));
    CHECK(stage.work.bytes[0] == 9e6 && stage.work.bytes[1] == 3e6);
    stage_finish(&stage);
}

TEST(code_inside_an_operator_does_not_do_the_operators_arithmetic) {
    struct stage stage;
    stage_begin(&stage);
    kernel(&stage, "gemm", 300000, 1000);
    operator(&stage, 0, "aten::mm", product);
    build_range(&stage.build, 0, RANGE_PYTHON, 0, 7000, "someone.py: hook");
    REQUIRE(stage_find(&stage));
    CHECK_INT(stage.work.source[0], WORK_UNKNOWN);
    stage_finish(&stage);
}

TEST(no_kernel_is_above_its_roof) {
    struct stage stage;
    stage_begin(&stage);
    kernel(&stage, "vectorized_elementwise_kernel", 6000, 1000); /* 2 TB/s: from the cache */
    operator(&stage, 0, "aten::add", sum);
    REQUIRE(stage_find(&stage));
    CHECK(stage.work.roof_ns[0] == 6000.0f);
    CHECK_INT(stage.work.bound[0], BOUND_MEMORY);
    stage_finish(&stage);
}

TEST(a_kernel_that_is_hardly_longer_than_an_empty_one_is_bound_by_latency) {
    struct stage stage;
    stage_begin(&stage);
    kernel(&stage, "short", 2500, 1000);
    kernel(&stage, "few_blocks", 900000, 20);
    kernel(&stage, "filling", 900000, 90);
    REQUIRE(stage_find(&stage));
    CHECK_INT(stage.work.bound[0], BOUND_LATENCY);
    CHECK_INT(stage.work.bound[1], BOUND_LATENCY);
    CHECK_INT(stage.work.bound[2], BOUND_UNKNOWN);
    stage_finish(&stage);
}

TEST(work_recorded_in_the_trace_precedes_that_of_the_operator) {
    struct stage stage;
    stage_begin(&stage);
    struct trace_writer *writer = stage.build.writer;
    trace_write_activity(
        writer, &(struct row_activity){.start = 5,
                                       .duration = 100,
                                       .queue = stage.build.queue[0],
                                       .kind = ACTIVITY_KERNEL,
                                       .name = trace_writer_string(writer, TEXT("matmul_bf16")),
                                       .bytes = 7,
                                       .flops = 9});
    REQUIRE(stage_find(&stage));
    CHECK(stage.work.bytes[0] == 7 && stage.work.flops[0] == 9);
    CHECK_INT(stage.work.source[0], WORK_TRACE);
    CHECK_INT(stage.work.arithmetic[0], DEVICE_LIMIT_MATRIX_BF16);
    stage_finish(&stage);
}

/* Megabytes of a kernel that takes 100 us, at 1 TB/s: 100 of them are the roof. */
static void shader(struct stage *stage, uint64_t megabytes, uint64_t flops) {
    struct trace_writer *writer = stage->build.writer;
    stage->time += 10000000;
    trace_write_activity(
        writer, &(struct row_activity){.start = stage->time,
                                       .duration = 100000,
                                       .queue = stage->build.queue[0],
                                       .kind = ACTIVITY_KERNEL,
                                       .name = trace_writer_string(writer, TEXT("matmul_f16")),
                                       .bytes = megabytes * 1000000,
                                       .flops = flops,
                                       .grid_x = 1000,
                                       .grid_y = 1,
                                       .grid_z = 1});
}

TEST(a_shader_without_known_operations_is_memory_bound_near_the_roof_only) {
    struct stage stage;
    stage_begin(&stage);
    trace_writer_meta(stage.build.writer, "vulkan.work", TEXT("estimated"));
    shader(&stage, 80, 0);
    shader(&stage, 20, 0);
    shader(&stage, 20, 1000000);
    shader(&stage, 1, 800000000); /* of 1e9 in f32, whatever its name says */
    REQUIRE(stage_find(&stage));
    const struct work *work = &stage.work;
    CHECK(work->bound[0] == BOUND_MEMORY && work->roof_ns[0] > 79000);
    CHECK(work->bound[1] == BOUND_UNKNOWN && work->roof_ns[1] == 0);
    CHECK(work->bound[2] == BOUND_MEMORY && work->source[2] == WORK_SHADER);
    CHECK(work->bound[3] == BOUND_COMPUTE && work->roof_ns[3] > 79000);
    stage_finish(&stage);
}

TEST(a_kernel_group_sums_the_work_of_its_kernels) {
    struct stage stage;
    struct kernels kernels;
    struct status status = {0};
    stage_begin(&stage);
    for (int i = 0; i < 3; i++) {
        int64_t start = stage.time;
        kernel(&stage, "add", 24000, 1000);
        if (i < 2)
            operator(&stage, start, "aten::add", sum);
    }
    REQUIRE(stage_find(&stage));
    REQUIRE(kernels_find(&stage.model, &(struct occupancy){0}, &stage.work, 0, NULL, &kernels,
                         &status));
    const struct kernel_limits *limits = &kernels.groups[0].limits;
    CHECK(limits->bytes == 24e6 && limits->bytes_time == 48000);
    CHECK(kernel_limits_byte_rate(limits) == 24e6 / 48e-6);
    CHECK(kernel_limits_reached(limits) == 0.5);
    CHECK_INT(kernel_limits_bound(limits), BOUND_MEMORY);
    kernels_finish(&kernels);
    stage_finish(&stage);
}
