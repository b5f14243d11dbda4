/* The roofline as tables: each ceiling with its ridge points, and each dot with its share of what
 * the roofline allows at its intensity. */
#include <math.h>
#include <stdio.h>

#include "base/section.h"
#include "bench/print/print.h"
#include "bench/roofline/axes.h"

struct roofline_source {
    struct roofline picture;
    const struct roofline_dot *dots;
    size_t count;
};

/* ---- Ceilings --------------------------------------------------------------------------- */

static const void *ceiling_row(const void *source, size_t index) {
    const struct roofline *picture = &((const struct roofline_source *)source)->picture;
    return index < picture->ceiling_count ? &picture->ceilings[index] : NULL;
}

static struct value ceiling_name(const struct roofline_line *ceiling, struct buffer *words) {
    buffer_printf(words, "%s%s", ceiling->name, ceiling->matrix ? " matrix" : "");
    return value_text(buffer_as_text(words));
}

static struct value ceiling_rate(const struct roofline_line *ceiling, struct buffer *words) {
    char text[48];
    buffer_string(words, print_value_of_roof(ceiling->roof, ceiling->value, text));
    return value_text(buffer_as_text(words));
}

/* Operations a byte at which a slope reaches the ceiling. */
static struct value ridge_point(const struct roofline *picture, unsigned slope,
                                const struct roofline_line *ceiling) {
    if (slope >= picture->slope_count)
        return value_none();
    return value_real(ceiling->value / picture->slopes[slope].value);
}

#define CEILING(name, ...)                                                                         \
    SECTION_VALUE(name, struct roofline_source, struct roofline_line, __VA_ARGS__)
CEILING(line_name, ceiling_name(at, words))
CEILING(line_rate, ceiling_rate(at, words))
CEILING(line_ridge, ridge_point(&of->picture, 0, at))
CEILING(line_ridge_of_cache, ridge_point(&of->picture, 1, at))

static const struct column ceiling_columns[] = {
    {NULL, "roofline", UNIT_TEXT, 0, line_name},
    {NULL, "rate", UNIT_TEXT, COLUMN_RIGHT, line_rate},
    {NULL, "ridge point", UNIT_NUMBER, 0, line_ridge},
    {NULL, "in cache", UNIT_NUMBER, 0, line_ridge_of_cache},
    {0},
};
static const struct section ceilings = {
    .key = "roofline", .title = "Roofline", .columns = ceiling_columns, .row = ceiling_row};

/* ---- Dots ------------------------------------------------------------------------------- */

static const void *dot_row(const void *source, size_t index) {
    const struct roofline_source *of = source;
    return index < of->count ? &of->dots[index] : NULL;
}

static struct value dot_number(const struct roofline_dot *dot, double value) {
    return value_if(roofline_has_place(dot), value_real(value));
}

/* Of the lower of the memory's slope and the highest ceiling. */
static struct value dot_share(const struct roofline *picture, const struct roofline_dot *dot) {
    if (!roofline_has_place(dot) || picture->slope_count == 0 || picture->ceiling_count == 0)
        return value_unknown();
    double slope = dot->intensity * picture->slopes[0].value;
    return value_real(dot->rate / fmin(slope, picture->ceilings[picture->ceiling_count - 1].value));
}

#define DOT(name, ...) SECTION_VALUE(name, struct roofline_source, struct roofline_dot, __VA_ARGS__)
DOT(dot_label, value_string(at->label))
DOT(dot_intensity, dot_number(at, at->intensity))
DOT(dot_rate, dot_number(at, at->rate))
DOT(dot_of_roof, dot_share(&of->picture, at))

static const struct column dot_columns[] = {
    {NULL, "work", UNIT_TEXT, COLUMN_FLEXIBLE, dot_label},
    {NULL, "FLOP/byte", UNIT_NUMBER, 0, dot_intensity},
    {NULL, "rate", UNIT_FLOP_PER_S, 0, dot_rate},
    {NULL, "of roofline", UNIT_SHARE, 0, dot_of_roof},
    {0},
};
static const struct section dot_section = {
    .key = "dots", .title = "Work", .columns = dot_columns, .row = dot_row};

bool roofline_table(const struct roofs *roofs, const struct roofline_dot *dots, size_t count,
                    const struct section_style *style, struct output *output,
                    struct status *status) {
    struct roofline_source source = {.dots = dots, .count = count};
    if (!roofline_arrange(roofs, dots, count, &source.picture)) {
        output_printf(output, "No roofline: no bandwidth and no rate was measured.\n");
        return true;
    }
    if (!section_write(&ceilings, &source, style, output, status))
        return false;
    if (source.picture.ceiling_count > 0)
        output_printf(output,
                      "%sridge point: FLOP per byte from which arithmetic is the limit, "
                      "not memory\n",
                      style->style == TABLE_MARKDOWN ? "\n" : "  ");
    if (count == 0)
        return true;
    output_printf(output, "\n");
    return section_write(&dot_section, &source, style, output, status);
}
