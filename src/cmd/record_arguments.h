/* The options that `ridge record` and `ridge run` share, and what both say when the program has
 * ended.
 */
#ifndef RIDGE_CMD_RECORD_ARGUMENTS_H
#define RIDGE_CMD_RECORD_ARGUMENTS_H

#include "cmd/command.h"
#include "record/record.h"

extern const struct command_option record_arguments[];

/* Records as the command line says and prints the three lines. True when the program ran: then end
 * with target_end_alike(&summary->target). Else *exit_status is ridge's own, and all is said. */
bool record_run(const struct command_line *line, struct record_summary *summary, int *exit_status);

#endif
