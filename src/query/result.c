/* Formats the rows of a statement. Columns of numbers only are right-aligned. */
#include "query/result.h"

#include <sqlite3.h>

#include "base/json_write.h"
#include "base/memory.h"
#include "base/table.h"

/* A value as text; a blob is written to `scratch` in hexadecimal. */
static struct text value_text(sqlite3_stmt *statement, int column, struct buffer *scratch) {
    if (sqlite3_column_type(statement, column) == SQLITE_BLOB) {
        const unsigned char *bytes = sqlite3_column_blob(statement, column);
        int length = bytes ? sqlite3_column_bytes(statement, column) : 0;
        buffer_clear(scratch);
        for (int i = 0; i < length; i++) {
            buffer_byte(scratch, "0123456789ABCDEF"[bytes[i] >> 4]);
            buffer_byte(scratch, "0123456789ABCDEF"[bytes[i] & 15]);
        }
        return buffer_as_text(scratch);
    }
    const char *text = (const char *)sqlite3_column_text(statement, column);
    scratch->failed |= !text && sqlite3_column_type(statement, column) != SQLITE_NULL;
    return text ? (struct text){text, (size_t)sqlite3_column_bytes(statement, column)} : TEXT("");
}

static bool is_number(int type) {
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

static void begin_table(struct table *table, sqlite3_stmt *statement) {
    int columns = sqlite3_column_count(statement);
    for (int column = 0; column < columns; column++)
        table_column(table, sqlite3_column_name(statement, column), TABLE_LEFT);
}

/* `seen` of a column: bit 0 a number, bit 1 any other value. */
static void add_row(struct table *table, sqlite3_stmt *statement, unsigned char *seen,
                    struct buffer *scratch) {
    int columns = sqlite3_column_count(statement);
    for (int column = 0; column < columns; column++) {
        int type = sqlite3_column_type(statement, column);
        if (type != SQLITE_NULL)
            seen[column] |= is_number(type) ? 1 : 2;
        table_cell(table, value_text(statement, column, scratch));
    }
    table->failed |= scratch->failed;
}

static bool end_block(struct table *table, const unsigned char *seen, enum result_format format,
                      unsigned width, bool header, struct output *output, struct status *status) {
    for (size_t column = 0; column < table->column_count; column++)
        table->columns[column].flags = seen[column] == 1 ? TABLE_RIGHT : TABLE_FLEXIBLE;
    struct table_layout layout = {.width = width, .no_header = !header};
    table_write(table, format == RESULT_MARKDOWN ? TABLE_MARKDOWN : TABLE_TEXT, &layout, output);
    bool ok = table_ok(table, status);
    table_finish(table);
    return ok;
}

static bool write_table(struct query *query, sqlite3_stmt *statement, enum result_format format,
                        unsigned width, struct output *output, struct status *status) {
    struct table table = {0};
    struct buffer scratch = {0};
    bool row = true, header = true, ok;
    size_t columns = (size_t)sqlite3_column_count(statement);
    unsigned char *seen = memory_allocate(columns, 1, status);
    if (!seen)
        return false;
    begin_table(&table, statement);
    while ((ok = query_step(query, statement, &row, status)) && row && !output->failed) {
        add_row(&table, statement, seen, &scratch);
        if (table_rows(&table) < RESULT_BLOCK)
            continue;
        ok = end_block(&table, seen, format, width, header, output, status);
        header = false;
        if (!ok)
            break;
        begin_table(&table, statement);
    }
    if (ok && columns > 0 && (header || table.failed || table_rows(&table) > 0))
        ok = end_block(&table, seen, format, width, header, output, status);
    table_finish(&table);
    buffer_finish(&scratch);
    memory_free(seen);
    return ok;
}

static bool write_csv(struct query *query, sqlite3_stmt *statement, struct output *output,
                      struct status *status) {
    struct buffer scratch = {0};
    int columns = sqlite3_column_count(statement);
    bool row, ok;
    for (int column = 0; column < columns; column++) {
        if (column > 0)
            output_write(output, ",", 1);
        table_csv_field(output, text_of(sqlite3_column_name(statement, column)));
    }
    output_write(output, "\r\n", 2);
    while ((ok = query_step(query, statement, &row, status)) && row && !output->failed) {
        for (int column = 0; column < columns; column++) {
            if (column > 0)
                output_write(output, ",", 1);
            table_csv_field(output, value_text(statement, column, &scratch));
        }
        output_write(output, "\r\n", 2);
    }
    ok = ok && buffer_ok(&scratch, status);
    buffer_finish(&scratch);
    return ok;
}

static void write_json_value(struct json *json, sqlite3_stmt *statement, int column,
                             struct buffer *scratch) {
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
        json_null(json);
        break;
    case SQLITE_INTEGER:
        json_integer(json, sqlite3_column_int64(statement, column));
        break;
    case SQLITE_FLOAT:
        json_number(json, sqlite3_column_double(statement, column));
        break;
    default:
        json_text(json, value_text(statement, column, scratch));
    }
}

static bool write_json(struct query *query, sqlite3_stmt *statement, struct output *output,
                       struct status *status) {
    struct json json = {.output = output};
    struct buffer scratch = {0};
    int columns = sqlite3_column_count(statement);
    bool row, first = true, ok;
    output_write(output, "[", 1);
    while ((ok = query_step(query, statement, &row, status)) && row && !output->failed) {
        output_printf(output, first ? "\n" : ",\n");
        first = false;
        json = (struct json){.output = output};
        json_begin_object(&json);
        for (int column = 0; column < columns; column++) {
            json_key(&json, sqlite3_column_name(statement, column));
            write_json_value(&json, statement, column, &scratch);
        }
        json_end_object(&json);
    }
    output_printf(output, first ? "]\n" : "\n]\n");
    ok = ok && buffer_ok(&scratch, status);
    buffer_finish(&scratch);
    return ok;
}

bool result_write(struct query *query, struct sqlite3_stmt *statement, enum result_format format,
                  unsigned width, struct output *output, struct status *status) {
    if (format == RESULT_CSV)
        return write_csv(query, statement, output, status);
    if (format == RESULT_JSON)
        return write_json(query, statement, output, status);
    return write_table(query, statement, format, width, output, status);
}
