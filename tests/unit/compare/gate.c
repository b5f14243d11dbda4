/* The gate on simulated runs: false alarms without a change, missed changes, and no answer where
 * the noise allows none. */
#include "../test.h"

#include <math.h>
#include <stdint.h>

#include "compare/gate.h"

static uint64_t state = 3;

static double uniform(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

/* Skewed, as run times are: interference only slows down. */
static double run_time(double scale, double noise) {
    return scale * exp(noise * (-log(1 - uniform()) + 0.3 * (uniform() - 0.5)));
}

/* Runs both sides until a look decides; the verdict. */
static enum gate_verdict simulate(double change, double noise, double gate, unsigned *runs) {
    double before[GATE_LAST_LOOK], after[GATE_LAST_LOOK];
    struct gate_result result = {.verdict = GATE_UNDECIDED};
    struct status status = {0};
    for (*runs = 0; *runs < GATE_LAST_LOOK;) {
        before[*runs] = run_time(1, noise);
        after[*runs] = run_time(1 + change, noise);
        if (!gate_is_look(++*runs))
            continue;
        CHECK(gate_decide(before, *runs, after, *runs, gate, 1, &result, &status));
        if (result.verdict != GATE_UNDECIDED)
            break;
    }
    return result.verdict;
}

enum { TRIALS = 500 };

static unsigned count_verdicts(enum gate_verdict verdict, double change, double noise) {
    unsigned count = 0, runs;
    for (unsigned i = 0; i < TRIALS; i++)
        count += simulate(change, noise, 0.03, &runs) == verdict;
    return count;
}

TEST(a_gate_does_not_fail_without_a_change) {
    CHECK(count_verdicts(GATE_REGRESSED, 0, 0.003) == 0);
    CHECK(count_verdicts(GATE_REGRESSED, 0, 0.01) <= TRIALS / 100);
    CHECK(count_verdicts(GATE_REGRESSED, 0, 0.05) <= TRIALS / 100);
    CHECK(count_verdicts(GATE_REGRESSED, 0, 0.3) <= TRIALS / 100);
    CHECK(count_verdicts(GATE_WITHIN, 0, 0.003) == TRIALS);
}

TEST(a_gate_finds_a_change_of_its_size) {
    CHECK(count_verdicts(GATE_REGRESSED, 0.03, 0.003) >= TRIALS * 95 / 100);
    CHECK(count_verdicts(GATE_REGRESSED, 0.03, 0.01) >= TRIALS * 95 / 100);
    CHECK(count_verdicts(GATE_WITHIN, 0.03, 0.05) <= TRIALS * 5 / 100);
}

TEST(a_gate_decides_nothing_that_the_noise_hides) {
    CHECK(count_verdicts(GATE_UNDECIDED, 0, 0.3) >= TRIALS * 8 / 10);
}

TEST(a_gate_states_the_smallest_change_it_could_have_found) {
    const double before[] = {1, 1.01, 1.02, 1.03, 1.04, 1.05}, few[] = {1, 2};
    struct gate_result result;
    struct status status = {0};
    REQUIRE(gate_decide(before, 6, before, 6, 0.03, 1, &result, &status));
    CHECK(result.verdict == GATE_UNDECIDED);
    CHECK(result.smallest > 0.015 && result.smallest < 0.2);
    REQUIRE(gate_decide(few, 2, few, 2, 0.03, 1, &result, &status));
    CHECK(isinf(result.smallest) && result.verdict == GATE_UNDECIDED);
}
