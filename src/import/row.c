/* Rows by the schema's column numbers, so that an importer of a format shaped like the schema needs
 * no code for each table. */
#include "import/row.h"

#include <string.h>

static const struct column_info *column_of(const struct import_row *row, unsigned column) {
    return &trace_tables[row->table].columns[column];
}

void import_row_begin(struct import_row *row, enum trace_table table) {
    memset(row, 0, sizeof *row);
    row->table = table;
}

void import_row_set(struct import_row *row, unsigned column, uint64_t bits) {
    const struct column_info *info = column_of(row, column);
    char *at = row->of.bytes + info->row_offset;
    uint32_t middle = (uint32_t)bits;
    if (info->size == 8)
        memcpy(at, &bits, 8);
    else if (info->size == 4)
        memcpy(at, &middle, 4);
    else
        *at = (char)(unsigned char)bits;
}

uint64_t import_row_get(const struct import_row *row, unsigned column) {
    const struct column_info *info = column_of(row, column);
    const char *at = row->of.bytes + info->row_offset;
    uint64_t wide = 0;
    uint32_t middle;
    if (info->size == 8)
        memcpy(&wide, at, 8);
    else if (info->size == 4) {
        memcpy(&middle, at, 4);
        wide = middle;
    } else
        wide = *(const unsigned char *)at;
    return wide;
}

bool import_row_set_text(struct import_row *row, unsigned column, struct trace_writer *writer,
                         struct text text) {
    column_namer *names = column_names(row->table, column);
    if (column_of(row, column)->type == COLUMN_STRING) {
        import_row_set(row, column, trace_writer_string(writer, text));
        return true;
    }
    for (unsigned value = 0; names && strcmp(names(value), "?") != 0; value++)
        if (text_is(text, names(value))) {
            import_row_set(row, column, value);
            return true;
        }
    return false;
}

int import_row_column(enum trace_table table, struct text name) {
    for (unsigned i = 0; i < trace_tables[table].column_count; i++)
        if (text_is(name, trace_tables[table].columns[i].name))
            return (int)i;
    return -1;
}

bool import_row_valid(const struct import_row *row, const char **why) {
    const struct column_info *first = column_of(row, 0);
    *why = NULL;
    if (first->type != COLUMN_TIME)
        return true;
    int64_t time = (int64_t)import_row_get(row, 0);
    if (time > TRACE_TIME_LIMIT || time < -TRACE_TIME_LIMIT)
        *why = "a time that is out of range";
    else if (strcmp(column_of(row, 1)->name, "duration") == 0) {
        int64_t duration = (int64_t)import_row_get(row, 1);
        if (duration < 0)
            *why = "a negative duration";
        else if (duration > TRACE_TIME_LIMIT)
            *why = "a duration that is out of range";
    }
    return *why == NULL;
}

int import_row_target(enum column_type type) {
    switch (type) {
    case COLUMN_PROCESS:
        return TABLE_PROCESS;
    case COLUMN_THREAD:
        return TABLE_THREAD;
    case COLUMN_DEVICE:
        return TABLE_DEVICE;
    case COLUMN_QUEUE:
        return TABLE_QUEUE;
    case COLUMN_STACK:
        return TABLE_STACK;
    default:
        return -1;
    }
}

uint32_t import_row_write(const struct import_row *row, struct trace_writer *writer) {
    switch (row->table) {
#define WRITE_ROW(table, TABLE, fourcc)                                                            \
    case TABLE_##TABLE:                                                                            \
        return trace_write_##table(writer, &row->of.table);
        TRACE_TABLES(WRITE_ROW)
    default:
        return 0;
    }
}
