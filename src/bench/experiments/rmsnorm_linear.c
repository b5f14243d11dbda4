/* rmsnorm-linear: a norm and the product that follows it, eager and compiled, with the same
 * arguments on every device. The norm is a hundredth of the work: what does it cost as a
 * separate operation? */
#include <stdio.h>

#include "bench/experiments/axes.h"
#include "bench/workloads/workload.h"

static bool rmsnorm_linear_plan(const struct stage *stage, struct case_list *list,
                                struct status *status) {
    static const struct axis_defaults sizes = {
        .cpu = {2, {1024, 4096}}, .gpu = {2, {1024, 4096}}, .tests = {1, {48}}};
    static const struct axis_defaults batches = {
        .cpu = {2, {1, 8}}, .gpu = {2, {1, 8}}, .tests = {2, {1, 3}}};
    struct axes axes = axes_of(stage, &sizes, &batches, RIDGE_F32);
    for (unsigned type = 0; type < axes.dtype_count; type++)
        for (unsigned i = 0; i < axes.sizes.count; i++)
            for (unsigned b = 0; b < axes.batches.count; b++)
                for (unsigned compiled = 0; compiled < 2; compiled++) {
                    struct bench_case work = {.kind =
                                                  compiled ? &workload_compiled : &workload_eager,
                                              .subject = &workload_rmsnorm_linear,
                                              .dtype = axes.dtypes[type],
                                              .size = axes.sizes.values[i],
                                              .batch = axes.batches.values[b],
                                              .compare = compiled};
                    snprintf(work.variant, sizeof work.variant, "%s",
                             compiled ? "compiled" : "eager");
                    if (!axes_add(&axes, list, &work, status, "%lldx%lld, batch %lld",
                                  (long long)work.size, (long long)work.size,
                                  (long long)work.batch))
                        return false;
                }
    return true;
}

const struct experiment experiment_rmsnorm_linear = {
    .name = "rmsnorm-linear",
    .summary = "RMS norm and a linear layer, eager and compiled, identical on every device",
    .sizes = "width; 1024, 4096",
    .batches = "rows; 1, 8",
    .takes = TAKES_DTYPE | TAKES_SIZE | TAKES_BATCH,
    .plan = rmsnorm_linear_plan,
};
