/* Results as tables: for a terminal, Markdown, CSV. (JSON is result_set_write().) */
#ifndef RIDGE_BENCH_PRINT_PRINT_H
#define RIDGE_BENCH_PRINT_PRINT_H

#include "base/section.h"
#include "bench/results/compare.h"
#include "bench/results/result.h"

/* One table per experiment, across devices, followed by its conclusions. */
bool print_results(const struct result_set *set, const struct section_style *style,
                   struct output *output, struct status *status);
bool print_comparison(const struct comparison_set *set, const struct section_style *style,
                      struct output *output, struct status *status);
bool print_roofs(const struct roofs *roofs, const struct section_style *style,
                 struct output *output, struct status *status);

/* "1.979 TFLOP/s", "4.1 GB/s", "3.2 µs": the value of a roof as people read it. */
char *print_roof_value(enum roof_kind kind, double value, char text[48]);
/* The same for one roof: what int8 units do are no FLOPs, and "240.1 TOP/s". */
char *print_value_of_roof(enum roof_id roof, double value, char text[48]);
/* Seconds of Unix time as "2026-11-15 08:12", on this machine's clock. */
char *print_moment(int64_t at, char text[40]);

/* Spans, in the order of their starts, as a line of characters on an axis of `length` nanoseconds:
 * `cells` of them, or fewer when there are fewer nanoseconds or more than 512 cells. */
void print_timeline(const struct span *spans, size_t count, int64_t length, unsigned cells,
                    struct output *output);

#endif
