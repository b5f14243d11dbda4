/* matmul: square matrices from 64 to 8192 wide. From which size on is arithmetic the limit, and how
 * much of it is reached?
 */
#include "bench/experiments/axes.h"
#include "bench/experiments/curve.h"
#include "bench/workloads/workload.h"

static bool matmul_experiment_plan(const struct stage *stage, struct case_list *list,
                                   struct status *status) {
    static const struct axis_defaults sizes = {
        .cpu = {6, {64, 128, 256, 512, 1024, 2048}},
        .gpu = {8, {64, 128, 256, 512, 1024, 2048, 4096, 8192}},
        .tests = {2, {32, 65}}};
    struct axes axes = axes_of(stage, &sizes, NULL, RIDGE_F16);
    for (unsigned type = 0; type < axes.dtype_count; type++)
        for (unsigned i = 0; i < axes.sizes.count; i++) {
            struct bench_case work = {.kind = &workload_eager,
                                      .subject = &workload_matmul,
                                      .dtype = axes.dtypes[type],
                                      .size = axes.sizes.values[i],
                                      .numbers = {[CURVE_AT] = axes.sizes.values[i]}};
            if (!axes_add(&axes, list, &work, status, "matmul %lldx%lld", (long long)work.size,
                          (long long)work.size))
                return false;
        }
    return true;
}

static bool matmul_experiment_conclude(const struct stage *stage, const struct result *results,
                                       size_t count, struct result_set *set,
                                       struct status *status) {
    static const struct workload *const workloads[] = {&workload_matmul};
    static const struct curve_set curves = {.workloads = workloads,
                                            .count = 1,
                                            .thing = "rows and columns",
                                            .rate = curve_flops,
                                            .rate_text = curve_flops_text};
    (void)stage;
    return curve_conclude(&curves, results, count, set, status);
}

const struct experiment experiment_matmul = {
    .name = "matmul",
    .summary = "Square matrix products over sizes: the smallest efficient size and the best",
    .sizes = "rows and columns; 64 to 2048 in powers of two (GPU: to 8192)",
    .takes = TAKES_DTYPE | TAKES_SIZE,
    .plan = matmul_experiment_plan,
    .conclude = matmul_experiment_conclude,
};
