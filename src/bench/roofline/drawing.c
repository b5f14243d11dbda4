/* Page coordinates and SVG elements. Numbers have one decimal: a tenth of a pixel is invisible. */
#include "bench/roofline/drawing.h"

#include "base/table.h"

const struct box drawing_plot = {122, 104, 930, 630};

double drawing_x(const struct drawing *drawing, double intensity) {
    double place = scale_place_inside(&drawing->picture.intensity, intensity);
    return drawing_plot.left + place * (drawing_plot.right - drawing_plot.left);
}

double drawing_y(const struct drawing *drawing, double rate) {
    double place = scale_place_inside(&drawing->picture.rate, rate);
    return drawing_plot.bottom - place * (drawing_plot.bottom - drawing_plot.top);
}

/* Nothing in the text can end an element or start one. U+FFFE and U+FFFF are no XML. */
void drawing_escaped(struct output *output, struct text text) {
    for (size_t i = 0; i < text.length; i++) {
        const char *byte = text.data + i;
        struct text rest = {byte, text.length - i};
        switch (*byte) {
        case '&':
            output_printf(output, "&amp;");
            break;
        case '<':
            output_printf(output, "&lt;");
            break;
        case '>':
            output_printf(output, "&gt;");
            break;
        case '"':
            output_printf(output, "&quot;");
            break;
        default:
            if (text_starts(rest, "\xEF\xBF\xBE") || text_starts(rest, "\xEF\xBF\xBF")) {
                output_printf(output, "\xEF\xBF\xBD");
                i += 2;
            } else {
                output_write(output, byte, 1);
            }
        }
    }
}

/* An untrusted text, as one line. */
bool drawing_foreign(struct drawing *drawing, const char *text, unsigned width) {
    struct buffer line = {0};
    bool ok = roofline_label(text_of(text), width, &line, drawing->status);
    if (ok)
        drawing_escaped(drawing->output, buffer_as_text(&line));
    buffer_finish(&line);
    return ok;
}

void drawing_text(struct drawing *drawing, double x, double y, const char *class,
                  const char *anchor, const char *text) {
    output_printf(drawing->output, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">",
                  x, y, class, anchor);
    drawing_escaped(drawing->output, text_of(text));
    output_printf(drawing->output, "</text>\n");
}

void drawing_line(struct drawing *drawing, double x1, double y1, double x2, double y2,
                  const char *class) {
    output_printf(drawing->output,
                  "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1, y1,
                  x2, y2, class);
}

double drawing_label_width(struct text text) {
    return (double)table_text_width(text) * 7.1;
}
