/* elementwise: a cheap operation (add), a function (exp) and a longer expression (gelu) from a
 * thousand to a hundred million elements. From which size on is the time bound by memory rather
 * than by the launch? */
#include "base/array.h"
#include "base/format.h"
#include "bench/experiments/curve.h"
#include "bench/experiment.h"
#include "bench/workloads/workload.h"

static const struct workload *const workloads[] = {&workload_add, &workload_exp, &workload_gelu};
static const struct curve_set curves = {.workloads = workloads,
                                        .count = ARRAY_COUNT(workloads),
                                        .thing = "elements",
                                        .rate = curve_bytes,
                                        .rate_text = format_rate};

static bool elementwise_plan(const struct stage *stage, struct case_list *list,
                             struct status *status) {
    return curve_plan_elements(&curves, 0, stage, list, status);
}

static bool elementwise_conclude(const struct stage *stage, const struct result *results,
                                 size_t count, struct result_set *set, struct status *status) {
    (void)stage;
    return curve_conclude(&curves, results, count, set, status);
}

const struct experiment experiment_elementwise = {
    .name = "elementwise",
    .summary = "add, exp and gelu over sizes: the smallest efficient size and the best",
    .sizes = CURVE_ELEMENTS,
    .takes = TAKES_DTYPE | TAKES_SIZE,
    .plan = elementwise_plan,
    .conclude = elementwise_conclude,
};
