/* Selects rows and columns. On a terminal every line has at least its time, spread, rates, roof
 * and distance from it; less important columns are added while they fit. Labels that do not fit
 * beside the figures are placed above them. */
#include "bench/print/print_sheet.h"

#include <string.h>

#include "base/array.h"
#include "base/memory.h"

enum { BAR_LEAST = 6, BAR_MOST = 24 };

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
    if (sheet->style->style == TABLE_TEXT && sheet->note_count > 0)
        sheet->mark_width = sheet->note_count < 10 ? 1 : 2;
}

static void survey(struct sheet *sheet) {
    char share[FORMAT_SIZE];
    for (enum sheet_column c = 0; c < SHEET_COLUMNS; c++)
        sheet->scales[c].quantity = c == SHEET_BYTE_RATE   ? PRINT_BYTE_RATE
                                    : c == SHEET_FLOP_RATE ? PRINT_FLOP_RATE
                                                           : PRINT_TIME;
    for (size_t i = 0; i < sheet->count; i++) {
        const struct result *result = sheet->rows[i], *first = sheet->rows[0];
        sheet->several_devices |= strcmp(result->device, first->device) != 0;
        sheet->several_types |= result->dtype != first->dtype;
        sheet->several_variants |= strcmp(result->variant, first->variant) != 0;
        sheet->several_kernels |= result->kernels != first->kernels;
        for (enum sheet_column c = 0; c < SHEET_COLUMNS; c++)
            print_scale_see(&sheet->scales[c], sheet_value(result, c));
        if (!print_has_figures(result) || !(result->limit.ns > 0))
            continue;
        print_share(result->limit.ns / result->time.time.median, share);
        if (table_text_width(text_of(share)) > sheet->share_width)
            sheet->share_width = table_text_width(text_of(share));
    }
    for (enum sheet_column c = 0; c < SHEET_COLUMNS && sheet->style->style == TABLE_TEXT; c++)
        print_scale_choose(&sheet->scales[c]);
}

bool sheet_init(struct sheet *sheet, const struct result_set *set, const char *experiment,
                const struct print_style *style, struct status *status) {
    *sheet = (struct sheet){.set = set, .style = style, .bar_cells = BAR_LEAST};
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

/* ---- Columns ---------------------------------------------------------------------------- */

/* The column's width, or 0 when all its cells are empty. */
static size_t column_width(const struct sheet *sheet, enum sheet_column column) {
    char title[64];
    size_t width = 0;
    struct buffer cell = {0};
    for (size_t row = 0; row < sheet->count; row++) {
        buffer_clear(&cell);
        sheet_cell(sheet, row, column, &cell);
        size_t needed = table_text_width(buffer_as_text(&cell));
        width = needed > width ? needed : width;
    }
    buffer_finish(&cell);
    size_t head = table_text_width(text_of(sheet_title(sheet, column, title)));
    return width > 0 && head > width ? head : width;
}

static size_t total_width(const struct sheet *sheet, const size_t *widths) {
    size_t total = PRINT_INDENT;
    for (enum sheet_column c = 0; c < SHEET_COLUMNS; c++)
        if (sheet->shown[c])
            total += widths[c] + (total > PRINT_INDENT ? PRINT_GAP : 0);
    return total;
}

/* Whether most labels stand above several rows. */
static bool labels_repeat(const struct sheet *sheet) {
    size_t groups = 0;
    for (size_t i = 0; i < sheet->count; i++)
        groups += i == 0 || strcmp(sheet->rows[i]->label, sheet->rows[i - 1]->label) != 0;
    return 2 * groups <= sheet->count + 1 && sheet->count > 1 &&
           (sheet->several_variants || sheet->several_devices || sheet->several_types);
}

static void put_labels_apart(struct sheet *sheet) {
    sheet->labels_apart = true;
    sheet->shown[SHEET_LABEL] = false;
}

/* Labels are never truncated: they move above the rows. Before that, the time at the roof is
 * dropped, which follows from two other figures. */
static void make_labels_fit(struct sheet *sheet, const size_t *widths) {
    static const enum sheet_column given_up[] = {SHEET_AT_ROOF, SHEET_CURVE, SHEET_FLOP_RATE,
                                                 SHEET_SPREAD};
    size_t room = sheet->style->width;
    if (total_width(sheet, widths) <= room)
        return;
    if (labels_repeat(sheet)) {
        put_labels_apart(sheet);
    } else {
        bool had = sheet->shown[SHEET_AT_ROOF];
        sheet->shown[SHEET_AT_ROOF] = false;
        if (total_width(sheet, widths) <= room)
            return;
        sheet->shown[SHEET_AT_ROOF] = had;
        put_labels_apart(sheet);
    }
    for (size_t i = 0; i < ARRAY_COUNT(given_up); i++)
        if (total_width(sheet, widths) > room)
            sheet->shown[given_up[i]] = false;
}

static void choose_for_terminal(struct sheet *sheet, const size_t *widths) {
    static const enum sheet_column min[] = {SHEET_LABEL,     SHEET_TIME,      SHEET_SPREAD,
                                            SHEET_BYTE_RATE, SHEET_FLOP_RATE, SHEET_SHARE,
                                            SHEET_AT_ROOF,   SHEET_CURVE};
    static const enum sheet_column more[][2] = {{SHEET_SPEEDUP, SHEET_SPEEDUP},
                                                {SHEET_PEER, SHEET_RATIO},
                                                {SHEET_DEVICE_TIME, SHEET_DEVICE_TIME},
                                                {SHEET_KERNELS, SHEET_KERNELS}};
    for (size_t i = 0; i < ARRAY_COUNT(min); i++)
        sheet->shown[min[i]] = widths[min[i]] > 0;
    sheet->shown[SHEET_VARIANT] = widths[SHEET_VARIANT] > 0;
    sheet->shown[SHEET_DEVICE] = sheet->several_devices;
    sheet->shown[SHEET_TYPE] = sheet->several_types;
    if (sheet->style->width > 0)
        make_labels_fit(sheet, widths);
    for (size_t i = 0; i < ARRAY_COUNT(more); i++) {
        sheet->shown[more[i][0]] = widths[more[i][0]] > 0;
        sheet->shown[more[i][1]] = widths[more[i][1]] > 0;
        if (sheet->style->width > 0 && total_width(sheet, widths) > sheet->style->width)
            sheet->shown[more[i][0]] = sheet->shown[more[i][1]] = false;
    }
    size_t total = total_width(sheet, widths);
    if (sheet->shown[SHEET_CURVE]) {
        size_t spare = sheet->style->width == 0      ? BAR_MOST
                       : sheet->style->width > total ? sheet->style->width - total
                                                     : 0;
        sheet->bar_cells = BAR_LEAST + spare < BAR_MOST ? BAR_LEAST + (unsigned)spare : BAR_MOST;
    }
}

void sheet_choose(struct sheet *sheet) {
    size_t widths[SHEET_COLUMNS];
    for (enum sheet_column c = 0; c < SHEET_COLUMNS; c++)
        widths[c] = column_width(sheet, c);
    if (sheet->style->style == TABLE_TEXT) {
        if (!sheet->several_kernels)
            widths[SHEET_KERNELS] = 0; /* the same number for all lines is not useful */
        choose_for_terminal(sheet, widths);
        return;
    }
    for (enum sheet_column c = 0; c < SHEET_COLUMNS; c++)
        sheet->shown[c] = widths[c] > 0 && c != SHEET_CURVE;
    sheet->shown[SHEET_LABEL] = true;
}

void sheet_show_peer(struct sheet *sheet) {
    static const enum sheet_column about_it[] = {SHEET_TIME, SHEET_PEER, SHEET_RATIO};
    bool kept[SHEET_COLUMNS] = {0};
    for (enum sheet_column c = SHEET_LABEL; c <= SHEET_TYPE; c++)
        kept[c] = sheet->shown[c];
    for (size_t i = 0; i < ARRAY_COUNT(about_it); i++)
        kept[about_it[i]] = true;
    memcpy(sheet->shown, kept, sizeof kept);
}

/* ---- Writing ---------------------------------------------------------------------------- */

static unsigned column_flags(enum sheet_column column, enum table_style style) {
    switch (column) {
    case SHEET_LABEL:
        return TABLE_LEFT | TABLE_FLEXIBLE;
    case SHEET_VARIANT:
    case SHEET_DEVICE:
    case SHEET_TYPE:
    case SHEET_ROOF:
    case SHEET_CURVE:
    case SHEET_RATIO:
        return TABLE_LEFT;
    case SHEET_SHARE:
        return style == TABLE_TEXT ? TABLE_LEFT : TABLE_RIGHT;
    default:
        return TABLE_RIGHT;
    }
}

static void fill(const struct sheet *sheet, struct table *table) {
    char title[64];
    struct buffer cell = {0};
    for (enum sheet_column c = 0; c < SHEET_COLUMNS; c++)
        if (sheet->shown[c])
            table_column(table, sheet_title(sheet, c, title), column_flags(c, sheet->style->style));
    for (size_t row = 0; row < sheet->count; row++)
        for (enum sheet_column c = 0; c < SHEET_COLUMNS; c++) {
            if (!sheet->shown[c])
                continue;
            buffer_clear(&cell);
            sheet_cell(sheet, row, c, &cell);
            table->failed |= cell.failed;
            table_cell(table, buffer_as_text(&cell));
        }
    buffer_finish(&cell);
}

static void append_label(const void *context, size_t row, struct buffer *label) {
    const struct sheet *sheet = context;
    buffer_string(label, sheet->rows[row]->label);
}

void sheet_write(struct sheet *sheet, struct output *output) {
    struct table table = {0};
    fill(sheet, &table);
    print_table(&table, sheet->style, sheet->labels_apart ? append_label : NULL, sheet, output);
    table_finish(&table);
}
