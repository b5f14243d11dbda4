/* What `ridge bench` and its kin take: names, devices, sizes, types, formats. */
#ifndef RIDGE_CMD_BENCH_ARGUMENTS_H
#define RIDGE_CMD_BENCH_ARGUMENTS_H

#include "bench/print/print.h"
#include "bench/run.h"
#include "cmd/command.h"

enum { NAMES_MAX = 64 };

/* Devices as in "-d cpu,cuda:1", each once; without -d the one that ridge_device_open(NULL) takes.
 */
struct device_names {
    char text[256];
    const char *names[NAMES_MAX + 1]; /* NULL ends it */
};
bool bench_devices(const struct command_line *line, struct device_names *devices,
                   struct status *status);

/* The experiments of these names ("all" is all of them); NULL ends the list. */
bool bench_experiments(const char *const *names, unsigned count,
                       const struct experiment *chosen[NAMES_MAX + 1], struct status *status);

/* --dtype, --size, --batch, --model; one that no chosen experiment takes is refused. */
bool bench_lists(const struct command_line *line, const struct experiment *const *chosen,
                 struct bench_options *options, struct status *status);

/* --seconds S: a positive number; the plan is unchanged when it was not given. */
bool bench_seconds(const struct command_line *line, struct measure_plan *plan,
                   struct status *status);

/* --rounds N: no more than a result keeps. */
bool bench_rounds(const struct command_line *line, unsigned *rounds, struct status *status);

/* --plot FILE ends in .svg, if it was given. */
bool bench_plot(const struct command_line *line, struct status *status);
/* --format text|md|csv, for this output; --format json and --json are bench_wants_json(). */
struct print_style bench_style(const struct command_line *line, const struct output *output);
bool bench_wants_json(const struct command_line *line);

/* Prints the experiments, and what --size and the like count in each. */
bool bench_list(struct status *status);

#endif
