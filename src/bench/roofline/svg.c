/* The roofline as an SVG file for a slide. The plot is on the left; the ceilings are named in a
 * small table at their right ends, spread where they are close, with the intensity at which each
 * meets the memory slope. Colors distinguish ordinary arithmetic from matrix units and suit
 * red-green color blindness; without color the line weight distinguishes them. The styles use
 * no CSS variables, which converters outside browsers do not support. */
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "base/array.h"
#include "base/table.h"
#include "bench/print/print.h"
#include "bench/roofline/axes.h"
#include "bench/roofline/label_placement.h"

/* Untrusted text goes through drawing_foreign() or drawing_escaped(). */
struct drawing {
    const struct roofs *roofs;
    const struct roofline_dot *dots;
    size_t count;
    struct roofline picture;
    struct label_space label_space; /* inside the plot */
    struct output *output;
    struct status *status;
    unsigned unlabeled; /* dots */
};

/* The part of the page between the axes. */
static const struct box drawing_plot = {122, 104, 930, 630};

static double drawing_x(const struct drawing *drawing, double intensity) {
    double place = scale_place_inside(&drawing->picture.intensity, intensity);
    return drawing_plot.left + place * (drawing_plot.right - drawing_plot.left);
}

static double drawing_y(const struct drawing *drawing, double rate) {
    double place = scale_place_inside(&drawing->picture.rate, rate);
    return drawing_plot.bottom - place * (drawing_plot.bottom - drawing_plot.top);
}

/* Only the text, escaped: nothing in it can end an element or start one. U+FFFE and U+FFFF are no
 * XML. */
static void drawing_escaped(struct output *output, struct text text) {
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
/* The same for text of any bytes and length, as one line of at most `width` characters. */
static bool drawing_foreign(struct drawing *drawing, const char *text, unsigned width) {
    struct buffer line = {0};
    bool ok = roofline_label(text_of(text), width, &line, drawing->status);
    if (ok)
        drawing_escaped(drawing->output, buffer_as_text(&line));
    buffer_finish(&line);
    return ok;
}

static void drawing_text(struct drawing *drawing, double x, double y, const char *class,
                         const char *anchor, const char *text) {
    output_printf(drawing->output, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">",
                  x, y, class, anchor);
    drawing_escaped(drawing->output, text_of(text));
    output_printf(drawing->output, "</text>\n");
}

static void drawing_line(struct drawing *drawing, double x1, double y1, double x2, double y2,
                         const char *class) {
    output_printf(drawing->output,
                  "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1, y1,
                  x2, y2, class);
}

/* About how wide a label is in the smaller letters; browsers have various fonts. */
static double drawing_label_width(struct text text) {
    return (double)table_text_width(text) * 7.1;
}

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

enum { LABEL_CHARACTERS = 40, LABELED_MAX = 150 /* more than can find room */ };
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
    drawing->unlabeled += !found;
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
    unsigned labeled = 0;
    for (size_t i = 0; i < drawing->count; i++)
        if (roofline_has_place(&drawing->dots[i]) && !write_dot(drawing, &drawing->dots[i]))
            return false;
    for (size_t i = 0; i < drawing->count; i++) {
        if (!roofline_has_place(&drawing->dots[i]))
            continue;
        if (labeled++ >= LABELED_MAX)
            drawing->unlabeled++;
        else if (!write_dot_label(drawing, &drawing->dots[i]))
            return false;
    }
    return true;
}

enum { WIDTH = 1280, HEIGHT = 720 };

static void write_opening(struct drawing *drawing) {
    output_printf(
        drawing->output,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
        "height=\"%d\" role=\"img\">\n"
        "<style>\n"
        "text { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', "
        "Arial, sans-serif; font-size: 14px; fill: #1c2430 }\n"
        ".page { fill: #ffffff } .under { fill: #0072b2; fill-opacity: 0.05 }\n"
        ".title { font-size: 25px; font-weight: 600 } .muted { fill: #5a6675 }\n"
        ".small { font-size: 12.5px; fill: #5a6675 } .warning { fill: #a33c00 }\n"
        ".grid { stroke: #d5dae1; stroke-width: 1 } .fine { stroke: #edf0f3; stroke-width: 1 }\n"
        ".frame { stroke: #5a6675; stroke-width: 1.2 }\n"
        ".slope, .ceiling, .matrix, .faint, .leader, .drop { fill: none; stroke-linecap: round }\n"
        ".slope { stroke: #1c2430; stroke-width: 3 }\n"
        ".cache { stroke-width: 2; stroke-dasharray: 9 6 }\n"
        ".ceiling { stroke: #0072b2; stroke-width: 2 }\n"
        ".matrix { stroke: #d55e00; stroke-width: 3.2 }\n"
        ".faint { stroke-width: 1; stroke-dasharray: 2 5 }\n"
        ".leader { stroke-width: 1 } .drop { stroke: #5a6675; stroke-dasharray: 4 4 }\n"
        ".name-ceiling { fill: #00598c } .name-matrix { fill: #a84a00 }\n"
        ".ridge { fill: #ffffff; stroke: #1c2430; stroke-width: 1.8 }\n"
        ".dot { fill: #1c2430; stroke: #ffffff; stroke-width: 1.2 }\n"
        ".outside { fill: #ffffff; stroke: #1c2430; stroke-width: 2 }\n"
        ".pointer { stroke: #5a6675; stroke-width: 0.8 }\n"
        ".label { font-size: 12.5px } .halo { stroke: #ffffff; stroke-width: 4; stroke-linejoin: "
        "round; paint-order: stroke }\n"
        "@media screen and (prefers-color-scheme: dark) {\n"
        "text { fill: #e6eaf0 } .page { fill: #11161d } .under { fill: #56b4e9; fill-opacity: "
        "0.07 }\n"
        ".muted, .small { fill: #9aa7b6 } .warning { fill: #f0a36b }\n"
        ".grid { stroke: #2d3642 } .fine { stroke: #1c232c } .frame { stroke: #9aa7b6 }\n"
        ".slope { stroke: #e6eaf0 } .ceiling { stroke: #56b4e9 } .matrix { stroke: #e69f00 }\n"
        ".drop, .pointer { stroke: #9aa7b6 }\n"
        ".name-ceiling { fill: #7cc6f0 } .name-matrix { fill: #f0b535 }\n"
        ".ridge, .outside { fill: #11161d; stroke: #e6eaf0 }\n"
        ".dot { fill: #e6eaf0; stroke: #11161d } .halo { stroke: #11161d }\n"
        "}\n"
        "</style>\n"
        "<rect width=\"%d\" height=\"%d\" class=\"page\"/>\n",
        WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
}

static bool write_title(struct drawing *drawing) {
    const struct roofs *roofs = drawing->roofs;
    char line[360], moment[40];
    snprintf(line, sizeof line, "Roofline of %s",
             roofs->description[0] ? roofs->description : "an unknown device");
    output_printf(drawing->output, "<title>");
    bool ok = drawing_foreign(drawing, line, 200);
    output_printf(drawing->output, "</title>\n<text x=\"40\" y=\"46\" class=\"title\">");
    ok = ok && drawing_foreign(drawing, line, 80);
    snprintf(line, sizeof line, "%s%s%s%s%smeasured%s %s by ridge " RIDGE_VERSION, roofs->device,
             roofs->device[0] ? ", " : "", roofs->driver[0] ? "driver " : "", roofs->driver,
             roofs->driver[0] ? ", " : "", roofs->quick ? " quickly" : "",
             print_moment(roofs->measured_at, moment));
    output_printf(drawing->output, "</text>\n<text x=\"40\" y=\"72\" class=\"muted\">");
    ok = ok && drawing_foreign(drawing, line, 140);
    output_printf(drawing->output, "</text>\n");
    return ok;
}

static void write_axes(struct drawing *drawing) {
    struct tick ticks[TICKS_MAX];
    char text[TICK_SIZE];
    unsigned count = scale_ticks(&drawing->picture.intensity, ticks);
    for (unsigned i = 0; i < count; i++) {
        double x = drawing_x(drawing, ticks[i].value);
        drawing_line(drawing, x, drawing_plot.top, x, drawing_plot.bottom,
                     ticks[i].labeled ? "grid" : "fine");
        if (ticks[i].labeled)
            drawing_text(drawing, x, drawing_plot.bottom + 22, "muted", "middle",
                         tick_number(ticks[i].value, text));
    }
    count = scale_ticks(&drawing->picture.rate, ticks);
    for (unsigned i = 0; i < count; i++) {
        double y = drawing_y(drawing, ticks[i].value);
        drawing_line(drawing, drawing_plot.left, y, drawing_plot.right, y,
                     ticks[i].labeled ? "grid" : "fine");
        if (ticks[i].labeled)
            drawing_text(drawing, drawing_plot.left - 10, y + 5, "muted", "end",
                         tick_rate(ticks[i].value, "FLOP/s", text));
    }
    drawing_line(drawing, drawing_plot.left, drawing_plot.bottom, drawing_plot.right,
                 drawing_plot.bottom, "frame");
    drawing_line(drawing, drawing_plot.left, drawing_plot.top, drawing_plot.left,
                 drawing_plot.bottom, "frame");
    drawing_text(drawing, (drawing_plot.left + drawing_plot.right) / 2, drawing_plot.bottom + 48,
                 "muted", "middle", "operational intensity (FLOP/byte)");
}

static bool write_footnote(struct drawing *drawing) {
    char line[300];
    size_t length = (size_t)snprintf(line, sizeof line, "%s", drawing->roofs->note);
    if (drawing->unlabeled > 0)
        snprintf(line + length, sizeof line - length,
                 "%s%u dots have no label for lack of space; hover over one to see its name",
                 length ? "; " : "", drawing->unlabeled);
    output_printf(drawing->output, "<text x=\"40\" y=\"%d\" class=\"small warning\">", HEIGHT - 12);
    bool ok = drawing_foreign(drawing, line, 170);
    output_printf(drawing->output, "</text>\n");
    return ok;
}

static bool write_plot(struct drawing *drawing) {
    write_axes(drawing);
    return drawing_roofs(drawing) && drawing_dots(drawing);
}

bool roofline_svg(const struct roofs *roofs, const struct roofline_dot *dots, size_t count,
                  struct output *output, struct status *status) {
    struct drawing drawing = {
        .roofs = roofs, .dots = dots, .count = count, .output = output, .status = status};
    drawing.label_space.bounds = (struct box){drawing_plot.left + 3, drawing_plot.top - 14,
                                              drawing_plot.right + 20, drawing_plot.bottom - 3};
    write_opening(&drawing);
    bool ok = write_title(&drawing);
    if (ok && roofline_arrange(roofs, dots, count, &drawing.picture))
        ok = write_plot(&drawing);
    else
        drawing_text(&drawing, WIDTH / 2.0, HEIGHT / 2.0, "muted", "middle",
                     "Nothing to draw: no bandwidth and no rate was measured.");
    ok = ok && write_footnote(&drawing);
    output_printf(output, "</svg>\n");
    label_space_finish(&drawing.label_space);
    return ok;
}
