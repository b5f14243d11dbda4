/* The confidence interval of the median is based on ranks: of n sorted values, the probability that
 * the true median lies between the k-th and the (n + 1 - k)-th is a sum of binomial coefficients,
 * whatever the distribution. */
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

void statistics_sort(double *values, size_t count) {
    qsort(values, count, sizeof values[0], by_value);
}

double statistics_quantile(const double *sorted, size_t count, double quantile) {
    if (count == 0)
        return 0;
    double place = quantile * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count)
        return sorted[count - 1];
    double part = place - (double)below;
    return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

/* The largest k with P(fewer than k of n values are below the median) <= 2.5 %; 0 when even the
 * whole range is below the confidence level. */
static size_t interval_rank(size_t count) {
    double tail = 0;
    for (size_t k = 0; k <= count / 2; k++) {
        tail += exp(lgamma((double)count + 1) - lgamma((double)k + 1) -
                    lgamma((double)(count - k) + 1) - (double)count * log(2));
        if (tail > 0.025)
            return k;
    }
    return count / 2;
}

struct summary statistics_summarize(double *values, size_t count) {
    struct summary summary = {.count = count};
    if (count == 0)
        return summary;
    statistics_sort(values, count);
    size_t rank = interval_rank(count);
    size_t lowest = rank > 0 ? rank - 1 : 0;
    summary.median = statistics_quantile(values, count, 0.5);
    summary.low = values[lowest];
    summary.high = values[count - 1 - lowest];
    summary.quartile_low = statistics_quantile(values, count, 0.25);
    summary.quartile_high = statistics_quantile(values, count, 0.75);
    summary.fastest = values[0];
    return summary;
}
