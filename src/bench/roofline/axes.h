/* The content of a roofline plot, as text or SVG: the slopes of memory and cache, the ceilings
 * of arithmetic, their ridge points, and two logarithmic axes that include all of these and
 * nearly all dots. */
#ifndef RIDGE_BENCH_ROOFLINE_AXES_H
#define RIDGE_BENCH_ROOFLINE_AXES_H

#include "base/text.h"
#include "bench/roofline/roofline.h"

enum { SLOPES_MAX = 2, CEILINGS_MAX = 8, TICKS_MAX = 256, TICK_SIZE = 24 };

struct scale {
    double low, high; /* low is above 0 */
};

struct roofline_line {
    enum roof_id roof;
    const char *name; /* "memory"; "bf16": of matrix units when `matrix` */
    double value;     /* bytes or operations a second */
    bool matrix;
};

struct roofline {
    struct roofline_line slopes[SLOPES_MAX]; /* slowest first */
    unsigned slope_count;
    struct roofline_line ceilings[CEILINGS_MAX]; /* lowest first */
    unsigned ceiling_count;
    struct scale intensity, rate;
};

/* False if there is nothing to draw: no measured roof and no valid dot. */
bool roofline_arrange(const struct roofs *roofs, const struct roofline_dot *dots, size_t count,
                      struct roofline *picture);
/* The intensity at which the first slope reaches a ceiling; 0 if there is no slope. */
double roofline_ridge(const struct roofline *picture, const struct roofline_line *ceiling);
/* Whether a dot can be drawn: both of its numbers are finite and above 0. */
bool roofline_has_place(const struct roofline_dot *dot);

/* 0 at the scale's low end, 1 at its high end, and beyond. */
double scale_place(const struct scale *scale, double value);
/* The same, clamped to 0..1. */
double scale_place_inside(const struct scale *scale, double value);
bool scale_contains(const struct scale *scale, double value);

struct tick {
    double value;
    bool labeled;
};
/* 1, 2, 3 ... 9, 10, 20 ...: those of the scale, ascending; returns how many. */
unsigned scale_ticks(const struct scale *scale, struct tick ticks[TICKS_MAX]);
/* 0.1 as "0.1", 1e7 as "1e+07". */
char *tick_number(double value, char text[TICK_SIZE]);
/* 1e11 with the unit "FLOP/s" as "100 GFLOP/s". */
char *tick_rate(double value, const char *unit, char text[TICK_SIZE]);
/* An intensity as people read it: "0.25", "14.0", "326". */
char *roofline_number(double value, char text[TICK_SIZE]);

/* Appends untrusted text as one line of at most `width` (8 or more) characters of valid UTF-8
 * without control characters; longer text ends in "…". */
bool roofline_label(struct text label, unsigned width, struct buffer *into, struct status *status);

#endif
