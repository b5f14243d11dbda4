/* A round of `ridge bench` in a process of its own.
 *
 * Where the memory of a process happens to lie makes the same work a few percent faster or slower
 * for as long as the process lives. Rounds in one process would all share that, and two runs would
 * differ by it; rounds in processes of their own have it among their noise.
 */
#ifndef RIDGE_CMD_BENCH_PROCESS_H
#define RIDGE_CMD_BENCH_PROCESS_H

#include "bench/run.h"
#include "cmd/command.h"

/* Set in the environment of such a process: it keeps nothing to resume from. */
#define BENCH_ROUND_VARIABLE "RIDGE_BENCH_ROUND"

/* Whether this system lets ridge start itself again. */
bool bench_process_can(void);
/* Runs the experiments once, with the options of the command line and what `options` says of
 * experiments, devices and times, and reads the results. */
bool bench_process_round(const struct command_line *line, const struct run_options *options,
                         struct result_set *set, struct status *status);

#endif
