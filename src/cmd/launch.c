/* `ridge launch SOCKET`: what xctrace launches in place of the program; see
 * record/xctrace_record.h. */
#include <stddef.h>

#include "cmd/command.h"
#include "record/xctrace_launch.h"

static int launch_main(const struct command_line *line) {
    struct status status = {0};
    int exit_status = xctrace_launch(command_arguments(line, NULL)[0], &status);
    if (status.code != STATUS_OK)
        command_fail(line, &status);
    return exit_status;
}

static const struct command_option options[] = {{0}};

const struct command command_launch = {
    .name = "launch",
    .arguments = "SOCKET",
    .summary = "Become the program that a recorder names",
    .options = options,
    .arguments_min = 1,
    .arguments_max = 1,
    .run = launch_main,
    .hidden = true,
    .runs_program = true,
};
