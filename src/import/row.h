/* A row of any table, filled column by column: for importers of formats that follow the schema.
 *
 *   struct import_row row;
 *   import_row_begin(&row, TABLE_ACTIVITY);
 *   import_row_set(&row, column, bits);
 *   import_row_set_text(&row, column, writer, text);
 *   if (import_row_valid(&row, &why)) id = import_row_write(&row, writer);
 */
#ifndef RIDGE_IMPORT_ROW_H
#define RIDGE_IMPORT_ROW_H

#include "trace/writer.h"

struct import_row {
    enum trace_table table;
    union {
#define IMPORT_ROW_MEMBER(table, TABLE, fourcc) struct row_##table table;
        TRACE_TABLES(IMPORT_ROW_MEMBER)
        char bytes[1];
    } of;
};

/* All columns zero. */
void import_row_begin(struct import_row *row, enum trace_table table);
/* The bits of the value, cut to the column's width. */
void import_row_set(struct import_row *row, unsigned column, uint64_t bits);
/* A string, or an enumerator by its name; false when it names none, or the column is a number. */
bool import_row_set_text(struct import_row *row, unsigned column, struct trace_writer *writer,
                         struct text text);
uint64_t import_row_get(const struct import_row *row, unsigned column);
/* The column of that name, or -1. */
int import_row_column(enum trace_table table, struct text name);
/* Whether its times are possible; else *why says what is wrong. */
bool import_row_valid(const struct import_row *row, const char **why);
/* The table that ids of this type are rows of, or -1. */
int import_row_target(enum column_type type);
uint32_t import_row_write(const struct import_row *row, struct trace_writer *writer);

#endif
