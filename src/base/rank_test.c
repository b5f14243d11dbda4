/* The null distribution of U is the Gaussian binomial coefficient [m + n, m], built one factor at a
 * time and scaled to a sum of 1 at each, as the counts themselves overflow. */
#include "base/rank_test.h"

#include <math.h>

#include "base/memory.h"
#include "base/min_max.h"
#include "base/statistics.h"

unsigned rank_separation(unsigned mine, unsigned others, double chance) {
    double all_mine = 2;
    for (unsigned i = 0; i < mine; i++) {
        all_mine *= (double)(mine - i) / (mine + others - i);
        if (all_mine <= chance)
            return i + 1;
    }
    return 0;
}

double rank_sum_best(size_t a_count, size_t b_count) {
    double chance = 2;
    for (size_t i = 0; i < a_count; i++)
        chance *= (double)(a_count - i) / (double)(a_count + b_count - i);
    return a_count && b_count ? fmin(chance, 1) : 1;
}

/* P(U = u) for u = 0 .. m * n, by adding the values of one side one at a time: multiplying the
 * generating function by (1 - q^(n + i)) / (1 - q^i). Free the result. */
static double *u_distribution(size_t m, size_t n, struct status *status) {
    size_t last = m * n;
    double *p = memory_allocate(last + 1, sizeof *p, status);
    if (!p)
        return NULL;
    p[0] = 1;
    for (size_t i = 1; i <= m; i++) {
        for (size_t u = last + 1; u-- > n + i;)
            p[u] -= p[u - n - i];
        for (size_t u = i; u <= last; u++)
            p[u] += p[u - i];
        double scale = (double)i / (double)(n + i);
        for (size_t u = 0; u <= last; u++)
            p[u] *= scale;
    }
    return p;
}

/* Twice U, so that ties are integers. */
static size_t twice_u(const double *a, size_t a_count, const double *b, size_t b_count) {
    size_t twice = 0;
    for (size_t i = 0; i < a_count; i++)
        for (size_t j = 0; j < b_count; j++)
            twice += b[j] > a[i] ? 2 : b[j] == a[i];
    return twice;
}

bool rank_sum_probability(const double *a, size_t a_count, const double *b, size_t b_count,
                          double *probability, struct status *status) {
    *probability = 1;
    if (a_count == 0 || b_count == 0)
        return true;
    double *p = u_distribution(a_count, b_count, status);
    if (!p)
        return false;
    size_t all = 2 * a_count * b_count, twice = twice_u(a, a_count, b, b_count);
    size_t lower = MIN(twice, all - twice); /* symmetric */
    double tail = 0;
    for (size_t u = 0; 2 * u <= lower; u++)
        tail += p[u];
    if (lower % 2) /* half way between two values: the larger tail, to be safe */
        tail += p[lower / 2 + 1];
    *probability = fmin(1, 2 * tail);
    memory_free(p);
    return true;
}

/* The largest k with 2 P(U < k) <= chance: the interval lies between the k-th smallest and the k-th
 * largest ratio; 0: none. */
static bool interval_rank(size_t m, size_t n, double chance, size_t *rank, struct status *status) {
    double *p = u_distribution(m, n, status), tail = 0;
    if (!p)
        return false;
    *rank = 0;
    for (size_t u = 0; u <= m * n / 2; u++) {
        tail += p[u];
        if (2 * tail > chance)
            break;
        *rank = u + 1;
    }
    memory_free(p);
    return true;
}

bool rank_ratio(const double *a, size_t a_count, const double *b, size_t b_count, double chance,
                struct rank_ratio *result, struct status *status) {
    size_t count = a_count * b_count, rank;
    *result = (struct rank_ratio){.high = INFINITY};
    if (count == 0)
        return true;
    double *ratios = memory_allocate(count, sizeof *ratios, status);
    bool ok = ratios && interval_rank(a_count, b_count, chance, &rank, status);
    for (size_t i = 0; ok && i < a_count; i++)
        for (size_t j = 0; j < b_count; j++)
            ratios[i * b_count + j] = b[j] / a[i];
    if (ok) {
        statistics_sort(ratios, count);
        result->ratio = statistics_quantile(ratios, count, 0.5);
        result->confident = rank > 0;
        if (rank) {
            result->low = ratios[rank - 1];
            result->high = ratios[count - rank];
        }
    }
    memory_free(ratios);
    return ok;
}
