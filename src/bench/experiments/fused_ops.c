/* fused-ops: two operations in one kernel against the same two in sequence. Fusing saves a
 * launch, and writing and reading the intermediate: does it gain what the guides promise? */
#include <math.h>
#include <stdio.h>

#include "base/array.h"
#include "base/format.h"
#include "bench/experiments/axes.h"
#include "bench/experiments/pair.h"
#include "bench/workloads/workload.h"

/* What the guides expect for small and for large tensors, in percent; 0: unspecified. */
struct expectation {
    int64_t small, large; /* elements of the result up to which and from which on */
    double gain_small, gain_large;
};

static const struct fusable {
    const char *name;
    const struct workload *apart, *fused;
    bool product;
    struct expectation expected;
} pairs[] = {
    {"matmul + relu",
     &workload_matmul_then_relu,
     &workload_matmul_relu,
     true,
     {64 * 64, 1024 * 1024, 30, 15}},
    {"add + relu", &workload_add_then_relu, &workload_add_relu, false, {10000, 1000000, 40, 20}},
    {"mul + relu", &workload_mul_then_relu, &workload_mul_relu, false, {10000, 1000000, 40, 20}},
    {"affine", &workload_mul_then_add, &workload_affine, false, {0}},
};
enum { PAIRS = ARRAY_COUNT(pairs), PAIR = 0, ELEMENTS = 1 }; /* among the numbers */

/* The side of a square of about `elements` elements. */
static int64_t side_of(int64_t elements) {
    return (int64_t)llround(sqrt((double)elements));
}

static bool add_pair(const struct axes *axes, unsigned number, enum ridge_dtype dtype,
                     int64_t elements, struct case_list *list, struct status *status) {
    const struct fusable *pair = &pairs[number];
    char text[FORMAT_SIZE];
    axes_count_text(elements, text);
    if (pair->product)
        snprintf(text, sizeof text, "%lldx%lld", (long long)side_of(elements),
                 (long long)side_of(elements));
    for (unsigned fused = 0; fused < 2; fused++) {
        struct bench_case work = {.kind = &workload_eager,
                                  .subject = fused ? pair->fused : pair->apart,
                                  .dtype = dtype,
                                  .size = pair->product ? side_of(elements) : elements,
                                  .numbers = {[PAIR] = number, [ELEMENTS] = elements},
                                  .compare = fused};
        snprintf(work.variant, sizeof work.variant, "%s", fused ? "fused" : "apart");
        if (!axes_add(axes, list, &work, status, "%s %s", pair->name, text))
            return false;
    }
    return true;
}

static bool fused_ops_plan(const struct experiment *experiment, const struct stage *stage,
                           struct case_list *list, struct status *status) {
    (void)experiment;
    static const struct axis_defaults squares = {.cpu = {2, {64 * 64, 1024 * 1024}},
                                                 .gpu = {2, {64 * 64, 1024 * 1024}},
                                                 .tests = {1, {64 * 64}}};
    static const struct axis_defaults elements = {
        .cpu = {2, {10000, 1000000}}, .gpu = {2, {10000, 1000000}}, .tests = {1, {10000}}};
    for (unsigned number = 0; number < PAIRS; number++) {
        struct axes axes =
            axes_of(stage, pairs[number].product ? &squares : &elements, NULL, RIDGE_F16);
        for (unsigned type = 0; type < axes.dtype_count; type++)
            for (unsigned i = 0; i < axes.sizes.count; i++)
                if (!add_pair(&axes, number, axes.dtypes[type], axes.sizes.values[i], list, status))
                    return false;
    }
    return true;
}

static char *expectation_text(const struct expectation *expected, int64_t elements, char text[64]) {
    text[0] = 0;
    if (expected->gain_small == 0)
        return text;
    if (elements > expected->small && elements < expected->large)
        snprintf(text, 64, " (the guide expects %.0f to %.0f %%)", expected->gain_large,
                 expected->gain_small);
    else
        snprintf(text, 64, " (the guide expects about %.0f %%)",
                 elements <= expected->small ? expected->gain_small : expected->gain_large);
    return text;
}

static bool fused_ops_conclude(const struct experiment *experiment, const struct stage *stage,
                               const struct result *results, size_t count, struct result_set *set,
                               struct status *status) {
    (void)experiment, (void)stage;
    for (size_t i = 0; i < count; i++) {
        struct pair pair;
        int64_t number = results[i].numbers[PAIR];
        if (!results[i].compare || number < 0 || number >= PAIRS || !pair_of(results, i, &pair))
            continue;
        char words[FORMAT_SIZE], expected[64];
        expectation_text(&pairs[number].expected, results[i].numbers[ELEMENTS], expected);
        if (!finding_add(set, results[i].experiment, results[i].device, "gain", 100 * pair.faster,
                         status, "%s: fused is %s separate%s.", results[i].label,
                         pair_words(&pair, words), expected))
            return false;
    }
    return true;
}

const struct experiment experiment_fused_ops = {
    .name = "fused-ops",
    .summary = "Two operations in one kernel against one after the other",
    .sizes = "elements of the result; 10000, 1000000 (matmul + relu: 64x64, 1024x1024)",
    .takes = TAKES_DTYPE | TAKES_SIZE,
    .plan = fused_ops_plan,
    .conclude = fused_ops_conclude,
};
