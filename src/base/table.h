/* The table writer: rows of text cells, written for a terminal, as Markdown or as CSV.
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
 * Cells are appended row by row and copied. Allocation failure is sticky: check table_ok() once.
 * Widths are in code points. In text and Markdown a cell is one line of printable characters, as by
 * text_next_printable(); CSV keeps every byte.
 */
#ifndef RIDGE_BASE_TABLE_H
#define RIDGE_BASE_TABLE_H

#include "base/output.h"
#include "base/status.h"
#include "base/text.h"

enum table_flags {
    TABLE_LEFT = 0,
    TABLE_RIGHT = 1,    /* numbers */
    TABLE_FLEXIBLE = 2, /* may be cut with "…" if the table is too wide for the terminal */
};

enum table_style { TABLE_TEXT, TABLE_MARKDOWN, TABLE_CSV };

struct table_layout {
    unsigned width;  /* TABLE_TEXT: maximum line width, 0 = no limit */
    unsigned indent; /* TABLE_TEXT: spaces before each line, included in the width */
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
    struct table_group {
        char *words;
        size_t row;
    } * groups;
    size_t group_count, groups_capacity;
    bool failed;
};

/* All columns first, then cells. The title is copied. */
void table_column(struct table *table, const char *title, unsigned flags);
void table_cell(struct table *table, struct text cell);
void table_cellf(struct table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A line of its own above the next row, for the rows that share a label. Not in CSV. */
void table_group(struct table *table, struct text words);
size_t table_rows(const struct table *table);
/* An incomplete last row is filled with empty cells. `layout` may be NULL. */
void table_write(const struct table *table, enum table_style style,
                 const struct table_layout *layout, struct output *output);
/* False and an out-of-memory status if anything failed. */
bool table_ok(const struct table *table, struct status *status);
void table_finish(struct table *table);

/* One CSV field (RFC 4180: quoted if needed), for code that streams rows. Separate fields by ','
 * and end rows with "\r\n". A field that a spreadsheet would evaluate as a formula (it starts with
 * = + - @, a tab or a newline, and is not a number) is prefixed with an apostrophe. */
void table_csv_field(struct output *output, struct text field);
/* Text escaped as in a Markdown cell, for use in a sentence. */
void table_markdown_text(struct output *output, struct text text);

/* The width of a text in terminal columns, as printed by TABLE_TEXT. */
size_t table_text_width(struct text text);

/* The width of the terminal of the descriptor; 0 if it is not a terminal. */
unsigned table_terminal_width(int fd);

#endif
