/* Synthetic results, for tests of files and tables. */
#ifndef RIDGE_TESTS_UNIT_BENCH_MADE_UP_H
#define RIDGE_TESTS_UNIT_BENCH_MADE_UP_H

#include <stdio.h>
#include <string.h>

#include "bench/results/result.h"

/* Samples spread evenly around `ns`; the middle half of them within `spread` of it. */
static inline struct measurement made_up_times(double ns, double spread) {
    struct measurement made = {.sample_count = 31, .calls = 3, .warm_up_calls = 9, .steady = true};
    double sorted[MEASURE_SAMPLES];
    for (int i = 0; i < 31; i++)
        made.samples[i] = ns * (1 + spread * (i - 15) / 7.5);
    memcpy(sorted, made.samples, sizeof sorted);
    made.time = statistics_summarize(sorted, made.sample_count);
    return made;
}

static inline struct result made_up_result(const char *experiment, const char *label,
                                           const char *variant, double ns) {
    struct result made = {.time = made_up_times(ns, 0.01)};
    snprintf(made.experiment, sizeof made.experiment, "%s", experiment);
    snprintf(made.device, sizeof made.device, "cpu");
    snprintf(made.label, sizeof made.label, "%s", label);
    snprintf(made.variant, sizeof made.variant, "%s", variant);
    made.amount.bytes = 1000000;
    made.amount.flops = 250000;
    made.limit = (struct limit){.kind = LIMIT_MEMORY, .roof = ROOF_MEMORY_COPY, .ns = 50000};
    return made;
}

#endif
