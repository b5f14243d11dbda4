/* The one table writer: rows of text cells, written for a terminal, as Markdown or as CSV.
 *
 *   struct table table = {0};
 *   table_column(&table, "kernel", TABLE_LEFT | TABLE_FLEXIBLE);
 *   table_column(&table, "time", TABLE_RIGHT);
 *   table_cell(&table, name);
 *   table_cellf(&table, "%s", format_duration(ns, text));
 *   table_write(&table, TABLE_TEXT, &(struct table_layout){.width = 80}, &output);
 *   ok = table_ok(&table, &status);
 *   table_finish(&table);
 *
 * Cells are appended row by row and copied. A failure to allocate is sticky: ask table_ok() once.
 * Widths count code points. In text and Markdown a cell is one line of printable characters, as
 * text_next_printable() has them; CSV keeps every byte.
 */
#ifndef RIDGE_BASE_TABLE_H
#define RIDGE_BASE_TABLE_H

#include "base/output.h"
#include "base/status.h"
#include "base/text.h"

enum table_flags {
    TABLE_LEFT = 0,
    TABLE_RIGHT = 1,    /* numbers */
    TABLE_FLEXIBLE = 2, /* may be cut with "…" when the table is too wide for a terminal */
};

enum table_style { TABLE_TEXT, TABLE_MARKDOWN, TABLE_CSV };

struct table_layout {
    unsigned width;  /* TABLE_TEXT: the most columns a line may take, 0 = no limit */
    unsigned indent; /* TABLE_TEXT: spaces before each line, part of the width */
    bool no_header;
};

/* A zeroed table is empty. */
struct table {
    struct table_head {
        char *title;
        unsigned flags;
    } * columns;
    size_t column_count, columns_capacity;
    struct buffer bytes; /* of all cells, one after another */
    size_t *ends;        /* of each cell in bytes */
    size_t cell_count, ends_capacity;
    bool failed;
};

/* All columns first, then cells. The title is copied. */
void table_column(struct table *table, const char *title, unsigned flags);
void table_cell(struct table *table, struct text cell);
void table_cellf(struct table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
size_t table_rows(const struct table *table);
/* A last row that lacks cells is filled up with empty ones. `layout` may be NULL. */
void table_write(const struct table *table, enum table_style style,
                 const struct table_layout *layout, struct output *output);
/* False and an out-of-memory status if anything could not be kept. */
bool table_ok(const struct table *table, struct status *status);
void table_finish(struct table *table);

/* One CSV field (RFC 4180: quoted where needed), for those that stream rows without a table. A row
 * is fields with ',' between them and "\r\n" behind. A field that a spreadsheet would run as a
 * formula (it begins with = + - @, a tab or a line end, and is not a number) gets an apostrophe in
 * front. */
void table_csv_field(struct output *output, struct text field);
/* Text as a Markdown cell shows it, for use in a sentence. */
void table_markdown_text(struct output *output, struct text text);

/* How many columns a terminal needs for a text as TABLE_TEXT prints it. */
size_t table_text_width(struct text text);

/* The width of the terminal that the descriptor is, or 0 when it is none. */
unsigned table_terminal_width(int fd);

#endif
