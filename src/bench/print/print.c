/* Figures, names and paragraphs. */
#include "bench/print/print_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
static void print_lines(const struct section_style *style, unsigned indent, struct text words,
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

void print_paragraph(const struct section_style *style, unsigned indent, const char *mark,
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

void print_heading(const struct section_style *style, struct text words, struct output *output) {
    output_write(output, "\n", 1);
    print_paragraph(style, 0, style->style == TABLE_MARKDOWN ? "## " : "", words, output);
    if (style->style == TABLE_MARKDOWN)
        output_write(output, "\n", 1);
}

void print_name(const struct result *result, struct buffer *name) {
    buffer_printf(name, "%s%s%s", result->label, *result->variant ? ", " : "", result->variant);
}

const char *print_roof_name(const struct result *result) {
    const struct limit *limit = &result->limit;
    static const char *const arithmetic[ROOF_COUNT] = {
        [ROOF_F32] = "f32",
        [ROOF_F16] = "f16",
        [ROOF_BF16] = "bf16",
        [ROOF_INT8] = "int8",
        [ROOF_TRIGONOMETRY] = "sin, cos",
        [ROOF_EXPONENTIALS] = "exp, log",
        [ROOF_MATRIX_F32] = "tf32 matrix",
        [ROOF_MATRIX_F16] = "f16 matrix",
        [ROOF_MATRIX_BF16] = "bf16 matrix",
        [ROOF_MATRIX_INT8] = "int8 matrix",
    };
    bool function = limit->roof == ROOF_TRIGONOMETRY || limit->roof == ROOF_EXPONENTIALS;
    switch (limit->kind) {
    case LIMIT_MEMORY:
        return "memory";
    case LIMIT_CACHE:
        return "cache";
    case LIMIT_LAUNCH:
        return "launch";
    case LIMIT_TRANSFER:
        return "transfer";
    case LIMIT_ARITHMETIC:
        if (function && result->amount.trigonometry > 0 && result->amount.exponentials > 0)
            return "math";
        return limit->roof < ROOF_COUNT && arithmetic[limit->roof] ? arithmetic[limit->roof]
                                                                   : "arithmetic";
    default:
        return "";
    }
}

void print_mark(size_t number, struct buffer *text) {
    static const char *const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    size_t power = 1;
    number++;
    while (number / power >= 10)
        power *= 10;
    for (; power > 0; power /= 10)
        buffer_string(text, digits[number / power % 10]);
}
