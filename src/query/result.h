/* Writes what a statement returns: as a table for people, or as CSV or JSON for programs.
 *
 * CSV and JSON are written as rows come. A text or Markdown table needs its columns' widths first:
 * it is written in blocks of RESULT_BLOCK rows, so that an endless statement takes no endless
 * memory.
 */
#ifndef RIDGE_QUERY_RESULT_H
#define RIDGE_QUERY_RESULT_H

#include "base/output.h"
#include "base/status.h"
#include "query/query.h"

enum result_format { RESULT_TEXT, RESULT_MARKDOWN, RESULT_CSV, RESULT_JSON };
enum { RESULT_BLOCK = 50000 };

/* Runs the statement to its end. `width`: of the terminal, 0 = no limit. NULL is empty in tables
 * and CSV and null in JSON; blobs are hexadecimal digits. */
bool result_write(struct query *query, struct sqlite3_stmt *statement, enum result_format format,
                  unsigned width, struct output *output, struct status *status);

#endif
