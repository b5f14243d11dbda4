/* What can these runs tell apart?
 *
 * Steps of one run are dependent: a slow second makes many of them slow. The standard error of the
 * median step is that of as many independent steps as the autocorrelation leaves, and never of more
 * than INDEPENDENT_MAX, as what differs between runs (memory placement, clocks, the machine's other
 * load) does not show within one. Several runs a side are compared by an exact rank test on their
 * medians, which needs none of this. */
#include <math.h>

#include "base/memory.h"
#include "base/min_max.h"
#include "base/rank_test.h"
#include "base/statistics.h"
#include "compare/diff_parts.h"

enum { UNITS_MIN = 4, INDEPENDENT_MAX = 10 };
#define DEVIATIONS 2.6 /* standard errors: 1 in 100 */
/* Recordings of one program on an otherwise idle H200 differ by up to 1.2 % where their steps
 * differ by less (the pairs same-* of tests/compare). */
#define BETWEEN_RUNS 0.015
#define CHANCE 0.05 /* of the rank test; several runs a side are rare and short */

/* Lag-one autocorrelation of the ranks: outliers do not count more than their place. */
static double dependence(const int64_t *lengths, size_t count) {
    double above = 0, mean = (double)(count - 1) / 2, same = 0, next = 0, last = 0;
    for (size_t i = 0; i < count; i++) {
        double rank = 0;
        for (size_t k = 0; k < count; k++)
            rank += lengths[k] < lengths[i] ? 1 : lengths[k] == lengths[i] && k != i ? 0.5 : 0;
        above = rank - mean;
        same += above * above;
        next += i ? above * last : 0;
        last = above;
    }
    return same > 0 ? fmin(next / same, 0.95) : 0;
}

/* Units that alternate between long and short are parts of one unit. Of an odd number the median is
 * that of one kind or of the other, by chance. */
#define ALTERNATES (-0.5)

static double noise_of_pairs(const int64_t *lengths, size_t count, struct status *status) {
    int64_t *pairs = memory_allocate(count / 2, sizeof *pairs, status);
    if (!pairs)
        return NAN;
    for (size_t i = 0; i < count / 2; i++)
        pairs[i] = lengths[2 * i] + lengths[2 * i + 1];
    double spread = noise_of_units(pairs, count / 2, status);
    memory_free(pairs);
    return spread;
}

double noise_of_units(const int64_t *lengths, size_t count, struct status *status) {
    enum { LATEST = 2000 }; /* ranks are counted pair by pair */
    if (count > LATEST) {
        lengths += count - LATEST;
        count = LATEST;
    }
    if (count < UNITS_MIN)
        return -1;
    double r = dependence(lengths, count);
    if (r < ALTERNATES && count % 2 == 0 && count >= 2 * UNITS_MIN)
        return noise_of_pairs(lengths, count, status);
    double *sorted = memory_allocate(count, sizeof *sorted, status);
    if (!sorted)
        return NAN;
    for (size_t i = 0; i < count; i++)
        sorted[i] = (double)lengths[i];
    statistics_sort(sorted, count);
    double median = statistics_quantile(sorted, count, 0.5);
    double deviation =
        (statistics_quantile(sorted, count, 0.75) - statistics_quantile(sorted, count, 0.25)) /
        1.349;
    memory_free(sorted);
    r = fmax(r, 0);
    double independent = fmin((double)count * (1 - r) / (1 + r), INDEPENDENT_MAX);
    return median > 0 ? 1.2533 * deviation / sqrt(fmax(independent, 1)) / median : -1;
}

bool noise_of_iterations(struct diff *diff, struct status *status) {
    for (unsigned at = BEFORE; at < SIDES; at++) {
        const struct steps *steps = &diff->sides[at].report->steps;
        size_t count = steps->count - steps->warm_up;
        int64_t *lengths = memory_allocate(count, sizeof *lengths, status);
        if (!lengths)
            return false;
        for (size_t i = 0; i < count; i++)
            lengths[i] =
                steps->list[steps->warm_up + i].end - steps->list[steps->warm_up + i].start;
        double spread = noise_of_units(lengths, count, status);
        memory_free(lengths);
        if (isnan(spread))
            return false;
        diff->noise.spread[at] = spread;
        diff->noise.spread_known[at] = spread >= 0;
    }
    return true;
}

/* Called again for whole runs, which are one unit each: what their steps have shown stays. A side
 * without steps is taken to be as noisy as the other. */
bool noise_find(struct diff *diff, struct status *status) {
    struct noise *noise = &diff->noise;
    noise->probability = noise->best_probability = 1;
    for (unsigned at = BEFORE; at < SIDES; at++) {
        const struct side *side = &diff->sides[at];
        double spread = noise_of_units(side->lengths, side->unit_count, status);
        if (isnan(spread))
            return false;
        noise->runs[at] = 1;
        if (spread >= 0 && (diff->same_units || side_is_typical(side))) {
            noise->spread[at] = spread;
            noise->spread_known[at] = true;
        }
    }
    noise->known = noise->spread_known[BEFORE] || noise->spread_known[AFTER];
    for (unsigned at = BEFORE; at < SIDES; at++)
        if (!noise->spread_known[at])
            noise->spread[at] = noise->spread[!at];
    noise->smallest =
        noise->known ? fmax(DEVIATIONS * hypot(noise->spread[0], noise->spread[1]), BETWEEN_RUNS)
                     : 0;
    double before = (double)diff->sides[BEFORE].step, after = (double)diff->sides[AFTER].step;
    noise->significant = before > 0 && after > 0 && diff->change != 0 &&
                         (!noise->known || fabs(log(after / before)) > log1p(noise->smallest));
    return true;
}

bool diff_add_runs(struct diff *diff, const double *before, size_t before_count,
                   const double *after, size_t after_count, struct status *status) {
    struct noise *noise = &diff->noise;
    struct rank_ratio ratio;
    noise->runs[BEFORE] = before_count;
    noise->runs[AFTER] = after_count;
    noise->best_probability = rank_sum_best(before_count, after_count);
    if (!rank_sum_probability(before, before_count, after, after_count, &noise->probability,
                              status) ||
        !rank_ratio(before, before_count, after, after_count, CHANCE, &ratio, status))
        return false;
    noise->known = ratio.confident;
    noise->smallest =
        ratio.confident ? fmax(ratio.ratio / ratio.low, ratio.high / ratio.ratio) - 1 : 0;
    noise->significant = noise->probability <= CHANCE;
    diff_explain(diff);
    return true;
}
