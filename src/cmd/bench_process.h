/* A round of `ridge bench` in its own process.
 *
 * The memory layout of a process makes the same work a few percent faster or slower during its
 * lifetime. Rounds in one process would share that bias, and two runs would differ by it; in
 * separate processes it is part of the noise.
 */
#ifndef RIDGE_CMD_BENCH_PROCESS_H
#define RIDGE_CMD_BENCH_PROCESS_H

#include "bench/run.h"
#include "cmd/command.h"

/* Set in the environment of such a process: it saves no state for --resume. */
#define BENCH_ROUND_VARIABLE "RIDGE_BENCH_ROUND"

/* Whether this system lets ridge start itself again. */
bool bench_process_can(void);
/* Runs the experiments once, with the options of the command line and the experiments, devices
 * and times of `options`, and reads the results. */
bool bench_process_round(const struct command_line *line, const struct run_options *options,
                         struct result_set *set, struct status *status);

#endif
