/* batch-scaling: three layers on more and more rows at once. The weights are read once for all of
 * them, so rows are nearly free until arithmetic is the limit: which batch is the smallest that is
 * efficient, and which the best?
 */
#include <stdio.h>

#include "base/format.h"
#include "bench/experiments/axes.h"
#include "bench/experiments/curve.h"
#include "bench/workloads/workload.h"

static bool batch_scaling_plan(const struct stage *stage, struct case_list *list,
                               struct status *status) {
    static const struct axis_defaults sizes = {
        .cpu = {1, {1024}}, .gpu = {1, {4096}}, .tests = {1, {32}}};
    static const struct axis_defaults batches = {
        .cpu = {11, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}},
        .gpu = {11, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}},
        .tests = {3, {1, 4, 16}}};
    struct axes axes = axes_of(stage, &sizes, &batches, RIDGE_F16);
    for (unsigned type = 0; type < axes.dtype_count; type++)
        for (unsigned i = 0; i < axes.sizes.count; i++)
            for (unsigned b = 0; b < axes.batches.count; b++) {
                struct bench_case work = {.kind = &workload_compiled,
                                          .subject = &workload_mlp,
                                          .dtype = axes.dtypes[type],
                                          .size = axes.sizes.values[i],
                                          .batch = axes.batches.values[b],
                                          .numbers = {[CURVE_NUMBER] = axes.sizes.values[i],
                                                      [CURVE_AT] = axes.batches.values[b]}};
                if (!axes_add(&axes, list, &work, status, "3 layers of %lld, batch %lld",
                              (long long)work.size, (long long)work.batch))
                    return false;
            }
    return true;
}

static double rows_per_second(const struct result *result) {
    return result->time.time.median > 0 ? (double)result->batch / result->time.time.median * 1e9
                                        : 0;
}

static bool add_findings(const struct curve *curve, struct result_set *set, struct status *status) {
    const struct result *best = curve->best;
    char rows[FORMAT_SIZE];
    format_count((uint64_t)curve->best_rate, rows);
    if (!finding_add(set, best->experiment, best->device, "best_batch", (double)best->batch, status,
                     "Layers of %lld (%s): batch %lld is best, with %s rows/s, %.1fx the rate of "
                     "batch %lld.",
                     (long long)best->size, ridge_dtype_name(best->dtype), (long long)best->batch,
                     rows, curve->best_rate / curve->first_rate, (long long)curve->first->batch))
        return false;
    if (curve->efficient == best)
        return finding_add(set, best->experiment, best->device, "efficient_batch",
                           (double)best->batch, status,
                           "Layers of %lld (%s): it is also the smallest efficient batch.",
                           (long long)best->size, ridge_dtype_name(best->dtype));
    return finding_add(set, best->experiment, best->device, "efficient_batch",
                       (double)curve->efficient->batch, status,
                       "Layers of %lld (%s): batch %lld is the smallest efficient batch, with %.0f "
                       "%% of the best throughput and %.0f %% of its latency.",
                       (long long)best->size, ridge_dtype_name(best->dtype),
                       (long long)curve->efficient->batch,
                       100 * curve->efficient_rate / curve->best_rate,
                       100 * curve->efficient->time.time.median / best->time.time.median);
}

/* Curves are numbered by their layers' size: each is found at its first result. */
static bool is_first_of_curve(const struct result *results, size_t at) {
    for (size_t i = 0; i < at; i++)
        if (results[i].size == results[at].size && results[i].dtype == results[at].dtype)
            return false;
    return true;
}

static bool batch_scaling_conclude(const struct stage *stage, const struct result *results,
                                   size_t count, struct result_set *set, struct status *status) {
    (void)stage;
    for (size_t i = 0; i < count; i++) {
        struct curve curve;
        if (is_first_of_curve(results, i) &&
            curve_find(results, count, results[i].size, results[i].dtype, rows_per_second,
                       &curve) &&
            !add_findings(&curve, set, status))
            return false;
    }
    return true;
}

const struct experiment experiment_batch_scaling = {
    .name = "batch-scaling",
    .summary =
        "Three layers over batch sizes: throughput, the smallest efficient batch and the best",
    .sizes = "width of the layers; 1024 (GPU: 4096)",
    .batches = "rows; 1 to 1024 in powers of two",
    .takes = TAKES_DTYPE | TAKES_SIZE | TAKES_BATCH,
    .plan = batch_scaling_plan,
    .conclude = batch_scaling_conclude,
};
