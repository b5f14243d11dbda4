/* reduction: the sum of all elements and the largest of each row, from a thousand to a hundred
 * million elements. Everything is read and almost nothing written: how close is it to the
 * memory's read bandwidth? */
#include "base/array.h"
#include "base/format.h"
#include "bench/experiments/curve.h"
#include "bench/experiment.h"
#include "bench/workloads/workload.h"

enum { ROW = 1000 }; /* elements of which the largest is sought */

static const struct workload *const workloads[] = {&workload_sum, &workload_row_max};
static const struct curve_set curves = {.workloads = workloads,
                                        .count = ARRAY_COUNT(workloads),
                                        .thing = "elements",
                                        .rate = curve_bytes,
                                        .rate_text = format_rate};

static bool reduction_plan(const struct stage *stage, struct case_list *list,
                           struct status *status) {
    return curve_plan_elements(&curves, ROW, stage, list, status);
}

static bool reduction_conclude(const struct stage *stage, const struct result *results,
                               size_t count, struct result_set *set, struct status *status) {
    (void)stage;
    return curve_conclude(&curves, results, count, set, status);
}

const struct experiment experiment_reduction = {
    .name = "reduction",
    .summary = "The sum of all elements and the largest of each row, over sizes",
    .sizes = CURVE_ELEMENTS,
    .takes = TAKES_DTYPE | TAKES_SIZE,
    .plan = reduction_plan,
    .conclude = reduction_conclude,
};
