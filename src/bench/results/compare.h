/* Is it faster or slower than before, or is the difference not measurable?
 *
 * Two runs on one machine differ by more than the spread within each: memory layout and other load
 * vary. Each case is therefore measured in rounds, which record the CPU contention and the CPU
 * clock, and a difference counts if it is larger than these effects.
 *
 * A run goes through its lines a number of times, with compare_keep_round() each time. After
 * compare_results(), the lines of compare_wanting() are measured again, added by
 * compare_add_rounds() and compared again, which removes the effect of a temporary disturbance.
 */
#ifndef RIDGE_BENCH_RESULTS_COMPARE_H
#define RIDGE_BENCH_RESULTS_COMPARE_H

#include "bench/results/result.h"
#include "machine/health.h"

enum comparison_verdict {
    COMPARISON_SAME, /* no measurable difference */
    COMPARISON_FASTER,
    COMPARISON_SLOWER,
    COMPARISON_ABSENT, /* one side has no such line, or no figure for it */
};
const char *comparison_verdict_name(enum comparison_verdict verdict);

struct comparison {
    const struct result *before, *after; /* either may be NULL */
    double ratio;                        /* after / before: above 1 is slower */
    double low, high;                    /* its 95 % confidence interval */
    double noise; /* differences up to this (0.02 is 2 %) are not measurable in these runs */
    enum comparison_verdict verdict;
    bool disturbed;    /* too few undisturbed rounds for a verdict */
    bool wants_rounds; /* further rounds of `after` may decide: there is a difference, or it is
                          disturbed */
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
/* One JSON document, docs/bench-json.md: the lines, and `after` whole. */
bool comparison_set_write(const struct comparison_set *set, const struct result_set *after,
                          struct output *output, struct status *status);

/* Appends a round to the result, without the samples. The readings are from its start and end;
 * NULL if they would include a peer's work. */
void compare_keep_round(struct result *result, const struct measurement *round,
                        const struct health *before, const struct health *after);
/* Whether it has enough undisturbed rounds for a comparison. */
bool compare_has_undisturbed_rounds(const struct result *result);
/* The lines that need more rounds, for run_options.only; free with result_set_finish(). */
bool compare_wanting(const struct comparison_set *set, struct result_set *lines,
                     struct status *status);
/* Appends the rounds, and the samples, of all lines that both have. Comparisons with the set must
 * be made again. */
void compare_add_rounds(struct result_set *set, const struct result_set *more);

/* The fixed loop of measure_pace(): nanoseconds of the fastest of some passes. Takes about a
 * millisecond. */
double compare_reference_loop(void);

/* The file of `--save NAME`: NAME itself if it has a '/' or ends in ".json". */
bool compare_path(const char *name, struct buffer *path, struct status *status);

#endif
