/* Results as tables: for a terminal, Markdown, CSV. (JSON is result_set_write().) */
#ifndef RIDGE_BENCH_PRINT_H
#define RIDGE_BENCH_PRINT_H

#include "base/table.h"
#include "bench/compare.h"
#include "bench/result.h"

struct print_style {
    enum table_style style;
    unsigned width; /* of the terminal; 0: no limit */
};

/* One table per experiment, across devices, with what it means under it. */
bool print_results(const struct result_set *set, const struct print_style *style,
                   struct output *output, struct status *status);
bool print_comparison(const struct comparison_set *set, const struct print_style *style,
                      struct output *output, struct status *status);
bool print_roofs(const struct roofs *roofs, const struct print_style *style, struct output *output,
                 struct status *status);

/* "1.979 TFLOP/s", "4.1 GB/s", "3.2 µs": the value of a roof as people read it. */
char *print_roof_value(enum roof_kind kind, double value, char text[48]);

/* Spans as a line of characters on an axis of `length` nanoseconds. */
void print_timeline(const struct span *spans, size_t count, int64_t length, unsigned cells,
                    struct output *output);

#endif
