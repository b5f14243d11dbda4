/* One experiment's table: its rows in order, the columns that fit, and its cells. */
#ifndef RIDGE_BENCH_PRINT_PRINT_SHEET_H
#define RIDGE_BENCH_PRINT_PRINT_SHEET_H

#include "bench/print/print_parts.h"

enum sheet_column {
    SHEET_LABEL,
    SHEET_VARIANT,
    SHEET_DEVICE,
    SHEET_TYPE,
    SHEET_TIME,
    SHEET_SPREAD,
    SHEET_CURVE,
    SHEET_SPEEDUP,
    SHEET_DEVICE_TIME,
    SHEET_KERNELS,
    SHEET_BYTE_RATE,
    SHEET_FLOP_RATE,
    SHEET_SHARE, /* of the roof; on a terminal with the roof's name behind it */
    SHEET_ROOF,
    SHEET_AT_ROOF,
    SHEET_PEER,
    SHEET_RATIO,
    SHEET_ERROR,
    SHEET_COLUMNS
};

struct sheet {
    const struct result_set *set;
    const struct print_style *style;
    const struct result **rows;   /* the lines of one case on several devices are neighbours */
    const struct result **before; /* the result each is compared with, or NULL */
    size_t count;
    struct print_scale scales[SHEET_COLUMNS];
    bool several_devices, several_types, several_variants, several_kernels;
    size_t share_width, mark_width;
    const char **notes; /* that marks stand for, each once */
    size_t note_count;
    unsigned bar_cells;
    bool shown[SHEET_COLUMNS];
    bool labels_apart; /* labels are lines above their rows */
};

/* The experiment's results of the set. Finish it on failure too. */
bool sheet_init(struct sheet *sheet, const struct result_set *set, const char *experiment,
                const struct print_style *style, struct status *status);
void sheet_finish(struct sheet *sheet);
void sheet_write(struct sheet *sheet, struct output *output);

/* The cell's text; `row` counts from 0. */
void sheet_cell(const struct sheet *sheet, size_t row, enum sheet_column column,
                struct buffer *text);
const char *sheet_title(const struct sheet *sheet, enum sheet_column column, char text[64]);
/* Chooses the columns: for a terminal those that fit, in the order of their worth; else those that
 * have something in them. */
void sheet_choose(struct sheet *sheet);
/* Selects the peer's columns instead, for a separate table if one is too narrow. */
void sheet_show_peer(struct sheet *sheet);

/* The column's value: nanoseconds, bytes or flops per second; NaN: none. */
double sheet_value(const struct result *result, enum sheet_column column);

/* "memory", "f16 matrix", "launch": what binds. */
const char *sheet_roof_name(const struct result *result);
/* The mark of note `number` (from 0): a superscript. */
void sheet_mark(size_t number, struct buffer *text);

#endif
