/* A roofline being written as SVG: page coordinates, and the few elements that it uses.
 * Untrusted text goes through drawing_foreign() or drawing_escaped(). */
#ifndef RIDGE_BENCH_ROOFLINE_DRAWING_H
#define RIDGE_BENCH_ROOFLINE_DRAWING_H

#include "bench/roofline/axes.h"
#include "bench/roofline/label_placement.h"

struct drawing {
    const struct roofs *roofs;
    const struct roofline_dot *dots;
    size_t count;
    struct roofline picture;
    struct label_space label_space; /* inside the plot */
    struct output *output;
    struct status *status;
    unsigned unlabelled; /* dots */
};

extern const struct box drawing_plot; /* the part of the page between the axes */

double drawing_x(const struct drawing *drawing, double intensity);
double drawing_y(const struct drawing *drawing, double rate);

void drawing_line(struct drawing *drawing, double x1, double y1, double x2, double y2,
                  const char *class);
void drawing_text(struct drawing *drawing, double x, double y, const char *class,
                  const char *anchor, const char *text);
/* About how wide a label is in the smaller letters; browsers have various fonts. */
double drawing_label_width(struct text text);
/* Only the text, escaped. */
void drawing_escaped(struct output *output, struct text text);
/* The same for text of any bytes and length, as one line of at most `width` characters. */
bool drawing_foreign(struct drawing *drawing, const char *text, unsigned width);

/* The parts of the plot; each reserves its space. */
bool drawing_roofs(struct drawing *drawing);
bool drawing_dots(struct drawing *drawing);

#endif
