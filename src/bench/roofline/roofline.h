/* The roofline as a picture: attainable rate over operational intensity, both logarithmic, with the
 * measured roofs and, if there are any, pieces of work as dots below them.
 */
#ifndef RIDGE_BENCH_ROOFLINE_ROOFLINE_H
#define RIDGE_BENCH_ROOFLINE_ROOFLINE_H

#include "bench/roofs/roofs.h"

struct roofline_dot {
    const char *label;
    double intensity; /* operations a byte */
    double rate;      /* operations a second */
};

/* For a terminal of `width` columns (at least 60); about 20 lines. `ascii`: no block characters. */
bool roofline_text(const struct roofs *roofs, const struct roofline_dot *dots, size_t count,
                   unsigned width, bool ascii, struct output *output, struct status *status);

/* A picture for a slide: one self-contained SVG file, readable in light and dark and in print.
 * Labels are data: nothing in them can become markup. */
bool roofline_svg(const struct roofs *roofs, const struct roofline_dot *dots, size_t count,
                  struct output *output, struct status *status);

#endif
