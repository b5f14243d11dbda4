/* What the parts of the text report share: colors, bars and section heads. */
#ifndef RIDGE_REPORT_TEXT_H
#define RIDGE_REPORT_TEXT_H

#include "base/table.h"
#include "report/report.h"
#include "report/sections.h"

enum text_color { PLAIN, BOLD, DIM, GREEN, YELLOW, RED, CYAN };

struct text_writer {
    const struct report *report;
    const struct report_style *style;
    struct output *output;
    struct status *status;
    bool failed; /* out of memory somewhere */
};

void text_color(struct text_writer *writer, enum text_color color);
/* A blank line, then the title in bold and a note behind it. */
void text_section(struct text_writer *writer, const char *title, const char *note, ...)
    __attribute__((format(printf, 3, 4)));
/* A bar of `cells` columns, filled to `share` (0 to 1) in eighths. */
void text_bar(struct text_writer *writer, double share, unsigned cells, enum text_color color);
/* Spaces that bring a right-aligned word to `width` columns, counting characters, not bytes. */
static inline int text_pad(const char *word, int width) {
    int used = (int)table_text_width(text_of(word));
    return used < width ? width - used : 0;
}
/* Writes the table two spaces in and frees it. */
void text_table(struct text_writer *writer, struct table *table);
/* Words from the trace or the user, without what could steer a terminal. */
void text_words(struct text_writer *writer, struct text words);
/* The same for a whole line; only at its start a line end is kept. */
void text_line(struct text_writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Words wrapped at the report's width: `first` before the first line, `rest` before the others. */
void text_wrapped(struct text_writer *writer, const char *first, const char *rest,
                  struct text words);
/* A section's table, at most `rows` rows of it, with its title, note and sentences. False when it
 * does not apply. */
bool text_write_section(struct text_writer *writer, const struct section *section,
                        const struct report_device *device, size_t rows);

/* The sentences at the top, and a table of findings: all, or those that matter. */
void text_verdict(struct text_writer *writer, bool all);
void text_findings(struct text_writer *writer);
void text_account(struct text_writer *writer, const struct report_device *device);
void text_timeline(struct text_writer *writer, const struct report_device *device);
/* Several devices in one table. */
void text_devices(struct text_writer *writer);

#endif
