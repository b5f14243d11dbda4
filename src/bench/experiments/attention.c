/* attention: causal attention of 16 heads over sequences of growing length, with the same arguments
 * on every device. Work grows with the square of the length, memory only with the length: when it
 * is done in one kernel, arithmetic should be the limit.
 */
#include "bench/experiments/axes.h"
#include "bench/workloads/workload.h"

enum { HEADS = 16, WIDTH = 64 };

static bool attention_experiment_plan(const struct stage *stage, struct case_list *list,
                                      struct status *status) {
    static const struct axis_defaults sizes = {
        .cpu = {3, {256, 1024, 2048}}, .gpu = {3, {256, 1024, 2048}}, .tests = {2, {7, 32}}};
    static const struct axis_defaults batches = {
        .cpu = {1, {1}}, .gpu = {1, {1}}, .tests = {1, {1}}};
    struct axes axes = axes_of(stage, &sizes, &batches, RIDGE_F32);
    for (unsigned type = 0; type < axes.dtype_count; type++)
        for (unsigned i = 0; i < axes.sizes.count; i++)
            for (unsigned b = 0; b < axes.batches.count; b++) {
                struct bench_case work = {.kind = &workload_compiled,
                                          .subject = &workload_attention,
                                          .dtype = axes.dtypes[type],
                                          .size = axes.sizes.values[i],
                                          .batch = axes.batches.values[b],
                                          .numbers = {HEADS, WIDTH}};
                if (!axes_add(&axes, list, &work, status, "%lld tokens, batch %lld",
                              (long long)work.size, (long long)work.batch))
                    return false;
            }
    return true;
}

const struct experiment experiment_attention = {
    .name = "attention",
    .summary = "Causal attention, 16 heads of width 64, identical on every device",
    .sizes = "tokens; 256, 1024, 2048",
    .batches = "sequences; 1",
    .takes = TAKES_DTYPE | TAKES_SIZE | TAKES_BATCH,
    .plan = attention_experiment_plan,
};
