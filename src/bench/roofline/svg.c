/* The roofline as an SVG file for a slide. The plot is on the left; the ceilings are named in a
 * small table at their right ends, spread where they are close, with the intensity at which each
 * meets the memory slope. Colours distinguish ordinary arithmetic from matrix units and suit
 * red-green colour blindness; without colour the line weight distinguishes them. The styles use
 * no CSS variables, which converters outside browsers do not support. */
#include <math.h>
#include <stdio.h>

#include "bench/print/print.h"
#include "bench/roofline/drawing.h"

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
                     ticks[i].labelled ? "grid" : "fine");
        if (ticks[i].labelled)
            drawing_text(drawing, x, drawing_plot.bottom + 22, "muted", "middle",
                         tick_number(ticks[i].value, text));
    }
    count = scale_ticks(&drawing->picture.rate, ticks);
    for (unsigned i = 0; i < count; i++) {
        double y = drawing_y(drawing, ticks[i].value);
        drawing_line(drawing, drawing_plot.left, y, drawing_plot.right, y,
                     ticks[i].labelled ? "grid" : "fine");
        if (ticks[i].labelled)
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
    if (drawing->unlabelled > 0)
        snprintf(line + length, sizeof line - length,
                 "%s%u dots have no label for lack of space; hover over one to see its name",
                 length ? "; " : "", drawing->unlabelled);
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
