/* Prints the results: where and when they were measured, then for each experiment its table,
 * notes, timelines and conclusions: the findings, and how far the lines are from what the
 * hardware allows. */
#include "bench/print/print_results.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "bench/experiment.h"

static void print_sentence(const struct section_style *style, const char *mark,
                           struct output *output, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A sentence under a table. */
static void print_sentence(const struct section_style *style, const char *mark,
                           struct output *output, const char *format, ...) {
    struct buffer words = {0};
    va_list arguments;
    va_start(arguments, format);
    buffer_vprintf(&words, format, arguments);
    va_end(arguments);
    print_paragraph(style, 2, mark, buffer_as_text(&words), output);
    print_note_failure(words.failed, output);
    buffer_finish(&words);
}

static const char *bullet(const struct section_style *style) {
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

static void write_device(const struct roofs *roofs, const struct section_style *style,
                         struct output *output) {
    struct buffer words = {0};
    buffer_printf(&words, "%s: %s%s%s", roofs->device, roofs->description,
                  *roofs->description && *roofs->driver ? ", " : "", roofs->driver);
    append_roofs(&words, roofs);
    print_paragraph(style, 0, bullet(style), buffer_as_text(&words), output);
    print_note_failure(words.failed, output);
    buffer_finish(&words);
}

static void write_head(const struct result_set *set, const struct section_style *style,
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

/* ---- Rows -------------------------------------------------------------------------------- */

static bool same_case(const struct result *a, const struct result *b) {
    return strcmp(a->label, b->label) == 0 && strcmp(a->variant, b->variant) == 0 &&
           a->dtype == b->dtype;
}

/* The previous result on the same device, for lines that are compared with it. */
static const struct result *one_before(const struct result_set *set, const struct result *result) {
    if (!result->compare)
        return NULL;
    for (size_t i = (size_t)(result - set->results); i-- > 0;)
        if (strcmp(set->results[i].experiment, result->experiment) == 0 &&
            strcmp(set->results[i].device, result->device) == 0)
            return &set->results[i];
    return NULL;
}

static void add_row(struct sheet *sheet, const struct result *result) {
    sheet->before[sheet->count] = one_before(sheet->set, result);
    sheet->rows[sheet->count++] = result;
}

static bool is_listed(const struct sheet *sheet, const struct result *result) {
    for (size_t i = 0; i < sheet->count; i++)
        if (sheet->rows[i] == result)
            return true;
    return false;
}

static void collect_rows(struct sheet *sheet, const char *experiment) {
    const struct result *results = sheet->set->results;
    for (size_t i = 0; i < sheet->set->count; i++) {
        if (!experiment) {
            add_row(sheet, &results[i]);
            continue;
        }
        if (strcmp(results[i].experiment, experiment) != 0 || is_listed(sheet, &results[i]))
            continue;
        add_row(sheet, &results[i]);
        for (size_t k = i + 1; k < sheet->set->count; k++)
            if (strcmp(results[k].experiment, experiment) == 0 &&
                strcmp(results[k].device, results[i].device) != 0 &&
                same_case(&results[k], &results[i]) && !is_listed(sheet, &results[k]))
                add_row(sheet, &results[k]);
    }
}

static void collect_notes(struct sheet *sheet) {
    for (size_t i = 0; i < sheet->count; i++) {
        const struct result *result = sheet->rows[i];
        const char *note = *result->problem ? result->problem : result->notes;
        bool known = !*note;
        for (size_t k = 0; k < sheet->note_count && !known; k++)
            known = strcmp(sheet->notes[k], note) == 0;
        if (!known)
            sheet->notes[sheet->note_count++] = note;
    }
}

static void survey(struct sheet *sheet) {
    for (size_t i = 0; i < sheet->count; i++) {
        const struct result *result = sheet->rows[i], *first = sheet->rows[0];
        sheet->several_devices |= strcmp(result->device, first->device) != 0;
        sheet->several_types |= result->dtype != first->dtype;
        sheet->several_kernels |= result->kernels != first->kernels;
    }
}

bool sheet_init(struct sheet *sheet, const struct result_set *set, const char *experiment,
                const struct section_style *style, struct status *status) {
    *sheet = (struct sheet){.set = set, .style = style};
    if (!(sheet->rows = memory_allocate(set->count, sizeof *sheet->rows, status)) ||
        !(sheet->before = memory_allocate(set->count, sizeof *sheet->before, status)) ||
        !(sheet->notes = memory_allocate(set->count, sizeof *sheet->notes, status)))
        return false;
    collect_rows(sheet, experiment);
    collect_notes(sheet);
    survey(sheet);
    return true;
}

void sheet_finish(struct sheet *sheet) {
    memory_free(sheet->rows);
    memory_free(sheet->before);
    memory_free(sheet->notes);
    *sheet = (struct sheet){0};
}

/* ---- The table -------------------------------------------------------------------------- */

static const void *result_row(const void *source, size_t index) {
    const struct sheet *sheet = source;
    return index < sheet->count ? &sheet->rows[index] : NULL;
}

/* Nothing else applies to a line that could not be measured. */
static struct value measured(const struct result *result, double value) {
    if (!print_has_figures(result))
        return value_none();
    return value_if(isfinite(value) && value > 0, value_real(value));
}

static struct value text_unless_empty(const char *text) {
    return *text ? value_string(text) : value_none();
}

static double bytes_moved(const struct result *result) {
    const struct amount *amount = &result->amount;
    return (double)(amount->bytes ? amount->bytes : amount->transfer_bytes);
}

static double per_second(const struct result *result, double amount) {
    return amount / (result->time.time.median / 1e9);
}

static struct value spread_share(const struct result *result) {
    return print_has_figures(result) ? value_real(statistics_spread(&result->time.time))
                                     : value_none();
}

/* "2.7 %", and the mark of the line's note behind it. */
static struct value spread_words(const struct sheet *sheet, const struct result *result,
                                 struct buffer *words) {
    char share[FORMAT_SIZE];
    const char *note = *result->problem ? result->problem : result->notes;
    if (print_has_figures(result))
        buffer_string(words, format_percent(statistics_spread(&result->time.time), share));
    for (size_t i = 0; *note && i < sheet->note_count; i++)
        if (strcmp(sheet->notes[i], note) == 0)
            print_mark(i, words);
    return words->length ? value_text(buffer_as_text(words)) : value_none();
}

/* Points of one sweep: the same work with other parameters, or in larger batches. */
static bool in_one_sweep(const struct result *a, const struct result *b) {
    return strcmp(a->device, b->device) == 0 && a->dtype == b->dtype && b->curve &&
           (strcmp(a->label, b->label) == 0 || (a->batch != b->batch && a->size == b->size));
}

static double speed(const struct result *result) {
    double batch = result->batch > 0 ? (double)result->batch : 1;
    return print_has_figures(result) ? batch / result->time.time.median : 0;
}

/* A bar: the line's speed over that of the best line of its sweep. */
static struct value speed_bar(const struct sheet *sheet, const struct result *result,
                              struct buffer *words) {
    enum { CELLS = 12 };
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double best = 0;
    for (size_t i = 0; result->curve && i < sheet->count; i++)
        if (in_one_sweep(result, sheet->rows[i]) && speed(sheet->rows[i]) > best)
            best = speed(sheet->rows[i]);
    if (best <= 0 || speed(result) <= 0)
        return value_none();
    unsigned filled = (unsigned)(speed(result) / best * CELLS * 8 + 0.5);
    if (filled == 0)
        filled = 1; /* little is not nothing */
    for (unsigned i = 0; i < filled / 8; i++)
        buffer_string(words, "█");
    buffer_string(words, eighths[filled % 8]);
    return value_text(buffer_as_text(words));
}

/* Against the line before, where the two differ by more than their spread. */
static struct value speedup(const struct result *before, const struct result *result) {
    if (!before || !print_has_figures(before) || !print_has_figures(result))
        return value_none();
    return value_if(statistics_support_ratio(&before->time.time, &result->time.time),
                    value_real(before->time.time.median / result->time.time.median));
}

static bool has_peer(const struct result *result) {
    return print_has_figures(result) && result->has_peer && result->peer.time.median > 0;
}

static double peer_ratio(const struct result *result) {
    return has_peer(result) ? result->peer.time.median / result->time.time.median : NAN;
}

/* "1.27x faster", "0.80x (slower)" */
static struct value peer_words(const struct result *result, struct buffer *words) {
    char times[FORMAT_SIZE];
    double ratio = peer_ratio(result);
    if (!has_peer(result))
        return value_none();
    if (!statistics_support_ratio(&result->peer.time, &result->time.time))
        return value_unknown();
    buffer_printf(words, "%s%s", format_ratio(ratio, times),
                  ratio > 1.03   ? " faster"
                  : ratio < 0.97 ? " (slower)"
                                 : "");
    return value_text(buffer_as_text(words));
}

static bool is_limited(const struct result *result) {
    return print_has_figures(result) && result->limit.ns > 0;
}

static struct value roof_share(const struct result *result) {
    return is_limited(result) ? value_real(result->limit.ns / result->time.time.median)
                              : value_none();
}

#define ROW (*at)
#define RESULT(name, ...) SECTION_VALUE(name, struct sheet, struct result *const, __VA_ARGS__)
RESULT(row_experiment, value_string(ROW->experiment))
RESULT(row_label, value_string(ROW->label))
RESULT(row_variant, text_unless_empty(ROW->variant))
RESULT(row_device, value_string(ROW->device))
RESULT(row_device_shown, of->several_devices ? value_string(ROW->device) : value_none())
RESULT(row_type, value_string(ridge_dtype_name(ROW->dtype)))
RESULT(row_type_shown,
       of->several_types ? value_string(ridge_dtype_name(ROW->dtype)) : value_none())
RESULT(row_size, value_integer((int64_t)ROW->size))
RESULT(row_batch, value_integer((int64_t)ROW->batch))
RESULT(row_time, measured(ROW, ROW->time.time.median))
RESULT(row_low, measured(ROW, ROW->time.time.low))
RESULT(row_high, measured(ROW, ROW->time.time.high))
RESULT(row_spread, spread_share(ROW))
RESULT(row_spread_words, spread_words(of, ROW, words))
RESULT(row_bar, speed_bar(of, ROW, words))
RESULT(row_speedup, speedup(of->before[at - of->rows], ROW))
RESULT(row_device_time, measured(ROW, ROW->device_ns))
RESULT(row_kernels, measured(ROW, ROW->kernels))
RESULT(row_kernels_shown, of->several_kernels ? measured(ROW, ROW->kernels) : value_none())
RESULT(row_byte_rate, measured(ROW, per_second(ROW, bytes_moved(ROW))))
RESULT(row_flop_rate, measured(ROW, per_second(ROW, (double)ROW->amount.flops)))
RESULT(row_bytes, value_integer((int64_t)ROW->amount.bytes))
RESULT(row_moved, value_integer((int64_t)ROW->amount.moved_bytes))
RESULT(row_flops, value_integer((int64_t)ROW->amount.flops))
RESULT(row_share, roof_share(ROW))
RESULT(row_roof, is_limited(ROW) ? value_string(print_roof_name(ROW)) : value_none())
RESULT(row_at_roof, is_limited(ROW) ? value_real(ROW->limit.ns) : value_none())
RESULT(row_peer, has_peer(ROW) ? value_real(ROW->peer.time.median) : value_none())
RESULT(row_peer_ratio, has_peer(ROW) ? value_real(peer_ratio(ROW)) : value_none())
RESULT(row_peer_words, peer_words(ROW, words))
RESULT(row_error, ROW->checked ? value_real(ROW->error) : value_none())
RESULT(row_problem, value_string(ROW->problem))
RESULT(row_notes, value_string(ROW->notes))

static const struct column result_columns[] = {
    {"experiment", NULL, UNIT_TEXT, 0, row_experiment},
    {"label", "what", UNIT_TEXT, COLUMN_LABEL | COLUMN_FLEXIBLE | COLUMN_IN_PLACE | COLUMN_RANK(6),
     row_label},
    {"variant", "how", UNIT_TEXT, 0, row_variant},
    {"device", NULL, UNIT_TEXT, 0, row_device},
    {NULL, "device", UNIT_TEXT, 0, row_device_shown},
    {"dtype", NULL, UNIT_TEXT, 0, row_type},
    {NULL, "type", UNIT_TEXT, 0, row_type_shown},
    {"size", NULL, UNIT_COUNT, 0, row_size},
    {"batch", NULL, UNIT_COUNT, 0, row_batch},
    {"time_ns", "time", UNIT_NS_MEAN, 0, row_time},
    {"time_low_ns", NULL, UNIT_NS_MEAN, 0, row_low},
    {"time_high_ns", NULL, UNIT_NS_MEAN, 0, row_high},
    {"spread", NULL, UNIT_SHARE, 0, row_spread},
    {NULL, "±", UNIT_TEXT, COLUMN_RIGHT | COLUMN_RANK(4), row_spread_words},
    {NULL, "speed", UNIT_TEXT, COLUMN_RANK(5), row_bar},
    {NULL, "speedup", UNIT_FACTOR, COLUMN_RANK(2), row_speedup},
    {"device_ns", "on device", UNIT_NS_MEAN, COLUMN_RANK(8), row_device_time},
    {"kernels", NULL, UNIT_NUMBER, 0, row_kernels},
    {NULL, "kernels", UNIT_NUMBER, COLUMN_RANK(9), row_kernels_shown},
    {"bytes_per_s", "bytes/s", UNIT_BYTES_PER_S, COLUMN_RANK(3), row_byte_rate},
    {"flops_per_s", "FLOP/s", UNIT_FLOP_PER_S, COLUMN_RANK(5), row_flop_rate},
    {"bytes", NULL, UNIT_BYTES, 0, row_bytes},
    {"moved_bytes", NULL, UNIT_BYTES, 0, row_moved},
    {"flops", NULL, UNIT_COUNT, 0, row_flops},
    {"share_of_roof", "of roof", UNIT_SHARE, 0, row_share},
    {"roof", "roof", UNIT_TEXT, 0, row_roof},
    {"roof_ns", "at roof", UNIT_NS_MEAN, COLUMN_RANK(7), row_at_roof},
    {"peer_ns", "peer", UNIT_NS_MEAN, COLUMN_RANK(1), row_peer},
    {"peer_ratio", NULL, UNIT_FACTOR, 0, row_peer_ratio},
    {NULL, "vs peer", UNIT_TEXT, COLUMN_RIGHT | COLUMN_RANK(1), row_peer_words},
    {"error", "error", UNIT_NUMBER, COLUMN_WIDE | COLUMN_RANK(10), row_error},
    {"problem", NULL, UNIT_TEXT, 0, row_problem},
    {"notes", NULL, UNIT_TEXT, 0, row_notes},
    {0},
};
static const struct section results_section = {
    .key = "results", .title = "Results", .columns = result_columns, .row = result_row};

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
        print_mark(i, &mark);
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
    buffer_printf(words, " (%s)", print_roof_name(result));
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

static bool write_sheet(const struct sheet *sheet, struct output *output, struct status *status) {
    write_heading(sheet, output);
    if (!any_figures(sheet)) {
        write_failures(sheet, output);
        return true;
    }
    if (!section_write(&results_section, sheet, sheet->style, output, status))
        return false;
    if (sheet->style->style == TABLE_MARKDOWN && sheet->note_count > 0)
        output_write(output, "\n", 1);
    write_notes(sheet, output);
    print_timelines(sheet, output);
    output_write(output, "\n", 1);
    write_findings(sheet, output);
    write_distances(sheet, output);
    return true;
}

static bool seen_before(const struct result_set *set, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (strcmp(set->results[k].experiment, set->results[i].experiment) == 0)
            return true;
    return false;
}

static bool write_csv(const struct result_set *set, const struct section_style *style,
                      struct output *output, struct status *status) {
    struct sheet sheet;
    bool ok = sheet_init(&sheet, set, NULL, style, status) &&
              section_write(&results_section, &sheet, style, output, status);
    sheet_finish(&sheet);
    return ok;
}

bool print_results(const struct result_set *set, const struct section_style *style,
                   struct output *output, struct status *status) {
    struct section_style indented = *style;
    bool ok = true;
    indented.indent = SECTION_INDENT;
    if (style->style == TABLE_CSV)
        return write_csv(set, style, output, status);
    write_head(set, style, output);
    if (set->count == 0)
        print_paragraph(style, 0, "", TEXT("There are no results."), output);
    for (size_t i = 0; i < set->count && ok; i++) {
        struct sheet sheet;
        if (seen_before(set, i))
            continue;
        ok = sheet_init(&sheet, set, set->results[i].experiment, &indented, status) &&
             write_sheet(&sheet, output, status);
        sheet_finish(&sheet);
    }
    if (output->failed)
        *status = output->why;
    return ok && !output->failed;
}
