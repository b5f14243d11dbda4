/* Compares the rounds of one line before and after. */
#ifndef RIDGE_BENCH_RESULTS_COMPARE_ROUNDS_H
#define RIDGE_BENCH_RESULTS_COMPARE_ROUNDS_H

#include "bench/results/compare.h"

/* Fills in everything but the results themselves, which have no problem; `lines` is how many are
 * compared together. */
void compare_rounds(struct comparison *row, size_t lines);

#endif
