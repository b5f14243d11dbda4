/* Evaluates a curve over sizes: its maximum, and the smallest size that nearly reaches it. */
#ifndef RIDGE_BENCH_EXPERIMENTS_CURVE_H
#define RIDGE_BENCH_EXPERIMENTS_CURVE_H

#include "base/format.h"
#include "bench/results/result.h"

/* Indices of bench_case.numbers with a case's place on a curve. */
enum { CURVE_NUMBER = CASE_NUMBERS_MAX - 2, CURVE_AT = CASE_NUMBERS_MAX - 1 };

#define CURVE_EFFICIENT 0.8 /* of the best */

/* How fast a result is, in what its curve is about: larger is better. */
typedef double curve_rate(const struct result *result);
curve_rate curve_bytes, curve_flops; /* a second */

struct curve {
    const struct result *first, *best, *efficient; /* the smallest; the fastest; the smallest that
                                                      has CURVE_EFFICIENT of that */
    double first_rate, best_rate, efficient_rate;
};

/* The curve of this number and type among the results; false when it has no point. */
bool curve_find(const struct result *results, size_t count, int64_t number, enum ridge_dtype dtype,
                curve_rate *rate, struct curve *curve);

/* Curves of workloads, numbered as they stand here. */
struct curve_set {
    const struct workload *const *workloads;
    unsigned count;
    const char *thing; /* that the axis counts: "elements" */
    curve_rate *rate;
    char *(*rate_text)(double rate, char text[FORMAT_SIZE]);
};
/* Adds the findings of each curve: `best_NAME` and `efficient_NAME` are places on it. */
bool curve_conclude(const struct curve_set *curves, const struct result *results, size_t count,
                    struct result_set *set, struct status *status);

/* Plans workloads of a thousand to a hundred million elements, eager; `row` is numbers[0]. */
bool curve_plan_elements(const struct curve_set *curves, int64_t row, const struct stage *stage,
                         struct case_list *list, struct status *status);
#define CURVE_ELEMENTS "elements; 1000 to 100000000 in powers of ten"

/* "12.3 GFLOP/s" */
char *curve_flops_text(double flops_per_second, char text[FORMAT_SIZE]);

#endif
