/* A diff for a terminal: the sentences, a waterfall from the step before to the step after, the
 * rows that changed, counts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/min_max.h"
#include "compare/diff_sections.h"
#include "report/text.h"
#include "report/wording.h"

enum { ROWS_SHOWN = 12, BAR_MIN = 20, TITLE_WIDTH = 22, VALUE_WIDTH = 12 };
/* A call at the edge of the selection belongs to one of many steps; less is no change. */
#define COUNT_CHANGED 0.25
#define COUNT_CHANGED_SHARE 0.01

static void write_head(struct text_writer *writer, const struct diff *diff) {
    for (unsigned at = BEFORE; at < SIDES; at++) {
        const struct side *side = &diff->sides[at];
        const struct report *report = side->report;
        struct buffer words = {0};
        char time[FORMAT_SIZE];
        if (strcmp(side->unit, "run") == 0)
            buffer_string(&words, "the whole run");
        else
            wording_selection(report, &words);
        text_line(writer, "%s  %s: %.*s, %s a %s", at == BEFORE ? "before" : "after ",
                  report->options.trace_name, TEXT_ARGS(buffer_as_text(&words)),
                  format_duration(side->step, time), side->unit);
        writer->failed |= words.failed;
        buffer_finish(&words);
    }
    output_printf(writer->output, "\n");
}

/* One bar of the waterfall, from `start` to `end` of `scale`. */
static void write_bar(struct text_writer *writer, const char *title, int64_t start, int64_t end,
                      int64_t scale, unsigned cells, const char *value, bool total) {
    double each = scale > 0 ? (double)cells / (double)scale : 0;
    unsigned from = (unsigned)((double)MIN(start, end) * each + 0.5),
             to = (unsigned)((double)MAX(start, end) * each + 0.5);
    from = MIN(from, cells - 1);
    to = MIN(MAX(to, from + 1), cells);
    output_printf(writer->output, "  %-*s%*s", TITLE_WIDTH, title, (int)from, "");
    text_color(writer, total ? PLAIN : end < start ? GREEN : RED);
    for (unsigned i = from; i < to; i++)
        output_printf(writer->output, "%s", total ? "█" : end < start ? "░" : "▓");
    text_color(writer, PLAIN);
    output_printf(writer->output, "%*s%*s%s\n", (int)(cells - to), "", text_pad(value, VALUE_WIDTH),
                  "", value);
}

static void write_waterfall(struct text_writer *writer, const struct diff *diff) {
    int64_t before = diff->sides[BEFORE].step, after = diff->sides[AFTER].step, at = before,
            scale = MAX(before, after);
    unsigned width = writer->style->width, cells = width > TITLE_WIDTH + VALUE_WIDTH + BAR_MIN + 2
                                                       ? width - TITLE_WIDTH - VALUE_WIDTH - 2
                                                       : BAR_MIN;
    char value[DIFF_SIGNED_SIZE];
    for (unsigned part = 0; part < PART_COUNT; part++) {
        at += diff->part[part];
        scale = MAX(scale, at);
    }
    text_section(writer, "Where the difference comes from", "the parts sum to it exactly");
    cells = MIN(cells, 44u);
    write_bar(writer, "before", 0, before, scale, cells, format_duration(before, value), true);
    at = before;
    for (unsigned part = 0; part < PART_COUNT; part++) {
        char title[40];
        if (diff->part[part] == 0)
            continue;
        snprintf(title, sizeof title, "%s%s", part >= PART_IDLE ? "idle: " : "", part_title(part));
        write_bar(writer, title, at, at + diff->part[part], scale, cells,
                  diff_signed(diff->part[part], value), false);
        at += diff->part[part];
    }
    write_bar(writer, "after", 0, after, scale, cells, format_duration(after, value), true);
}

static void write_rows(struct text_writer *writer, const struct diff *diff, size_t rows) {
    struct table table = {0};
    char count[FORMAT_PLURAL_SIZE];
    size_t changed = 0;
    while (changed < diff->row_count && diff->rows[changed].change != 0)
        changed++;
    if (changed == 0)
        return;
    text_section(writer, diff_section_rows.title, "in a %s", diff->sides[AFTER].unit);
    section_table(&diff_section_rows, diff, MIN(rows, changed), writer->style->width, &table);
    text_table(writer, &table);
    if (changed > rows)
        output_printf(writer->output, "  %s (--top N)\n",
                      format_plural(changed - rows, "more row", "more rows", count));
}

static const char *count_text(double value, bool bytes, char text[FORMAT_SIZE]) {
    if (bytes)
        return format_bytes((uint64_t)value, text);
    if (fabs(value - round(value)) < 0.005)
        return format_count((uint64_t)llround(value), text);
    snprintf(text, FORMAT_SIZE, "%.3g", value);
    return text;
}

/* Only what differs: equal counts are no news. */
static void write_counts(struct text_writer *writer, const struct diff *diff) {
    bool any = false;
    for (unsigned i = 0; i < SIDE_COUNTS; i++) {
        const struct side *a = &diff->sides[BEFORE], *b = &diff->sides[AFTER];
        char before[FORMAT_SIZE], after[FORMAT_SIZE];
        double x = a->count_mean[i], y = b->count_mean[i];
        bool bytes = i == SIDE_BYTES_HTOD || i == SIDE_BYTES_DTOH;
        if (!a->counts_known[i] || !b->counts_known[i] ||
            fabs(x - y) < fmax(COUNT_CHANGED, COUNT_CHANGED_SHARE * fmax(x, y)))
            continue;
        if (!any)
            text_section(writer, "Counts", "in a %s", b->unit);
        any = true;
        output_printf(writer->output, "  %-30s %12s -> %s\n", side_count_title(i),
                      count_text(x, bytes, before), count_text(y, bytes, after));
    }
}

static void write_lines(struct text_writer *writer, const struct diff *diff) {
    enum { LINES_SHOWN = 8 };
    if (diff->line_count)
        text_section(writer, "Lines", "whose calls or idle time changed, in a %s",
                     diff->sides[AFTER].unit);
    for (size_t i = 0; i < diff->line_count && i < LINES_SHOWN; i++) {
        struct buffer words = {0};
        diff_line_words(diff, &diff->lines[i], &words);
        text_wrapped(writer, "  ", "    ", buffer_as_text(&words));
        writer->failed |= words.failed;
        buffer_finish(&words);
    }
}

/* Inputs of launching operators that are not the same, as the source recorded them. */
static void write_shapes(struct text_writer *writer, const struct diff *diff) {
    enum { SHAPES_SHOWN = 5 };
    size_t shown = 0;
    for (size_t i = 0; i < diff->row_count && shown < SHAPES_SHOWN; i++) {
        const struct diff_row *row = &diff->rows[i];
        struct buffer line = {0};
        if ((row->kind != ROW_BOTH && row->place.length == 0) || row->shapes[BEFORE].length == 0 ||
            row->shapes[AFTER].length == 0 || text_equal(row->shapes[BEFORE], row->shapes[AFTER]))
            continue;
        if (shown++ == 0)
            text_section(writer, "Shapes", "inputs of the launching operators");
        buffer_printf(&line, "%.*s: %.*s -> %.*s", TEXT_ARGS(row->name[AFTER]),
                      TEXT_ARGS(row->shapes[BEFORE]), TEXT_ARGS(row->shapes[AFTER]));
        text_wrapped(writer, "  ", "    ", buffer_as_text(&line));
        writer->failed |= line.failed;
        buffer_finish(&line);
    }
}

bool diff_write_text(const struct diff *diff, const struct report_style *style, size_t rows,
                     struct output *output, struct status *status) {
    struct text_writer writer = {
        .report = diff->sides[BEFORE].report, .style = style, .output = output, .status = status};
    write_head(&writer, diff);
    text_color(&writer, BOLD);
    text_wrapped(&writer, "", "", text_of(diff->headline));
    text_color(&writer, PLAIN);
    text_wrapped(&writer, "", "", text_of(diff->second));
    if (diff->prediction.asked)
        text_wrapped(&writer, "", "", text_of(diff->prediction.words));
    for (size_t i = 0; i < diff->condition_count; i++)
        text_wrapped(&writer, "  - ", "    ", text_of(diff->conditions[i].words));
    if (diff->change != 0 || diff->row_count) {
        write_waterfall(&writer, diff);
        write_rows(&writer, diff, rows);
        write_counts(&writer, diff);
        write_lines(&writer, diff);
        write_shapes(&writer, diff);
    }
    return writer.failed ? status_no_memory(status) : true;
}
