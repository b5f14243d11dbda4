/* Two lines of which one is the other's improvement: did it help? For the conclusions of
 * experiments; runs at different times are compared by bench/results/compare.h.
 */
#ifndef RIDGE_BENCH_EXPERIMENTS_PAIR_H
#define RIDGE_BENCH_EXPERIMENTS_PAIR_H

#include "base/format.h"
#include "bench/results/result.h"

struct pair {
    const struct result *before, *after;
    double faster;   /* 0.5: half as many calls again in the same time; negative: slower */
    double saved;    /* of the time; 0.33: a third */
    bool is_telling; /* the difference is larger than the uncertainty of the medians */
};

/* Whether results[at] and the one before it both have times; compares them. */
bool pair_of(const struct result *results, size_t at, struct pair *pair);

/* "48 % faster than", "3.1x as fast as", "3 % slower than" (it takes 3 % longer), "not
 * measurably different from". */
char *pair_words(const struct pair *pair, char text[FORMAT_SIZE]);

#endif
