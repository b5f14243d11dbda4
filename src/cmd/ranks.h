/* Reads the traces of a job, one after another, for the commands that join ranks. */
#ifndef RIDGE_CMD_RANKS_H
#define RIDGE_CMD_RANKS_H

#include "cmd/command.h"
#include "ranks/ranks.h"

/* All traces that the arguments name, joined. Finish the job in any case. */
bool ranks_read(const char *const *arguments, unsigned count, bool skip_invalid, struct job *job,
                struct status *status);

/* Whether the command line asks ridge whatif for a change of a job. */
bool whatif_is_of_job(const struct command_line *line);
/* Predicts it. */
int whatif_job(const struct command_line *line);

#endif
