/* The loop in a sequence of names: what repeats exactly, again and again. */
#ifndef RIDGE_ANALYSIS_CYCLE_H
#define RIDGE_ANALYSIS_CYCLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A interval of a sequence that repeats with a period, at least three times. */
struct cycle {
    size_t first, end, period; /* period 0: there is none */
};

/* `work` says how much each row has, none below 0; NULL: they are alike. False when memory does not
 * suffice. */
bool cycle_find(const uint32_t *names, const int64_t *work, size_t count, struct cycle *cycle,
                struct status *status);

#endif
