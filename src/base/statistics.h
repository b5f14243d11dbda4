/* What do repeated timings say? Medians and the interval in which the true one lies.
 *
 * Timings are skewed: something may always come in between, nothing makes a run faster than it is.
 * So everything here goes by rank and nothing assumes a normal distribution.
 */
#ifndef RIDGE_BASE_STATISTICS_H
#define RIDGE_BASE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

struct summary {
    size_t count;
    double median;
    double low, high; /* 95 % confidence interval of the median; the range when there are few */
    double quartile_low, quartile_high;
    double fastest;
};

/* Sorts the values ascending. */
void statistics_sort(double *values, size_t count);
/* Of sorted values, between neighbours where need be; 0 <= quantile <= 1; 0 for no values. */
double statistics_quantile(const double *sorted, size_t count, double quantile);
/* Sorts the values and sums them up. */
struct summary statistics_summarize(double *values, size_t count);

/* Half of the middle half, relative to the median: 0.01 is "± 1 %". */
static inline double statistics_spread(const struct summary *summary) {
    return summary->median > 0
               ? (summary->quartile_high - summary->quartile_low) / 2 / summary->median
               : 0;
}
/* Whether two times are even enough for their ratio to mean something. */
#define RATIO_SPREAD_MAX 0.5
static inline bool statistics_support_ratio(const struct summary *a, const struct summary *b) {
    return statistics_spread(a) <= RATIO_SPREAD_MAX && statistics_spread(b) <= RATIO_SPREAD_MAX;
}
/* Half of the confidence interval, relative to the median. */
static inline double statistics_error(const struct summary *summary) {
    return summary->median > 0 ? (summary->high - summary->low) / 2 / summary->median : 0;
}

#endif
