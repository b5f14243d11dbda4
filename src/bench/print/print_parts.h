/* Shared by the printers of results, comparisons and timelines: compact figures and paragraphs. */
#ifndef RIDGE_BENCH_PRINT_PRINT_PARTS_H
#define RIDGE_BENCH_PRINT_PRINT_PARTS_H

#include "base/format.h"
#include "bench/print/print.h"

/* `digits` significant digits without a unit: "0.0123", "1.23", "12.3", "1,234". */
char *print_number(double value, unsigned digits, char text[FORMAT_SIZE]);
/* "2.1%", "34%", "105%": two digits are enough for a share. */
char *print_share(double share, char text[FORMAT_SIZE]);
/* "1.8", "12", "1,234": how many times. */
char *print_times(double ratio, char text[FORMAT_SIZE]);

/* A paragraph, wrapped at the style's width with `indent` spaces before each line and `mark`
 * before the first; in Markdown one line. Ends the line. The text is escaped for the terminal or
 * as markup. */
void print_paragraph(const struct section_style *style, unsigned indent, const char *mark,
                     struct text words, struct output *output);
/* The heading line of an experiment. */
void print_heading(const struct section_style *style, struct text words, struct output *output);

/* "memory", "f16 matrix", "launch": what binds. */
const char *print_roof_name(const struct result *result);
/* The mark of note `number` (from 0): a superscript. */
void print_mark(size_t number, struct buffer *text);

/* "softmax 4096x4096, eager" */
void print_name(const struct result *result, struct buffer *name);
/* An allocation failed while something was written: the output fails. */
static inline void print_note_failure(bool failed, struct output *output) {
    if (failed && !output->failed)
        output->failed = !status_no_memory(&output->why);
}
static inline bool print_has_figures(const struct result *result) {
    return !*result->problem && result->time.time.median > 0;
}

#endif
