/* Do two sets of repeated runs differ? Exact rank tests: if nothing changed, every order of the
 * values of both sides is equally likely, whatever their distribution. */
#ifndef RIDGE_BASE_RANK_TEST_H
#define RIDGE_BASE_RANK_TEST_H

#include <stddef.h>

#include "base/status.h"

/* The smallest k for which it is this unlikely (both ways together) that the k fastest of all
 * values are of one side, when the two sides do not differ; 0 when there are too few values. */
unsigned rank_separation(unsigned mine, unsigned others, double chance);

/* At most this many values a side; more are thinned by the caller. */
enum { RANK_VALUES_MAX = 200 };

/* Mann-Whitney U with its exact null distribution (ties count half): the probability, both ways
 * together, of ranks at least this far apart when the sides do not differ; 1 without values. */
bool rank_sum_probability(const double *a, size_t a_count, const double *b, size_t b_count,
                          double *probability, struct status *status);

/* The smallest probability that this many values a side can give. */
double rank_sum_best(size_t a_count, size_t b_count);

/* The Hodges-Lehmann estimate of b / a and its confidence interval, from the same distribution;
 * all values are positive. `chance` is that of a ratio outside, both ways together. */
struct rank_ratio {
    double low, ratio, high;
    bool confident; /* false: too few values; low is then 0 and high infinite */
};
bool rank_ratio(const double *a, size_t a_count, const double *b, size_t b_count, double chance,
                struct rank_ratio *result, struct status *status);

#endif
