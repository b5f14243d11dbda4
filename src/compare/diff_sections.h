/* The tables of a diff, described once for all formats; their source is the diff. */
#ifndef RIDGE_COMPARE_DIFF_SECTIONS_H
#define RIDGE_COMPARE_DIFF_SECTIONS_H

#include "base/section.h"
#include "compare/diff.h"

/* The parts of the account, all or those that a side has; the rows that changed; counts of a unit
 * that changed (all in JSON); conditions. */
extern const struct section diff_section_parts, diff_section_used_parts, diff_section_rows,
    diff_section_counts, diff_section_conditions;

/* "+1.20 ms", "-340 ns", "0 ns". */
enum { DIFF_SIGNED_SIZE = 48 };
char *diff_signed(int64_t ns, char text[DIFF_SIGNED_SIZE]);

#endif
