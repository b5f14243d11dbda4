/* gated-mlp: the feed-forward block of a transformer, silu(x gate) * (x up) down, with the same
 * arguments on every device, so that devices can be compared line by line.
 */
#include "bench/experiments/axes.h"
#include "bench/workloads/workload.h"

/* Eight thirds of the width in whole blocks of 64, as models of this kind have it. */
static int64_t hidden_of(int64_t size) {
    return size > INT64_MAX / 8 ? INT64_MAX : (size * 8 / 3 + 63) / 64 * 64;
}

static bool gated_mlp_plan(const struct stage *stage, struct case_list *list,
                           struct status *status) {
    static const struct axis_defaults sizes = {
        .cpu = {2, {1024, 4096}}, .gpu = {2, {1024, 4096}}, .tests = {1, {32}}};
    static const struct axis_defaults batches = {
        .cpu = {2, {1, 8}}, .gpu = {2, {1, 8}}, .tests = {2, {1, 3}}};
    struct axes axes = axes_of(stage, &sizes, &batches, RIDGE_F32);
    for (unsigned type = 0; type < axes.dtype_count; type++)
        for (unsigned i = 0; i < axes.sizes.count; i++)
            for (unsigned b = 0; b < axes.batches.count; b++) {
                struct bench_case work = {.kind = &workload_compiled,
                                          .subject = &workload_gated_mlp,
                                          .dtype = axes.dtypes[type],
                                          .size = axes.sizes.values[i],
                                          .batch = axes.batches.values[b],
                                          .numbers = {hidden_of(axes.sizes.values[i])}};
                if (!axes_add(&axes, list, &work, status, "%lld to %lld, batch %lld",
                              (long long)work.size, (long long)work.numbers[0],
                              (long long)work.batch))
                    return false;
            }
    return true;
}

const struct experiment experiment_gated_mlp = {
    .name = "gated-mlp",
    .summary = "The feed-forward block of a transformer, identical on every device",
    .sizes = "width; 1024, 4096 (hidden: 8/3 of it)",
    .batches = "rows; 1, 8",
    .takes = TAKES_DTYPE | TAKES_SIZE | TAKES_BATCH,
    .plan = gated_mlp_plan,
};
