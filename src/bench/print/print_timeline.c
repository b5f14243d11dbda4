/* When was the device at work? Spans as a line of characters, each standing for the same length of
 * time, as the report draws a trace. Two such lines on one axis show the gaps of eager execution
 * beside compiled execution.
 */
#include <string.h>

#include "analysis/timeline.h"
#include "bench/print/print_results.h"

enum { CELLS_MAX = 512 };

void print_timeline(const struct span *spans, size_t count, int64_t length, unsigned cells,
                    struct output *output) {
    struct timeline_cell drawn[CELLS_MAX];
    struct timeline timeline;
    if (cells > CELLS_MAX)
        cells = CELLS_MAX;
    if (length > 0 && length < cells)
        cells = (unsigned)length;
    if (length <= 0 || cells == 0)
        return;
    timeline_begin(&timeline, (struct window){0, length}, drawn, cells);
    for (size_t i = 0; i < count; i++)
        timeline_add(&timeline, spans[i].start, spans[i].end, !spans[i].copy);
    timeline_end(&timeline);
    for (unsigned i = 0; i < cells; i++) {
        enum timeline_look look;
        const char *character = timeline_glyph(&drawn[i], &look);
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

static void write_caption(const struct result *result, const struct section_style *style,
                          unsigned indent, struct output *output) {
    struct buffer words = {0};
    char count[FORMAT_PLURAL_SIZE], length[FORMAT_SIZE], share[FORMAT_SIZE];
    size_t kernels = 0;
    for (size_t i = 0; i < result->span_count; i++)
        kernels += !result->spans[i].copy;
    int64_t all = last_end(result);
    double busy = (double)work_time(result) / (double)all;
    buffer_printf(&words, "%s, busy %s of %s", format_plural(kernels, "kernel", "kernels", count),
                  format_percent(busy, share), format_duration(all, length));
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
static void write_group(const struct sheet *sheet, size_t first, const struct section_style *style,
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
    buffer_printf(&words, "%s%s%s: one time axis, %s per character; █▓▒░ busy, = copy, blank idle",
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
    struct section_style style = {.style = TABLE_TEXT,
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
