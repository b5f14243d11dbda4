/* Quantiles and the confidence interval of the median, against values computed by hand and against
 * known distributions. */
#include "../test.h"

#include <math.h>
#include <stdint.h>

#include "base/statistics.h"

static uint64_t state = 1;

static double uniform(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

TEST(a_quantile_lies_between_its_neighbors) {
    const double values[] = {1, 2, 4, 8};
    CHECK(statistics_quantile(values, 4, 0) == 1);
    CHECK(statistics_quantile(values, 4, 1) == 8);
    CHECK(statistics_quantile(values, 4, 0.5) == 3);
    CHECK(fabs(statistics_quantile(values, 4, 0.25) - 1.75) < 1e-12);
    CHECK(statistics_quantile(values, 0, 0.5) == 0);
    CHECK(statistics_quantile(values, 1, 0.9) == 1);
}

TEST(a_summary_of_few_values_has_their_range_as_interval) {
    double values[] = {5, 1, 3};
    struct summary summary = statistics_summarize(values, 3);
    CHECK(summary.median == 3 && summary.low == 1 && summary.high == 5 && summary.fastest == 1);
    CHECK_INT(summary.count, 3);
    summary = statistics_summarize(values, 0);
    CHECK(summary.count == 0 && summary.median == 0 && statistics_spread(&summary) == 0 &&
          statistics_error(&summary) == 0);
}

TEST(the_interval_of_a_median_is_that_of_the_sign_test) {
    double values[20];
    for (unsigned i = 0; i < 20; i++)
        values[i] = 20 - i;
    struct summary summary = statistics_summarize(values, 20);
    CHECK(summary.low == 6 && summary.high == 15); /* 95.9 % */
    for (unsigned i = 0; i < 10; i++)
        values[i] = i + 1;
    summary = statistics_summarize(values, 10);
    CHECK(summary.low == 2 && summary.high == 9); /* 97.9 % */
}

TEST(the_interval_of_a_median_holds_it_19_times_in_20_however_skewed_the_values_are) {
    enum { TRIALS = 2000, VALUES = 25 };
    unsigned held = 0;
    for (unsigned t = 0; t < TRIALS; t++) {
        double values[VALUES];
        for (unsigned i = 0; i < VALUES; i++)
            values[i] = exp(3 * -log(1 - uniform())); /* its median is 8 */
        struct summary summary = statistics_summarize(values, VALUES);
        held += summary.low <= 8 && 8 <= summary.high;
    }
    CHECK(held >= TRIALS * 94 / 100);
}

TEST(a_summary_of_very_many_values_is_in_order) {
    enum { VALUES = 5000 };
    static double values[VALUES];
    for (unsigned i = 0; i < VALUES; i++)
        values[i] = uniform();
    struct summary summary = statistics_summarize(values, VALUES);
    CHECK(summary.fastest <= summary.quartile_low && summary.quartile_low <= summary.low &&
          summary.low <= summary.median && summary.median <= summary.high &&
          summary.high <= summary.quartile_high);
    CHECK(summary.high - summary.low < 0.05);
}
