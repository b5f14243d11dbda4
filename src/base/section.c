/* The walkers: one for tables people read, one for JSON, one for CSV. */
#include "base/section.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/format.h"

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
        return value.text.length ? value.text : TEXT("-");
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
    snprintf(text, FORMAT_SIZE, "%.3g", value.real);
    return text_of(text);
}

/* ---- tables ---- */

static bool has_known_value(const struct section *section, const struct column *column,
                            const void *source, size_t rows, struct buffer *words) {
    const void *row;
    for (size_t i = 0; i < rows && (row = section->row(source, i)); i++) {
        buffer_clear(words);
        if (column->get(source, row, words).state == VALUE_KNOWN)
            return true;
    }
    return false;
}

static bool is_shown(const struct section *section, const struct column *column, const void *source,
                     size_t rows, unsigned width, struct buffer *words) {
    if (!column->title || (column->flags & COLUMN_WIDE && width && width < SECTION_WIDE))
        return false;
    return has_known_value(section, column, source, rows, words);
}

/* Names come last where a line has an end: what is too long for it is cut there. */
static bool is_in_pass(const struct column *column, unsigned width, unsigned pass) {
    bool last = width && column->flags & COLUMN_FLEXIBLE && !(column->flags & COLUMN_IN_PLACE);
    return pass == (last ? 1 : 0);
}

size_t section_table(const struct section *section, const void *source, size_t rows, unsigned width,
                     struct table *table) {
    enum { COLUMNS_MAX = 32 };
    const struct column *shown[COLUMNS_MAX];
    struct buffer words = {0};
    size_t count = 0, row = 0;
    if (section->rows_max && section->rows_max < rows)
        rows = section->rows_max;
    for (unsigned pass = 0; pass < 2; pass++)
        for (const struct column *column = section->columns; column->get; column++)
            if (is_in_pass(column, width, pass) && count < COLUMNS_MAX &&
                is_shown(section, column, source, rows, width, &words)) {
                bool left = column->unit == UNIT_TEXT && !(column->flags & COLUMN_RIGHT);
                bool cut = column->flags & COLUMN_FLEXIBLE;
                table_column(table, column->title,
                             (left ? TABLE_LEFT : TABLE_RIGHT) | (cut ? TABLE_FLEXIBLE : 0));
                shown[count++] = column;
            }
    const void *at;
    for (; row < rows && (at = section->row(source, row)); row++)
        for (size_t i = 0; i < count; i++) {
            char text[FORMAT_SIZE];
            buffer_clear(&words);
            table_cell(table,
                       section_value_text(shown[i]->get(source, at, &words), shown[i]->unit, text));
        }
    table->failed |= words.failed;
    buffer_finish(&words);
    return section_rows(section, source) - row;
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
