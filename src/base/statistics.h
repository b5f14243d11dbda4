/* Statistics of repeated timings: medians and their confidence intervals.
 *
 * Timings are skewed: interference makes a run slower, nothing makes it faster than it is. So
 * everything here is based on ranks, and nothing assumes a normal distribution.
 */
#ifndef RIDGE_BASE_STATISTICS_H
#define RIDGE_BASE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

struct summary {
    size_t count;
    double median;
    double low, high; /* 95 % confidence interval of the median; the range if there are too few */
    double quartile_low, quartile_high;
    double fastest;
};

/* Sorts the values ascending. */
void statistics_sort(double *values, size_t count);
/* Of sorted values, interpolated; 0 <= quantile <= 1; 0 for no values. */
double statistics_quantile(const double *sorted, size_t count, double quantile);
/* Sorts and summarizes the values. */
struct summary statistics_summarize(double *values, size_t count);

/* Half the interquartile range, relative to the median: 0.01 is "± 1 %". */
static inline double statistics_spread(const struct summary *summary) {
    return summary->median > 0
               ? (summary->quartile_high - summary->quartile_low) / 2 / summary->median
               : 0;
}
/* Whether the spread of two times is small enough for a meaningful ratio. */
#define RATIO_SPREAD_MAX 0.5
static inline bool statistics_support_ratio(const struct summary *a, const struct summary *b) {
    return statistics_spread(a) <= RATIO_SPREAD_MAX && statistics_spread(b) <= RATIO_SPREAD_MAX;
}
/* Half the confidence interval, relative to the median. */
static inline double statistics_error(const struct summary *summary) {
    return summary->median > 0 ? (summary->high - summary->low) / 2 / summary->median : 0;
}

#endif
