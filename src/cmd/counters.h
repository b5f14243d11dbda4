/* What `ridge counters` and `ridge analyze` share. */
#ifndef RIDGE_CMD_COUNTERS_H
#define RIDGE_CMD_COUNTERS_H

#include "cmd/command.h"

/* Runs the program of the command line under ncu and adds the counters of the kernels that take
 * most of the trace's time to the trace. */
bool counters_add(const struct command_line *line, const char *trace, struct status *status);

#endif
