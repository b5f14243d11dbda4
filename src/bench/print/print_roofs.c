/* The measured roofs as tables: value, spread, vendor's figure, and how it was measured. A roof
 * that was not measured has a row with the reason.
 *
 * On a terminal the descriptions are below the figures, so that 80 columns are enough; Markdown
 * has a column for them; CSV has plain numbers in base units.
 */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/array.h"
#include "bench/print/print_roof_sizes.h"

enum { MOMENT_SIZE = 40 };

/* base/format.h scales bytes a second; operations scale alike under another unit. */
static char *scaled_rate(double value, const char *unit, char text[48]) {
    char bytes[FORMAT_SIZE];
    size_t length = strlen(format_rate(value, bytes));
    if (length > 3)
        snprintf(text, 48, "%.*s%s", (int)length - 3, bytes, unit);
    else
        snprintf(text, 48, "-");
    return text;
}

static char *latency(double ns, char text[48]) {
    char duration[FORMAT_SIZE];
    if (!isfinite(ns) || fabs(ns) > 9e18)
        snprintf(text, 48, "-");
    else if (ns < 99.95)
        snprintf(text, 48, "%.1f ns", ns);
    else
        snprintf(text, 48, "%s", format_duration(llround(ns), duration));
    return text;
}

char *print_roof_value(enum roof_kind kind, double value, char text[48]) {
    if (kind == ROOF_LATENCY)
        return latency(value, text);
    return scaled_rate(value, kind == ROOF_RATE ? "FLOP/s" : "B/s", text);
}

static const char *unit_of(enum roof_id roof) {
    switch (roof_infos[roof].kind) {
    case ROOF_BANDWIDTH:
        return "B/s";
    case ROOF_LATENCY:
        return "ns";
    default:
        return roof == ROOF_INT8 || roof == ROOF_MATRIX_INT8 || roof == ROOF_TRIGONOMETRY ||
                       roof == ROOF_EXPONENTIALS
                   ? "OP/s"
                   : "FLOP/s";
    }
}

char *print_value_of_roof(enum roof_id roof, double value, char text[48]) {
    if (roof_infos[roof].kind == ROOF_RATE)
        return scaled_rate(value, unit_of(roof), text);
    return print_roof_value(roof_infos[roof].kind, value, text);
}

static bool stated(const struct roof *roof) {
    return isfinite(roof->stated) && roof->stated > 0;
}

char *print_moment(int64_t at, char text[40]) {
    time_t seconds = (time_t)at;
    struct tm local;
    if (at <= 0 || !localtime_r(&seconds, &local) ||
        strftime(text, MOMENT_SIZE, "%Y-%m-%d %H:%M", &local) == 0)
        snprintf(text, MOMENT_SIZE, "at an unknown time");
    return text;
}

static void write_heading(const struct roofs *roofs, const struct print_style *style,
                          struct output *output) {
    struct buffer line = {0};
    char moment[MOMENT_SIZE];
    bool markdown = style->style == TABLE_MARKDOWN;
    buffer_printf(
        &line, "%s (%s)%s%s", roofs->description[0] ? roofs->description : "unknown device",
        roofs->device[0] ? roofs->device : "-", roofs->driver[0] ? ", driver " : "", roofs->driver);
    print_paragraph(style, 0, markdown ? "## " : "", buffer_as_text(&line), output);
    if (markdown)
        output_printf(output, "\n");
    buffer_clear(&line);
    buffer_printf(&line, "measured%s %s; 'ridge peaks --refresh' measures again",
                  roofs->quick ? " quickly" : "", print_moment(roofs->measured_at, moment));
    print_paragraph(style, 0, "", buffer_as_text(&line), output);
    if (roofs->note[0])
        print_paragraph(style, 0, "", text_of(roofs->note), output);
    output->failed |= line.failed;
    buffer_finish(&line);
}

/* ---- For a terminal ------------------------------------------------------------------------ */

static bool same_note(const struct roofs *roofs, unsigned a, unsigned b) {
    return roof_infos[a].kind == roof_infos[b].kind &&
           print_roof_measured(&roofs->of[a]) == print_roof_measured(&roofs->of[b]) &&
           strcmp(print_roof_reason(&roofs->of[a]), print_roof_reason(&roofs->of[b])) == 0;
}

/* Under a table: how its roofs were measured or why not, once for all that it is true of. */
static bool write_notes(enum roof_kind kind, const struct roofs *roofs,
                        const struct print_style *style, struct output *output,
                        struct status *status) {
    struct buffer names = {0};
    for (unsigned id = 0; id < ROOF_COUNT; id++) {
        const char *note = print_roof_reason(&roofs->of[id]);
        bool printed = roof_infos[id].kind != kind || !*note;
        for (unsigned earlier = 0; earlier < id; earlier++)
            printed |= same_note(roofs, earlier, id);
        if (printed)
            continue;
        buffer_clear(&names);
        buffer_string(&names, roof_infos[id].words);
        for (unsigned later = id + 1; later < ROOF_COUNT; later++)
            if (same_note(roofs, id, later))
                buffer_printf(&names, "; %s", roof_infos[later].words);
        buffer_printf(&names, ": %s", note);
        print_paragraph(style, 0, "  ", buffer_as_text(&names), output);
    }
    bool ok = buffer_ok(&names, status);
    buffer_finish(&names);
    return ok;
}

static bool any_stated(enum roof_kind kind, const struct roofs *roofs) {
    for (unsigned id = 0; id < ROOF_COUNT; id++)
        if (roof_infos[id].kind == kind && stated(&roofs->of[id]))
            return true;
    return false;
}

/* The vendor's figure, and what part of it was measured. */
static void add_stated(struct table *table, enum roof_id id, const struct roof *roof) {
    char text[48], percent[FORMAT_SIZE];
    bool compares = print_roof_measured(roof) && stated(roof);
    table_cellf(table, "%s", stated(roof) ? print_value_of_roof(id, roof->stated, text) : "-");
    table_cellf(table, "%s", compares ? format_percent(roof->value / roof->stated, percent) : "-");
}

static void add_print_roof_measured(struct table *table, enum roof_id id, const struct roof *roof) {
    char text[48], percent[FORMAT_SIZE];
    bool has = print_roof_measured(roof);
    table_cell(table, text_of(roof_infos[id].words));
    table_cellf(table, "%s", has ? print_value_of_roof(id, roof->value, text) : "-");
    table_cellf(table, "%s", has ? format_percent(roof->spread, percent) : "-");
}

static bool write_kind(enum roof_kind kind, const struct roofs *roofs,
                       const struct print_style *style, struct output *output,
                       struct status *status) {
    static const char *const titles[] = {"bandwidth", "arithmetic", "latency"};
    bool states = any_stated(kind, roofs);
    struct table table = {0};
    table_column(&table, titles[kind], TABLE_LEFT);
    table_column(&table, "measured", TABLE_RIGHT);
    table_column(&table, "±", TABLE_RIGHT);
    if (states) {
        table_column(&table, "stated", TABLE_RIGHT);
        table_column(&table, "of it", TABLE_RIGHT);
    }
    for (unsigned id = 0; id < ROOF_COUNT; id++) {
        if (roof_infos[id].kind != kind)
            continue;
        add_print_roof_measured(&table, id, &roofs->of[id]);
        if (states)
            add_stated(&table, id, &roofs->of[id]);
    }
    output_printf(output, "\n");
    table_write(&table, TABLE_TEXT, &(struct table_layout){.width = style->width}, output);
    bool ok = table_ok(&table, status);
    table_finish(&table);
    return ok && write_notes(kind, roofs, style, output, status);
}

static bool write_text(const struct roofs *roofs, const struct print_style *style,
                       struct output *output, struct status *status) {
    write_heading(roofs, style, output);
    return write_kind(ROOF_BANDWIDTH, roofs, style, output, status) &&
           print_working_sets(roofs, style, output, status) &&
           write_kind(ROOF_RATE, roofs, style, output, status) &&
           write_kind(ROOF_LATENCY, roofs, style, output, status) &&
           print_transfers(roofs, style, output, status);
}

/* ---- As Markdown --------------------------------------------------------------------------- */

static bool write_markdown(const struct roofs *roofs, const struct print_style *style,
                           struct output *output, struct status *status) {
    struct table table = {0};
    table_column(&table, "roof", TABLE_LEFT);
    table_column(&table, "measured", TABLE_RIGHT);
    table_column(&table, "±", TABLE_RIGHT);
    table_column(&table, "stated", TABLE_RIGHT);
    table_column(&table, "of it", TABLE_RIGHT);
    table_column(&table, "how", TABLE_LEFT);
    for (unsigned id = 0; id < ROOF_COUNT; id++) {
        add_print_roof_measured(&table, id, &roofs->of[id]);
        add_stated(&table, id, &roofs->of[id]);
        table_cell(&table, text_of(print_roof_reason(&roofs->of[id])));
    }
    write_heading(roofs, style, output);
    output_printf(output, "\n");
    table_write(&table, TABLE_MARKDOWN, NULL, output);
    bool ok = table_ok(&table, status) && print_working_sets(roofs, style, output, status) &&
              print_transfers(roofs, style, output, status);
    table_finish(&table);
    return ok;
}

/* ---- As CSV -------------------------------------------------------------------------------- */

static void add_csv_number(struct table *table, bool known, double number) {
    if (known)
        table_cellf(table, "%.9g", number);
    else
        table_cell(table, TEXT(""));
}

static void add_csv_row(struct table *table, const struct roofs *roofs, const char *key,
                        uint64_t bytes, const char *unit, const struct roof *roof) {
    table_cell(table, text_of(roofs->device));
    table_cell(table, text_of(key));
    if (bytes > 0)
        table_cellf(table, "%llu", (unsigned long long)bytes);
    else
        table_cell(table, TEXT(""));
    add_csv_number(table, print_roof_measured(roof), roof->value);
    table_cell(table, text_of(unit));
    add_csv_number(table, print_roof_measured(roof), roof->spread);
    add_csv_number(table, stated(roof), roof->stated);
    table_cell(table, text_of(print_roof_reason(roof)));
}

static bool write_csv(const struct roofs *roofs, bool header, struct output *output,
                      struct status *status) {
    static const char *const titles[] = {"device", "roof",   "bytes",  "value",
                                         "unit",   "spread", "stated", "how"};
    static const char *const keys[TRANSFER_WAYS] = {"to_device_pinned", "to_device_pageable",
                                                    "to_host_pinned", "to_host_pageable"};
    struct table table = {0};
    for (unsigned i = 0; i < ARRAY_COUNT(titles); i++)
        table_column(&table, titles[i], TABLE_LEFT);
    for (unsigned id = 0; id < ROOF_COUNT; id++)
        add_csv_row(&table, roofs, roof_infos[id].key, 0, unit_of(id), &roofs->of[id]);
    for (unsigned i = 0; i < print_working_set_count(roofs); i++)
        add_csv_row(&table, roofs, "working_set", roofs->working_sets[i].bytes, "B/s",
                    &roofs->working_sets[i].roof);
    for (unsigned method = 0; method < TRANSFER_WAYS; method++)
        for (unsigned i = 0; i < print_transfer_count(roofs); i++)
            if (print_transfer_goes(&roofs->transfers[i], method))
                add_csv_row(&table, roofs, keys[method], roofs->transfers[i].bytes, "B/s",
                            &roofs->transfers[i].roof);
    table_write(&table, TABLE_CSV, &(struct table_layout){.no_header = !header}, output);
    bool ok = table_ok(&table, status);
    table_finish(&table);
    return ok;
}

bool print_roofs(const struct roofs *roofs, const struct print_style *style, struct output *output,
                 struct status *status) {
    switch (style->style) {
    case TABLE_MARKDOWN:
        return write_markdown(roofs, style, output, status);
    case TABLE_CSV:
        return write_csv(roofs, !style->no_header, output, status);
    default:
        return write_text(roofs, style, output, status);
    }
}
