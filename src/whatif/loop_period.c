/* Where does an iteration begin when all its launches look alike? A loop does a little more between
 * iterations than within one, so longer pauses before launches come at regular distances. */
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "whatif/run.h"

/* A pause this many times the median of its neighbors is an outlier. */
#define OUTLIER_FACTOR 1.4
enum { NEIGHBORS = 8, PERIOD_MAX = 4096, ITERATIONS_MIN = 3 };

static bool is_outlier_at(const int64_t *pauses, size_t count, size_t at) {
    int64_t neighbors[2 * NEIGHBORS + 1];
    size_t from = at > NEIGHBORS ? at - NEIGHBORS : 1;
    size_t until = at + NEIGHBORS < count ? at + NEIGHBORS + 1 : count;
    memcpy(neighbors, pauses + from, (until - from) * sizeof *neighbors);
    int64_t median = sort_select(neighbors, until - from, (until - from) / 2);
    return (double)pauses[at] > OUTLIER_FACTOR * (double)MAX(median, 0);
}

/* Counts how often two consecutive outliers are d launches apart, in counts[d]. */
static size_t count_distances(const uint8_t *is_outlier, size_t count, uint32_t *counts) {
    size_t last = 0, distances = 0;
    for (size_t i = 1; i < count; i++) {
        if (!is_outlier[i])
            continue;
        if (last > 0) {
            distances++;
            counts[i - last < PERIOD_MAX ? i - last : 0]++;
        }
        last = i;
    }
    return distances;
}

/* The remainder modulo `period` that most outliers have. */
static size_t find_phase(const uint8_t *is_outlier, size_t count, size_t period, uint32_t *counts) {
    size_t best = 0;
    memset(counts, 0, period * sizeof *counts);
    for (size_t i = 1; i < count; i++)
        counts[i % period] += is_outlier[i];
    for (size_t i = 1; i < period; i++)
        if (counts[i] > counts[best])
            best = i;
    return best;
}

bool loop_period_find(const int64_t *pauses, size_t count, size_t *period, size_t *phase,
                      struct status *status) {
    *period = *phase = 0;
    if (count < 2 * ITERATIONS_MIN)
        return true;
    uint8_t *is_outlier = memory_allocate(count, 1, status);
    size_t period_max = count < PERIOD_MAX ? count : PERIOD_MAX; /* no period is longer */
    uint32_t *counts = memory_allocate(period_max, sizeof *counts, status);
    bool ok = is_outlier && counts;
    if (ok) {
        size_t best = 1;
        for (size_t i = 1; i < count; i++)
            is_outlier[i] = is_outlier_at(pauses, count, i);
        size_t distances = count_distances(is_outlier, count, counts);
        for (size_t i = 2; i < period_max; i++)
            if (counts[i] > counts[best])
                best = i;
        /* most outliers have that distance, and they cover the sequence */
        if (best > 1 && counts[best] >= ITERATIONS_MIN && 2 * (size_t)counts[best] > distances &&
            2 * (size_t)counts[best] * best > count) {
            *period = best;
            *phase = find_phase(is_outlier, count, best, counts);
        }
    }
    memory_free(is_outlier);
    memory_free(counts);
    return ok;
}
