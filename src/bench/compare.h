/* Is it faster or slower than before, or can nobody tell?
 *
 * Two runs on one machine differ by more than the spread inside each: memory lies elsewhere,
 * neighbours come and go. So each case is measured in rounds, a fixed loop between the cases tells
 * how the machine itself was doing, and a difference counts when it is larger than all of that.
 */
#ifndef RIDGE_BENCH_COMPARE_H
#define RIDGE_BENCH_COMPARE_H

#include "bench/result.h"

enum comparison_verdict {
    COMPARISON_SAME, /* no measurable difference */
    COMPARISON_FASTER,
    COMPARISON_SLOWER,
    COMPARISON_ABSENT, /* one side has no such line, or no figure for it */
};
const char *comparison_words(enum comparison_verdict verdict);

struct comparison {
    const struct result *before, *after; /* either may be NULL */
    double ratio;                        /* after / before: above 1 is slower */
    double low, high;                    /* its 95 % confidence interval */
    double noise; /* differences up to this (0.02 is 2 %) are within what these runs can tell */
    enum comparison_verdict verdict;
};

struct comparison_set {
    struct comparison *rows;
    size_t count;
    double drift;      /* of the machine's own pace between the two runs: 0.03 is 3 % slower */
    char warning[200]; /* another machine, driver or setting; or "" */
};

bool compare_results(const struct result_set *before, const struct result_set *after,
                     struct comparison_set *set, struct status *status);
void comparison_set_finish(struct comparison_set *set);

/* The fixed loop: nanoseconds of one pass. Takes about a millisecond. */
double compare_reference_loop(void);

/* Where `--save NAME` keeps results: a path itself when it has a '/' or ends in ".json". */
bool compare_path(const char *name, struct buffer *path, struct status *status);

#endif
