/* Groups many rows of the table into one compiled function.
 *
 * On a device that compiles its kernels, each operation in each type would be one kernel more; a
 * group of them is one. Both users of it hand in flat contiguous operands, so that they share the
 * kernels too. */
#ifndef RIDGE_TESTS_CONFORMANCE_GROUPED_H
#define RIDGE_TESTS_CONFORMANCE_GROUPED_H

#include "arrays.h"
#include "reference.h"

enum { GROUP_ROWS = 10 };

/* Rows from *first on that take the type, at most GROUP_ROWS, applied to operands x, y, z and the
 * condition of RULE_WHERE (i32). *first becomes the row after them; returns how many there are.
 * Results are NULL where it failed, with the message of ridge. */
unsigned group_run(enum ridge_dtype dtype, ridge_tensor *const operands[4], unsigned *first,
                   const struct row *group[GROUP_ROWS], ridge_tensor *results[GROUP_ROWS]);

#endif
