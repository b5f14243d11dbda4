/* A report of any trace to an output: what `ridge report` prints, and `ridge run` when the program
 * has ended.
 *
 *   if (report_open(&opened, &options, false, &status)) {
 *       ok = report_print(&opened.report, "md", &style, &output, &status);
 *       report_close(&opened);
 *   }
 */
#ifndef RIDGE_CMD_REPORT_H
#define RIDGE_CMD_REPORT_H

#include "base/output.h"
#include "report/report.h"

struct opened_report {
    struct trace *trace;
    struct report report;
};

/* Opens options->trace_name and asks all questions. On failure there is nothing to close. */
bool report_open(struct opened_report *opened, const struct report_options *options,
                 bool skip_invalid, struct status *status);
void report_close(struct opened_report *opened);

/* Color and width that suit the output. */
struct report_style report_style(const struct output *output);
/* `format` is text, md, json, csv or html; NULL: text. */
bool report_print(const struct report *report, const char *format, const struct report_style *style,
                  struct output *output, struct status *status);
/* One or two reports as a page; says on stderr what the page does not show one by one. Two of them
 * with what changed, where a device of each did something. */
bool report_print_page(const struct report *const *reports, size_t count, struct output *output,
                       struct status *status);
/* The page of a diff. */
struct diff;
bool report_print_difference(const struct diff *diff, struct output *output, struct status *status);

#endif
