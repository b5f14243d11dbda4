/* Figures and paragraphs. Four digits are enough for a time and three for a rate: the spread of a
 * measurement is rarely below a percent. */
#include "bench/print/print_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A column has one unit if its largest value is below SHARED_MAX of it and its smallest at least
 * 1, or 0.1 if no other unit fits. Rates use giga if 0.1 is enough. */
#define SHARED_MAX 1e4
#define SHARED_LEAST 0.1
enum { GIGA = 1 }; /* among the units of rates */

struct unit {
    const char *name;
    double size;
};

static const struct unit time_units[] = {{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}, {"ns", 1}};
static const struct unit byte_units[] = {
    {"TB/s", 1e12}, {"GB/s", 1e9}, {"MB/s", 1e6}, {"KB/s", 1e3}};
static const struct unit flop_units[] = {
    {"TFLOP/s", 1e12}, {"GFLOP/s", 1e9}, {"MFLOP/s", 1e6}, {"KFLOP/s", 1e3}};
enum { UNITS = 4 };

static const struct unit *units_of(enum print_quantity quantity) {
    return quantity == PRINT_TIME        ? time_units
           : quantity == PRINT_BYTE_RATE ? byte_units
                                         : flop_units;
}

static bool is_known(double value) {
    return isfinite(value) && value > 0;
}

char *print_time(double ns, char text[FORMAT_SIZE]) {
    if (!is_known(ns) || ns > 9e18)
        snprintf(text, FORMAT_SIZE, "-");
    else
        format_duration(ns < 1 ? 1 : llround(ns), text);
    return text;
}

char *print_number(double value, unsigned digits, char text[FORMAT_SIZE]) {
    if (!isfinite(value) || fabs(value) >= 1e18) {
        snprintf(text, FORMAT_SIZE, "-");
        return text;
    }
    double magnitude = fabs(value);
    int whole = magnitude >= 1 ? (int)floor(log10(magnitude)) + 1 : magnitude >= 0.1 ? 0 : -1;
    int decimals = (int)digits - whole;
    if (decimals > 0 && round(magnitude * pow(10, decimals)) >= pow(10, digits))
        decimals--; /* 9.996 is 10.0 */
    if (decimals > (int)digits)
        decimals = (int)digits;
    if (decimals <= 0 && value >= 1000)
        return format_count((uint64_t)llround(value), text);
    snprintf(text, FORMAT_SIZE, "%.*f", decimals > 0 ? decimals : 0, value);
    return text;
}

char *print_share(double share, char text[FORMAT_SIZE]) {
    double percent = share * 100;
    if (!isfinite(percent) || fabs(percent) >= 1e9)
        snprintf(text, FORMAT_SIZE, "-");
    else if (percent > 0 && percent < 0.05)
        snprintf(text, FORMAT_SIZE, "<0.1 %%");
    else if (percent >= 100.5) /* no share: a factor */
        snprintf(text, FORMAT_SIZE, "%.*fx", share < 9.95, share);
    else
        snprintf(text, FORMAT_SIZE, "%.*f %%", fabs(percent) < 9.95, percent);
    return text;
}

char *print_times(double ratio, char text[FORMAT_SIZE]) {
    if (ratio < 9.95)
        return print_number(ratio, ratio < 0.995 ? 2 : ratio < 1.95 ? 3 : 2, text);
    return print_number(round(ratio), 2, text);
}

void print_scale_see(struct print_scale *scale, double value) {
    if (!is_known(value))
        return;
    if (scale->min == 0 || value < scale->min)
        scale->min = value;
    if (value > scale->max)
        scale->max = value;
}

static bool share(struct print_scale *scale, const struct unit *unit, double min) {
    if (scale->min < min * unit->size || scale->max >= SHARED_MAX * unit->size)
        return false;
    scale->unit = unit->name;
    scale->divisor = unit->size;
    return true;
}

void print_scale_choose(struct print_scale *scale) {
    const struct unit *units = units_of(scale->quantity);
    scale->unit = NULL;
    if (scale->min <= 0 ||
        (scale->quantity != PRINT_TIME && share(scale, &units[GIGA], SHARED_LEAST)))
        return;
    for (unsigned i = 0; i < UNITS; i++)
        if (share(scale, &units[i], 1))
            return;
    for (unsigned i = 0; i < UNITS; i++)
        if (share(scale, &units[i], SHARED_LEAST))
            return;
}

static const struct unit *own_unit(enum print_quantity quantity, double value) {
    const struct unit *units = units_of(quantity);
    unsigned i = 0;
    while (i + 1 < UNITS && value < units[i].size * 0.9995)
        i++;
    return &units[i];
}

char *print_scaled(const struct print_scale *scale, double value, char text[FORMAT_SIZE]) {
    char number[FORMAT_SIZE];
    text[0] = '\0';
    if (!is_known(value))
        return text;
    unsigned digits = scale->quantity == PRINT_TIME ? 4 : 3;
    if (scale->unit)
        return print_number(value / scale->divisor, digits, text);
    const struct unit *unit = own_unit(scale->quantity, value);
    snprintf(text, FORMAT_SIZE, "%.24s %s", print_number(value / unit->size, digits, number),
             unit->name);
    return text;
}

/* Bytes of the longest prefix of `words` that ends before a space and fits `room` columns; at
 * least one word. A percent sign stays with its number. */
static size_t line_length(struct text words, size_t room) {
    size_t take = 0;
    for (size_t i = 1; i <= words.length; i++) {
        bool ends = i == words.length ||
                    (words.data[i] == ' ' && (i + 1 == words.length || words.data[i + 1] != '%'));
        if (!ends)
            continue;
        if (take > 0 && table_text_width((struct text){words.data, i}) > room)
            break;
        take = i;
    }
    return take;
}

/* The lines are a table of one column, which escapes unsafe characters. */
static void print_lines(const struct print_style *style, unsigned indent, struct text words,
                        unsigned hang, struct output *output) {
    struct table table = {0};
    size_t room = style->width > indent + 20 ? style->width - indent : 20;
    bool first = true;
    table_column(&table, "", TABLE_LEFT);
    while (words.length > 0) {
        unsigned shift = first ? 0 : hang;
        size_t take = style->width > 0 ? line_length(words, room - shift) : words.length;
        table_cellf(&table, "%*s%.*s", (int)shift, "", (int)take, words.data);
        first = false;
        while (take < words.length && words.data[take] == ' ')
            take++;
        words.data += take;
        words.length -= take;
    }
    table_write(&table, TABLE_TEXT, &(struct table_layout){.indent = indent, .no_header = true},
                output);
    print_note_failure(table.failed, output);
    table_finish(&table);
}

void print_paragraph(const struct print_style *style, unsigned indent, const char *mark,
                     struct text words, struct output *output) {
    if (style->style == TABLE_MARKDOWN) {
        output_write(output, mark, strlen(mark));
        table_markdown_text(output, words);
        output_write(output, "\n", 1);
        return;
    }
    struct buffer whole = {0};
    buffer_string(&whole, mark);
    buffer_text(&whole, words);
    print_lines(style, indent, buffer_as_text(&whole), (unsigned)table_text_width(text_of(mark)),
                output);
    print_note_failure(whole.failed, output);
    buffer_finish(&whole);
}

/* Writes the first line of `rest`, including its end, and advances. */
static void write_line(struct text *rest, struct output *output) {
    const char *end = rest->length > 0 ? memchr(rest->data, '\n', rest->length) : NULL;
    size_t length = end ? (size_t)(end - rest->data) + 1 : rest->length;
    output_write(output, rest->data, length);
    rest->data += length;
    rest->length -= length;
}

/* A written table has two lines of heading and then one line for each row. */
static void write_with_labels(const struct print_style *style, struct text lines, size_t rows,
                              print_label *label, const void *context, struct output *output) {
    struct buffer words[2] = {0};
    write_line(&lines, output);
    write_line(&lines, output);
    for (size_t row = 0; row < rows; row++) {
        struct buffer *own = &words[row % 2], *above = &words[(row + 1) % 2];
        buffer_clear(own);
        label(context, row, own);
        if (row == 0 || !text_equal(buffer_as_text(own), buffer_as_text(above)))
            print_paragraph(style, 0, "", buffer_as_text(own), output);
        write_line(&lines, output);
    }
    print_note_failure(words[0].failed || words[1].failed, output);
    buffer_finish(&words[0]);
    buffer_finish(&words[1]);
}

void print_table(const struct table *table, const struct print_style *style, print_label *label,
                 const void *context, struct output *output) {
    struct buffer lines = {0};
    struct output into = output_into(&lines);
    struct table_layout layout = {.width = style->width, .indent = PRINT_INDENT};
    table_write(table, style->style, &layout, label ? &into : output);
    if (label)
        write_with_labels(style, buffer_as_text(&lines), table_rows(table), label, context, output);
    print_note_failure(table->failed || lines.failed, output);
    buffer_finish(&lines);
}

void print_heading(const struct print_style *style, struct text words, struct output *output) {
    output_write(output, "\n", 1);
    print_paragraph(style, 0, style->style == TABLE_MARKDOWN ? "## " : "", words, output);
    if (style->style == TABLE_MARKDOWN)
        output_write(output, "\n", 1);
}

void print_name(const struct result *result, struct buffer *name) {
    buffer_printf(name, "%s%s%s", result->label, *result->variant ? ", " : "", result->variant);
}
