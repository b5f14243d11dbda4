/* Other programs: where they are, and running them without output. */
#ifndef RIDGE_BASE_PROGRAM_H
#define RIDGE_BASE_PROGRAM_H

#include "base/text.h"

/* Finds a program in PATH, else in `places`: patterns of glob(), ended by NULL, of which the last
 * match counts; or NULL. `path` is then terminated. False when it is not installed, or `path` has
 * failed. */
bool program_find(const char *name, const char *const *places, struct buffer *path);

/* Runs a program without input and output, and waits for it. *found is false when there is no such
 * program; *result is its exit status, 128 after a signal. */
bool program_run(const char *const *arguments, bool *found, int *result, struct status *status);

#endif
