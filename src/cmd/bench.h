/* Arguments that `ridge bench`, `ridge peaks` and `ridge demo` share: names, devices, sizes, types,
 * formats. */
#ifndef RIDGE_CMD_BENCH_H
#define RIDGE_CMD_BENCH_H

#include "bench/print/print.h"
#include "bench/run.h"
#include "cmd/command.h"

enum { NAMES_MAX = 64 };

/* Devices as in "-d cpu,cuda:1", without duplicates; without -d the default of
 * ridge_device_open(NULL). */
struct device_names {
    char text[256];
    const char *names[NAMES_MAX + 1]; /* NULL ends it */
};
bool bench_devices(const struct command_line *line, struct device_names *devices,
                   struct status *status);

/* Checks that --plot FILE ends in .svg, if given. */
bool bench_plot(const struct command_line *line, struct status *status);
/* --format text|md|csv, for this output; --format json and --json are bench_wants_json(). */
struct section_style bench_style(const struct command_line *line, const struct output *output);
bool bench_wants_json(const struct command_line *line);

#endif
