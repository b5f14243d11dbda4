/* The parts of print_results(), one file each. */
#ifndef RIDGE_BENCH_PRINT_PRINT_RESULTS_H
#define RIDGE_BENCH_PRINT_PRINT_RESULTS_H

#include "bench/print/print_sheet.h"

/* The pictures of those rows that have spans, rows of one label on one axis. */
void print_timelines(const struct sheet *sheet, struct output *output);
/* All results as one CSV table: raw figures, units in the names of the columns. */
void print_results_csv(const struct result_set *set, bool header, struct output *output);

#endif
