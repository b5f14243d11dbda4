/* The hand-made kernels: they compute the right results on every device, their source compiles
 * for CUDA, and their experiments reach the right verdicts. */
#include "../test.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "bench/experiments/memory_vs_compute.h"
#include "bench/experiments/sweep.h"
#include "bench/kernels/kernel_case.h"
#include "bench/measure.h"
#include "device/cuda/compile.h"
#include "tensor/tensor.h"

extern const struct experiment experiment_memory_vs_compute, experiment_workgroup_sweep,
    experiment_tile_sweep, experiment_quantization;

struct kernel_run {
    struct amount amount;
    double error, fastest_ns;
};

/* Prepares and checks a case and times it a few times, if asked. */
static bool run_kernel(struct stage *stage, const struct bench_case *work, unsigned times,
                       struct kernel_run *run, struct status *status) {
    void *state;
    if (!work->kind->prepare(stage, work, &state, &run->amount, status))
        return false;
    bool ok = work->kind->check(state, &run->error, status);
    run->fastest_ns = INFINITY;
    for (unsigned i = 0; i < times && ok; i++) {
        double start = measure_clock();
        ok = work->kind->call(state, i, status) && ridge_synchronize(stage->device);
        run->fastest_ns = fmin(run->fastest_ns, measure_clock() - start);
    }
    work->kind->finish(state);
    return ok;
}

static void check_kernel(struct stage *stage, enum hand_kernel which, int64_t size, int64_t batch,
                         int64_t block_or_tile) {
    struct status status = {0};
    struct bench_case work = {.size = size, .batch = batch};
    struct kernel_run run;
    if (!kernel_case_set(&work, which, block_or_tile, &status) ||
        !run_kernel(stage, &work, 0, &run, &status))
        test_failed(__FILE__, __LINE__, "kernel %d, size %lld, batch %lld, tile or block %lld: %s",
                    which, (long long)size, (long long)batch, (long long)block_or_tile,
                    status.message);
}

static struct stage stage_on(const char *name) {
    return (struct stage){.device = ridge_device_open(name), .options.small = true};
}

TEST(hand_made_kernels_on_the_cpu_compute_what_they_say) {
    static const int64_t sizes[] = {1, 7, 64, 130}, batches[] = {1, 3, 9, 70};
    struct stage stage = stage_on("cpu");
    REQUIRE(stage.device);
    for (unsigned i = 0; i < 4; i++)
        for (unsigned j = 0; j < 4; j++)
            for (enum hand_kernel which = HAND_READ; which <= HAND_PRODUCT; which++)
                check_kernel(&stage, which, sizes[i], batches[j], 0);
    for (int64_t tile = 8; tile <= 128; tile *= 2)
        check_kernel(&stage, HAND_PRODUCT, 100, 0, tile);
    for (int64_t block = 32; block <= 65536; block *= 16) {
        check_kernel(&stage, HAND_SCALE, 100001, 0, block);
        check_kernel(&stage, HAND_SUM, 100001, 0, block);
    }
    ridge_device_close(stage.device);
}

TEST(hand_made_kernels_in_opencl_compute_what_they_say) {
    struct stage stage = stage_on("opencl");
    if (!stage.device) {
        ridge_error_clear();
        test_skip("no OpenCL device here");
        return;
    }
    for (enum hand_kernel which = HAND_READ; which <= HAND_PRODUCT; which++) {
        check_kernel(&stage, which, 70, 1, 0);
        check_kernel(&stage, which, 70, 33, 0);
    }
    check_kernel(&stage, HAND_PRODUCT, 65, 0, 8);
    check_kernel(&stage, HAND_PRODUCT, 150, 0, 128);
    check_kernel(&stage, HAND_SCALE, 10001, 0, 64);
    check_kernel(&stage, HAND_SUM, 100003, 0, 64);
    ridge_device_close(stage.device);
}

static void check_compiles(const struct bench_case *work,
                           const struct device_capabilities *device) {
    struct status status = {0};
    struct kernel_plan plan;
    CHECK_OK(kernel_plan_make(work, device, &plan, &status), status);
    for (int last = 0; last <= (plan.which == HAND_SUM); last++) {
        struct buffer source = {0}, binary = {0};
        kernel_text(&plan, device, last, &source);
        CHECK_OK(buffer_ok(&source, &status) &&
                     cuda_compile(source.data, source.length, kernel_name_of(&plan, last),
                                  device->major, device->minor, false, &binary, &status),
                 status);
        buffer_finish(&source);
        buffer_finish(&binary);
    }
}

TEST(hand_made_kernels_compile_for_cuda) {
    struct device_capabilities device = {
        .language = LANGUAGE_CUDA,
        .compute_units = 132,
        .block_max = 1024,
        .threads_per_unit = 2048,
        .major = 9,
    };
    struct status status = {0};
    if (!cuda_compiler_ready(9, 0, &status)) {
        test_skip("no CUDA compiler here");
        return;
    }
    struct bench_case work = {.size = 4096};
    static const int64_t batches[] = {2, 4096};
    for (unsigned i = 0; i < 2; i++)
        for (enum hand_kernel which = HAND_READ; which <= HAND_PRODUCT; which++) {
            work.batch = batches[i];
            CHECK_OK(kernel_case_set(&work, which, 0, &status), status);
            check_compiles(&work, &device);
        }
    CHECK_OK(kernel_case_set(&work, HAND_PRODUCT, 16, &status), status);
    check_compiles(&work, &device);
    for (enum hand_kernel which = HAND_SCALE; which <= HAND_SUM; which++) {
        CHECK_OK(kernel_case_set(&work, which, 1024, &status), status);
        check_compiles(&work, &device);
    }
}

TEST(the_compute_only_kernel_does_the_flops_of_the_product_and_reads_next_to_nothing) {
    struct device_capabilities device = {
        .language = LANGUAGE_CUDA, .compute_units = 132, .block_max = 1024};
    struct bench_case work = {.size = 2048, .batch = 2048};
    struct status status = {0};
    struct kernel_plan plan;
    struct amount amounts[3];
    for (enum hand_kernel which = HAND_READ; which <= HAND_PRODUCT; which++) {
        CHECK_OK(kernel_case_set(&work, which, 0, &status) &&
                     kernel_plan_make(&work, &device, &plan, &status),
                 status);
        kernel_amount(&plan, 1, &amounts[which - HAND_READ]);
    }
    uint64_t matrix = 2048ull * 2048;
    CHECK_INT(amounts[2].flops, 2 * matrix * 2048);
    CHECK_INT(amounts[1].flops, amounts[2].flops);
    CHECK_INT(amounts[2].bytes, 12 * matrix);
    CHECK_INT(amounts[0].bytes, 12 * matrix);
    CHECK(amounts[1].bytes < 4 * matrix + matrix / 4);
    CHECK(amounts[0].moved_bytes == amounts[2].moved_bytes);
    CHECK(amounts[0].flops < amounts[2].flops / 32);
}

TEST(sizes_that_cannot_be_are_refused) {
    struct status status = {0};
    struct bench_case huge = {.size = 1 << 20, .batch = 4}, none = {.size = 0, .batch = 1};
    CHECK(!kernel_case_set(&huge, HAND_PRODUCT, 0, &status));
    CHECK(status.code == STATUS_USAGE && strstr(status.message, "--size"));
    CHECK(!kernel_case_set(&none, HAND_SCALE, 256, &status));
    struct bench_case wide = {.size = INT64_MAX, .batch = INT64_MAX};
    CHECK(!kernel_case_set(&wide, HAND_READ, 0, &status));
    struct bench_case odd = {.size = 64, .batch = 64};
    struct device_capabilities cpu = {.language = LANGUAGE_NATIVE, .compute_units = 2};
    struct kernel_plan plan;
    CHECK(kernel_case_set(&odd, HAND_PRODUCT, 24, &status));
    CHECK(!kernel_plan_make(&odd, &cpu, &plan, &status));
    struct device_capabilities gpu = {
        .language = LANGUAGE_OPENCL, .compute_units = 2, .block_max = 128};
    CHECK(kernel_case_set(&odd, HAND_SUM, 256, &status));
    CHECK(!kernel_plan_make(&odd, &gpu, &plan, &status));
    CHECK(status.code == STATUS_UNSUPPORTED);
}

/* ---- Verdicts --------------------------------------------------------------------------- */

TEST(the_half_that_takes_as_long_as_the_whole_binds) {
    CHECK(bound_of(95, 20, 100) == BOUND_MEMORY);
    CHECK(bound_of(20, 95, 100) == BOUND_COMPUTE);
    CHECK(bound_of(90, 85, 100) == BOUND_BALANCED);
    CHECK(bound_of(50, 50, 100) == BOUND_BALANCED);
    CHECK(bound_of(110, 75, 105) == BOUND_MEMORY);
    CHECK(bound_of(10, 60, 100) == BOUND_COMPUTE);
    CHECK(bound_of(60, 10, 100) == BOUND_MEMORY);
    CHECK(bound_of(40, 60, 100) == BOUND_BALANCED);
    CHECK(bound_of(160, 60, 100) == BOUND_UNCLEAR);
    CHECK(bound_overlap(50, 50, 100) == 0);
    CHECK(bound_overlap(100, 40, 100) == 1);
    CHECK(fabs(bound_overlap(80, 40, 100) - 0.5) < 1e-9);
}

static enum bound measured_bound(struct stage *stage, int64_t size, int64_t batch) {
    struct kernel_run runs[3] = {0};
    struct status status = {0};
    struct bench_case work = {.size = size, .batch = batch};
    for (unsigned i = 0; i < 3; i++)
        CHECK_OK(kernel_case_set(&work, (enum hand_kernel)(HAND_READ + i), 0, &status) &&
                     run_kernel(stage, &work, 12, &runs[i], &status),
                 status);
    return bound_of(runs[0].fastest_ns, runs[1].fastest_ns, runs[2].fastest_ns);
}

/* Other programs may take the processor away at any time: one of a few tries is enough. */
static bool comes_out_as(struct stage *stage, int64_t size, int64_t batch, enum bound expected) {
    for (unsigned tries = 0; tries < 5; tries++)
        if (measured_bound(stage, size, batch) == expected)
            return true;
    return false;
}

TEST(a_product_by_a_vector_is_memory_bound_and_a_square_one_compute_bound) {
    struct stage stage = stage_on("cpu");
    REQUIRE(stage.device);
    CHECK(comes_out_as(&stage, 1536, 1, BOUND_MEMORY));
    CHECK(comes_out_as(&stage, 512, 512, BOUND_COMPUTE));
    ridge_device_close(stage.device);
}

/* ---- The experiments -------------------------------------------------------------------- */

static struct result result_of(const struct bench_case *work, double ns) {
    struct result result = {.dtype = work->dtype, .size = work->size, .batch = work->batch};
    memcpy(result.label, work->label, sizeof result.label);
    memcpy(result.variant, work->variant, sizeof result.variant);
    memcpy(result.numbers, work->numbers, sizeof result.numbers);
    snprintf(result.experiment, sizeof result.experiment, "x");
    snprintf(result.device, sizeof result.device, "cpu:0");
    result.time.time.median = ns;
    return result;
}

/* Plans the experiment on the CPU and concludes from times that are made up, one for each case in
 * turn. */
static void conclude_from(const struct experiment *experiment, const double *times,
                          size_t time_count, struct result_set *set, size_t *case_count) {
    struct stage stage = stage_on("cpu");
    struct case_list list = {0};
    struct status status = {0};
    struct result *results = NULL;
    REQUIRE(stage.device);
    CHECK_OK(experiment->plan(experiment, &stage, &list, &status), status);
    results = memory_allocate(list.count, sizeof *results, &status);
    for (size_t i = 0; i < list.count && results; i++)
        results[i] = result_of(&list.cases[i], times[i % time_count]);
    *case_count = list.count;
    CHECK_OK(experiment->conclude(experiment, &stage, results, list.count, set, &status), status);
    memory_free(results);
    memory_free(list.cases);
    ridge_device_close(stage.device);
}

TEST(memory_vs_compute_says_which_half_binds_each_product) {
    static const double times[] = {900, 100, 1000, 100, 900, 1000};
    struct result_set set = {0};
    size_t cases = 0;
    conclude_from(&experiment_memory_vs_compute, times, 6, &set, &cases);
    CHECK_INT(cases, 6);
    REQUIRE(set.finding_count == 2);
    CHECK(strstr(set.findings[0].text, "batch 1: memory-bound"));
    CHECK(strstr(set.findings[1].text, "compute-bound"));
    CHECK_STRING(set.findings[0].key, "verdict");
    result_set_finish(&set);
}

TEST(a_sweep_names_the_best_block_and_tile_and_those_as_good) {
    static const double times[] = {300, 100};
    struct result_set set = {0};
    size_t cases = 0;
    conclude_from(&experiment_workgroup_sweep, times, 2, &set, &cases);
    REQUIRE(set.finding_count == 2);
    CHECK_STRING(set.findings[0].key, "best_block");
    CHECK(set.findings[0].value == 256);
    CHECK(strstr(set.findings[0].text, "block 64 takes 3.0x as long"));
    conclude_from(&experiment_tile_sweep, (double[]){100, 102}, 2, &set, &cases);
    REQUIRE(set.finding_count == 3);
    CHECK_STRING(set.findings[2].key, "best_tile");
    CHECK(set.findings[2].value == 8);
    CHECK(strstr(set.findings[2].text, "; 32 is equally good."));
    result_set_finish(&set);
}

TEST(quantization_tells_overhead_or_gain_against_f16) {
    static const double times[] = {1000, 2000, 1010, 400};
    struct result_set set = {0};
    size_t cases = 0;
    conclude_from(&experiment_quantization, times, 4, &set, &cases);
    CHECK_INT(cases, 4);
    REQUIRE(set.finding_count == 3);
    CHECK(set.findings[0].value == 100);
    CHECK(strstr(set.findings[0].text, "an overhead of 100 %"));
    CHECK(strstr(set.findings[1].text, "no overhead and no gain"));
    CHECK(strstr(set.findings[2].text, "60 % less time, 2.5x as fast"));
    result_set_finish(&set);
}
