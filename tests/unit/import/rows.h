/* Compares all rows of an imported trace with tests/unit/import/rows.txt.
 *
 * A test may import several times; the file has one line for each import and table: the test, the
 * number of the import, the table, its rows and a digest of them. UPDATE=1 build/unit writes the
 * lines of the tests that run anew; SHOW=1 build/unit TEST prints the rows. */
#ifndef RIDGE_TESTS_UNIT_IMPORT_ROWS_H
#define RIDGE_TESTS_UNIT_IMPORT_ROWS_H

#include "trace/reader.h"

void rows_check(struct trace *trace);
/* Without the entities, where those are of this machine. */
void rows_check_events(struct trace *trace);

#endif
