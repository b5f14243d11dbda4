/* When was the device at work? Spans as a line of characters, each standing for the same length of
 * time, with the characters of the report's timeline: █▓▒░ for kernels, = and - for copies, blank
 * for nothing. Under a pair of such lines on one axis, eager execution shows its gaps and compiled
 * execution its one block.
 */
#include <string.h>

#include "bench/print/print_results.h"

enum { CELLS_MAX = 512 };

struct cell {
    int64_t busy, all, length;
};

static int64_t cell_start(int64_t length, unsigned cells, unsigned i) {
    return (int64_t)((__int128)length * i / cells);
}

static void spread(struct cell *cells, unsigned count, int64_t length, bool kernel, int64_t start,
                   int64_t end) {
    if (end > length)
        end = length;
    if (start < 0)
        start = 0;
    if (start >= end)
        return;
    unsigned i = (unsigned)((__int128)start * count / length);
    while (i > 0 && cell_start(length, count, i) > start)
        i--;
    for (; start < end && i < count; i++) {
        int64_t until = cell_start(length, count, i + 1);
        until = until < end ? until : end;
        if (until <= start)
            continue;
        *(kernel ? &cells[i].busy : &cells[i].all) += until - start;
        start = until;
    }
}

/* Full, most, half, little, none; copies where they prevail. */
static const char *glyph(const struct cell *cell) {
    double busy = (double)cell->busy / (double)cell->length;
    double copy = (double)(cell->all - cell->busy) / (double)cell->length;
    if (copy > busy && copy >= 0.05)
        return copy >= 0.5 ? "=" : "-";
    return busy >= 0.95    ? "█"
           : busy >= 0.6   ? "▓"
           : busy >= 0.3   ? "▒"
           : busy >= 0.02  ? "░"
           : cell->all > 0 ? "·"
                           : " ";
}

void print_timeline(const struct span *spans, size_t count, int64_t length, unsigned cells,
                    struct output *output) {
    struct cell drawn[CELLS_MAX] = {0};
    int64_t kernels_reached = INT64_MIN, all_reached = INT64_MIN;
    if (cells > CELLS_MAX)
        cells = CELLS_MAX;
    if (length > 0 && length < cells)
        cells = (unsigned)length;
    if (length <= 0 || cells == 0)
        return;
    for (unsigned i = 0; i < cells; i++)
        drawn[i].length = cell_start(length, cells, i + 1) - cell_start(length, cells, i);
    for (size_t i = 0; i < count; i++) {
        int64_t start = spans[i].start, end = spans[i].end;
        if (!spans[i].copy) {
            spread(drawn, cells, length, true, start > kernels_reached ? start : kernels_reached,
                   end);
            kernels_reached = end > kernels_reached ? end : kernels_reached;
        }
        spread(drawn, cells, length, false, start > all_reached ? start : all_reached, end);
        all_reached = end > all_reached ? end : all_reached;
    }
    for (unsigned i = 0; i < cells; i++) {
        const char *character = glyph(&drawn[i]);
        output_write(output, character, strlen(character));
    }
}

/* ---- Timelines of an experiment --------------------------------------------------------- */

static int64_t last_end(const struct result *result) {
    int64_t end = 0;
    for (size_t i = 0; i < result->span_count; i++)
        end = result->spans[i].end > end ? result->spans[i].end : end;
    return end;
}

static int64_t work_time(const struct result *result) {
    int64_t length = 0, reached = 0;
    for (size_t i = 0; i < result->span_count; i++) {
        int64_t start = result->spans[i].start, end = result->spans[i].end;
        start = start > reached ? start : reached;
        length += end > start ? end - start : 0;
        reached = end > reached ? end : reached;
    }
    return length;
}

/* A run with visible holes is "the gap"; one without, whatever it consists of, "the block". */
#define GAP_SHARE 0.02

static void write_caption(const struct result *result, const struct print_style *style,
                          unsigned indent, struct output *output) {
    struct buffer words = {0};
    char count[FORMAT_SIZE], length[FORMAT_SIZE], share[FORMAT_SIZE];
    size_t kernels = 0;
    for (size_t i = 0; i < result->span_count; i++)
        kernels += !result->spans[i].copy;
    int64_t all = last_end(result);
    double busy = (double)work_time(result) / (double)all;
    bool gaps = 1 - busy >= GAP_SHARE;
    buffer_printf(&words, "%s: %s kernel%s, ", gaps ? "the gap" : "the block",
                  format_count(kernels, count), kernels == 1 ? "" : "s");
    format_duration(all, length);
    if (gaps)
        buffer_printf(&words, "and %s of %s between them", print_share(1 - busy, share), length);
    else
        buffer_printf(&words, "busy %s of %s", format_percent(busy, share), length);
    print_paragraph(style, indent, "", buffer_as_text(&words), output);
    print_note_failure(words.failed, output);
    buffer_finish(&words);
}

static bool has_spans(const struct result *result) {
    return result->span_count > 0 && last_end(result) > 0;
}

static const char *row_name(const struct result *result) {
    return *result->variant ? result->variant : result->label;
}

static bool on_one_axis(const struct result *a, const struct result *b) {
    return has_spans(b) && strcmp(a->label, b->label) == 0 && strcmp(a->device, b->device) == 0;
}

/* The drawn rows from `first` on that share its axis. */
static void write_group(const struct sheet *sheet, size_t first, const struct print_style *style,
                        struct output *output) {
    const struct result *head = sheet->rows[first];
    struct buffer words = {0};
    char cell[FORMAT_SIZE];
    int64_t length = 0;
    size_t names = 0;
    for (size_t i = first; i < sheet->count; i++) {
        if (!on_one_axis(head, sheet->rows[i]))
            continue;
        int64_t end = last_end(sheet->rows[i]);
        size_t width = table_text_width(text_of(row_name(sheet->rows[i])));
        length = end > length ? end : length;
        names = width > names ? width : names;
    }
    unsigned cells = style->width > names + 20 ? style->width - (unsigned)names - 5 : 15;
    buffer_printf(&words, "%s%s%s: one time axis, %s a character; █▓▒░ busy, = copy, blank idle",
                  head->label, sheet->several_devices ? ", " : "",
                  sheet->several_devices ? head->device : "",
                  format_duration(length / cells, cell));
    print_paragraph(style, 2, "", buffer_as_text(&words), output);
    for (size_t i = first; i < sheet->count; i++) {
        const struct result *result = sheet->rows[i];
        if (!on_one_axis(head, result))
            continue;
        size_t used = table_text_width(text_of(row_name(result)));
        output_printf(output, "  %s%*s|", row_name(result), (int)(names - used + 1), "");
        print_timeline(result->spans, result->span_count, length, cells, output);
        output_write(output, "|\n", 2);
        write_caption(result, style, (unsigned)names + 4, output);
    }
    print_note_failure(words.failed, output);
    buffer_finish(&words);
}

void print_timelines(const struct sheet *sheet, struct output *output) {
    enum { WIDTH_ON_PAPER = 100 };
    bool markdown = sheet->style->style == TABLE_MARKDOWN;
    bool limited = sheet->style->width > 0 && !markdown;
    struct print_style style = {.style = TABLE_TEXT,
                                .width = limited ? sheet->style->width : WIDTH_ON_PAPER};
    for (size_t i = 0; i < sheet->count; i++) {
        bool first = has_spans(sheet->rows[i]);
        for (size_t k = 0; k < i && first; k++)
            first = !has_spans(sheet->rows[k]) || !on_one_axis(sheet->rows[i], sheet->rows[k]);
        if (!first)
            continue;
        output_printf(output, "%s", markdown ? "\n```text\n" : "\n");
        write_group(sheet, i, &style, output);
        if (markdown)
            output_printf(output, "```\n");
    }
}
