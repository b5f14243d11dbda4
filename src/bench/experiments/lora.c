/* lora: the forward pass of a linear layer with a low-rank adapter of rank 8, in three sizes,
 * eager as a training framework runs it, beside the layer without it. The adapter has little
 * work but needs extra launches: what does it cost? */
#include <stdio.h>

#include "bench/experiments/axes.h"
#include "bench/experiments/pair.h"
#include "bench/workloads/workload.h"

enum { RANK = 8 };

static bool add(const struct axes *axes, struct bench_case work, bool adapted,
                struct case_list *list, struct status *status) {
    work.kind = &workload_eager;
    work.subject = adapted ? &workload_lora : &workload_matmul;
    work.numbers[0] = RANK;
    snprintf(work.variant, sizeof work.variant, "%s", adapted ? "with LoRA" : "without");
    return axes_add(axes, list, &work, status, "%lldx%lld, batch %lld", (long long)work.size,
                    (long long)work.size, (long long)work.batch);
}

static bool lora_plan(const struct stage *stage, struct case_list *list, struct status *status) {
    static const struct axis_defaults sizes = {
        .cpu = {3, {512, 1024, 2048}}, .gpu = {3, {512, 2048, 4096}}, .tests = {3, {16, 40, 64}}};
    static const struct axis_defaults batches = {
        .cpu = {2, {1, 32}}, .gpu = {2, {1, 32}}, .tests = {1, {3}}};
    struct axes axes = axes_of(stage, &sizes, &batches, RIDGE_F16);
    for (unsigned type = 0; type < axes.dtype_count; type++)
        for (unsigned i = 0; i < axes.sizes.count; i++)
            for (unsigned b = 0; b < axes.batches.count; b++) {
                struct bench_case work = {.dtype = axes.dtypes[type],
                                          .size = axes.sizes.values[i],
                                          .batch = axes.batches.values[b]};
                if (!add(&axes, work, false, list, status) || !add(&axes, work, true, list, status))
                    return false;
            }
    return true;
}

/* Each layer is followed by the same one with its adapter. */
static bool lora_conclude(const struct stage *stage, const struct result *results, size_t count,
                          struct result_set *set, struct status *status) {
    (void)stage;
    for (size_t i = 1; i < count; i += 2) {
        struct pair pair;
        char words[FORMAT_SIZE];
        if (!pair_of(results, i, &pair))
            continue;
        double flops = (double)pair.after->amount.flops / (double)pair.before->amount.flops - 1;
        if (!finding_add(set, results[i].experiment, results[i].device, "adapter_cost",
                         -100 * pair.saved, status,
                         "%s: with the adapter it is %s without it, for %.1f %% more operations.",
                         results[i].label, pair_words(&pair, words), 100 * flops))
            return false;
    }
    return true;
}

const struct experiment experiment_lora = {
    .name = "lora",
    .summary = "A linear layer with and without a low-rank adapter, in three sizes",
    .sizes = "width of the layer; 512, 1024, 2048 (GPU: 512, 2048, 4096)",
    .batches = "rows; 1, 32",
    .takes = TAKES_DTYPE | TAKES_SIZE | TAKES_BATCH,
    .plan = lora_plan,
    .conclude = lora_conclude,
};
