/* What is the trace called, and which of many processes is this one? %p, %h and %r in a name stand
 * for the program's process id, this host and the rank that the launcher (torchrun, MPI, Slurm)
 * gave it, so that many recorders of one job do not write to one file.
 */
#ifndef RIDGE_RECORD_PATH_TEMPLATE_H
#define RIDGE_RECORD_PATH_TEMPLATE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/text.h"

/* The rank and the number of ranks as the environment has them, decimal; NULL when it is no part of
 * a job. */
const char *path_template_rank(void);
const char *path_template_world_size(void);

/* `pattern` with %p, %h and %r (0 without a rank) filled in; %% is a %. Another letter is refused.
 */
bool path_template_expand(const char *pattern, pid_t pid, const char *host, struct buffer *name,
                          struct status *status);
/* The pattern when the user gave none: the program's name without its folder, and %p. */
void path_template_default(const char *program, struct buffer *pattern);

#endif
