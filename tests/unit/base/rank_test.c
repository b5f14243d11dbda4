/* Exact rank tests against probabilities counted by hand, and their error rate on equal sides. */
#include "../test.h"

#include <math.h>
#include <stdint.h>

#include "base/rank_test.h"

TEST(a_separation_is_that_of_the_exact_test) {
    CHECK_INT(rank_separation(5, 5, 0.05), 4); /* 2 * 5*4*3*2 / (10*9*8*7) = 0.048 */
    CHECK_INT(rank_separation(5, 5, 0.01), 5); /* 2 / 252 */
    CHECK_INT(rank_separation(5, 5, 0.005), 0);
    CHECK_INT(rank_separation(3, 3, 0.05), 0);
    CHECK_INT(rank_separation(0, 9, 0.05), 0);
}

TEST(a_rank_sum_has_its_exact_probability) {
    const double a[] = {1, 2, 3, 4, 5}, b[] = {6, 7, 8, 9, 10}, c[] = {1, 2, 3, 4, 5};
    const double d[] = {1.5, 6, 7, 8, 9};
    double p;
    struct status status = {0};
    REQUIRE(rank_sum_probability(a, 5, b, 5, &p, &status));
    CHECK(fabs(p - 2.0 / 252) < 1e-12);
    CHECK(fabs(rank_sum_best(5, 5) - 2.0 / 252) < 1e-12);
    REQUIRE(rank_sum_probability(a, 5, c, 5, &p, &status));
    CHECK(p == 1);
    REQUIRE(rank_sum_probability(a, 5, d, 5, &p, &status));
    CHECK(fabs(p - 2.0 * (1 + 1 + 2 + 3 + 5) / 252) < 1e-12); /* U of 4 or less */
    REQUIRE(rank_sum_probability(a, 3, b, 3, &p, &status));
    CHECK(fabs(p - 0.1) < 1e-12);
    REQUIRE(rank_sum_probability(a, 0, b, 3, &p, &status));
    CHECK(p == 1);
}

static uint64_t state = 7;

static double uniform(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

TEST(an_interval_of_a_ratio_holds_the_ratio_as_often_as_it_claims) {
    enum { TRIALS = 2000, RUNS = 8 };
    unsigned outside = 0;
    struct status status = {0};
    for (unsigned trial = 0; trial < TRIALS; trial++) {
        double a[RUNS], b[RUNS];
        struct rank_ratio found;
        for (unsigned i = 0; i < RUNS; i++) {
            a[i] = exp(0.1 * -log(1 - uniform()));
            b[i] = 1.05 * exp(0.1 * -log(1 - uniform()));
        }
        REQUIRE(rank_ratio(a, RUNS, b, RUNS, 0.05, &found, &status));
        CHECK(found.confident && found.low <= found.ratio && found.ratio <= found.high);
        outside += !(found.low <= 1.05 && 1.05 <= found.high);
    }
    CHECK(outside <= TRIALS * 0.06 && outside >= TRIALS * 0.02);
}

TEST(too_few_runs_have_no_interval) {
    const double a[] = {1, 2, 3}, b[] = {2, 3, 4};
    struct rank_ratio found;
    struct status status = {0};
    REQUIRE(rank_ratio(a, 3, b, 3, 0.05, &found, &status));
    CHECK(!found.confident && found.low == 0 && isinf(found.high));
    REQUIRE(rank_ratio(a, 0, b, 3, 0.05, &found, &status));
    CHECK(!found.confident);
}

TEST(large_samples_keep_their_precision) {
    static double a[RANK_VALUES_MAX], b[RANK_VALUES_MAX];
    double p;
    struct status status = {0};
    for (unsigned i = 0; i < RANK_VALUES_MAX; i++) {
        a[i] = 1 + uniform();
        b[i] = 1 + uniform();
    }
    REQUIRE(rank_sum_probability(a, RANK_VALUES_MAX, b, RANK_VALUES_MAX, &p, &status));
    CHECK(p > 0.001 && p <= 1);
}
