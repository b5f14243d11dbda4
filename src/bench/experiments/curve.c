/* Rates are of the median call. The efficient size is the smallest one that is fast enough: on a
 * CPU the middle of the curve is often the highest, where data fits a cache, and larger sizes
 * may be slower again. */
#include "bench/experiments/curve.h"

#include <stdio.h>

#include "base/format.h"
#include "bench/experiments/axes.h"
#include "bench/workloads/workload.h"

static double per_second(double amount, const struct result *result) {
    double ns = result->time.time.median;
    return ns > 0 ? amount / ns * 1e9 : 0;
}

double curve_bytes(const struct result *result) {
    return per_second((double)result->amount.bytes, result);
}

double curve_flops(const struct result *result) {
    return per_second((double)result->amount.flops, result);
}

static int64_t curve_at(const struct result *result) {
    return result->numbers[CURVE_AT];
}

static bool is_on(const struct result *result, int64_t number, enum ridge_dtype dtype) {
    return !*result->problem && result->dtype == dtype && result->numbers[CURVE_NUMBER] == number &&
           result->time.time.median > 0;
}

bool curve_find(const struct result *results, size_t count, int64_t number, enum ridge_dtype dtype,
                curve_rate *rate, struct curve *curve) {
    *curve = (struct curve){0};
    for (size_t i = 0; i < count; i++) {
        if (!is_on(&results[i], number, dtype))
            continue;
        if (!curve->best || rate(&results[i]) > curve->best_rate) {
            curve->best = &results[i];
            curve->best_rate = rate(&results[i]);
        }
        if (!curve->first || curve_at(&results[i]) < curve_at(curve->first))
            curve->first = &results[i];
    }
    if (!curve->best)
        return false;
    curve->first_rate = rate(curve->first);
    curve->efficient = curve->best;
    for (size_t i = 0; i < count; i++)
        if (is_on(&results[i], number, dtype) &&
            rate(&results[i]) >= CURVE_EFFICIENT * curve->best_rate &&
            curve_at(&results[i]) < curve_at(curve->efficient))
            curve->efficient = &results[i];
    curve->efficient_rate = rate(curve->efficient);
    return true;
}

static bool add_findings(const struct curve_set *curves, const char *name,
                         const struct curve *curve, struct result_set *set, struct status *status) {
    const struct result *best = curve->best;
    char key[FORMAT_SIZE], at[FORMAT_SIZE], enough[FORMAT_SIZE], rate[FORMAT_SIZE];
    snprintf(key, sizeof key, "best_%s", name);
    axes_count_text(curve_at(best), at);
    if (!finding_add(set, best->experiment, best->device, key, (double)curve_at(best), status,
                     "%s (%s): at best %s, with %s %s.", name, ridge_dtype_name(best->dtype),
                     curves->rate_text(curve->best_rate, rate), at, curves->thing))
        return false;
    snprintf(key, sizeof key, "efficient_%s", name);
    axes_count_text(curve_at(curve->efficient), enough);
    if (curve->efficient == best)
        return finding_add(set, best->experiment, best->device, key, (double)curve_at(best), status,
                           "%s (%s): no size below %s %s comes close to that.", name,
                           ridge_dtype_name(best->dtype), at, curves->thing);
    return finding_add(set, best->experiment, best->device, key, (double)curve_at(curve->efficient),
                       status, "%s (%s): %s %s reach %.0f %% of that.", name,
                       ridge_dtype_name(best->dtype), enough, curves->thing,
                       100 * curve->efficient_rate / curve->best_rate);
}

bool curve_conclude(const struct curve_set *curves, const struct result *results, size_t count,
                    struct result_set *set, struct status *status) {
    for (unsigned number = 0; number < curves->count; number++)
        for (unsigned dtype = 0; dtype < RIDGE_DTYPES; dtype++) {
            struct curve curve;
            if (curve_find(results, count, number, (enum ridge_dtype)dtype, curves->rate, &curve) &&
                !add_findings(curves, curves->workloads[number]->name, &curve, set, status))
                return false;
        }
    return true;
}

bool curve_plan_elements(const struct curve_set *curves, int64_t row, const struct stage *stage,
                         struct case_list *list, struct status *status) {
    static const struct axis_defaults sizes = {
        .cpu = {6, {1000, 10000, 100000, 1000000, 10000000, 100000000}},
        .gpu = {6, {1000, 10000, 100000, 1000000, 10000000, 100000000}},
        .tests = {2, {1000, 10000}}};
    struct axes axes = axes_of(stage, &sizes, NULL, RIDGE_F32);
    char count[FORMAT_SIZE];
    for (unsigned type = 0; type < axes.dtype_count; type++)
        for (unsigned number = 0; number < curves->count; number++)
            for (unsigned i = 0; i < axes.sizes.count; i++) {
                int64_t size = axes.sizes.values[i];
                struct bench_case work = {
                    .kind = &workload_eager,
                    .subject = curves->workloads[number],
                    .dtype = axes.dtypes[type],
                    .size = size,
                    .numbers = {row, [CURVE_NUMBER] = number, [CURVE_AT] = size}};
                if (!axes_add(&axes, list, &work, status, "%s %s", curves->workloads[number]->name,
                              axes_count_text(size, count)))
                    return false;
            }
    return true;
}

char *curve_flops_text(double flops_per_second, char text[FORMAT_SIZE]) {
    snprintf(text, FORMAT_SIZE, "%.4g GFLOP/s", flops_per_second / 1e9);
    return text;
}
