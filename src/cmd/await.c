/* `ridge await PID`: what a recorder that crashed becomes; see record/crash.h. */
#include <stdlib.h>

#include "cmd/command.h"
#include "record/target.h"

static int await_main(const struct command_line *line) {
    struct target target;
    target_adopt(&target, (pid_t)strtol(command_arguments(line, NULL)[0], NULL, 10));
    while (!target_wait(&target, 1000, NULL))
        ;
    target_release(&target);
    target_exit_alike(&target);
}

static const struct command_option options[] = {{0}};

const struct command command_await = {
    .name = "await",
    .arguments = "PID",
    .summary = "Wait for the program of a recorder that crashed",
    .options = options,
    .arguments_min = 1,
    .arguments_max = 1,
    .run = await_main,
    .hidden = true,
    .runs_program = true,
};
