/* Whether two traces say the same, whatever their ids: for round trips through exports. */
#ifndef RIDGE_TESTS_UNIT_EXPORT_COMPARE_H
#define RIDGE_TESTS_UNIT_EXPORT_COMPARE_H

#include "export/export.h"
#include "import/import.h"

/* A trace of `recordings` sessions in which every column of every table takes many values,
 * including the extremes; NULL (and a failed check) when it cannot be made. */
struct trace *compare_generate(unsigned recordings, size_t rows);

/* Exports the trace in that format to a file with that ending and imports the file again; NULL (and
 * a failed check) when that fails. */
struct trace *compare_round_trip(struct trace *trace, const char *format, const char *ending);

/* Checks that all rows of all tables are equal and in the same order within each recording; columns
 * named in `except` ("call.detail activity.flops …") may differ. Reports the first difference. */
void compare_traces(struct trace *before, struct trace *after, const char *except);

#endif
