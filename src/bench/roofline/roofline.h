/* The roofline, as tables or as a picture: attainable rate over operational intensity, both
 * logarithmic, with the measured roofs and, if there are any, pieces of work as dots below them.
 */
#ifndef RIDGE_BENCH_ROOFLINE_ROOFLINE_H
#define RIDGE_BENCH_ROOFLINE_ROOFLINE_H

#include "base/section.h"
#include "bench/roofs/roofs.h"

struct roofline_dot {
    const char *label;
    double intensity; /* operations a byte */
    double rate;      /* operations a second */
};

/* As tables, of text or Markdown. */
bool roofline_table(const struct roofs *roofs, const struct roofline_dot *dots, size_t count,
                    const struct section_style *style, struct output *output,
                    struct status *status);

/* A picture for a slide: one self-contained SVG file, readable in light and dark and in print.
 * Labels are data: nothing in them can become markup. */
bool roofline_svg(const struct roofs *roofs, const struct roofline_dot *dots, size_t count,
                  struct output *output, struct status *status);

#endif
