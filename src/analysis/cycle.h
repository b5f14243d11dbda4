/* Finds the loop in a sequence of names: an exactly repeating subsequence. */
#ifndef RIDGE_ANALYSIS_CYCLE_H
#define RIDGE_ANALYSIS_CYCLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* An interval of a sequence that repeats with a period, at least three times. */
struct cycle {
    size_t first, end, period; /* period 0: there is none */
};

/* `work` is the weight of each row, not negative; NULL: all are equal. False when out of memory. */
bool cycle_find(const uint32_t *names, const int64_t *work, size_t count, struct cycle *cycle,
                struct status *status);

#endif
