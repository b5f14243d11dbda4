/* What does quantizing weights cost or gain? The same linear layer with weights of f16 and with
 * blocks of 8 and of 4.5 bits: a small batch reads less, a large one has to unpack them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/format.h"
#include "bench/experiments/sweep.h"
#include "bench/workloads/workload.h"

#define WORTH_SAYING 0.02 /* differences below are none */

static bool plan_line(int64_t size, int64_t batch, enum ridge_dtype dtype, struct case_list *list,
                      struct status *status) {
    struct bench_case work = {
        .kind = &workload_compiled,
        .dtype = dtype,
        .size = size,
        .batch = batch,
        .subject = &workload_linear,
    };
    snprintf(work.label, sizeof work.label, "linear %lldx%lld, batch %lld", (long long)size,
             (long long)size, (long long)batch);
    snprintf(work.variant, sizeof work.variant, "%s", ridge_dtype_name(dtype));
    workload_size_up(&work);
    return case_add(list, &work, status);
}

static bool plan_size(const struct stage *stage, int64_t size, struct case_list *list,
                      struct status *status) {
    static const enum ridge_dtype of_cpu[] = {RIDGE_F16, RIDGE_F32, RIDGE_Q8_0, RIDGE_Q4_K};
    static const enum ridge_dtype of_gpu[] = {RIDGE_F16, RIDGE_Q8_0, RIDGE_Q4_K};
    static const int64_t usual[] = {1, 8, 64};
    unsigned batch_count, dtype_count;
    const int64_t *batches = experiment_batches(
        stage, usual, stage->options.small ? 1 : ARRAY_COUNT(usual), &batch_count);
    const enum ridge_dtype *dtypes =
        experiment_dtypes(stage, stage->is_gpu ? of_gpu : of_cpu,
                          stage->is_gpu ? ARRAY_COUNT(of_gpu) : ARRAY_COUNT(of_cpu), &dtype_count);
    for (unsigned b = 0; b < batch_count; b++)
        for (unsigned d = 0; d < dtype_count; d++)
            if (!plan_line(size, batches[b], dtypes[d], list, status))
                return false;
    return true;
}

static bool quantization_plan(const struct experiment *experiment, const struct stage *stage,
                              struct case_list *list, struct status *status) {
    (void)experiment;
    static const int64_t of_cpu[] = {1024, 2048, 2560, 4096};
    static const int64_t of_gpu[] = {2560, 4096, 8192, 16384};
    static const int64_t small[] = {512};
    unsigned count;
    const int64_t *sizes =
        stage->options.small
            ? experiment_sizes(stage, small, ARRAY_COUNT(small), &count)
            : experiment_sizes(stage, stage->is_gpu ? of_gpu : of_cpu, ARRAY_COUNT(of_gpu), &count);
    for (unsigned i = 0; i < count; i++)
        if (!plan_size(stage, sizes[i], list, status))
            return false;
    return true;
}

static bool add_overhead(const struct stage *stage, const struct result *base,
                         const struct result *other, struct result_set *set,
                         struct status *status) {
    double base_ns = sweep_time(stage, base), other_ns = sweep_time(stage, other);
    double overhead = (other_ns - base_ns) / base_ns;
    char times[2][FORMAT_SIZE], key[sizeof set->findings->key], words[80];
    snprintf(key, sizeof key, "overhead_%s", ridge_dtype_name(other->dtype));
    if (fabs(overhead) < WORTH_SAYING)
        snprintf(words, sizeof words, "no overhead and no gain");
    else if (overhead > 0)
        snprintf(words, sizeof words, "an overhead of %.0f %%", 100 * overhead);
    else
        snprintf(words, sizeof words, "a gain: %.0f %% less time, %.1fx as fast", -100 * overhead,
                 base_ns / other_ns);
    return finding_add(set, other->experiment, other->device, key, 100 * overhead, status,
                       "%s: %s takes %s, %s %s: %s.", other->label, other->variant,
                       format_duration((int64_t)other_ns, times[0]), base->variant,
                       format_duration((int64_t)base_ns, times[1]), words);
}

/* Against f16 or, when that is not among them, the first of those with the same label. */
static bool conclude_label(const struct stage *stage, const struct result *results, size_t count,
                           struct result_set *set, struct status *status) {
    const struct result *base = &results[0];
    for (size_t i = 0; i < count; i++)
        if (results[i].dtype == RIDGE_F16)
            base = &results[i];
    if (sweep_time(stage, base) <= 0)
        return true;
    for (size_t i = 0; i < count; i++)
        if (&results[i] != base && sweep_time(stage, &results[i]) > 0 &&
            !add_overhead(stage, base, &results[i], set, status))
            return false;
    return true;
}

static bool quantization_conclude(const struct experiment *experiment, const struct stage *stage,
                                  const struct result *results, size_t count,
                                  struct result_set *set, struct status *status) {
    (void)experiment;
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && strcmp(results[next].label, results[i].label) == 0;)
            next++;
        if (!conclude_label(stage, results + i, next - i, set, status))
            return false;
    }
    return true;
}

const struct experiment experiment_quantization = {
    .name = "quantization",
    .summary = "A linear layer with f16 weights against Q8_0 and Q4_K: overhead or gain",
    .sizes = "inputs and outputs; 1024, 2048, 2560, 4096, on a GPU 2560, 4096, 8192, 16384",
    .batches = "rows; 1, 8, 64",
    .takes = TAKES_DTYPE | TAKES_SIZE | TAKES_BATCH,
    .plan = quantization_plan,
    .conclude = quantization_conclude,
};
