/* One experiment's rows, shared by its table and its timelines. */
#ifndef RIDGE_BENCH_PRINT_PRINT_RESULTS_H
#define RIDGE_BENCH_PRINT_PRINT_RESULTS_H

#include "bench/print/print_parts.h"

struct sheet {
    const struct result_set *set;
    const struct section_style *style;
    const struct result **rows;   /* the lines of one case on several devices are neighbors */
    const struct result **before; /* the result each is compared with, or NULL */
    size_t count;
    bool several_devices, several_types, several_kernels;
    const char **notes; /* that marks stand for, each once */
    size_t note_count;
};

/* The experiment's results of the set; NULL: all results, in order. Finish it on failure too. */
bool sheet_init(struct sheet *sheet, const struct result_set *set, const char *experiment,
                const struct section_style *style, struct status *status);
void sheet_finish(struct sheet *sheet);

/* The pictures of those rows that have spans, rows of one label on one axis. */
void print_timelines(const struct sheet *sheet, struct output *output);

#endif
