/* Is one line slower than before? The question is put to the fastest batch of each round, and each
 * round is a process of its own.
 *
 * What was found on shared virtual machines with two and sixteen processors:
 * - Medians of the same work differ by 30 % from one round to the next, fastest batches by 2 to 5
 * %. Nothing makes work faster than it is, so the fastest is asked.
 * - Where memory happens to lie makes a whole process a few percent faster or slower. When all
 *   rounds of a run were in one process, 3 of 17 comparisons of equals were false alarms on the
 *   quieter of the machines.
 * - While other programs have a processor, even the fastest batch takes two to four times as long:
 *   seven of ten comparisons of equals were false alarms. The share of time that others had tells
 *   those rounds apart (below 5 % or above 30 %, seldom in between); they are not asked at all.
 * - The processor's clock drops by up to 20 % for a while, which fixed arithmetic beside the batch
 *   shows to a fraction of a percent. Rounds at the same clock are compared. Where these are too
 *   few, times are compared in passes of that arithmetic or in nanoseconds, whichever brings the
 *   rounds of each run closer together (the fastest rounds of 30 equal runs of a product differed
 *   by 13 % in nanoseconds and by 1.7 % in passes); where neither does, in both.
 * - A neighbour on the other half of a core makes times half as long again, for minutes, and no
 *   system tells of it. Arithmetic that takes all of a core shows it: around the fastest batch of a
 *   round it takes 1.5 times as long then, and no longer than ever else. Only rounds of the latter
 *   kind count: theirs agree to half a percent, where all of them differ by 40 %.
 *
 * The test goes by rank: if nothing changed, any order of the rounds of both sides is as likely,
 * and it is unlikely that the k fastest are all of one side. The same k gives the interval.
 */
#include "bench/results/compare_rounds.h"

#include <math.h>

#define DISTURBED 0.10    /* share of the processors' time, from which on a round does not count */
#define LEAST_EFFECT 0.02 /* never reported below: memory lies elsewhere in each process */
#define LIKE_PACE 0.01
#define LIKE_WIDTH 0.04
#define CLOSER 0.01
#define STEADY 0.02 /* from the fastest round to the middle one */
#define CHANGED 0.05
#define CALM_ROUNDS 10 /* of fewer, all may be bad ones that nothing shows */
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

unsigned compare_rank(unsigned rounds, unsigned other_rounds, double chance) {
    double all_mine = 2;
    for (unsigned i = 0; i < rounds; i++) {
        all_mine *= (double)(rounds - i) / (rounds + other_rounds - i);
        if (all_mine <= chance)
            return i + 1;
    }
    return 0;
}

/* How much longer arithmetic that takes all of a core took than the clock explains; 0: not known.
 */
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
           cpu_contention(result, round) <= min_contention * (1 + LIKE_WIDTH);
}

bool compare_has_undisturbed_rounds(const struct result *result) {
    unsigned count = 0;
    for (unsigned i = 0; i < result->round_count && i < ROUNDS_MAX; i++)
        count += is_undisturbed(result, i, min_contention_of(result));
    return count >= CALM_ROUNDS;
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
    unsigned of_before = compare_rank(before->count, after->count, chance),
             of_after = compare_rank(after->count, before->count, chance);
    bool confident = of_before > 0 && of_after > 0 && before->count >= CALM_ROUNDS &&
                     after->count >= CALM_ROUNDS;
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
    struct choice choice = {IN_NS, fastest * (1 + LIKE_PACE), cpu_contention};
    struct rounds first = rounds_of(before, choice), second = rounds_of(after, choice);
    if (first.count == 0 || second.count == 0)
        return (struct interval){0};
    return interval_of(&first, &second, chance);
}

static double spread_of(const struct rounds *rounds) {
    return rounds->times[rounds->count / 2] / rounds->times[0];
}

/* Whether the rounds of both sides lie closer together in this unit than in the other: work that
 * computes follows the clock, and work that waits for memory or a device does not. */
static bool is_closer(const struct rounds unit[2], const struct rounds other[2]) {
    double first = spread_of(&unit[0]) / spread_of(&other[0]),
           second = spread_of(&unit[1]) / spread_of(&other[1]);
    return fmax(first, second) <= 1 && first * second <= 1 - CLOSER;
}

/* In the unit that suits the work; where the rounds do not show which that is, in nanoseconds,
 * widened to what it is in passes of the fixed arithmetic. */
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

/* Whether the core itself was anything but steady meanwhile: clock or neighbours. */
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

/* Of work that goes its way whatever happens on the core, as that of a device does. */
static struct interval at_any_contention(const struct result *before, const struct result *after,
                                         double chance) {
    struct choice choice = {IN_NS, INFINITY, INFINITY};
    struct rounds first = rounds_of(before, choice), second = rounds_of(after, choice);
    struct interval interval = interval_of(&first, &second, chance);
    interval.confident &= spread_of(&first) <= 1 + STEADY && spread_of(&second) <= 1 + STEADY &&
                          core_changed(before) && core_changed(after);
    return interval;
}

/* Both sides have a calm round. */
static struct interval interval_at(const struct comparison *row, double chance) {
    struct interval interval = at_any_contention(row->before, row->after, chance);
    if (!interval.confident)
        interval = at_equal_clock(row->before, row->after, chance);
    return interval.confident ? interval : at_any_clock(row->before, row->after, chance);
}

static enum comparison_verdict verdict_of(const struct interval *interval) {
    if (interval->confident && interval->low > 1 + LEAST_EFFECT)
        return COMPARISON_SLOWER;
    if (interval->confident && interval->high < 1 / (1 + LEAST_EFFECT))
        return COMPARISON_FASTER;
    return COMPARISON_SAME;
}

/* Without a calm round on both sides there is nothing but the samples to show. */
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
    row->noise = fmax(asked.middle / asked.low, asked.high / asked.middle) * (1 + LEAST_EFFECT) - 1;
    row->verdict = verdict_of(&asked);
    row->disturbed = !shown.confident;
    row->wants_rounds = !shown.confident || verdict_of(&shown) != COMPARISON_SAME;
}
