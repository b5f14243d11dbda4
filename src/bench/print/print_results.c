/* Prints the results: where and when they were measured, then for each experiment its table,
 * notes, timelines and conclusions: the findings, and how far the lines are from what the
 * hardware allows. */
#include "bench/print/print_results.h"

#include <stdarg.h>
#include <string.h>

#include "base/array.h"
#include "bench/experiment.h"

static void print_sentence(const struct print_style *style, const char *mark, struct output *output,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));

/* A sentence under a table. */
static void print_sentence(const struct print_style *style, const char *mark, struct output *output,
                           const char *format, ...) {
    struct buffer words = {0};
    va_list arguments;
    va_start(arguments, format);
    buffer_vprintf(&words, format, arguments);
    va_end(arguments);
    print_paragraph(style, 2, mark, buffer_as_text(&words), output);
    print_note_failure(words.failed, output);
    buffer_finish(&words);
}

static const char *bullet(const struct print_style *style) {
    return style->style == TABLE_MARKDOWN ? "- " : "";
}

/* ---- Where and when --------------------------------------------------------------------- */

/* A short summary of the most common roofs. */
static void append_roofs(struct buffer *words, const struct roofs *roofs) {
    static const struct {
        enum roof_id id;
        const char *name;
    } shown[] = {
        {ROOF_MEMORY_COPY, "memory"},      {ROOF_F32, "f32"},       {ROOF_MATRIX_F16, "f16 matrix"},
        {ROOF_MATRIX_BF16, "bf16 matrix"}, {ROOF_LAUNCH, "launch"},
    };
    const char *before = roofs->quick ? "; measured quickly: " : "; measured: ";
    char value[48];
    for (size_t i = 0; i < ARRAY_COUNT(shown); i++) {
        if (!(roofs->of[shown[i].id].value > 0))
            continue;
        buffer_printf(words, "%s%s %s", before, shown[i].name,
                      print_value_of_roof(shown[i].id, roofs->of[shown[i].id].value, value));
        before = ", ";
    }
    if (*roofs->note)
        buffer_printf(words, " (%s)", roofs->note);
}

static void write_device(const struct roofs *roofs, const struct print_style *style,
                         struct output *output) {
    struct buffer words = {0};
    buffer_printf(&words, "%s: %s%s%s", roofs->device, roofs->description,
                  *roofs->description && *roofs->driver ? ", " : "", roofs->driver);
    append_roofs(&words, roofs);
    print_paragraph(style, 0, bullet(style), buffer_as_text(&words), output);
    print_note_failure(words.failed, output);
    buffer_finish(&words);
}

static void write_head(const struct result_set *set, const struct print_style *style,
                       struct output *output) {
    struct buffer words = {0};
    char date[40] = "";
    if (set->started_at > 0)
        print_moment(set->started_at, date);
    buffer_printf(&words, "%s%s%s", set->machine, *set->machine && *date ? ", " : "", date);
    if (words.length > 0)
        print_paragraph(style, 0, bullet(style), buffer_as_text(&words), output);
    for (size_t i = 0; i < set->roofs_count; i++)
        write_device(&set->roofs[i], style, output);
    buffer_clear(&words);
    buffer_printf(&words, "beside it: %s", set->peer);
    if (*set->peer)
        print_paragraph(style, 0, bullet(style), buffer_as_text(&words), output);
    print_note_failure(words.failed, output);
    buffer_finish(&words);
}

/* ---- An experiment ---------------------------------------------------------------------- */

static void write_heading(const struct sheet *sheet, struct output *output) {
    const struct result *first = sheet->rows[0];
    const struct experiment *experiment = experiment_find(first->experiment);
    struct buffer words = {0};
    buffer_string(&words, first->experiment);
    if (experiment)
        buffer_printf(&words, ": %s", experiment->summary);
    print_heading(sheet->style, buffer_as_text(&words), output);
    buffer_clear(&words);
    if (!sheet->several_devices)
        buffer_printf(&words, "on %s", first->device);
    if (!sheet->several_types)
        buffer_printf(&words, "%sin %s", words.length ? ", " : "", ridge_dtype_name(first->dtype));
    if (words.length)
        print_paragraph(sheet->style, 0, "", buffer_as_text(&words), output);
    output_write(output, "\n", 1);
    print_note_failure(words.failed, output);
    buffer_finish(&words);
}

static void write_notes(const struct sheet *sheet, struct output *output) {
    struct buffer mark = {0};
    for (size_t i = 0; i < sheet->note_count; i++) {
        buffer_clear(&mark);
        if (sheet->style->style == TABLE_MARKDOWN)
            buffer_string(&mark, "- ");
        sheet_mark(i, &mark);
        buffer_append(&mark, " ", 2);
        print_paragraph(sheet->style, 2, mark.failed ? "" : mark.data, text_of(sheet->notes[i]),
                        output);
    }
    print_note_failure(mark.failed, output);
    buffer_finish(&mark);
}

/* No line has figures: a table would be empty. */
static void write_failures(const struct sheet *sheet, struct output *output) {
    struct buffer name = {0};
    print_sentence(sheet->style, "", output, "Nothing could be measured:");
    if (sheet->style->style == TABLE_MARKDOWN)
        output_write(output, "\n", 1);
    for (size_t i = 0; i < sheet->count; i++) {
        const struct result *result = sheet->rows[i];
        buffer_clear(&name);
        print_name(result, &name);
        print_sentence(sheet->style, bullet(sheet->style), output, "%.*s%s%s: %s",
                       TEXT_ARGS(buffer_as_text(&name)), sheet->several_devices ? " on " : "",
                       sheet->several_devices ? result->device : "",
                       *result->problem ? result->problem : "no figures");
    }
    print_note_failure(name.failed, output);
    buffer_finish(&name);
}

static void write_findings(const struct sheet *sheet, struct output *output) {
    const struct result_set *set = sheet->set;
    for (size_t i = 0; i < set->finding_count; i++) {
        const struct result_finding *finding = &set->findings[i];
        if (strcmp(finding->experiment, sheet->rows[0]->experiment) == 0)
            print_sentence(sheet->style, bullet(sheet->style), output, "%s%s%s",
                           sheet->several_devices ? finding->device : "",
                           sheet->several_devices ? ": " : "", finding->text);
    }
}

/* ---- What the hardware allows ----------------------------------------------------------- */

#define FAR 2.0         /* times the time at the roof: printed as a factor, below as a share */
#define ABOVE_ROOF 0.95 /* below this fraction of it the roof must be wrong */

static double distance(const struct result *result) {
    return print_has_figures(result) && result->limit.ns > 0
               ? result->time.time.median / result->limit.ns
               : 0;
}

static void append_distance(struct buffer *words, const struct result *result) {
    char figure[FORMAT_SIZE];
    if (distance(result) >= FAR)
        buffer_printf(words, "%sx slower than the hardware allows",
                      print_times(distance(result), figure));
    else
        buffer_printf(words, "at %s of what the hardware allows",
                      print_share(1 / distance(result), figure));
    buffer_printf(words, " (%s)", sheet_roof_name(result));
}

static void append_name(const struct sheet *sheet, struct buffer *words,
                        const struct result *result) {
    print_name(result, words);
    if (sheet->several_types)
        buffer_printf(words, " %s", ridge_dtype_name(result->dtype));
}

/* The lines of one device: the one furthest from its roof and the nearest. */
static void write_distance(const struct sheet *sheet, const char *device, struct output *output) {
    const struct result *furthest = NULL, *nearest = NULL;
    size_t count = 0;
    struct buffer words = {0};
    char share[FORMAT_SIZE];
    for (size_t i = 0; i < sheet->count; i++) {
        const struct result *result = sheet->rows[i];
        if (strcmp(result->device, device) != 0 || distance(result) <= 0)
            continue;
        count++;
        furthest = !furthest || distance(result) > distance(furthest) ? result : furthest;
        nearest = !nearest || distance(result) < distance(nearest) ? result : nearest;
    }
    if (count == 0)
        return;
    if (sheet->several_devices)
        buffer_printf(&words, "%s: ", device);
    if (count == 1) {
        append_name(sheet, &words, furthest);
        buffer_string(&words, " is ");
        append_distance(&words, furthest);
    } else if (distance(furthest) < FAR) {
        buffer_printf(&words, "Every line reaches at least %s of what the hardware allows",
                      print_share(1 / distance(furthest), share));
    } else {
        append_name(sheet, &words, furthest);
        buffer_string(&words, " is farthest from its roof: ");
        append_distance(&words, furthest);
        buffer_string(&words, "; ");
        append_name(sheet, &words, nearest);
        buffer_string(&words, " is nearest: ");
        append_distance(&words, nearest);
    }
    buffer_string(&words, ".");
    if (distance(nearest) < ABOVE_ROOF) {
        buffer_byte(&words, ' ');
        append_name(sheet, &words, nearest);
        buffer_string(
            &words,
            " is faster than the measured roof: measure it again with ridge peaks --refresh.");
    }
    print_paragraph(sheet->style, 2, bullet(sheet->style), buffer_as_text(&words), output);
    print_note_failure(words.failed, output);
    buffer_finish(&words);
}

/* Once for each device. */
static void write_distances(const struct sheet *sheet, struct output *output) {
    for (size_t i = 0; i < sheet->count; i++) {
        bool first = true;
        for (size_t k = 0; k < i && first; k++)
            first = strcmp(sheet->rows[k]->device, sheet->rows[i]->device) != 0;
        if (first)
            write_distance(sheet, sheet->rows[i]->device, output);
    }
}

/* ---- The whole -------------------------------------------------------------------------- */

static bool any_figures(const struct sheet *sheet) {
    for (size_t i = 0; i < sheet->count; i++)
        if (print_has_figures(sheet->rows[i]))
            return true;
    return false;
}

static void write_peer_sheet(struct sheet *sheet, struct output *output) {
    bool has_peer = false;
    for (size_t i = 0; i < sheet->count; i++)
        has_peer |= print_has_figures(sheet->rows[i]) && sheet->rows[i]->has_peer;
    if (!has_peer || sheet->shown[SHEET_PEER])
        return;
    output_write(output, "\n", 1);
    sheet_show_peer(sheet);
    sheet_write(sheet, output);
}

static void write_sheet(struct sheet *sheet, struct output *output) {
    write_heading(sheet, output);
    if (!any_figures(sheet)) {
        write_failures(sheet, output);
        return;
    }
    sheet_choose(sheet);
    sheet_write(sheet, output);
    if (sheet->style->style == TABLE_MARKDOWN && sheet->note_count > 0)
        output_write(output, "\n", 1);
    write_notes(sheet, output);
    write_peer_sheet(sheet, output);
    print_timelines(sheet, output);
    output_write(output, "\n", 1);
    write_findings(sheet, output);
    write_distances(sheet, output);
}

static bool seen_before(const struct result_set *set, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (strcmp(set->results[k].experiment, set->results[i].experiment) == 0)
            return true;
    return false;
}

bool print_results(const struct result_set *set, const struct print_style *style,
                   struct output *output, struct status *status) {
    if (style->style == TABLE_CSV) {
        print_results_csv(set, !style->no_header, output);
    } else {
        write_head(set, style, output);
        if (set->count == 0)
            print_paragraph(style, 0, "", TEXT("There are no results."), output);
    }
    for (size_t i = 0; i < set->count && style->style != TABLE_CSV; i++) {
        struct sheet sheet;
        if (seen_before(set, i))
            continue;
        bool ok = sheet_init(&sheet, set, set->results[i].experiment, style, status);
        if (ok)
            write_sheet(&sheet, output);
        sheet_finish(&sheet);
        if (!ok)
            return false;
    }
    if (output->failed)
        *status = output->why;
    return !output->failed;
}
