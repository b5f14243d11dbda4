/* Is one line slower than before? Compares the fastest batch of each round; each round is a
 * separate process.
 *
 * Observations on shared virtual machines with two and sixteen CPUs:
 * - Medians of the same work differ by 30 % between rounds, fastest batches by 2 to 5 %. Nothing
 *   makes work faster than it is, so the fastest batch is used.
 * - Memory layout makes a whole process a few percent faster or slower. With all rounds of a run in
 *   one process, 3 of 17 comparisons of identical runs were false alarms on the quieter machine.
 * - While other programs use the CPU, even the fastest batch takes two to four times as long: seven
 *   of ten comparisons of identical runs were false alarms. The CPU share of other programs
 *   separates those rounds (below 5 % or above 30 %, rarely in between); they are not used.
 * - The CPU clock drops by up to 20 % for some time, which a reference loop next to the batch shows
 *   to a fraction of a percent. Rounds at the same clock are compared. If there are too few, times
 *   are compared in passes of that loop or in nanoseconds, whichever reduces the variation within
 *   each run (the fastest rounds of 30 identical runs of a product differed by 13 % in nanoseconds
 *   and by 1.7 % in passes); if neither does, in both.
 * - A busy sibling hyperthread makes times 1.5x as long, for minutes, and a virtual machine cannot
 *   query it. A loop that saturates a core shows it: around the fastest batch of a round it then
 *   takes 1.5x as long. Only rounds without this count: they agree to half a percent, where all
 *   rounds differ by 40 %.
 *
 * The comparison is an exact rank test: if nothing changed, every order of the rounds of both sides
 * is equally likely, and it is unlikely that the k fastest are all of one side. The same k gives
 * the confidence interval.
 */
#include "bench/results/compare_rounds.h"

#include <math.h>

#include "base/rank_test.h"

#define DISTURBED                                                                                  \
    0.10                /* share of CPU time of other programs, from which on a round is discarded \
                         */
#define MIN_EFFECT 0.02 /* minimum reported: memory layout differs between processes */
#define SAME_CLOCK 0.01
#define SAME_CONTENTION 0.04
#define CLOSER 0.01
#define STEADY 0.02 /* from the fastest round to the middle one */
#define CHANGED 0.05
#define UNDISTURBED_MIN 10 /* rounds; fewer may all be disturbed in ways that nothing shows */
#define CHANCE_SHOWN 0.05
#define CHANCE_OF_ALARM 0.01 /* for all lines together */

struct rounds {
    double times[ROUNDS_MAX]; /* ascending */
    unsigned count;
};

struct interval {
    double low, middle, high; /* of after / before */
    bool confident;           /* there are rounds enough for it */
};

/* How much longer arithmetic that saturates a core took than the clock explains; 0: unknown. */
static double cpu_contention(const struct result *result, unsigned round) {
    double pace = result->round_pace[round], width = result->round_width[round];
    return isfinite(pace) && isfinite(width) && pace > 0 && width > 0 ? width / pace : 0;
}

static double min_contention_of(const struct result *result) {
    double min = INFINITY;
    for (unsigned i = 0; i < result->round_count && i < ROUNDS_MAX; i++)
        if (cpu_contention(result, i) > 0)
            min = fmin(min, cpu_contention(result, i));
    return min;
}

static bool is_undisturbed(const struct result *result, unsigned round, double min_contention) {
    double time = result->round_fastest[round];
    return isfinite(time) && time > 0 && result->round_disturbed[round] <= DISTURBED &&
           cpu_contention(result, round) <= min_contention * (1 + SAME_CONTENTION);
}

bool compare_has_undisturbed_rounds(const struct result *result) {
    unsigned count = 0;
    for (unsigned i = 0; i < result->round_count && i < ROUNDS_MAX; i++)
        count += is_undisturbed(result, i, min_contention_of(result));
    return count >= UNDISTURBED_MIN;
}

/* Which rounds, and in which unit. */
enum unit { IN_NS, IN_PASSES };
struct choice {
    enum unit unit;
    double slowest_pace, min_contention;
};

static struct rounds rounds_of(const struct result *result, struct choice choice) {
    struct rounds rounds = {0};
    for (unsigned i = 0; i < result->round_count && i < ROUNDS_MAX; i++) {
        double pace = result->round_pace[i];
        bool has_pace = isfinite(pace) && pace > 0;
        if (!is_undisturbed(result, i, choice.min_contention) ||
            (!has_pace && choice.unit == IN_PASSES) || !(pace <= choice.slowest_pace))
            continue;
        rounds.times[rounds.count++] =
            result->round_fastest[i] / (choice.unit == IN_PASSES ? pace : 1);
    }
    statistics_sort(rounds.times, rounds.count);
    return rounds;
}

static double min_contention(const struct result *before, const struct result *after) {
    return fmin(min_contention_of(before), min_contention_of(after));
}

static double max_clock(const struct result *result, double cpu_contention) {
    double fastest = INFINITY;
    for (unsigned i = 0; i < result->round_count && i < ROUNDS_MAX; i++)
        if (is_undisturbed(result, i, cpu_contention) && result->round_pace[i] > 0)
            fastest = fmin(fastest, result->round_pace[i]);
    return fastest;
}

/* How fast it may be in truth: as much below the fastest round as the middle one is above it. Noise
 * that is wide leaves a gap there that rounds do not close. */
static double floor_of(const struct rounds *rounds) {
    return rounds->times[0] * rounds->times[0] / rounds->times[rounds->count / 2];
}

static struct interval interval_of(const struct rounds *before, const struct rounds *after,
                                   double chance) {
    unsigned of_before = rank_separation(before->count, after->count, chance),
             of_after = rank_separation(after->count, before->count, chance);
    bool confident = of_before > 0 && of_after > 0 && before->count >= UNDISTURBED_MIN &&
                     after->count >= UNDISTURBED_MIN;
    if (of_before == 0)
        of_before = before->count;
    if (of_after == 0)
        of_after = after->count;
    return (struct interval){
        .low = floor_of(after) / before->times[of_before - 1],
        .middle = after->times[(of_after - 1) / 2] / before->times[(of_before - 1) / 2],
        .high = after->times[of_after - 1] / floor_of(before),
        .confident = confident,
    };
}

static struct interval at_equal_clock(const struct result *before, const struct result *after,
                                      double chance) {
    double cpu_contention = min_contention(before, after);
    double fastest = fmin(max_clock(before, cpu_contention), max_clock(after, cpu_contention));
    struct choice choice = {IN_NS, fastest * (1 + SAME_CLOCK), cpu_contention};
    struct rounds first = rounds_of(before, choice), second = rounds_of(after, choice);
    if (first.count == 0 || second.count == 0)
        return (struct interval){0};
    return interval_of(&first, &second, chance);
}

static double spread_of(const struct rounds *rounds) {
    return rounds->times[rounds->count / 2] / rounds->times[0];
}

/* Whether the rounds of both sides vary less in this unit than in the other: compute-bound work
 * follows the clock, and work that waits for memory or a device does not. */
static bool is_closer(const struct rounds unit[2], const struct rounds other[2]) {
    double first = spread_of(&unit[0]) / spread_of(&other[0]),
           second = spread_of(&unit[1]) / spread_of(&other[1]);
    return fmax(first, second) <= 1 && first * second <= 1 - CLOSER;
}

/* In the unit that fits the work; if the rounds do not show which one, in nanoseconds, widened
 * by the interval in passes of the reference loop. */
static struct interval at_any_clock(const struct result *before, const struct result *after,
                                    double chance) {
    struct choice in_ns = {IN_NS, INFINITY, min_contention(before, after)}, in_passes = in_ns;
    in_passes.unit = IN_PASSES;
    struct rounds ns[2] = {rounds_of(before, in_ns), rounds_of(after, in_ns)},
                  passes[2] = {rounds_of(before, in_passes), rounds_of(after, in_passes)};
    struct interval interval = interval_of(&ns[0], &ns[1], chance);
    if (passes[0].count < ns[0].count || passes[1].count < ns[1].count || is_closer(ns, passes))
        return interval;
    struct interval by_clock = interval_of(&passes[0], &passes[1], chance);
    if (is_closer(passes, ns))
        return by_clock;
    interval.low = fmin(interval.low, by_clock.low);
    interval.high = fmax(interval.high, by_clock.high);
    return interval;
}

/* Whether the core itself was anything but steady meanwhile: clock or neighbors. */
static bool core_changed(const struct result *result) {
    double slowest = 0, fastest = INFINITY, max = 0;
    for (unsigned i = 0; i < result->round_count && i < ROUNDS_MAX; i++) {
        double pace = result->round_pace[i];
        if (!(isfinite(pace) && pace > 0))
            continue;
        slowest = fmax(slowest, pace);
        fastest = fmin(fastest, pace);
        max = fmax(max, cpu_contention(result, i));
    }
    return slowest > fastest * (1 + CHANGED) || max > min_contention_of(result) * (1 + CHANGED);
}

/* For work that does not depend on the core, such as a device's. */
static struct interval at_any_contention(const struct result *before, const struct result *after,
                                         double chance) {
    struct choice choice = {IN_NS, INFINITY, INFINITY};
    struct rounds first = rounds_of(before, choice), second = rounds_of(after, choice);
    struct interval interval = interval_of(&first, &second, chance);
    interval.confident &= spread_of(&first) <= 1 + STEADY && spread_of(&second) <= 1 + STEADY &&
                          core_changed(before) && core_changed(after);
    return interval;
}

/* Both sides have an undisturbed round. */
static struct interval interval_at(const struct comparison *row, double chance) {
    struct interval interval = at_any_contention(row->before, row->after, chance);
    if (!interval.confident)
        interval = at_equal_clock(row->before, row->after, chance);
    return interval.confident ? interval : at_any_clock(row->before, row->after, chance);
}

static enum comparison_verdict verdict_of(const struct interval *interval) {
    if (interval->confident && interval->low > 1 + MIN_EFFECT)
        return COMPARISON_SLOWER;
    if (interval->confident && interval->high < 1 / (1 + MIN_EFFECT))
        return COMPARISON_FASTER;
    return COMPARISON_SAME;
}

/* Without an undisturbed round on both sides only the samples are left. */
static void show_samples(struct comparison *row) {
    const struct summary *before = &row->before->time.time, *after = &row->after->time.time;
    row->ratio = after->median / before->median;
    row->low = after->fastest / before->quartile_high;
    row->high = after->quartile_high / before->fastest;
    row->noise = fmax(row->ratio / row->low, row->high / row->ratio) - 1;
}

void compare_rounds(struct comparison *row, size_t lines) {
    row->verdict = COMPARISON_SAME;
    row->wants_rounds = row->disturbed = true;
    struct choice all = {IN_NS, INFINITY, min_contention(row->before, row->after)};
    if (rounds_of(row->before, all).count == 0 || rounds_of(row->after, all).count == 0) {
        show_samples(row);
        return;
    }
    struct interval shown = interval_at(row, CHANCE_SHOWN);
    struct interval asked = interval_at(row, CHANCE_OF_ALARM / (double)lines);
    row->ratio = shown.middle;
    row->low = shown.low;
    row->high = shown.high;
    row->noise = fmax(asked.middle / asked.low, asked.high / asked.middle) * (1 + MIN_EFFECT) - 1;
    row->verdict = verdict_of(&asked);
    row->disturbed = !shown.confident;
    row->wants_rounds = !shown.confident || verdict_of(&shown) != COMPARISON_SAME;
}
