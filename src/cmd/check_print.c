/* The decision on each metric, and what people, pull requests and programs read of it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/format.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "base/section.h"
#include "base/statistics.h"
#include "cmd/check.h"
#include "cmd/terminal.h"
#include "compare/change_points.h"

/* ---- deciding ---- */

static double median_of(double *values, size_t count) {
    statistics_sort(values, count);
    return statistics_quantile(values, count, 0.5);
}

/* Counts that are the same in every run of a side gate without noise. */
static void decide_exact(struct check_row *row, const double *before, size_t before_count,
                         const double *after, size_t after_count) {
    row->varies = before_count == 0 || after_count == 0;
    for (size_t i = 1; i < before_count; i++)
        row->varies |= before[i] != before[0];
    for (size_t i = 1; i < after_count; i++)
        row->varies |= after[i] != after[0];
    bool more = !row->varies && after[0] > before[0];
    row->gate = (struct gate_result){.verdict = more ? GATE_REGRESSED : GATE_WITHIN};
    row->gate.ratio = row->gate.low = row->gate.high =
        row->before > 0 ? row->after / row->before : 1;
}

static bool decide_row(const struct check_result *result, unsigned noisy, struct check_row *row,
                       struct status *status) {
    const struct measured_runs *const *sides = (const struct measured_runs *const *)result->sides;
    double *values[CHECK_SIDES];
    size_t count[CHECK_SIDES];
    bool ok = true;
    for (unsigned at = CHECK_BEFORE; at < CHECK_SIDES; at++) {
        values[at] = memory_allocate(sides[at]->count, sizeof *values[at], status);
        ok &= values[at] != NULL;
        count[at] = values[at] ? measured_runs_values(sides[at], row->metric, values[at]) : 0;
    }
    if (ok) {
        row->before = median_of(values[CHECK_BEFORE], count[CHECK_BEFORE]);
        row->after = median_of(values[CHECK_AFTER], count[CHECK_AFTER]);
        if (metric_is_exact(row->metric))
            decide_exact(row, values[CHECK_BEFORE], count[CHECK_BEFORE], values[CHECK_AFTER],
                         count[CHECK_AFTER]);
        else if (metric_higher_is_better(sides[CHECK_AFTER], row->metric))
            ok = gate_decide(values[CHECK_AFTER], count[CHECK_AFTER], values[CHECK_BEFORE],
                             count[CHECK_BEFORE], result->gate, noisy, &row->gate, status);
        else
            ok = gate_decide(values[CHECK_BEFORE], count[CHECK_BEFORE], values[CHECK_AFTER],
                             count[CHECK_AFTER], result->gate, noisy, &row->gate, status);
    }
    memory_free(values[CHECK_BEFORE]);
    memory_free(values[CHECK_AFTER]);
    return ok;
}

bool check_decide(struct check_result *result, const unsigned *metrics, unsigned count,
                  struct status *status) {
    unsigned noisy = 0;
    result->row_count = 0;
    result->verdict = GATE_WITHIN;
    for (unsigned i = 0; i < count; i++)
        noisy += !metric_is_exact(metrics[i]);
    for (unsigned i = 0; i < count; i++) {
        struct check_row *row = &result->rows[result->row_count++];
        *row = (struct check_row){.metric = metrics[i]};
        if (!decide_row(result, noisy, row, status))
            return false;
        if (row->gate.verdict == GATE_REGRESSED)
            result->verdict = GATE_REGRESSED;
        else if (row->gate.verdict == GATE_UNDECIDED && result->verdict == GATE_WITHIN)
            result->verdict = GATE_UNDECIDED;
    }
    return true;
}

/* ---- rows ---- */

#define CHECK_VALUE(function, ...)                                                                 \
    static struct value function(const void *source, const void *row, struct buffer *words) {      \
        const struct check_result *of = source;                                                    \
        const struct check_row *at = row;                                                          \
        (void)of, (void)at, (void)words;                                                           \
        return __VA_ARGS__;                                                                        \
    }

/* Counts that did not change are no news; JSON has them all. */
static bool is_shown(const struct check_row *row) {
    return !metric_is_exact(row->metric) || row->varies || row->before != row->after;
}

static const void *shown_row(const void *source, size_t index) {
    const struct check_result *result = source;
    for (size_t i = 0; i < result->row_count; i++)
        if (is_shown(&result->rows[i]) && index-- == 0)
            return &result->rows[i];
    return NULL;
}

static const void *any_row(const void *source, size_t index) {
    const struct check_result *result = source;
    return index < result->row_count ? &result->rows[index] : NULL;
}

static struct value words_of(const struct check_result *result, struct buffer *words,
                             unsigned metric, double value) {
    char text[FORMAT_SIZE];
    buffer_string(words, metric_format(result->sides[CHECK_AFTER], metric, value, text));
    return value_text(buffer_as_text(words));
}

static struct value change_of(const struct check_row *row, struct buffer *words) {
    if (metric_is_exact(row->metric))
        buffer_printf(words, "%+.0f", row->after - row->before);
    else
        buffer_printf(words, "%+.1f %%", (row->after / row->before - 1) * 100);
    return value_text(buffer_as_text(words));
}

static struct value interval_of(const struct check_row *row, struct buffer *words) {
    if (metric_is_exact(row->metric) || !isfinite(row->gate.high) || row->gate.low <= 0)
        return value_none();
    buffer_printf(words, "%+.1f to %+.1f %%", (row->gate.low - 1) * 100,
                  (row->gate.high - 1) * 100);
    return value_text(buffer_as_text(words));
}

static const char *verdict_of(const struct check_row *row) {
    if (row->varies)
        return "varies: not gated";
    if (metric_is_exact(row->metric) && row->gate.verdict == GATE_WITHIN)
        return row->after < row->before ? "fewer" : "same";
    return gate_verdict_name(row->gate.verdict);
}

CHECK_VALUE(row_key, value_string(metric_key(of->sides[CHECK_AFTER], at->metric)))
CHECK_VALUE(row_title, value_string(metric_title(of->sides[CHECK_AFTER], at->metric)))
CHECK_VALUE(row_before, value_real(at->before))
CHECK_VALUE(row_after, value_real(at->after))
CHECK_VALUE(row_before_words, words_of(of, words, at->metric, at->before))
CHECK_VALUE(row_after_words, words_of(of, words, at->metric, at->after))
CHECK_VALUE(row_change, change_of(at, words))
CHECK_VALUE(row_interval, interval_of(at, words))
CHECK_VALUE(row_low, value_if(at->gate.low > 0, value_real(at->gate.low)))
CHECK_VALUE(row_ratio, value_real(at->gate.ratio))
CHECK_VALUE(row_high, value_if(isfinite(at->gate.high), value_real(at->gate.high)))
CHECK_VALUE(row_smallest, value_if(isfinite(at->gate.smallest), value_real(at->gate.smallest)))
CHECK_VALUE(row_verdict, value_string(verdict_of(at)))

static const struct column columns[] = {
    {"metric", NULL, UNIT_TEXT, 0, row_key},
    {NULL, "metric", UNIT_TEXT, 0, row_title},
    {"before", NULL, UNIT_NUMBER, 0, row_before},
    {"after", NULL, UNIT_NUMBER, 0, row_after},
    {NULL, "before", UNIT_TEXT, COLUMN_RIGHT, row_before_words},
    {NULL, "after", UNIT_TEXT, COLUMN_RIGHT, row_after_words},
    {NULL, "change", UNIT_TEXT, COLUMN_RIGHT, row_change},
    {NULL, "slowdown", UNIT_TEXT, COLUMN_RIGHT, row_interval},
    {"low", NULL, UNIT_NUMBER, 0, row_low},
    {"ratio", NULL, UNIT_NUMBER, 0, row_ratio},
    {"high", NULL, UNIT_NUMBER, 0, row_high},
    {"smallest_change", NULL, UNIT_NUMBER, 0, row_smallest},
    {"verdict", "verdict", UNIT_TEXT, 0, row_verdict},
    {0},
};
static const struct section shown_rows = {.key = "metrics", .columns = columns, .row = shown_row};
static const struct section all_rows = {.key = "metrics", .columns = columns, .row = any_row};

/* ---- sentences ---- */

/* The rows that decided; all noisy ones where a warning did. */
static bool is_named(const struct check_result *result, const struct check_row *row, bool all) {
    return !row->varies && is_shown(row) &&
           (all ? !metric_is_exact(row->metric) : row->gate.verdict == result->verdict);
}

static void say_verdict(const struct check_result *result, struct buffer *words) {
    static const char *const verdicts[] = {"Within the gate", "Regressed", "Not decidable"};
    const struct measured_runs *runs = result->sides[CHECK_AFTER];
    char before[FORMAT_SIZE], after[FORMAT_SIZE];
    const char *between = ": ";
    bool any = false;
    for (size_t i = 0; i < result->row_count; i++)
        any |= is_named(result, &result->rows[i], false);
    buffer_printf(words, "%s", verdicts[result->verdict]);
    for (size_t i = 0; i < result->row_count; i++) {
        const struct check_row *row = &result->rows[i];
        if (!is_named(result, row, !any))
            continue;
        buffer_printf(words, "%s%s %s -> %s", between, metric_title(runs, row->metric),
                      metric_format(runs, row->metric, row->before, before),
                      metric_format(runs, row->metric, row->after, after));
        if (!metric_is_exact(row->metric))
            buffer_printf(words, " (%+.1f %%)", (row->after / row->before - 1) * 100);
        between = ", ";
    }
    if (between[0] == ':' && result->row_count)
        buffer_string(words, ": all counts are the same");
    buffer_printf(words, ". The gate is %.3g %%.", result->gate * 100);
}

static void say_runs(const struct check_result *result, struct buffer *words) {
    char count[2][FORMAT_PLURAL_SIZE];
    double smallest = 0;
    buffer_printf(words, "%s before, %zu after%s.",
                  format_plural(result->runs[CHECK_BEFORE], "run", "runs", count[0]),
                  result->runs[CHECK_AFTER], result->interleaved ? ", in turns" : "");
    for (size_t i = 0; i < result->row_count; i++)
        if (!metric_is_exact(result->rows[i].metric))
            smallest = fmax(smallest, result->rows[i].gate.smallest);
    if (isinf(smallest))
        buffer_printf(words, " So few runs cannot find any slowdown.");
    else if (smallest > 0)
        buffer_printf(words, " These runs could have found a slowdown of %.1f %%.", smallest * 100);
    if (result->disturbed)
        buffer_printf(words, " %s: %s.",
                      format_plural(result->disturbed, "disturbed run was repeated",
                                    "disturbed runs were repeated", count[1]),
                      result->disturbance);
}

static bool print_text(const struct check_result *result, bool markdown, struct output *output,
                       struct status *status) {
    struct buffer words = {0};
    struct table table = {0};
    say_verdict(result, &words);
    buffer_byte(&words, 0);
    if (markdown) {
        output_printf(output, "### ridge check\n\n**");
        table_markdown_text(output, text_of(words.data ? words.data : ""));
        output_printf(output, "**\n\n");
    } else {
        print_wrapped(output, words.data ? words.data : "", 0);
    }
    buffer_clear(&words);
    say_runs(result, &words);
    if (*result->warning)
        buffer_printf(&words, " %s", result->warning);
    if (*result->attached)
        buffer_printf(&words, " Traces: %s.", result->attached);
    buffer_byte(&words, 0);
    print_wrapped(output, words.data ? words.data : "", 0);
    section_table(&shown_rows, result, METRICS, markdown ? 0 : WRAPPED_WIDTH, &table);
    if (table_rows(&table)) {
        output_printf(output, "\n");
        table_write(&table, markdown ? TABLE_MARKDOWN : TABLE_TEXT,
                    &(struct table_layout){.width = WRAPPED_WIDTH, .indent = 2}, output);
    }
    if (result->diff.length) {
        output_printf(output, "\n");
        output_write(output, result->diff.data, result->diff.length);
    }
    bool ok = table_ok(&table, status) && buffer_ok(&words, status);
    table_finish(&table);
    buffer_finish(&words);
    return ok;
}

static bool print_json(const struct check_result *result, struct output *output,
                       struct status *status) {
    static const char *const verdicts[] = {"within", "regressed", "undecided"};
    struct json json = {.output = output, .pretty = true};
    json_begin_object(&json);
    json_member_string(&json, "schema", "ridge.check-result");
    json_member_integer(&json, "version", 1);
    json_member_string(&json, "verdict", verdicts[result->verdict]);
    json_member_number(&json, "gate", result->gate);
    json_member_unsigned(&json, "runs_before", result->runs[CHECK_BEFORE]);
    json_member_unsigned(&json, "runs_after", result->runs[CHECK_AFTER]);
    json_member_bool(&json, "interleaved", result->interleaved);
    json_member_unsigned(&json, "disturbed_runs", result->disturbed);
    json_member_string(&json, "warning", result->warning);
    json_key(&json, "metrics");
    bool ok = section_write_json(&all_rows, result, &json, status);
    json_end_object(&json);
    return ok;
}

bool check_print(const struct check_result *result, const char *format, struct output *output,
                 struct status *status) {
    if (strcmp(format, "json") == 0)
        return print_json(result, output, status);
    return print_text(result, strcmp(format, "md") == 0, output, status);
}

/* ---- histories ---- */

/* The median of a metric in each check, the latest ones. */
struct series {
    double values[CHANGE_POINTS_VALUES];
    size_t lines[CHANGE_POINTS_VALUES]; /* the first run of each check */
    size_t count;
};

static bool gather_series(const struct measured_runs *runs, unsigned metric, struct series *series,
                          struct status *status) {
    double *values = memory_allocate(runs->count, sizeof *values, status);
    series->count = 0;
    for (size_t i = 0; values && i < runs->count;) {
        size_t first = i, count = 0;
        for (; i < runs->count && runs->lines[i].check == runs->lines[first].check; i++)
            if (runs->lines[i].of.known[metric])
                values[count++] = runs->lines[i].of.values[metric];
        if (count == 0)
            continue;
        if (series->count == CHANGE_POINTS_VALUES) {
            memmove(series->values, series->values + 1,
                    (CHANGE_POINTS_VALUES - 1) * sizeof *series->values);
            memmove(series->lines, series->lines + 1,
                    (CHANGE_POINTS_VALUES - 1) * sizeof *series->lines);
            series->count--;
        }
        series->lines[series->count] = first;
        series->values[series->count++] = median_of(values, count);
    }
    memory_free(values);
    return values != NULL;
}

static void draw_series(const struct series *series, const struct change_point *points,
                        size_t found, struct output *output) {
    static const char *const levels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    enum { SHOWN = 72 };
    double low = INFINITY, high = 0;
    size_t first = series->count > SHOWN ? series->count - SHOWN : 0, point = 0;
    for (size_t i = first; i < series->count; i++) {
        low = fmin(low, series->values[i]);
        high = fmax(high, series->values[i]);
    }
    output_printf(output, "  ");
    for (size_t i = first; i < series->count; i++) {
        while (point < found && points[point].at < i)
            point++;
        if (point < found && points[point].at == i && i > first)
            output_printf(output, "|");
        unsigned level =
            high > low ? (unsigned)((series->values[i] - low) / (high - low) * 7.999) : 3;
        output_printf(output, "%s", levels[level]);
    }
    output_printf(output, "\n");
}

static void date_of(int64_t unix_time, char text[40]) {
    time_t seconds = (time_t)unix_time;
    struct tm parts;
    if (!gmtime_r(&seconds, &parts) || strftime(text, 40, "%Y-%m-%d %H:%M UTC", &parts) == 0)
        snprintf(text, 40, "?");
}

static void print_series(const struct measured_runs *runs, unsigned metric,
                         const struct series *series, const struct change_point *points,
                         size_t found, bool markdown, struct output *output) {
    char low[FORMAT_PLURAL_SIZE], high[FORMAT_SIZE], count[FORMAT_PLURAL_SIZE], date[40];
    output_printf(output, "%s%s, %s, %s\n", markdown ? "#### " : "", metric_title(runs, metric),
                  format_plural(series->count, "check", "checks", count),
                  found ? format_plural(found, "change point", "change points", low)
                        : "no change point");
    output_printf(output, "%s", markdown ? "\n```\n" : "");
    draw_series(series, points, found, output);
    output_printf(output, "%s", markdown ? "```\n\n" : "");
    for (size_t i = 0; i < found; i++) {
        const struct measured_run *run = &runs->lines[series->lines[points[i].at]];
        date_of(run->check, date);
        output_printf(output, "  %s%s%s%.20s: %s -> %s (%+.1f %%, p %s %.3f)\n",
                      markdown ? "- " : "", date, *run->label ? ", " : "", run->label,
                      metric_format(runs, metric, points[i].before, low),
                      metric_format(runs, metric, points[i].after, high),
                      (points[i].after / points[i].before - 1) * 100, "<=", points[i].probability);
    }
    output_printf(output, "\n");
}

static void write_series(const struct measured_runs *runs, unsigned metric,
                         const struct series *series, const struct change_point *points,
                         size_t found, struct json *json) {
    json_begin_object(json);
    json_member_string(json, "metric", metric_key(runs, metric));
    json_member_unsigned(json, "checks", series->count);
    json_key(json, "change_points");
    json_begin_array(json);
    for (size_t i = 0; i < found; i++) {
        const struct measured_run *run = &runs->lines[series->lines[points[i].at]];
        json_begin_object(json);
        json_member_unsigned(json, "at", points[i].at);
        json_member_integer(json, "check", run->check);
        json_member_string(json, "label", run->label);
        json_member_number(json, "before", points[i].before);
        json_member_number(json, "after", points[i].after);
        json_member_number(json, "probability", points[i].probability);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

static bool examine(const struct measured_runs *runs, unsigned metric, struct series *series,
                    struct json *json, bool markdown, struct output *output,
                    struct status *status) {
    struct change_point *points = NULL;
    size_t found = 0;
    if (!gather_series(runs, metric, series, status))
        return false;
    if (series->count == 0)
        return true;
    if (!change_points_find(series->values, series->count, &points, &found, status))
        return false;
    if (json)
        write_series(runs, metric, series, points, found, json);
    else if (found || !metric_is_exact(metric))
        print_series(runs, metric, series, points, found, markdown, output);
    memory_free(points);
    return true;
}

bool check_print_history(const struct measured_runs *runs, const char *format,
                         struct output *output, struct status *status) {
    struct json json = {.output = output, .pretty = true};
    bool as_json = strcmp(format, "json") == 0, ok = true;
    struct series *series = memory_allocate(1, sizeof *series, status);
    if (!series)
        return false;
    if (as_json) {
        json_begin_object(&json);
        json_member_string(&json, "schema", "ridge.check-history");
        json_member_integer(&json, "version", 1);
        json_key(&json, "metrics");
        json_begin_array(&json);
    }
    for (unsigned metric = 0; metric < METRIC_PRINTED_FIRST + runs->printed_count && ok; metric++)
        ok = examine(runs, metric, series, as_json ? &json : NULL, strcmp(format, "md") == 0,
                     output, status);
    if (as_json) {
        json_end_array(&json);
        json_end_object(&json);
    }
    memory_free(series);
    return ok;
}
