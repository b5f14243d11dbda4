/* The walkers: one for tables people read, one for JSON, one for CSV. */
#include "base/section.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/array.h"
#include "base/format.h"
#include "base/min_max.h"

_Static_assert(FORMAT_SIZE == 40, "section_value_text() takes a format buffer");

size_t section_rows(const struct section *section, const void *source) {
    size_t count = 0;
    if (section->count)
        return section->count(source);
    while (section->row && section->row(source, count))
        count++;
    return count;
}

struct text section_value_text(struct value value, enum unit unit, char text[40]) {
    if (value.state == VALUE_UNKNOWN)
        return TEXT("?");
    if (value.state == VALUE_NONE)
        return TEXT("-");
    switch (unit) {
    case UNIT_TEXT:
        return value.text;
    case UNIT_BOOL:
        return value.integer ? TEXT("yes") : TEXT("no");
    case UNIT_ID:
        snprintf(text, FORMAT_SIZE, "%" PRId64, value.integer);
        return text_of(text);
    case UNIT_COUNT:
        return text_of(format_count((uint64_t)value.integer, text));
    case UNIT_NS:
        return text_of(format_duration(value.integer, text));
    case UNIT_NS_MEAN:
        return text_of(format_duration((int64_t)(value.real + 0.5), text));
    case UNIT_BYTES:
        return text_of(format_bytes((uint64_t)value.integer, text));
    case UNIT_BYTES_PER_S:
        return text_of(format_rate(value.real, text));
    case UNIT_FLOP_PER_S:
        return text_of(format_operations(value.real, text));
    case UNIT_HZ:
        snprintf(text, FORMAT_SIZE, "%.2f GHz", value.real / 1e9);
        return text_of(text);
    case UNIT_FACTOR:
        return text_of(format_ratio(value.real, text));
    case UNIT_SHARE:
        return text_of(format_percent(value.real, text));
    case UNIT_NUMBER:
        break;
    }
    if (value.real >= 100 && value.real < 1e15)
        return text_of(format_count((uint64_t)(value.real + 0.5), text));
    snprintf(text, FORMAT_SIZE, "%.3g", value.real);
    return text_of(text);
}

/* ---- tables ---- */

enum { COLUMNS_MAX = 48, GAP = 2 };

/* A table while its columns are chosen. */
struct layout {
    const struct section *section;
    const void *source;
    size_t rows;
    unsigned width; /* 0: no limit */
    const struct column *columns[COLUMNS_MAX];
    size_t widths[COLUMNS_MAX]; /* only where a column has a rank */
    bool shown[COLUMNS_MAX];
    size_t count;
    const struct column *label; /* that stands above the rows */
    struct buffer words;
};

static struct text cell_text(struct layout *layout, const struct column *column, const void *row,
                             char text[40]) {
    buffer_clear(&layout->words);
    return section_value_text(column->get(layout->source, row, &layout->words), column->unit, text);
}

static bool has_known_value(struct layout *layout, const struct column *column) {
    const void *row;
    for (size_t i = 0; i < layout->rows && (row = layout->section->row(layout->source, i)); i++) {
        buffer_clear(&layout->words);
        if (column->get(layout->source, row, &layout->words).state == VALUE_KNOWN)
            return true;
    }
    return false;
}

static bool is_candidate(struct layout *layout, const struct column *column) {
    unsigned width = layout->width;
    if (!column->title || (column->flags & COLUMN_WIDE && width && width < SECTION_WIDE))
        return false;
    return has_known_value(layout, column);
}

/* Names come last where a line has an end: what is too long for it is cut there. */
static bool is_in_pass(const struct column *column, unsigned width, unsigned pass) {
    bool last = width && column->flags & COLUMN_FLEXIBLE && !(column->flags & COLUMN_IN_PLACE);
    return pass == (last ? 1 : 0);
}

static unsigned rank_of(const struct column *column) {
    return column->flags >> 8;
}

/* Whether any column has one. */
static bool collect_columns(struct layout *layout) {
    bool ranked = false;
    for (unsigned pass = 0; pass < 2; pass++)
        for (const struct column *column = layout->section->columns; column->get; column++)
            if (is_in_pass(column, layout->width, pass) && layout->count < COLUMNS_MAX &&
                is_candidate(layout, column)) {
                layout->shown[layout->count] = true;
                layout->columns[layout->count++] = column;
                ranked |= rank_of(column) > 0;
            }
    return ranked;
}

static void measure_columns(struct layout *layout) {
    const void *row;
    char text[FORMAT_SIZE];
    for (size_t c = 0; c < layout->count; c++)
        layout->widths[c] = table_text_width(text_of(layout->columns[c]->title));
    for (size_t i = 0; i < layout->rows && (row = layout->section->row(layout->source, i)); i++)
        for (size_t c = 0; c < layout->count; c++) {
            size_t width = table_text_width(cell_text(layout, layout->columns[c], row, text));
            layout->widths[c] = MAX(layout->widths[c], width);
        }
}

static bool fits(const struct layout *layout) {
    size_t total = SECTION_INDENT, columns = 0;
    for (size_t c = 0; c < layout->count; c++)
        if (layout->shown[c])
            total += layout->widths[c] + (columns++ ? GAP : 0);
    return total <= layout->width;
}

/* Shows or hides the columns of one rank; a label that is hidden stands above the rows. */
static void show_rank(struct layout *layout, unsigned rank, bool show) {
    for (size_t c = 0; c < layout->count; c++) {
        if (rank_of(layout->columns[c]) != rank || layout->columns[c] == layout->label)
            continue;
        layout->shown[c] = show;
        if (!show && layout->columns[c]->flags & COLUMN_LABEL)
            layout->label = layout->columns[c];
    }
}

static void choose_columns(struct layout *layout) {
    enum { RANK_MAX = 15 };
    if (!collect_columns(layout) || layout->width == 0)
        return;
    measure_columns(layout);
    for (unsigned rank = RANK_MAX; rank > 0 && !fits(layout); rank--)
        show_rank(layout, rank, false);
    for (unsigned rank = 1; layout->label && rank <= RANK_MAX; rank++) {
        show_rank(layout, rank, true);
        if (!fits(layout))
            show_rank(layout, rank, false);
    }
}

/* The label's line above a row, where it differs from that of the row before. */
static void add_label(struct layout *layout, const void *row, struct buffer *last,
                      struct table *table) {
    char text[FORMAT_SIZE];
    if (!layout->label)
        return;
    struct text label = cell_text(layout, layout->label, row, text);
    if (table_rows(table) > 0 && text_equal(label, buffer_as_text(last)))
        return;
    table_group(table, label);
    buffer_clear(last);
    buffer_text(last, label);
}

static void add_columns(const struct layout *layout, struct table *table) {
    for (size_t c = 0; c < layout->count; c++) {
        const struct column *column = layout->columns[c];
        bool left = column->unit == UNIT_TEXT && !(column->flags & COLUMN_RIGHT);
        bool cut = column->flags & COLUMN_FLEXIBLE;
        if (layout->shown[c])
            table_column(table, column->title,
                         (left ? TABLE_LEFT : TABLE_RIGHT) | (cut ? TABLE_FLEXIBLE : 0));
    }
}

static size_t add_rows(struct layout *layout, struct table *table) {
    struct buffer last = {0};
    size_t i = 0;
    const void *row;
    for (; i < layout->rows && (row = layout->section->row(layout->source, i)); i++) {
        add_label(layout, row, &last, table);
        for (size_t c = 0; c < layout->count; c++) {
            char text[FORMAT_SIZE];
            if (layout->shown[c])
                table_cell(table, cell_text(layout, layout->columns[c], row, text));
        }
    }
    table->failed |= last.failed;
    buffer_finish(&last);
    return i;
}

size_t section_table(const struct section *section, const void *source, size_t rows, unsigned width,
                     struct table *table) {
    struct layout layout = {.section = section, .source = source, .rows = rows, .width = width};
    if (section->rows_max && section->rows_max < rows)
        layout.rows = section->rows_max;
    choose_columns(&layout);
    add_columns(&layout, table);
    size_t added = add_rows(&layout, table);
    table->failed |= layout.words.failed;
    buffer_finish(&layout.words);
    return section_rows(section, source) - added;
}

bool section_write(const struct section *section, const void *source,
                   const struct section_style *style, struct output *output,
                   struct status *status) {
    struct table table = {0};
    if (style->style == TABLE_CSV) {
        if (!style->no_header)
            section_write_csv_head(section, output);
        return section_write_csv(section, source, output, status);
    }
    bool text = style->style == TABLE_TEXT;
    size_t left_out = section_table(section, source, style->rows ? style->rows : SIZE_MAX,
                                    text ? style->width : 0, &table);
    if (table_rows(&table) || table.failed)
        table_write(&table, style->style,
                    &(struct table_layout){.width = style->width, .indent = style->indent}, output);
    if (left_out) {
        char count[FORMAT_SIZE];
        output_printf(output, "%s%*s%s more%s%s\n", text ? "" : "\n", text ? (int)style->indent : 0,
                      "", format_count(left_out, count), section->rows ? " " : "",
                      section->rows ? section->rows : "");
    }
    bool ok = table_ok(&table, status);
    table_finish(&table);
    return ok;
}

/* ---- data ---- */

static void write_json_value(struct json *json, struct value value, enum unit unit) {
    if (value.state != VALUE_KNOWN)
        json_null(json);
    else if (unit == UNIT_TEXT)
        json_text(json, value.text);
    else if (unit == UNIT_BOOL)
        json_bool(json, value.integer != 0);
    else if (unit == UNIT_COUNT || unit == UNIT_BYTES)
        json_unsigned(json, (uint64_t)value.integer);
    else if (unit == UNIT_NS || unit == UNIT_ID)
        json_integer(json, value.integer);
    else
        json_number(json, value.real);
}

static void write_json_row(const struct section *section, const void *source, const void *row,
                           struct json *json, struct buffer *words) {
    for (const struct column *column = section->columns; column->get; column++) {
        if (!column->key || column->flags & COLUMN_CSV)
            continue;
        buffer_clear(words);
        struct value value = column->get(source, row, words);
        if (value.state != VALUE_KNOWN && column->flags & COLUMN_OPTIONAL)
            continue;
        json_key(json, column->key);
        write_json_value(json, value, column->unit);
    }
}

bool section_write_json_row(const struct section *section, const void *source, const void *row,
                            struct json *json, struct status *status) {
    struct buffer words = {0};
    write_json_row(section, source, row, json, &words);
    bool ok = buffer_ok(&words, status);
    buffer_finish(&words);
    return ok;
}

bool section_write_json(const struct section *section, const void *source, struct json *json,
                        struct status *status) {
    struct buffer words = {0};
    const void *row;
    json_begin_array(json);
    for (size_t i = 0; (row = section->row(source, i)); i++) {
        json_begin_object(json);
        write_json_row(section, source, row, json, &words);
        json_end_object(json);
    }
    json_end_array(json);
    bool ok = buffer_ok(&words, status);
    buffer_finish(&words);
    return ok;
}

static const char *unit_name(enum unit unit) {
    static const char *const names[] = {
        [UNIT_TEXT] = "text",
        [UNIT_BOOL] = "bool",
        [UNIT_COUNT] = "count",
        [UNIT_ID] = "id",
        [UNIT_NS] = "ns",
        [UNIT_NS_MEAN] = "ns",
        [UNIT_BYTES] = "bytes",
        [UNIT_BYTES_PER_S] = "bytes_per_s",
        [UNIT_FLOP_PER_S] = "flop_per_s",
        [UNIT_HZ] = "hz",
        [UNIT_SHARE] = "share",
        [UNIT_FACTOR] = "factor",
        [UNIT_NUMBER] = "number",
    };
    return names[unit];
}

void section_write_json_columns(const struct section *section, struct json *json) {
    json_begin_object(json);
    json_member_string(json, "title", section->title);
    json_key(json, "columns");
    json_begin_array(json);
    for (const struct column *column = section->columns; column && column->get; column++) {
        if (!column->key || !column->title)
            continue;
        json_begin_object(json);
        json_member_string(json, "key", column->key);
        json_member_string(json, "title", column->title);
        json_member_string(json, "unit", unit_name(column->unit));
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

static bool is_known_column(const struct section *section, const struct column *column,
                            const void *source, size_t rows, struct buffer *words) {
    const void *row;
    bool known = false;
    for (size_t i = 0; i < rows && !known && (row = section->row(source, i)); i++) {
        buffer_clear(words);
        known = column->get(source, row, words).state == VALUE_KNOWN;
    }
    return known && column->title;
}

/* The columns that are shown; returns their number. */
enum { TABLE_COLUMNS_MAX = 64 };
static size_t known_columns(const struct section *section, const void *source, size_t rows,
                            const struct column *shown[TABLE_COLUMNS_MAX], struct buffer *words) {
    size_t count = 0;
    for (const struct column *column = section->columns; column->get; column++)
        if (count < TABLE_COLUMNS_MAX && is_known_column(section, column, source, rows, words))
            shown[count++] = column;
    return count;
}

static void write_json_cells(const struct section *section, const void *source, size_t rows,
                             const struct column *const *shown, size_t count, struct json *json,
                             struct buffer *words) {
    const void *row;
    json_key(json, "columns");
    json_begin_array(json);
    for (size_t k = 0; k < count; k++) {
        json_begin_object(json);
        json_member_string(json, "title", shown[k]->title);
        json_member_string(json, "unit", unit_name(shown[k]->unit));
        json_member_bool(json, "is_name", shown[k]->flags & COLUMN_FLEXIBLE);
        json_end_object(json);
    }
    json_end_array(json);
    json_key(json, "rows");
    json_begin_array(json);
    for (size_t i = 0; i < rows && (row = section->row(source, i)); i++) {
        json_begin_array(json);
        for (size_t k = 0; k < count; k++) {
            buffer_clear(words);
            struct value value = shown[k]->get(source, row, words);
            if (value.state == VALUE_NONE)
                json_bool(json, false);
            else
                write_json_value(json, value, shown[k]->unit);
        }
        json_end_array(json);
    }
    json_end_array(json);
}

static void write_json_sentences(const struct section *section, const void *source,
                                 struct json *json, struct buffer *words) {
    json_key(json, "sentences");
    json_begin_array(json);
    for (size_t i = 0; section->sentence; i++) {
        buffer_clear(words);
        if (!section->sentence(source, i, words))
            break;
        json_text(json, buffer_as_text(words));
    }
    json_end_array(json);
}

bool section_write_json_table(const struct section *section, const char *part, const void *source,
                              size_t rows, struct json *json, struct status *status) {
    const struct column *shown[TABLE_COLUMNS_MAX];
    struct buffer note = {0}, words = {0};
    size_t all = section->columns ? section_rows(section, source) : 0;
    bool applies = all > 0 && (!section->note || section->note(source, &note));
    if (applies) {
        size_t count = known_columns(section, source, rows, shown, &words);
        json_begin_object(json);
        json_member_string(json, "part", part);
        json_member_string(json, "key", section->key);
        json_member_string(json, "title", section->title);
        json_member_text(json, "note", buffer_as_text(&note));
        write_json_cells(section, source, rows, shown, count, json, &words);
        json_member_unsigned(json, "more", all > rows ? all - rows : 0);
        write_json_sentences(section, source, json, &words);
        json_end_object(json);
    }
    bool ok = buffer_ok(&note, status) && buffer_ok(&words, status);
    buffer_finish(&note);
    buffer_finish(&words);
    return ok;
}

static void write_csv_value(struct output *output, struct value value, enum unit unit) {
    if (value.state != VALUE_KNOWN)
        return;
    if (unit == UNIT_TEXT)
        table_csv_field(output, value.text);
    else if (unit == UNIT_COUNT || unit == UNIT_BYTES)
        output_printf(output, "%" PRIu64, (uint64_t)value.integer);
    else if (unit == UNIT_NS || unit == UNIT_ID || unit == UNIT_BOOL)
        output_printf(output, "%" PRId64, value.integer);
    else
        output_printf(output, "%.15g", value.real);
}

void section_write_csv_head(const struct section *section, struct output *output) {
    const char *before = "";
    for (const struct column *column = section->columns; column->get; column++) {
        if (!column->key)
            continue;
        output_printf(output, "%s", before);
        table_csv_field(output, text_of(column->key));
        before = ",";
    }
    output_write(output, "\r\n", 2);
}

bool section_write_csv(const struct section *section, const void *source, struct output *output,
                       struct status *status) {
    struct buffer words = {0};
    const void *row;
    for (size_t i = 0; (row = section->row(source, i)); i++) {
        const char *before = "";
        for (const struct column *column = section->columns; column->get; column++) {
            if (!column->key)
                continue;
            buffer_clear(&words);
            output_printf(output, "%s", before);
            write_csv_value(output, column->get(source, row, &words), column->unit);
            before = ",";
        }
        output_write(output, "\r\n", 2);
    }
    bool ok = buffer_ok(&words, status);
    buffer_finish(&words);
    return ok;
}
