/* Comparisons of synthetic rounds with a known answer: noise that only slows down, slow minutes,
 * disturbed rounds, a changing clock. Numbers come from a fixed generator: every run is the
 * same. */
#include "../test.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "bench/results/compare.h"
#include "bench/results/compare_rounds.h"

enum { LINES = 6, ROUNDS = 25, TRIALS = 1000 };

struct scene {
    double scale;    /* of all times */
    double noise;    /* mean of what comes on top, relative */
    double bad;      /* share of rounds that are a third slower, unseen */
    double taken;    /* share of rounds in which others took processors: times double or worse */
    double placing;  /* how much where memory lies matters to a round, either way */
    double slow;     /* share of rounds in which the clock is 6 % slower */
    double crowded;  /* share of rounds with a neighbor on the same core */
    unsigned rounds; /* each line */
};

static uint64_t state = 1;

static double uniform(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

static void add_round(struct result *result, const struct scene *scene, double base) {
    unsigned i = result->round_count++;
    double time = base * (1 - scene->noise * log(1 - uniform())), pace = 50e3;
    time *= 1 + scene->placing * (uniform() - 0.5); /* each round is a process */
    if (uniform() < scene->bad)
        time *= 1.33;
    if (uniform() < scene->slow) {
        time *= 1.06;
        pace *= 1.06;
    }
    result->round_disturbed[i] = 0.02 * uniform();
    if (uniform() < scene->taken) {
        time *= 2 + uniform();
        result->round_disturbed[i] = 0.3 + 0.3 * uniform();
    }
    result->round_fastest[i] = time;
    result->round_medians[i] = time * 1.1;
    result->round_pace[i] = pace;
    result->round_width[i] = pace * (0.8 + 0.01 * uniform());
    if (uniform() < scene->crowded) {
        result->round_fastest[i] *= 1.2 + 0.3 * uniform();
        result->round_width[i] *= 1.4 + 0.1 * uniform();
    }
}

/* `results` has room for LINES. */
static struct result_set run_of(const struct scene *scene, struct result *results) {
    memset(results, 0, LINES * sizeof *results);
    for (unsigned line = 0; line < LINES; line++) {
        struct result *result = &results[line];
        double base = 1e5 * (line + 1) * scene->scale;
        snprintf(result->experiment, sizeof result->experiment, "layers");
        snprintf(result->device, sizeof result->device, "cpu");
        snprintf(result->label, sizeof result->label, "line %u", line);
        for (unsigned i = 0; i < scene->rounds; i++)
            add_round(result, scene, base);
        memcpy(result->time.samples, result->round_medians, scene->rounds * sizeof(double));
        result->time.sample_count = scene->rounds;
        result->time.time = statistics_summarize(result->time.samples, scene->rounds);
    }
    return (struct result_set){.results = results, .count = LINES, .machine = "a machine"};
}

/* Lines of one such comparison that are told apart, by what they are told to be. */
static unsigned told(const struct scene *before, const struct scene *after,
                     enum comparison_verdict verdict) {
    static struct result first[LINES], second[LINES];
    struct result_set before_set = run_of(before, first), after_set = run_of(after, second);
    struct comparison_set set;
    struct status status = {0};
    unsigned count = 0;
    if (!compare_results(&before_set, &after_set, &set, &status))
        return LINES + 1;
    for (size_t i = 0; i < set.count; i++)
        count += set.rows[i].verdict == verdict;
    comparison_set_finish(&set);
    return count;
}

static unsigned false_alarms(const struct scene *before, const struct scene *after) {
    unsigned alarms = 0;
    for (unsigned i = 0; i < TRIALS; i++)
        alarms += told(before, after, COMPARISON_SAME) < LINES;
    return alarms;
}

static const struct scene steady = {.scale = 1, .noise = 0.002, .placing = 0.01, .rounds = ROUNDS};
static const struct scene noisy = {
    .scale = 1, .noise = 0.03, .bad = 0.3, .placing = 0.02, .rounds = ROUNDS};

TEST(comparing_equals_on_a_steady_machine_is_no_alarm_in_1000_trials) {
    CHECK(false_alarms(&steady, &steady) <= TRIALS / 100);
}

TEST(comparing_equals_on_a_noisy_machine_is_at_most_10_alarms_in_1000_trials) {
    CHECK(false_alarms(&noisy, &noisy) <= TRIALS / 100);
}

TEST(comparing_a_calm_run_with_a_noisy_one_is_no_alarm) {
    CHECK(false_alarms(&steady, &noisy) <= TRIALS / 100);
    CHECK(false_alarms(&noisy, &steady) <= TRIALS / 100);
}

TEST(comparing_with_a_run_that_was_disturbed_is_no_alarm) {
    struct scene busy = noisy;
    busy.taken = 0.7;
    CHECK(false_alarms(&steady, &busy) <= TRIALS / 100);
    CHECK(false_alarms(&busy, &steady) <= TRIALS / 100);
    busy.taken = 1;
    CHECK_INT(told(&steady, &busy, COMPARISON_SAME), LINES);
}

TEST(comparing_with_a_run_whose_core_was_shared_is_no_alarm_and_5_percent_are_still_found) {
    struct scene crowded = steady, slower = steady;
    unsigned found = 0;
    crowded.crowded = 0.6;
    slower.scale = 1.05;
    crowded.rounds = 2 * ROUNDS;
    CHECK(false_alarms(&steady, &crowded) <= TRIALS / 100);
    CHECK(false_alarms(&crowded, &steady) <= TRIALS / 100);
    for (unsigned i = 0; i < 100; i++)
        found += told(&crowded, &slower, COMPARISON_SLOWER);
    CHECK(found >= 99 * LINES);
}

TEST(comparing_across_a_change_of_the_clock_is_no_alarm) {
    struct scene slow = steady, mixed = steady;
    slow.slow = 1;
    mixed.slow = 0.5;
    CHECK(false_alarms(&steady, &slow) <= TRIALS / 100);
    CHECK(false_alarms(&slow, &steady) <= TRIALS / 100);
    CHECK(false_alarms(&steady, &mixed) <= TRIALS / 100);
}

TEST(comparing_finds_5_percent_on_a_steady_machine_every_time) {
    struct scene slower = steady;
    slower.scale = 1.05;
    for (unsigned i = 0; i < TRIALS; i++) {
        CHECK_INT(told(&steady, &slower, COMPARISON_SLOWER), LINES);
        CHECK_INT(told(&slower, &steady, COMPARISON_FASTER), LINES);
    }
}

TEST(comparing_finds_a_half_more_on_a_noisy_machine_in_spite_of_disturbed_rounds) {
    struct scene before = noisy, after = noisy;
    unsigned found = 0;
    before.rounds = after.rounds = ROUNDS_MAX;
    after.scale = 1.5;
    after.taken = 0.4;
    for (unsigned i = 0; i < 100; i++)
        found += told(&before, &after, COMPARISON_SLOWER);
    CHECK(found >= 95 * LINES);
}

TEST(comparing_never_reports_less_than_2_percent) {
    struct scene after = steady;
    after.scale = 1.012;
    after.placing = 0;
    for (unsigned i = 0; i < TRIALS; i++)
        CHECK_INT(told(&steady, &after, COMPARISON_SAME), LINES);
}

TEST(comparing_two_rounds_tells_nothing_and_asks_for_more) {
    static struct result first[LINES], second[LINES];
    struct scene before = steady, after = steady;
    before.rounds = after.rounds = 2;
    after.scale = 3;
    struct result_set before_set = run_of(&before, first), after_set = run_of(&after, second);
    struct comparison_set set;
    struct status status = {0};
    CHECK_OK(compare_results(&before_set, &after_set, &set, &status), status);
    for (size_t i = 0; i < set.count; i++) {
        CHECK_INT(set.rows[i].verdict, COMPARISON_SAME);
        CHECK(set.rows[i].disturbed && set.rows[i].wants_rounds);
        CHECK(set.rows[i].low > 2.8 && set.rows[i].low <= set.rows[i].ratio &&
              set.rows[i].ratio <= set.rows[i].high);
    }
    comparison_set_finish(&set);
}

TEST(a_difference_that_further_rounds_do_not_show_is_gone) {
    static struct result first[LINES], second[LINES], third[LINES];
    struct scene bad = steady;
    bad.scale = 1.3;
    struct result_set before = run_of(&steady, first), after = run_of(&bad, second),
                      again = run_of(&steady, third);
    struct comparison_set set;
    struct status status = {0};
    CHECK_OK(compare_results(&before, &after, &set, &status), status);
    CHECK_INT(set.rows[0].verdict, COMPARISON_SLOWER);
    struct result_set lines;
    CHECK_OK(compare_wanting(&set, &lines, &status), status);
    CHECK_INT(lines.count, LINES);
    result_set_finish(&lines);
    comparison_set_finish(&set);
    compare_add_rounds(&after, &again);
    CHECK_INT(second[0].round_count, 2 * ROUNDS);
    CHECK_INT(second[0].time.sample_count, 2 * ROUNDS);
    CHECK_OK(compare_results(&before, &after, &set, &status), status);
    for (size_t i = 0; i < set.count; i++)
        CHECK_INT(set.rows[i].verdict, COMPARISON_SAME);
    comparison_set_finish(&set);
}

TEST(rounds_beyond_the_most_that_are_kept_are_left_out) {
    static struct result first[LINES], second[LINES];
    struct result_set sum = run_of(&steady, first), more = run_of(&steady, second);
    for (unsigned i = 0; i < 5; i++)
        compare_add_rounds(&sum, &more);
    CHECK_INT(first[0].round_count, ROUNDS_MAX);
    struct measurement round = {.time.fastest = 5};
    compare_keep_round(&first[0], &round, NULL, NULL);
    CHECK_INT(first[0].round_count, ROUNDS_MAX);
}

TEST(a_round_is_disturbed_by_what_others_took_when_there_was_no_room_for_all) {
    struct result result = {0};
    double second = 1e9 * (double)sysconf(_SC_NPROCESSORS_ONLN);
    struct health before = {.stolen_ns = -1, .other_ns = 5, .time = 0}, after = before;
    struct measurement round = {.time = {.median = 3, .fastest = 2}, .pace = 7, .own_ns = second};
    after.time = 1000000000;
    after.other_ns = 5 + second / 2;
    compare_keep_round(&result, &round, &before, &after);
    round.own_ns = second / 4;
    compare_keep_round(&result, &round, &before, &after);
    before.stolen_ns = 0;
    after.stolen_ns = second / 5;
    after.other_ns = 0;
    compare_keep_round(&result, &round, &before, &after);
    compare_keep_round(&result, &round, NULL, NULL);
    REQUIRE(result.round_count == 4);
    CHECK(fabs(result.round_disturbed[0] - 0.5) < 1e-6);
    CHECK(result.round_disturbed[1] == 0);
    CHECK(fabs(result.round_disturbed[2] - 0.2) < 1e-6);
    CHECK(result.round_disturbed[3] == 0);
    CHECK(result.round_medians[0] == 3 && result.round_fastest[0] == 2 &&
          result.round_pace[0] == 7);
}

TEST(lines_that_one_side_lacks_or_has_no_figures_for_are_absent) {
    static struct result first[LINES], second[LINES];
    struct result_set before = run_of(&steady, first), after = run_of(&steady, second);
    struct comparison_set set;
    struct status status = {0};
    snprintf(first[0].label, sizeof first[0].label, "gone");
    snprintf(second[1].problem, sizeof second[1].problem, "out of memory");
    after.count = LINES - 1;
    CHECK_OK(compare_results(&before, &after, &set, &status), status);
    REQUIRE(set.count == LINES + 1);
    CHECK_INT(set.rows[0].verdict, COMPARISON_ABSENT);
    CHECK(!set.rows[0].before && set.rows[0].after == &second[0]);
    CHECK_INT(set.rows[1].verdict, COMPARISON_ABSENT);
    CHECK_INT(set.rows[2].verdict, COMPARISON_SAME);
    CHECK(set.rows[LINES - 1].before == &first[0] && !set.rows[LINES - 1].after);
    CHECK(set.rows[LINES].before == &first[LINES - 1] && !set.rows[LINES].after);
    CHECK_STRING(comparison_verdict_name(set.rows[2].verdict), "no measurable difference");
    comparison_set_finish(&set);
}

TEST(damaged_rounds_are_not_compared) {
    static struct result first[LINES], second[LINES];
    struct result_set before = run_of(&steady, first), after = run_of(&steady, second);
    struct comparison_set set;
    struct status status = {0};
    for (unsigned i = 0; i < ROUNDS; i++) {
        second[0].round_fastest[i] = i % 2 ? NAN : -1;
        second[1].round_disturbed[i] = NAN;
        second[2].round_pace[i] = INFINITY;
    }
    first[3].round_count = 4000000000u;
    CHECK_OK(compare_results(&before, &after, &set, &status), status);
    for (size_t i = 0; i < set.count; i++)
        CHECK_INT(set.rows[i].verdict, COMPARISON_SAME);
    CHECK(set.rows[0].disturbed && set.rows[1].disturbed);
    comparison_set_finish(&set);
}

TEST(comparing_with_another_machine_driver_or_size_warns) {
    static struct result first[LINES], second[LINES];
    static struct roofs old_roofs = {.device = "cpu", .driver = "1"},
                        roofs = {.device = "cpu", .driver = "2"};
    struct result_set before = run_of(&steady, first), after = run_of(&steady, second);
    struct comparison_set set;
    struct status status = {0};
    CHECK_OK(compare_results(&before, &after, &set, &status), status);
    CHECK_STRING(set.warning, "");
    comparison_set_finish(&set);
    second[2].size = 7;
    CHECK_OK(compare_results(&before, &after, &set, &status), status);
    CHECK(strstr(set.warning, "line 2"));
    comparison_set_finish(&set);
    before.roofs = &old_roofs;
    after.roofs = &roofs;
    before.roofs_count = after.roofs_count = 1;
    CHECK_OK(compare_results(&before, &after, &set, &status), status);
    CHECK_STRING(set.warning, "cpu was 1 and is 2");
    comparison_set_finish(&set);
    snprintf(after.machine, sizeof after.machine, "another one");
    CHECK_OK(compare_results(&before, &after, &set, &status), status);
    CHECK_STRING(set.warning, "different machines: it was a machine and is another one");
    comparison_set_finish(&set);
}

TEST(the_drift_of_the_machine_is_that_of_its_undisturbed_passes) {
    static struct result first[LINES], second[LINES];
    struct result_set before = run_of(&steady, first), after = run_of(&steady, second);
    double old_passes[20], passes[20];
    for (unsigned i = 0; i < 20; i++) {
        old_passes[i] = i % 3 ? 100 : 500;
        passes[i] = i % 2 ? 110 : 900;
    }
    before.reference = old_passes;
    after.reference = passes;
    before.reference_count = after.reference_count = 20;
    struct comparison_set set;
    struct status status = {0};
    CHECK_OK(compare_results(&before, &after, &set, &status), status);
    CHECK(fabs(set.drift - 0.1) < 1e-6);
    comparison_set_finish(&set);
}

TEST(comparing_reports_that_memory_ran_out) {
    static struct result first[LINES], second[LINES];
    struct result_set before = run_of(&steady, first), after = run_of(&steady, second);
    double pass = 1;
    before.reference = after.reference = &pass;
    before.reference_count = after.reference_count = 1;
    for (unsigned nth = 1; nth <= 3; nth++) {
        struct comparison_set set;
        struct status status = {0};
        memory_fail_from(nth);
        CHECK(!compare_results(&before, &after, &set, &status));
        memory_fail_from(0);
        CHECK_INT(status.code, STATUS_MEMORY);
    }
}

TEST(the_reference_loop_takes_a_time) {
    double ns = compare_reference_loop();
    CHECK(ns > 1e3 && ns < 1e9);
}

static void check_path(const char *name, bool ok, const char *ending) {
    struct buffer path = {0};
    struct status status = {0};
    CHECK(compare_path(name, &path, &status) == ok);
    if (ok && path.data) {
        size_t length = strlen(path.data), tail = strlen(ending);
        CHECK(length >= tail && strcmp(path.data + length - tail, ending) == 0);
    }
    buffer_finish(&path);
}

TEST(a_saved_name_is_a_file_of_ridges_own_unless_it_is_a_path) {
    char folder[] = "/tmp/ridge-test-saved-XXXXXX";
    const char *cache = getenv("RIDGE_CACHE");
    char *kept = cache ? strdup(cache) : NULL;
    REQUIRE(mkdtemp(folder));
    setenv("RIDGE_CACHE", folder, 1);
    check_path("./here", true, "./here");
    check_path("a.json", true, "a.json");
    check_path("before", true, "/saved-before.json");
    check_path("", false, "");
    check_path("..", false, "");
    check_path("a\nb", false, "");
    setenv("RIDGE_CACHE", "off", 1);
    check_path("before", false, "");
    check_path("a.json", true, "a.json");
    if (kept)
        setenv("RIDGE_CACHE", kept, 1);
    else
        unsetenv("RIDGE_CACHE");
    free(kept);
    rmdir(folder);
}
