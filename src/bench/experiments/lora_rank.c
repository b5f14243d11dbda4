/* lora-rank: a LoRA layer with adapters of five ranks. Sixteen times the rank is sixteen times
 * the adapter's work, still little compared with the layer's: does the time confirm that? */
#include "base/array.h"
#include "bench/experiments/axes.h"
#include "bench/workloads/workload.h"

static const int64_t ranks[] = {4, 8, 16, 32, 64};
enum { RANKS = ARRAY_COUNT(ranks) };

static bool lora_rank_plan(const struct stage *stage, struct case_list *list,
                           struct status *status) {
    static const struct axis_defaults sizes = {
        .cpu = {1, {1024}}, .gpu = {1, {2048}}, .tests = {1, {48}}};
    static const struct axis_defaults batches = {
        .cpu = {1, {1}}, .gpu = {1, {1}}, .tests = {1, {2}}};
    struct axes axes = axes_of(stage, &sizes, &batches, RIDGE_F16);
    for (unsigned type = 0; type < axes.dtype_count; type++)
        for (unsigned i = 0; i < axes.sizes.count; i++)
            for (unsigned b = 0; b < axes.batches.count; b++)
                for (unsigned r = 0; r < RANKS; r++) {
                    struct bench_case work = {.kind = &workload_eager,
                                              .subject = &workload_lora,
                                              .dtype = axes.dtypes[type],
                                              .size = axes.sizes.values[i],
                                              .batch = axes.batches.values[b],
                                              .numbers = {ranks[r]}};
                    if (!axes_add(&axes, list, &work, status, "%lldx%lld, batch %lld, rank %lld",
                                  (long long)work.size, (long long)work.size, (long long)work.batch,
                                  (long long)ranks[r]))
                        return false;
                }
    return true;
}

static bool lora_rank_conclude(const struct stage *stage, const struct result *results,
                               size_t count, struct result_set *set, struct status *status) {
    (void)stage;
    for (size_t i = 0; i + RANKS <= count; i += RANKS) {
        const struct result *low = &results[i], *high = &results[i + RANKS - 1];
        if (*low->problem || *high->problem || !(low->time.time.median > 0))
            continue;
        double ratio = high->time.time.median / low->time.time.median;
        double flops = (double)high->amount.flops / (double)low->amount.flops;
        if (!finding_add(set, low->experiment, low->device, "rank_cost", ratio, status,
                         "%lldx%lld, batch %lld (%s): rank %lld takes %.2fx as long as rank %lld, "
                         "for %.2fx the operations.",
                         (long long)low->size, (long long)low->size, (long long)low->batch,
                         ridge_dtype_name(low->dtype), (long long)high->numbers[0], ratio,
                         (long long)low->numbers[0], flops))
            return false;
    }
    return true;
}

const struct experiment experiment_lora_rank = {
    .name = "lora-rank",
    .summary = "A LoRA layer with adapters of rank 4, 8, 16, 32 and 64",
    .sizes = "width of the layer; 1024 (GPU: 2048)",
    .batches = "rows; 1",
    .takes = TAKES_DTYPE | TAKES_SIZE | TAKES_BATCH,
    .plan = lora_rank_plan,
    .conclude = lora_rank_conclude,
};
