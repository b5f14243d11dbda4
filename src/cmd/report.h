/* A report of any trace to an output: what `ridge report` prints, and `ridge run` when the program
 * has ended.
 */
#ifndef RIDGE_CMD_REPORT_H
#define RIDGE_CMD_REPORT_H

#include "base/output.h"
#include "report/report.h"

/* `format` is text, md, json or csv; NULL: text. */
bool report_print(const struct report_options *options, const char *format, bool skip_invalid,
                  struct output *output, struct status *status);

#endif
