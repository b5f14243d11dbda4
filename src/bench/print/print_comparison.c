/* Faster, slower, or no measurable difference: two runs line by line, with the confidence
 * interval of the ratio of their times and the change of the machine's speed. */
#include <math.h>
#include <string.h>

#include "bench/print/print_parts.h"

struct view {
    const struct comparison_set *set;
    const struct section_style *style;
    bool several_experiments, several_devices;
};

static const void *comparison_row(const void *source, size_t index) {
    const struct comparison_set *set = ((const struct view *)source)->set;
    return index < set->count ? &set->rows[index] : NULL;
}

static const struct result *either(const struct comparison *row) {
    return row->after ? row->after : row->before;
}

static struct value time_of(const struct result *result) {
    return result && print_has_figures(result) ? value_real(result->time.time.median)
                                               : value_none();
}

static struct value compared(const struct comparison *row, double value) {
    return row->verdict == COMPARISON_ABSENT ? value_none() : value_real(value);
}

static struct value label_words(const struct view *view, const struct comparison *row,
                                struct buffer *words) {
    if (view->several_experiments)
        buffer_printf(words, "%s: ", either(row)->experiment);
    buffer_string(words, either(row)->label);
    return value_text(buffer_as_text(words));
}

static struct value interval_words(const struct comparison *row, struct buffer *words) {
    if (row->verdict == COMPARISON_ABSENT)
        return value_none();
    buffer_printf(words, "%.3f to %.3f", row->low, row->high);
    return value_text(buffer_as_text(words));
}

static struct value verdict_words(const struct comparison *row, struct buffer *words) {
    char figure[FORMAT_SIZE];
    bool differs = row->verdict == COMPARISON_FASTER || row->verdict == COMPARISON_SLOWER;
    buffer_string(words, comparison_verdict_name(row->verdict));
    if (row->disturbed && row->verdict == COMPARISON_SAME)
        print_mark(0, words);
    if (differs && row->ratio > 0 && row->noise <= RATIO_SPREAD_MAX) {
        double times = row->ratio > 1 ? row->ratio : 1 / row->ratio;
        if (times >= 2)
            buffer_printf(words, ", %s", format_ratio(times, figure));
        else
            buffer_printf(words, " by %s", format_percent(fabs(row->ratio - 1), figure));
    }
    return value_text(buffer_as_text(words));
}

#define COMPARISON(name, ...) SECTION_VALUE(name, struct view, struct comparison, __VA_ARGS__)
COMPARISON(row_experiment, value_string(either(at)->experiment))
COMPARISON(row_label, value_string(either(at)->label))
COMPARISON(row_label_words, label_words(of, at, words))
COMPARISON(row_variant, *either(at)->variant ? value_string(either(at)->variant) : value_none())
COMPARISON(row_device, value_string(either(at)->device))
COMPARISON(row_device_shown, of->several_devices ? value_string(either(at)->device) : value_none())
COMPARISON(row_before, time_of(at->before))
COMPARISON(row_after, time_of(at->after))
COMPARISON(row_ratio, compared(at, at->ratio))
COMPARISON(row_ratio_shown,
           at->noise <= RATIO_SPREAD_MAX ? compared(at, at->ratio) : value_unknown())
COMPARISON(row_low, compared(at, at->low))
COMPARISON(row_high, compared(at, at->high))
COMPARISON(row_interval, interval_words(at, words))
COMPARISON(row_noise, compared(at, at->noise))
COMPARISON(row_verdict, value_string(comparison_verdict_name(at->verdict)))
COMPARISON(row_verdict_words, verdict_words(at, words))

static const struct column comparison_columns[] = {
    {"experiment", NULL, UNIT_TEXT, 0, row_experiment},
    {"label", NULL, UNIT_TEXT, 0, row_label},
    {NULL, "what", UNIT_TEXT, COLUMN_LABEL | COLUMN_FLEXIBLE | COLUMN_IN_PLACE | COLUMN_RANK(1),
     row_label_words},
    {"variant", "how", UNIT_TEXT, 0, row_variant},
    {"device", NULL, UNIT_TEXT, 0, row_device},
    {NULL, "device", UNIT_TEXT, 0, row_device_shown},
    {"before_ns", "before", UNIT_NS_MEAN, 0, row_before},
    {"after_ns", "after", UNIT_NS_MEAN, 0, row_after},
    {"ratio", NULL, UNIT_FACTOR, 0, row_ratio},
    {NULL, "ratio", UNIT_NUMBER, COLUMN_RANK(2), row_ratio_shown},
    {"ratio_low", NULL, UNIT_FACTOR, 0, row_low},
    {"ratio_high", NULL, UNIT_FACTOR, 0, row_high},
    {NULL, "95 % interval", UNIT_TEXT, COLUMN_RIGHT, row_interval},
    {"noise", "noise", UNIT_SHARE, COLUMN_RANK(3), row_noise},
    {"verdict", NULL, UNIT_TEXT, 0, row_verdict},
    {NULL, "verdict", UNIT_TEXT, 0, row_verdict_words},
    {0},
};
static const struct section comparison_section = {.key = "comparison",
                                                  .title = "Comparison",
                                                  .columns = comparison_columns,
                                                  .row = comparison_row};

static void survey(struct view *view) {
    for (size_t i = 0; i < view->set->count; i++) {
        const struct result *result = either(&view->set->rows[i]);
        const struct result *first = either(&view->set->rows[0]);
        view->several_experiments |= strcmp(result->experiment, first->experiment) != 0;
        view->several_devices |= strcmp(result->device, first->device) != 0;
    }
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
    print_paragraph(view->style, SECTION_INDENT, "", buffer_as_text(&words), output);
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
    print_paragraph(view->style, SECTION_INDENT, "", buffer_as_text(&words), output);
    print_note_failure(words.failed, output);
    buffer_finish(&words);
}

static void write_disturbed(const struct view *view, struct output *output) {
    bool any = false;
    for (size_t i = 0; i < view->set->count; i++)
        any |= view->set->rows[i].disturbed && view->set->rows[i].verdict == COMPARISON_SAME;
    if (any)
        print_paragraph(view->style, SECTION_INDENT, "¹ ",
                        TEXT("other programs used the CPU too much of the time to decide"), output);
}

static bool write_comparison(const struct view *view, struct output *output,
                             struct status *status) {
    bool text = view->style->style == TABLE_TEXT;
    struct section_style indented = *view->style;
    indented.indent = SECTION_INDENT;
    print_heading(view->style, TEXT("Compared with the earlier run"), output);
    if (text)
        output_write(output, "\n", 1);
    if (!section_write(&comparison_section, view, &indented, output, status))
        return false;
    if (!text)
        output_write(output, "\n", 1);
    write_disturbed(view, output);
    if (text)
        output_write(output, "\n", 1);
    write_counts(view, output);
    write_drift(view, output);
    if (*view->set->warning)
        print_paragraph(view->style, SECTION_INDENT, "Careful: ", text_of(view->set->warning),
                        output);
    return true;
}

bool print_comparison(const struct comparison_set *set, const struct section_style *style,
                      struct output *output, struct status *status) {
    struct view view = {.set = set, .style = style};
    bool ok = true;
    survey(&view);
    if (style->style == TABLE_CSV)
        ok = section_write(&comparison_section, &view, style, output, status);
    else if (set->count == 0)
        print_paragraph(style, 0, "", TEXT("There is nothing to compare."), output);
    else
        ok = write_comparison(&view, output, status);
    if (output->failed)
        *status = output->why;
    return ok && !output->failed;
}
