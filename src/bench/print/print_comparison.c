/* Faster, slower, or no measurable difference: two runs line by line, with the confidence
 * interval of the ratio of their times and the change of the machine's speed. */
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "bench/print/print_sheet.h"

enum column {
    EXPERIMENT,
    LABEL,
    VARIANT,
    DEVICE,
    BEFORE,
    AFTER,
    RATIO,
    INTERVAL,
    NOISE,
    VERDICT,
    COLUMNS
};

static const char *const titles[COLUMNS] = {"experiment", "what",   "how",   "device",
                                            "before",     "after",  "ratio", "95% interval",
                                            "noise",      "verdict"};

struct view {
    const struct comparison_set *set;
    const struct print_style *style;
    bool shown[COLUMNS];
    bool labels_apart; /* on lines of their own, with the experiment where there are several */
    bool several_experiments;
};

static const struct result *either(const struct comparison *row) {
    return row->after ? row->after : row->before;
}

static void append_time(const struct result *result, struct buffer *text) {
    char time[FORMAT_SIZE];
    bool has = result && print_has_figures(result);
    buffer_string(text, print_time(has ? result->time.time.median : NAN, time));
}

static void append_verdict(const struct comparison *row, struct buffer *text) {
    char figure[FORMAT_SIZE];
    buffer_string(text, comparison_verdict_name(row->verdict));
    if (row->disturbed && row->verdict == COMPARISON_SAME)
        sheet_mark(0, text);
    bool differs = row->verdict == COMPARISON_FASTER || row->verdict == COMPARISON_SLOWER;
    if (!differs || !(row->ratio > 0) || row->noise > RATIO_SPREAD_MAX)
        return;
    double times = row->ratio > 1 ? row->ratio : 1 / row->ratio;
    if (times >= 2)
        buffer_printf(text, ", %s times", print_times(times, figure));
    else
        buffer_printf(text, " by %s", print_share(fabs(row->ratio - 1), figure));
}

static void append_cell(const struct comparison *row, enum column column, struct buffer *text) {
    char figure[FORMAT_SIZE];
    const struct result *result = either(row);
    bool compared = row->verdict != COMPARISON_ABSENT;
    switch (column) {
    case EXPERIMENT:
        buffer_string(text, result->experiment);
        break;
    case LABEL:
        buffer_string(text, result->label);
        break;
    case VARIANT:
        buffer_string(text, result->variant);
        break;
    case DEVICE:
        buffer_string(text, result->device);
        break;
    case BEFORE:
        append_time(row->before, text);
        break;
    case AFTER:
        append_time(row->after, text);
        break;
    case RATIO:
        if (compared && row->noise <= RATIO_SPREAD_MAX)
            buffer_printf(text, "%.3f", row->ratio);
        break;
    case INTERVAL:
        if (compared)
            buffer_printf(text, "%.3f to %.3f", row->low, row->high);
        break;
    case NOISE:
        if (compared)
            buffer_printf(text, "±%s", print_share(row->noise, figure));
        break;
    default:
        append_verdict(row, text);
    }
}

/* ---- Columns ---------------------------------------------------------------------------- */

static size_t column_width(const struct view *view, enum column column) {
    struct buffer cell = {0};
    size_t width = table_text_width(text_of(titles[column]));
    for (size_t i = 0; i < view->set->count; i++) {
        buffer_clear(&cell);
        append_cell(&view->set->rows[i], column, &cell);
        size_t needed = table_text_width(buffer_as_text(&cell));
        width = needed > width ? needed : width;
    }
    buffer_finish(&cell);
    return width;
}

static size_t total_width(const struct view *view, const size_t *widths) {
    size_t total = PRINT_INDENT;
    for (enum column c = 0; c < COLUMNS; c++)
        if (view->shown[c])
            total += widths[c] + (total > PRINT_INDENT ? PRINT_GAP : 0);
    return total;
}

static void give_up(struct view *view, const size_t *widths) {
    static const enum column given_up[] = {NOISE, RATIO};
    for (size_t i = 0; i < ARRAY_COUNT(given_up); i++)
        if (total_width(view, widths) > view->style->width)
            view->shown[given_up[i]] = false;
}

/* Less is shown until it fits; if that is not enough, the labels move out of the table. */
static void make_it_fit(struct view *view) {
    size_t widths[COLUMNS];
    for (enum column c = 0; c < COLUMNS; c++)
        widths[c] = column_width(view, c);
    give_up(view, widths);
    if (total_width(view, widths) <= view->style->width)
        return;
    view->labels_apart = true;
    view->shown[LABEL] = view->shown[EXPERIMENT] = false;
    view->shown[NOISE] = view->shown[RATIO] = true;
    give_up(view, widths);
}

static void choose_columns(struct view *view) {
    const struct result *first = either(&view->set->rows[0]);
    for (enum column c = 0; c < COLUMNS; c++)
        view->shown[c] = c != VARIANT && c != DEVICE;
    for (size_t i = 0; i < view->set->count; i++) {
        const struct result *result = either(&view->set->rows[i]);
        view->several_experiments |= strcmp(result->experiment, first->experiment) != 0;
        view->shown[DEVICE] |= strcmp(result->device, first->device) != 0;
        view->shown[VARIANT] |= *result->variant != '\0';
    }
    view->shown[EXPERIMENT] = view->several_experiments;
    if (view->style->style == TABLE_TEXT && view->style->width > 0)
        make_it_fit(view);
}

static void append_label(const void *context, size_t row, struct buffer *label) {
    const struct view *view = context;
    const struct result *result = either(&view->set->rows[row]);
    if (view->several_experiments)
        buffer_printf(label, "%s: ", result->experiment);
    buffer_string(label, result->label);
}

static void write_table(const struct view *view, struct output *output) {
    struct table table = {0};
    struct buffer cell = {0};
    for (enum column c = 0; c < COLUMNS; c++)
        if (view->shown[c])
            table_column(&table, titles[c],
                         c == LABEL                  ? TABLE_LEFT | TABLE_FLEXIBLE
                         : c >= BEFORE && c <= NOISE ? TABLE_RIGHT
                                                     : TABLE_LEFT);
    for (size_t i = 0; i < view->set->count; i++)
        for (enum column c = 0; c < COLUMNS; c++) {
            if (!view->shown[c])
                continue;
            buffer_clear(&cell);
            append_cell(&view->set->rows[i], c, &cell);
            table.failed |= cell.failed;
            table_cell(&table, buffer_as_text(&cell));
        }
    print_table(&table, view->style, view->labels_apart ? append_label : NULL, view, output);
    table_finish(&table);
    buffer_finish(&cell);
}

/* ---- In words --------------------------------------------------------------------------- */

static void write_counts(const struct view *view, struct output *output) {
    struct buffer words = {0};
    size_t counts[COMPARISON_ABSENT + 1] = {0};
    static const enum comparison_verdict order[] = {COMPARISON_SLOWER, COMPARISON_FASTER,
                                                    COMPARISON_SAME, COMPARISON_ABSENT};
    static const char *const names[] = {"slower", "faster", "without a measurable difference",
                                        "in one run only"};
    for (size_t i = 0; i < view->set->count; i++)
        counts[view->set->rows[i].verdict]++;
    for (size_t i = 0; i < 4; i++)
        if (counts[order[i]] > 0)
            buffer_printf(&words, "%s%zu %s", words.length ? ", " : "", counts[order[i]], names[i]);
    buffer_string(&words, ".");
    print_paragraph(view->style, PRINT_INDENT, "", buffer_as_text(&words), output);
    print_note_failure(words.failed, output);
    buffer_finish(&words);
}

#define DRIFT_WORTH_SAYING 0.005

static void write_drift(const struct view *view, struct output *output) {
    double drift = view->set->drift;
    struct buffer words = {0};
    char share[FORMAT_SIZE];
    if (!isfinite(drift))
        buffer_string(&words, "The machine's speed is not known for both runs.");
    else if (fabs(drift) < DRIFT_WORTH_SAYING)
        buffer_string(&words, "The machine's speed did not change.");
    else
        buffer_printf(&words, "The machine was %s %s in the later run.",
                      print_share(fabs(drift), share), drift > 0 ? "slower" : "faster");
    print_paragraph(view->style, PRINT_INDENT, "", buffer_as_text(&words), output);
    print_note_failure(words.failed, output);
    buffer_finish(&words);
}

static void write_disturbed(const struct view *view, struct output *output) {
    bool any = false;
    for (size_t i = 0; i < view->set->count; i++)
        any |= view->set->rows[i].disturbed && view->set->rows[i].verdict == COMPARISON_SAME;
    if (any)
        print_paragraph(view->style, PRINT_INDENT, "¹ ",
                        TEXT("other programs used the CPU too much of the time to decide"), output);
}

static void write_csv(const struct view *view, struct output *output) {
    if (!view->style->no_header)
        output_printf(output, "experiment,label,variant,device,before_ns,after_ns,ratio,ratio_low,"
                              "ratio_high,noise,verdict\r\n");
    for (size_t i = 0; i < view->set->count; i++) {
        const struct comparison *row = &view->set->rows[i];
        const struct result *result = either(row), *sides[] = {row->before, row->after};
        const char *words[] = {result->experiment, result->label, result->variant, result->device};
        for (size_t k = 0; k < 4; k++) {
            table_csv_field(output, text_of(words[k]));
            output_write(output, ",", 1);
        }
        for (size_t k = 0; k < 2; k++) {
            if (sides[k] && print_has_figures(sides[k]))
                output_printf(output, "%.15g", sides[k]->time.time.median);
            output_write(output, ",", 1);
        }
        if (row->verdict == COMPARISON_ABSENT)
            output_printf(output, ",,,,");
        else
            output_printf(output, "%.15g,%.15g,%.15g,%.15g,", row->ratio, row->low, row->high,
                          row->noise);
        table_csv_field(output, text_of(comparison_verdict_name(row->verdict)));
        output_write(output, "\r\n", 2);
    }
}

bool print_comparison(const struct comparison_set *set, const struct print_style *style,
                      struct output *output, struct status *status) {
    struct view view = {.set = set, .style = style};
    if (style->style == TABLE_CSV) {
        write_csv(&view, output);
    } else if (set->count == 0) {
        print_paragraph(style, 0, "", TEXT("There is nothing to compare."), output);
    } else {
        print_heading(style, TEXT("Compared with the earlier run"), output);
        if (style->style == TABLE_TEXT)
            output_write(output, "\n", 1);
        choose_columns(&view);
        write_table(&view, output);
        if (style->style == TABLE_MARKDOWN)
            output_write(output, "\n", 1);
        write_disturbed(&view, output);
        if (style->style == TABLE_TEXT)
            output_write(output, "\n", 1);
        write_counts(&view, output);
        write_drift(&view, output);
        if (*set->warning)
            print_paragraph(style, PRINT_INDENT, "Careful: ", text_of(set->warning), output);
    }
    if (output->failed)
        *status = output->why;
    return !output->failed;
}
