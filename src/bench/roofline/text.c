/* The roofline in characters. Slopes are drawn in braille where the terminal has it, eight points a
 * character; ceilings are lines of their row, thick for matrix units. Ceilings that fall into one
 * row share a line and its label. Dots are letters, explained in a table below; dots that fall into
 * one character share its letter.
 */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/table.h"
#include "bench/print/print.h"
#include "bench/roofline/axes.h"

enum {
    ROWS = 16,
    TICK_COLUMNS = 7, /* "100 G ", and the axis */
    LEAST_WIDTH = 60,
    MOST_WIDTH = 160,
    LABELS_MIN = 12,
    NAME_SIZE = 80,
    LETTERS = 52
};

struct cell {
    char glyph[5];         /* "" until it is set */
    unsigned char braille; /* points, as the code counts them */
};

struct sheet {
    const struct roofline_dot *dots;
    size_t count;
    struct roofline picture;
    struct cell *cells; /* ROWS of `columns`, from the top */
    unsigned columns;
    char names[ROWS][NAME_SIZE]; /* of the ceilings in a row */
    bool ascii;
    struct output *output;
};

static struct cell *cell_at(const struct sheet *sheet, unsigned column, unsigned row) {
    return &sheet->cells[row * sheet->columns + column];
}

static unsigned clamped(double value, unsigned count) {
    return value <= 0 ? 0 : value >= count ? count - 1 : (unsigned)value;
}

static unsigned column_of(const struct sheet *sheet, double intensity) {
    double place = scale_place_inside(&sheet->picture.intensity, intensity);
    return clamped(place * sheet->columns, sheet->columns);
}

static unsigned row_of(const struct sheet *sheet, double rate) {
    return clamped((1 - scale_place_inside(&sheet->picture.rate, rate)) * ROWS, ROWS);
}

static void put(const struct sheet *sheet, unsigned column, unsigned row, const char *glyph) {
    snprintf(cell_at(sheet, column, row)->glyph, sizeof sheet->cells->glyph, "%s", glyph);
}

/* ---- Lines ------------------------------------------------------------------------------ */

/* `up` counts quarters of rows from the bottom. */
static void put_point(const struct sheet *sheet, unsigned half_column, unsigned up, bool dashed) {
    static const unsigned char points[4][2] = {{0x40, 0x80}, {0x04, 0x20}, {0x02, 0x10}, {0x01, 8}};
    unsigned column = half_column / 2, row = ROWS - 1 - up / 4;
    if (sheet->ascii)
        put(sheet, column, row, dashed ? ":" : up % 4 < 2 ? "." : "'");
    else
        cell_at(sheet, column, row)->braille |= points[up % 4][half_column % 2];
}

static double top_rate(const struct roofline *picture) {
    return picture->ceiling_count > 0 ? picture->ceilings[picture->ceiling_count - 1].value
                                      : picture->rate.high;
}

/* The second slope, that of the cache, is dotted. */
static void draw_slope(const struct sheet *sheet, unsigned index) {
    const struct roofline *picture = &sheet->picture;
    double span = log(picture->intensity.high / picture->intensity.low);
    for (unsigned half = 0; half < 2 * sheet->columns; half++) {
        double share = (half + 0.5) / (2 * sheet->columns);
        double rate = picture->intensity.low * exp(span * share) * picture->slopes[index].value;
        if (!scale_contains(&picture->rate, rate) || rate > top_rate(picture) ||
            (index > 0 && half % 3 == 0))
            continue;
        put_point(sheet, half, clamped(scale_place(&picture->rate, rate) * ROWS * 4, ROWS * 4),
                  index > 0);
    }
}

static void draw_ceiling(const struct sheet *sheet, const struct roofline_line *ceiling) {
    const struct roofline *picture = &sheet->picture;
    unsigned row = row_of(sheet, ceiling->value), from = 0;
    const char *line = sheet->ascii ? ceiling->matrix ? "=" : "-" : ceiling->matrix ? "━" : "─";
    if (picture->slope_count > 0)
        from = column_of(sheet, roofline_ridge(picture, ceiling));
    for (unsigned column = from; column < sheet->columns; column++)
        put(sheet, column, row, line);
}

static void draw_ridges(const struct sheet *sheet) {
    const struct roofline *picture = &sheet->picture;
    for (unsigned i = 0; i < picture->ceiling_count && picture->slope_count > 0; i++) {
        double ridge = roofline_ridge(picture, &picture->ceilings[i]);
        if (scale_contains(&picture->intensity, ridge))
            put(sheet, column_of(sheet, ridge), row_of(sheet, picture->ceilings[i].value),
                sheet->ascii ? "o" : "●");
    }
}

/* ---- Names ------------------------------------------------------------------------------ */

/* "f16/bf16" and "f16/bf16 matrix", lowest first. */
static void join_names(const struct sheet *sheet, unsigned row, bool matrix, char *name) {
    size_t length = strlen(name), start = length;
    for (unsigned i = 0; i < sheet->picture.ceiling_count; i++) {
        const struct roofline_line *ceiling = &sheet->picture.ceilings[i];
        if (ceiling->matrix != matrix || row_of(sheet, ceiling->value) != row)
            continue;
        snprintf(name + length, NAME_SIZE - length, "%s%s",
                 length > start ? "/"
                 : start > 0    ? ", "
                                : "",
                 ceiling->name);
        length = strlen(name);
    }
    if (matrix && length > start)
        snprintf(name + length, NAME_SIZE - length, " matrix");
}

/* A row's ceilings and the rate of the highest: "f16/bf16 matrix 720.0 T". */
static void name_rows(struct sheet *sheet) {
    for (unsigned i = 0; i < sheet->picture.ceiling_count; i++) {
        const struct roofline_line *ceiling = &sheet->picture.ceilings[i];
        unsigned row = row_of(sheet, ceiling->value);
        char *name = sheet->names[row], value[TICK_SIZE];
        *name = '\0';
        join_names(sheet, row, false, name);
        join_names(sheet, row, true, name);
        size_t length = strlen(name);
        snprintf(name + length, NAME_SIZE - length, " %s", tick_rate(ceiling->value, "", value));
    }
}

static bool fits(const struct sheet *sheet, unsigned column, unsigned row, unsigned length) {
    if (column + length > sheet->columns)
        return false;
    for (unsigned i = 0; i < length; i++) {
        const struct cell *cell = cell_at(sheet, column + i, row);
        if (cell->glyph[0] || cell->braille)
            return false;
    }
    return true;
}

/* Beside the slope where nothing else is, from the bottom up: right of the first, left of the
 * second. False when there is no such place. */
static bool name_slope(const struct sheet *sheet, unsigned index, const char *name) {
    const struct roofline *picture = &sheet->picture;
    unsigned length = (unsigned)strlen(name);
    double span = log(picture->rate.high / picture->rate.low);
    for (unsigned row = ROWS; row-- > 0;) {
        double rate = picture->rate.low * exp(span * (ROWS - row - 0.5) / ROWS);
        double intensity = rate / picture->slopes[index].value;
        if (!scale_contains(&picture->intensity, intensity) || rate > top_rate(picture))
            continue;
        unsigned at = column_of(sheet, intensity);
        if (index > 0 && at < length + 3)
            continue;
        unsigned from = index > 0 ? at - length - 3 : at + 4;
        if (!fits(sheet, from, row, length))
            continue;
        for (unsigned i = 0; i < length; i++)
            put(sheet, from + i, row, (char[2]){name[i], 0});
        return true;
    }
    return false;
}

/* ---- Dots ------------------------------------------------------------------------------- */

static char letter_of(size_t index) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return index < LETTERS ? letters[index] : '*';
}

/* Assigns each dot the letter of its place. Marks are 0 for dots without one. */
static void draw_dots(const struct sheet *sheet, char *marks) {
    size_t letters = 0;
    for (size_t i = 0; i < sheet->count; i++) {
        const struct roofline_dot *dot = &sheet->dots[i];
        if (!roofline_has_place(dot))
            continue;
        unsigned column = column_of(sheet, dot->intensity), row = row_of(sheet, dot->rate);
        for (size_t j = 0; j < i && !marks[i]; j++)
            if (marks[j] && column_of(sheet, sheet->dots[j].intensity) == column &&
                row_of(sheet, sheet->dots[j].rate) == row)
                marks[i] = marks[j];
        if (!marks[i])
            marks[i] = letter_of(letters++);
        put(sheet, column, row, (char[2]){marks[i], 0});
    }
}

static bool write_dots(const struct sheet *sheet, const char *marks, unsigned width,
                       struct status *status) {
    struct table table = {0};
    char rate[48], number[TICK_SIZE];
    table_column(&table, "", TABLE_LEFT);
    table_column(&table, "rate", TABLE_RIGHT);
    table_column(&table, "FLOP/byte", TABLE_RIGHT);
    table_column(&table, "dot", TABLE_LEFT | TABLE_FLEXIBLE);
    for (size_t i = 0; i < sheet->count; i++) {
        const struct roofline_dot *dot = &sheet->dots[i];
        bool inside = marks[i] && scale_contains(&sheet->picture.intensity, dot->intensity) &&
                      scale_contains(&sheet->picture.rate, dot->rate);
        table_cellf(&table, "%c", marks[i] ? marks[i] : '-');
        table_cellf(&table, "%s", marks[i] ? print_roof_value(ROOF_RATE, dot->rate, rate) : "-");
        table_cellf(&table, "%s", marks[i] ? roofline_number(dot->intensity, number) : "-");
        table_cellf(&table, "%s%s",
                    inside     ? ""
                    : marks[i] ? "beyond the axes: "
                               : "not drawn: ",
                    dot->label);
    }
    output_printf(sheet->output, "\n");
    table_write(&table, TABLE_TEXT, &(struct table_layout){.width = width}, sheet->output);
    bool ok = table_ok(&table, status);
    table_finish(&table);
    return ok;
}

/* ---- The sheet -------------------------------------------------------------------------- */

/* A character of braille is U+2800 and its points. */
static void write_cell(struct output *output, const struct cell *cell) {
    if (cell->glyph[0])
        output_printf(output, "%s", cell->glyph);
    else if (cell->braille)
        output_printf(output, "\xE2%c%c", 0xA0 | cell->braille >> 6, 0x80 | (cell->braille & 0x3F));
    else
        output_printf(output, " ");
}

static void write_row(const struct sheet *sheet, unsigned row, const char *tick) {
    unsigned end = sheet->columns;
    while (end > 0 && !sheet->names[row][0] && fits(sheet, end - 1, row, 1))
        end--; /* no blanks at the end of a line */
    output_printf(sheet->output, "%*s%s", TICK_COLUMNS - 1, tick,
                  sheet->ascii ? "|"
                  : *tick      ? "┤"
                               : "│");
    for (unsigned column = 0; column < end; column++)
        write_cell(sheet->output, cell_at(sheet, column, row));
    output_printf(sheet->output, "%s%s\n", sheet->names[row][0] ? " " : "", sheet->names[row]);
}

static void write_rows(const struct sheet *sheet) {
    char labels[ROWS][TICK_SIZE] = {0};
    struct tick ticks[TICKS_MAX];
    unsigned count = scale_ticks(&sheet->picture.rate, ticks);
    for (unsigned i = 0; i < count; i++)
        if (ticks[i].labelled)
            tick_rate(ticks[i].value, "", labels[row_of(sheet, ticks[i].value)]);
    for (unsigned row = 0; row < ROWS; row++) {
        size_t length = strlen(labels[row]);
        if (length > 0 && labels[row][length - 1] == ' ') /* below a thousand there is no prefix */
            labels[row][length - 1] = '\0';
        write_row(sheet, row, labels[row]);
    }
}

static void write_axis(const struct sheet *sheet) {
    struct tick ticks[TICKS_MAX];
    char line[MOST_WIDTH + TICK_SIZE], number[TICK_SIZE];
    unsigned count = scale_ticks(&sheet->picture.intensity, ticks), end = 0;
    memset(line, ' ', sizeof line);
    output_printf(sheet->output, "%*s%s", TICK_COLUMNS - 1, "", sheet->ascii ? "+" : "└");
    for (unsigned column = 0, tick = 0; column < sheet->columns; column++) {
        bool marked = false;
        for (; tick < count && column_of(sheet, ticks[tick].value) <= column; tick++) {
            if (!ticks[tick].labelled)
                continue;
            tick_number(ticks[tick].value, number);
            unsigned length = (unsigned)strlen(number), half = length / 2;
            unsigned from = column > half ? column - half : 0;
            marked = true;
            if (from >= end + (end > 0) && from + length <= sheet->columns + 2) {
                memcpy(line + from, number, length);
                end = from + length;
            }
        }
        output_printf(sheet->output, "%s", sheet->ascii ? marked ? "+" : "-" : marked ? "┬" : "─");
    }
    output_printf(sheet->output, "\n%*s%.*s FLOP/byte\n", TICK_COLUMNS, "", (int)end, line);
}

/* Items with commas between, in lines that begin under the first. */
static void write_ridges(const struct sheet *sheet, unsigned width) {
    static const char *const opening = "ridge points in FLOP/byte: ";
    const struct roofline *picture = &sheet->picture;
    size_t at = strlen(opening), indent = at;
    if (picture->slope_count == 0 || picture->ceiling_count == 0)
        return;
    output_printf(sheet->output, "%s", opening);
    for (unsigned i = 0; i < picture->ceiling_count; i++) {
        const struct roofline_line *ceiling = &picture->ceilings[i];
        char item[64], number[TICK_SIZE];
        bool last = i + 1 == picture->ceiling_count;
        size_t length = (size_t)snprintf(
            item, sizeof item, "%s%s %s%s", ceiling->name, ceiling->matrix ? " matrix" : "",
            roofline_number(roofline_ridge(picture, ceiling), number), last ? "" : ",");
        if (at > indent && at + 1 + length > width) {
            output_printf(sheet->output, "\n%*s", (int)indent, "");
            at = indent;
        }
        output_printf(sheet->output, "%s%s", at > indent ? " " : "", item);
        at += length + (at > indent);
    }
    output_printf(sheet->output, "\n");
}

static void draw_lines(struct sheet *sheet) {
    for (unsigned i = sheet->picture.slope_count; i-- > 0;)
        draw_slope(sheet, i);
    for (unsigned i = 0; i < sheet->picture.ceiling_count; i++)
        draw_ceiling(sheet, &sheet->picture.ceilings[i]);
    draw_ridges(sheet);
}

/* A slope whose name found no place is named below. */
static void write_sheet(struct sheet *sheet, unsigned width) {
    const struct roofline *picture = &sheet->picture;
    struct buffer below = {0};
    for (unsigned i = 0; i < picture->slope_count; i++) {
        const struct roofline_line *slope = &picture->slopes[i];
        char value[48], name[80];
        snprintf(name, sizeof name, "%s %s", slope->name,
                 print_value_of_roof(slope->roof, slope->value, value));
        if (!name_slope(sheet, i, name))
            buffer_printf(&below, "%s%s", below.length > 0 ? ", " : "", name);
    }
    output_printf(sheet->output, "FLOP/s\n");
    write_rows(sheet);
    write_axis(sheet);
    if (below.length > 0)
        output_printf(sheet->output, "slopes: %.*s\n", TEXT_ARGS(buffer_as_text(&below)));
    write_ridges(sheet, width);
    sheet->output->failed |= below.failed;
    buffer_finish(&below);
}

/* The labels at the right get what they need, up to half of the width. */
static unsigned label_columns(struct sheet *sheet, unsigned width) {
    size_t widest = LABELS_MIN, max = width / 2 - TICK_COLUMNS;
    name_rows(sheet);
    for (unsigned row = 0; row < ROWS; row++) {
        size_t length = strlen(sheet->names[row]) + 1;
        widest = length > widest ? length : widest;
    }
    for (unsigned row = 0; widest > max && row < ROWS; row++)
        if (strlen(sheet->names[row]) >= max)
            memcpy(sheet->names[row] + max - 4, "...", 4);
    return (unsigned)(widest < max ? widest : max);
}

bool roofline_text(const struct roofs *roofs, const struct roofline_dot *dots, size_t count,
                   unsigned width, bool ascii, struct output *output, struct status *status) {
    struct sheet sheet = {.dots = dots, .count = count, .ascii = ascii, .output = output};
    width = width < LEAST_WIDTH ? LEAST_WIDTH : width < MOST_WIDTH ? width : MOST_WIDTH;
    if (!roofline_arrange(roofs, dots, count, &sheet.picture)) {
        output_printf(output, "No roofline: no bandwidth and no rate was measured.\n");
        return true;
    }
    sheet.columns = width - TICK_COLUMNS - label_columns(&sheet, width);
    sheet.cells = memory_allocate((size_t)ROWS * sheet.columns, sizeof *sheet.cells, status);
    char *marks = memory_allocate(count, 1, status);
    bool ok = sheet.cells && marks;
    if (ok) {
        draw_lines(&sheet);
        draw_dots(&sheet, marks);
        write_sheet(&sheet, width);
        ok = count == 0 || write_dots(&sheet, marks, width, status);
    }
    memory_free(sheet.cells);
    memory_free(marks);
    return ok;
}
