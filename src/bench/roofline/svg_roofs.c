/* The roofs of the SVG picture: slopes with their names along them, ceilings, the ridge points
 * where they meet, and at the right ends of the ceilings a table of what they are, its rows moved
 * apart where the lines lie close. */
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "base/array.h"
#include "bench/print/print.h"
#include "bench/roofline/drawing.h"

enum { NAME_AT = 33, RATE_AT = 250, RIDGE_AT = 314 }; /* columns of the table */
static const double ROW = 21;                         /* of the table */
static const double SLOPE_LETTER = 7.4;

static double highest_rate(const struct roofline *picture) {
    return picture->ceiling_count > 0 ? picture->ceilings[picture->ceiling_count - 1].value
                                      : picture->rate.high;
}

/* From where a slope enters the plot to where it meets the highest ceiling or leaves. */
static struct segment slope_segment(const struct drawing *drawing, double bandwidth) {
    const struct roofline *picture = &drawing->picture;
    double from = fmax(picture->intensity.low, picture->rate.low / bandwidth);
    double to = fmin(picture->intensity.high, highest_rate(picture) / bandwidth);
    to = fmax(to, from);
    return (struct segment){drawing_x(drawing, from), drawing_y(drawing, from * bandwidth),
                            drawing_x(drawing, to), drawing_y(drawing, to * bandwidth)};
}

/* The region attainable from memory, shaded. */
static void write_attainable(struct drawing *drawing) {
    const struct roofline *picture = &drawing->picture;
    if (picture->slope_count == 0)
        return;
    struct segment slope = slope_segment(drawing, picture->slopes[0].value);
    output_printf(drawing->output,
                  "<polygon class=\"under\" points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f "
                  "%.1f,%.1f\"/>\n",
                  slope.x1, drawing_plot.bottom, slope.x1, slope.y1, slope.x2, slope.y2,
                  drawing_plot.right, slope.y2, drawing_plot.right, drawing_plot.bottom);
}

/* A label along a slope is a slanted strip: small boxes reserve its space. */
static bool take_strip(struct drawing *drawing, double x, double y, double angle, double length) {
    enum { PIECES = 12 };
    for (int i = 0; i < PIECES; i++) {
        double along = (i + 0.5) / PIECES * length - length / 2;
        double px = x + along * cos(angle), py = y - along * sin(angle);
        double half = length / PIECES / 2 + 4;
        if (!label_space_take(&drawing->label_space,
                              (struct box){px - half, py - half - 4, px + half, py + half},
                              drawing->status))
            return false;
    }
    return true;
}

struct slanted {
    double x, y, angle, length; /* the middle, the direction in radians, along it */
};

static unsigned dots_under(const struct drawing *drawing, const struct slanted *label) {
    unsigned count = 0;
    for (size_t i = 0; i < drawing->count; i++) {
        if (!roofline_has_place(&drawing->dots[i]))
            continue;
        double dx = drawing_x(drawing, drawing->dots[i].intensity) - label->x;
        double dy = label->y - drawing_y(drawing, drawing->dots[i].rate);
        double along = dx * cos(label->angle) + dy * sin(label->angle);
        double across = dy * cos(label->angle) - dx * sin(label->angle);
        count += fabs(along) < label->length / 2 + 8 && fabs(across) < 18;
    }
    return count;
}

/* A slope's name is placed along its part below the ceilings, where it covers the fewest dots:
 * below the first slope, above the second. */
static struct slanted place_slope_name(const struct drawing *drawing, unsigned index,
                                       const struct segment *line, double length) {
    static const double shares[] = {0.55, 0.4, 0.7, 0.25, 0.85, 0.15};
    const struct roofline *picture = &drawing->picture;
    double lowest = picture->ceiling_count > 0 ? picture->ceilings[0].value : picture->rate.high;
    double bend = fmax(drawing_y(drawing, lowest), line->y2);
    double share = line->y1 > line->y2 ? (line->y1 - bend) / (line->y1 - line->y2) : 1;
    double angle = atan2(line->y1 - line->y2, line->x2 - line->x1);
    double away = index == 0 ? 19 : -9;
    struct slanted best = {0};
    unsigned fewest = UINT_MAX;
    for (unsigned i = 0; i < ARRAY_COUNT(shares); i++) {
        struct slanted name = {
            line->x1 + (line->x2 - line->x1) * share * shares[i] + away * sin(angle),
            line->y1 + (line->y2 - line->y1) * share * shares[i] + away * cos(angle), angle,
            length};
        unsigned under = dots_under(drawing, &name);
        if (under < fewest) {
            fewest = under;
            best = name;
        }
    }
    return best;
}

static bool write_slope(struct drawing *drawing, unsigned index) {
    const struct roofline_line *slope = &drawing->picture.slopes[index];
    struct segment line = slope_segment(drawing, slope->value);
    char value[48], text[80];
    drawing_line(drawing, line.x1, line.y1, line.x2, line.y2, index == 0 ? "slope" : "slope cache");
    if (!label_space_line(&drawing->label_space, line, drawing->status))
        return false;
    snprintf(text, sizeof text, "%s %s", slope->name,
             print_value_of_roof(slope->roof, slope->value, value));
    struct slanted name =
        place_slope_name(drawing, index, &line, (double)strlen(text) * SLOPE_LETTER);
    output_printf(drawing->output,
                  "<text transform=\"translate(%.1f %.1f) rotate(%.2f)\" class=\"halo\" "
                  "text-anchor=\"middle\">%s</text>\n",
                  name.x, name.y, -name.angle * 180 / 3.14159265358979, text);
    return take_strip(drawing, name.x, name.y - 4, name.angle, name.length);
}

/* Faint between the slopes, which only data in the cache can reach. */
static bool write_ceiling(struct drawing *drawing, const struct roofline_line *ceiling) {
    const struct roofline *picture = &drawing->picture;
    const char *class = ceiling->matrix ? "matrix" : "ceiling";
    char faint[24];
    unsigned slopes = picture->slope_count;
    double y = drawing_y(drawing, ceiling->value);
    double solid =
        slopes ? drawing_x(drawing, ceiling->value / picture->slopes[0].value) : drawing_plot.left;
    if (slopes > 1) {
        snprintf(faint, sizeof faint, "%s faint", class);
        drawing_line(drawing, drawing_x(drawing, ceiling->value / picture->slopes[1].value), y,
                     solid, y, faint);
    }
    drawing_line(drawing, solid, y, drawing_plot.right, y, class);
    return label_space_line(&drawing->label_space,
                            (struct segment){solid, y, drawing_plot.right, y}, drawing->status);
}

/* A dashed line from a ridge point to the scale, with the intensity at its foot. */
static bool write_drop(struct drawing *drawing, const struct roofline_line *ceiling, bool left) {
    double ridge = roofline_ridge(&drawing->picture, ceiling);
    double x = drawing_x(drawing, ridge);
    char number[TICK_SIZE], text[64];
    if (!scale_contains(&drawing->picture.intensity, ridge))
        return true;
    drawing_line(drawing, x, drawing_y(drawing, ceiling->value), x, drawing_plot.bottom, "drop");
    snprintf(text, sizeof text, "%s%s ridge %s", ceiling->name, ceiling->matrix ? " matrix" : "",
             roofline_number(ridge, number));
    drawing_text(drawing, left ? x - 6 : x + 6, drawing_plot.bottom - 9, "small halo",
                 left ? "end" : "start", text);
    double width = drawing_label_width(text_of(text));
    struct box box = {left ? x - 6 - width : x + 2, drawing_plot.bottom - 24,
                      left ? x - 2 : x + 6 + width, drawing_plot.bottom - 3};
    return label_space_take(&drawing->label_space, box, drawing->status) &&
           label_space_line(
               &drawing->label_space,
               (struct segment){x, drawing_y(drawing, ceiling->value), x, drawing_plot.bottom},
               drawing->status);
}

/* The outermost two ridge points go down to the scale; all are in the table at the right. */
static bool write_ridges(struct drawing *drawing) {
    const struct roofline *picture = &drawing->picture;
    unsigned count = picture->ceiling_count;
    if (picture->slope_count == 0 || count == 0)
        return true;
    if (!write_drop(drawing, &picture->ceilings[0], count > 1) ||
        (count > 1 && !write_drop(drawing, &picture->ceilings[count - 1], false)))
        return false;
    for (unsigned i = 0; i < count; i++)
        if (scale_contains(&picture->intensity, roofline_ridge(picture, &picture->ceilings[i])))
            output_printf(drawing->output,
                          "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" class=\"ridge\"/>\n",
                          drawing_x(drawing, roofline_ridge(picture, &picture->ceilings[i])),
                          drawing_y(drawing, picture->ceilings[i].value));
    return true;
}

/* Rows as close to their lines as possible without overlap: each starts at its line, then
 * overlapping groups are spread around the middle of their lines. */
static void spread_rows(const double *wanted, double *rows, unsigned count, double top) {
    for (unsigned i = 0; i < count; i++)
        rows[i] = wanted[i];
    for (unsigned pass = 0; pass < 200; pass++)
        for (unsigned i = 0; i + 1 < count; i++) {
            double overlap = ROW - (rows[i] - rows[i + 1]); /* lowest ceiling first: y falls */
            if (overlap > 0.01) {
                rows[i] += overlap / 2;
                rows[i + 1] -= overlap / 2;
            }
        }
    for (unsigned i = count; i-- > 0;) /* from the top down: nothing above the headings */
        rows[i] = fmax(rows[i], i + 1 < count ? rows[i + 1] + ROW : top);
}

static void write_row(struct drawing *drawing, const struct roofline_line *ceiling, double y) {
    double ridge = roofline_ridge(&drawing->picture, ceiling),
           line = drawing_y(drawing, ceiling->value);
    char name[40], value[48], number[TICK_SIZE];
    const char *class = ceiling->matrix ? "name-matrix" : "name-ceiling";
    output_printf(drawing->output,
                  "<path d=\"M%.1f %.1f L%.1f %.1f L%.1f %.1f\" class=\"%s leader\"/>\n",
                  drawing_plot.right, line, drawing_plot.right + 20, y, drawing_plot.right + 27, y,
                  ceiling->matrix ? "matrix" : "ceiling");
    snprintf(name, sizeof name, "%s%s", ceiling->name, ceiling->matrix ? " matrix" : "");
    drawing_text(drawing, drawing_plot.right + NAME_AT, y + 5, class, "start", name);
    drawing_text(drawing, drawing_plot.right + RATE_AT, y + 5, class, "end",
                 print_value_of_roof(ceiling->roof, ceiling->value, value));
    if (ridge > 0)
        drawing_text(drawing, drawing_plot.right + RIDGE_AT, y + 5, "muted", "end",
                     roofline_number(ridge, number));
}

static void write_table(struct drawing *drawing) {
    const struct roofline *picture = &drawing->picture;
    double wanted[CEILINGS_MAX], rows[CEILINGS_MAX];
    unsigned count = picture->ceiling_count;
    if (count == 0)
        return;
    for (unsigned i = 0; i < count; i++)
        wanted[i] = drawing_y(drawing, picture->ceilings[i].value);
    spread_rows(wanted, rows, count, drawing_plot.top + 14);
    for (unsigned i = 0; i < count; i++)
        write_row(drawing, &picture->ceilings[i], rows[i]);
    drawing_text(drawing, drawing_plot.right + NAME_AT, rows[count - 1] - ROW, "small", "start",
                 "roof");
    drawing_text(drawing, drawing_plot.right + RATE_AT, rows[count - 1] - ROW, "small", "end",
                 "rate");
    if (picture->slope_count == 0)
        return;
    drawing_text(drawing, drawing_plot.right + RIDGE_AT, rows[count - 1] - ROW, "small", "end",
                 "ridge");
    drawing_text(drawing, drawing_plot.right + NAME_AT, rows[0] + ROW + 14, "small", "start",
                 "ridge: FLOP/byte above which arithmetic");
    drawing_text(drawing, drawing_plot.right + NAME_AT, rows[0] + ROW + 31, "small", "start",
                 "takes longer than memory");
}

bool drawing_roofs(struct drawing *drawing) {
    const struct roofline *picture = &drawing->picture;
    write_attainable(drawing);
    for (unsigned i = 0; i < picture->ceiling_count; i++)
        if (!write_ceiling(drawing, &picture->ceilings[i]))
            return false;
    for (unsigned i = 0; i < picture->slope_count; i++)
        if (!write_slope(drawing, i))
            return false;
    write_table(drawing);
    return write_ridges(drawing);
}
