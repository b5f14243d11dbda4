/* Compares all rows of an imported trace with tests/unit/import/rows.txt.
 *
 * A test may import several times; the file has one line for each import and table: the test, the
 * number of the import, the table, its rows and a digest of them. UPDATE=1 build/unit writes the
 * lines of the tests that run anew; SHOW=1 build/unit TEST prints the rows. */
#ifndef RIDGE_TESTS_UNIT_IMPORT_ROWS_H
#define RIDGE_TESTS_UNIT_IMPORT_ROWS_H

#include "base/text.h"
#include "import/import.h"
#include "trace/reader.h"

void rows_check(struct trace *trace);
/* Without the entities, where those are of this machine. */
void rows_check_events(struct trace *trace);

/* What becomes of a source when a part of it is missing or has another value: the rows or the error
 * of each of a few dozen variants, in one line of the file. */
struct ablation {
    struct buffer results;
    unsigned variants;
    bool without_messages; /* those of another library depend on its version */
};
/* A path for the file of a variant. */
const char *ablation_path(void);
/* Imports a variant. */
void ablation_add(struct ablation *ablation, const struct importer *importer, const char *path,
                  bool skip_invalid);
void ablation_check(struct ablation *ablation);
/* Variants of a text or of protobuf bytes: names that are not known, other numbers. */
void ablation_of_bytes(const struct importer *importer, struct text bytes, bool skip_invalid);
/* Not in tests that make allocations fail. */
bool ablation_is_wanted(void);

#endif
