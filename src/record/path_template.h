/* Expands the name of the trace: %p is the program's pid, %h the host and %r the rank that the
 * launcher (torchrun, MPI, Slurm) assigned, so that the recorders of one job write to different
 * files.
 */
#ifndef RIDGE_RECORD_PATH_TEMPLATE_H
#define RIDGE_RECORD_PATH_TEMPLATE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/text.h"

/* Expands %p, %h, %r (0 without a rank) and %% in `pattern`. Fails for any other sequence. */
bool path_template_expand(const char *pattern, pid_t pid, const char *host, struct buffer *name,
                          struct status *status);
/* The default pattern: the base name of the program, and %p. */
void path_template_default(const char *program, struct buffer *pattern);

#endif
