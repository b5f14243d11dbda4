/* The dots of the SVG plot, each with its name if there is space, and always with a tooltip. A
 * dot beyond the axes is drawn hollow at the edge. */
#include <math.h>

#include "bench/print/print.h"
#include "bench/roofline/drawing.h"

enum { LABEL_CHARACTERS = 40, LABELLED_MAX = 150 /* more than can find room */ };
static const double DOT = 5, LABEL_HEIGHT = 16;

static bool in_plot(const struct drawing *drawing, const struct roofline_dot *dot) {
    return scale_contains(&drawing->picture.intensity, dot->intensity) &&
           scale_contains(&drawing->picture.rate, dot->rate);
}

static bool write_dot(struct drawing *drawing, const struct roofline_dot *dot) {
    double x = drawing_x(drawing, dot->intensity), y = drawing_y(drawing, dot->rate);
    bool inside = in_plot(drawing, dot);
    char rate[48], number[TICK_SIZE];
    output_printf(drawing->output,
                  "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.0f\" class=\"%s\"><title>", x, y, DOT,
                  inside ? "dot" : "outside");
    bool ok = drawing_foreign(drawing, dot->label, 120);
    output_printf(drawing->output, ": %s at %s FLOP/byte%s</title></circle>\n",
                  print_roof_value(ROOF_RATE, dot->rate, rate),
                  roofline_number(dot->intensity, number),
                  inside ? "" : ", which is outside this plot");
    return ok && label_space_take(&drawing->label_space,
                                  (struct box){x - DOT - 1, y - DOT - 1, x + DOT + 1, y + DOT + 1},
                                  drawing->status);
}

/* A label that had to go further away gets a line to its dot. */
static void write_pointer(struct drawing *drawing, double x, double y, const struct box *box) {
    double to_x = fmin(fmax(x, box->left), box->right);
    double to_y = fmin(fmax(y, box->top), box->bottom);
    double distance = hypot(to_x - x, to_y - y);
    if (distance > 2 * DOT + 6)
        drawing_line(drawing, x + (to_x - x) * DOT / distance, y + (to_y - y) * DOT / distance,
                     to_x, to_y, "pointer");
}

static bool write_dot_label(struct drawing *drawing, const struct roofline_dot *dot) {
    double x = drawing_x(drawing, dot->intensity), y = drawing_y(drawing, dot->rate);
    struct buffer label = {0};
    struct box box;
    bool found = false;
    bool ok = roofline_label(text_of(dot->label), LABEL_CHARACTERS, &label, drawing->status);
    if (ok && !in_plot(drawing, dot)) {
        buffer_string(&label, " (outside)");
        ok = buffer_ok(&label, drawing->status);
    }
    ok = ok && label_place(&drawing->label_space, x, y, drawing_label_width(buffer_as_text(&label)),
                           LABEL_HEIGHT, &box, &found, drawing->status);
    drawing->unlabelled += !found;
    if (ok && found) {
        write_pointer(drawing, x, y, &box);
        output_printf(drawing->output, "<text x=\"%.1f\" y=\"%.1f\" class=\"label halo\">",
                      box.left, box.bottom - 4);
        drawing_escaped(drawing->output, buffer_as_text(&label));
        output_printf(drawing->output, "</text>\n");
    }
    buffer_finish(&label);
    return ok;
}

bool drawing_dots(struct drawing *drawing) {
    unsigned labelled = 0;
    for (size_t i = 0; i < drawing->count; i++)
        if (roofline_has_place(&drawing->dots[i]) && !write_dot(drawing, &drawing->dots[i]))
            return false;
    for (size_t i = 0; i < drawing->count; i++) {
        if (!roofline_has_place(&drawing->dots[i]))
            continue;
        if (labelled++ >= LABELLED_MAX)
            drawing->unlabelled++;
        else if (!write_dot_label(drawing, &drawing->dots[i]))
            return false;
    }
    return true;
}
