/* Writes the result of a statement as a table, CSV or JSON.
 *
 * CSV and JSON are streamed. A text or Markdown table needs the widths of its columns first, so it
 * is written in blocks of RESULT_BLOCK rows, which bounds the memory. */
#ifndef RIDGE_QUERY_RESULT_H
#define RIDGE_QUERY_RESULT_H

#include "base/output.h"
#include "base/status.h"
#include "query/query.h"

enum result_format { RESULT_TEXT, RESULT_MARKDOWN, RESULT_CSV, RESULT_JSON };
enum { RESULT_BLOCK = 50000 };

/* Runs the statement to its end. `width` is the terminal's, 0 = no limit. NULL is empty in tables
 * and CSV and null in JSON; blobs are hexadecimal. */
bool result_write(struct query *query, struct sqlite3_stmt *statement, enum result_format format,
                  unsigned width, struct output *output, struct status *status);

#endif
