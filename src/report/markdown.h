/* What the parts of the Markdown report share: the document being written, and its tables. */
#ifndef RIDGE_REPORT_MARKDOWN_H
#define RIDGE_REPORT_MARKDOWN_H

#include "base/format.h"
#include "base/table.h"
#include "report/wording.h"

struct markdown {
    const struct report *report;
    struct output *output;
    size_t top;  /* rows of each table */
    bool failed; /* out of memory */
};

/* Text of the document's own; what comes from the trace goes through markdown_text(). */
void markdown_line(struct markdown *document, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void markdown_text(struct markdown *document, struct text text);
/* A heading, with the device's name behind it when there are several devices. */
void markdown_device_heading(struct markdown *document, const char *title, size_t device);
/* Writes the table and finishes it. */
void markdown_table(struct markdown *document, struct table *table);
/* Cells as the tables have them. */
static inline void markdown_duration(struct table *table, int64_t ns) {
    char text[FORMAT_SIZE];
    table_cell(table, text_of(format_duration(ns, text)));
}
static inline void markdown_share(struct table *table, int64_t part, int64_t whole) {
    char text[FORMAT_SIZE];
    table_cell(table, text_of(format_percent(wording_share(part, whole), text)));
}

/* Titles that begin with '<' are left aligned, all others right. */
static inline void markdown_columns(struct table *table, const char *const *titles, size_t count) {
    for (size_t i = 0; i < count; i++)
        table_column(table, titles[i] + (titles[i][0] == '<'),
                     titles[i][0] == '<' ? TABLE_LEFT : TABLE_RIGHT);
}
#define MARKDOWN_COLUMNS(table, ...)                                                               \
    markdown_columns(table, (const char *const[]){__VA_ARGS__},                                    \
                     sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* What holds the run back. */
void markdown_verdict(struct markdown *document);

#endif
