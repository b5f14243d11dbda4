/* layers: the operations between the products of a transformer: softmax, layer norm, RMS norm. Each
 * reads its rows and writes them once, so memory is all that should count.
 */
#include "base/array.h"
#include "bench/experiments/axes.h"
#include "bench/workloads/workload.h"

static bool plan(const struct stage *stage, struct case_list *list, struct status *status) {
    static const struct workload *const workloads[] = {&workload_softmax, &workload_layer_norm,
                                                       &workload_rms_norm};
    static const struct axis_defaults sizes = {
        .cpu = {2, {1024, 4096}}, .gpu = {2, {1024, 4096}}, .tests = {1, {100}}};
    static const struct axis_defaults rows = {
        .cpu = {1, {1024}}, .gpu = {1, {8192}}, .tests = {2, {1, 7}}};
    struct axes axes = axes_of(stage, &sizes, &rows, RIDGE_F16);
    for (unsigned type = 0; type < axes.dtype_count; type++)
        for (unsigned which = 0; which < ARRAY_COUNT(workloads); which++)
            for (unsigned i = 0; i < axes.sizes.count; i++)
                for (unsigned b = 0; b < axes.batches.count; b++) {
                    struct bench_case work = {.kind = &workload_eager,
                                              .subject = workloads[which],
                                              .dtype = axes.dtypes[type],
                                              .size = axes.sizes.values[i],
                                              .batch = axes.batches.values[b]};
                    if (!axes_add(&axes, list, &work, status, "%s %lldx%lld",
                                  workloads[which]->name, (long long)work.batch,
                                  (long long)work.size))
                        return false;
                }
    return true;
}

const struct experiment experiment_layers = {
    .name = "layers",
    .summary = "softmax, layer_norm and rms_norm over rows",
    .sizes = "width of a row; 1024, 4096",
    .batches = "rows; 1024 (GPU: 8192)",
    .takes = TAKES_DTYPE | TAKES_SIZE | TAKES_BATCH,
    .plan = plan,
};
