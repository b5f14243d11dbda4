/* Shared by the printers of results, comparisons and timelines: compact figures, one unit per
 * column where suitable, and paragraphs. */
#ifndef RIDGE_BENCH_PRINT_PRINT_PARTS_H
#define RIDGE_BENCH_PRINT_PRINT_PARTS_H

#include "base/format.h"
#include "bench/print/print.h"

/* "12.34 ms"; "-" if unknown (NaN, or not above 0). */
char *print_time(double ns, char text[FORMAT_SIZE]);
/* `digits` significant digits without a unit: "0.0123", "1.23", "12.3", "1,234". */
char *print_number(double value, unsigned digits, char text[FORMAT_SIZE]);
/* "2.1%", "34%", "105%": two digits are enough for a share. */
char *print_share(double share, char text[FORMAT_SIZE]);
/* "1.8", "12", "1,234": how many times. */
char *print_times(double ratio, char text[FORMAT_SIZE]);

enum print_quantity { PRINT_TIME, PRINT_BYTE_RATE, PRINT_FLOP_RATE };

/* The unit of a column. A zeroed scale is empty: show it all values, then choose. */
struct print_scale {
    enum print_quantity quantity;
    double min, max;  /* of the values above 0 */
    const char *unit; /* "µs"; NULL: each value has its own */
    double divisor;
};
void print_scale_see(struct print_scale *scale, double value);
void print_scale_choose(struct print_scale *scale);
/* A value on the scale; "" when there is none. */
char *print_scaled(const struct print_scale *scale, double value, char text[FORMAT_SIZE]);

/* A paragraph, wrapped at the style's width with `indent` spaces before each line and `mark`
 * before the first; in Markdown one line. Ends the line. The text is escaped for the terminal or
 * as markup. */
void print_paragraph(const struct print_style *style, unsigned indent, const char *mark,
                     struct text words, struct output *output);
enum { PRINT_INDENT = 2, PRINT_GAP = 2 }; /* before a table, and between its columns */

/* A heading line above a row and the following rows with the same heading. */
typedef void print_label(const void *context, size_t row, struct buffer *label);
/* A table at PRINT_INDENT; `label` (with `context`) may be NULL. */
void print_table(const struct table *table, const struct print_style *style, print_label *label,
                 const void *context, struct output *output);
/* The heading line of an experiment. */
void print_heading(const struct print_style *style, struct text words, struct output *output);

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
