/* The gate on simulated runs: false alarms without a change, missed changes, and no answer where
 * the noise allows none. */
#include "../test.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/statistics.h"
#include "compare/gate.h"

static uint64_t state;

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

/* The same runs whichever tests ran before. */
static unsigned count_verdicts(enum gate_verdict verdict, double change, double noise) {
    unsigned count = 0, runs;
    state = 3;
    for (unsigned i = 0; i < TRIALS; i++)
        count += simulate(change, noise, 0.02, &runs) == verdict;
    return count;
}

TEST(a_gate_does_not_fail_without_a_change) {
    CHECK(count_verdicts(GATE_REGRESSED, 0, 0.003) == 0);
    CHECK(count_verdicts(GATE_REGRESSED, 0, 0.01) <= TRIALS / 100);
    CHECK(count_verdicts(GATE_REGRESSED, 0, 0.05) <= TRIALS / 100);
    CHECK(count_verdicts(GATE_REGRESSED, 0, 0.3) <= TRIALS / 100);
    CHECK(count_verdicts(GATE_WITHIN, 0, 0.003) == TRIALS);
}

TEST(a_gate_finds_a_larger_change) {
    CHECK(count_verdicts(GATE_REGRESSED, 0.03, 0.003) >= TRIALS * 95 / 100);
    CHECK(count_verdicts(GATE_REGRESSED, 0.04, 0.01) >= TRIALS * 95 / 100);
    CHECK(count_verdicts(GATE_WITHIN, 0.021, 0.01) <= TRIALS * 5 / 100);
    CHECK(count_verdicts(GATE_WITHIN, 0.03, 0.05) <= TRIALS * 5 / 100);
}

TEST(a_gate_fails_no_change_up_to_it) {
    CHECK(count_verdicts(GATE_REGRESSED, 0.02, 0.003) <= TRIALS / 100);
    CHECK(count_verdicts(GATE_REGRESSED, 0.019, 0.01) <= TRIALS / 100);
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
    CHECK(result.smallest > 0.03 && result.smallest < 0.2);
    REQUIRE(gate_decide(few, 2, few, 2, 0.03, 1, &result, &status));
    CHECK(isinf(result.smallest) && result.verdict == GATE_UNDECIDED);
}

/* ---- recorded run times ---- */

enum { RUNS_MAX = 200, COMPARISONS = 200 };

/* Lines "a step 123 ns, cpu 120 ns" of a program, "b ..." of the same with 3 % more work, taken in
 * turns. `key` is "step". */
static size_t read_runs(const char *path, char side, const char *key, double *values) {
    FILE *file = fopen(path, "r");
    char line[200];
    size_t count = 0;
    while (file && fgets(line, sizeof line, file) && count < RUNS_MAX) {
        const char *place = strstr(line, key);
        double value = place ? strtod(place + strlen(key), NULL) : 0;
        if (line[0] == side && line[1] == ' ' && value > 0)
            values[count++] = value;
    }
    if (file)
        fclose(file);
    return count;
}

static void shuffle(double *values, size_t count) {
    for (size_t i = count; i-- > 1;) {
        size_t k = (size_t)(uniform() * (double)(i + 1));
        double kept = values[i];
        values[i] = values[k];
        values[k] = kept;
    }
}

struct gate_score {
    unsigned verdicts[3], comparisons;
    double runs;                  /* mean */
    double smallest[COMPARISONS]; /* change that could have been found */
};

/* Runs of both sides in random order, as many as each look needs. */
static void score_one(const double *before, const double *after, size_t most,
                      struct gate_score *score) {
    struct gate_result result = {.verdict = GATE_UNDECIDED};
    struct status status = {0};
    unsigned runs = 0, looked = 0;
    while (runs < most && runs < GATE_LAST_LOOK) {
        if (!gate_is_look(++runs))
            continue;
        looked = runs;
        REQUIRE(gate_decide(before, runs, after, runs, 0.02, 1, &result, &status));
        if (result.verdict != GATE_UNDECIDED)
            break;
    }
    score->verdicts[result.verdict]++;
    score->runs += (double)looked / COMPARISONS;
    score->smallest[score->comparisons++] = result.smallest;
}

static void print_score(const char *path, const char *key, const char *what,
                        struct gate_score *score) {
    statistics_sort(score->smallest, COMPARISONS);
    if (getenv("RIDGE_GATE_TABLE"))
        printf("| %s | %s| %s | %u | %u | %u | %.1f | %.1f %% |\n", path, key, what,
               score->verdicts[0], score->verdicts[1], score->verdicts[2], score->runs,
               statistics_quantile(score->smallest, COMPARISONS, 0.5) * 100);
}

static void score_file(const char *path, const char *key, bool must_find) {
    double a[RUNS_MAX], b[RUNS_MAX];
    struct gate_score same = {.runs = 0}, slower = {.runs = 0};
    size_t a_count = read_runs(path, 'a', key, a), b_count = read_runs(path, 'b', key, b);
    if (a_count < 2 * GATE_FIRST_LOOK || b_count < GATE_FIRST_LOOK)
        return; /* not recorded */
    for (unsigned i = 0; i < COMPARISONS; i++) {
        shuffle(a, a_count);
        shuffle(b, b_count);
        score_one(a, a + a_count / 2, a_count / 2, &same);
        score_one(a, b, a_count < b_count ? a_count : b_count, &slower);
    }
    print_score(path, key, "the same", &same);
    print_score(path, key, "3 % more work", &slower);
    CHECK(same.verdicts[GATE_REGRESSED] <= COMPARISONS / 100);
    CHECK(slower.verdicts[GATE_WITHIN] <= COMPARISONS * 5 / 100);
    CHECK(!must_find || slower.verdicts[GATE_REGRESSED] >= COMPARISONS * 95 / 100);
}

TEST(a_gate_holds_its_error_rates_on_recorded_run_times) {
    static const char *const keys[] = {"step ", "fastest ", "cpu "};
    for (unsigned i = 0; i < sizeof keys / sizeof keys[0]; i++)
        score_file("tests/compare/gate/two-cores.txt", keys[i], false);
    score_file("tests/compare/gate/h200.txt", "step ", true);
}
