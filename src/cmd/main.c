/* The commands of ridge, and the way from argv to one of them. Each is a file of its own in this
 * folder, named as it is typed. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cmd/interrupt.h"
#include "cmd/options.h"

extern const struct command command_run, command_record, command_top, command_report,
    command_whatif, command_diff, command_check, command_info, command_import, command_query,
    command_export, command_devices, command_doctor, command_peaks, command_bench, command_demo,
    command_help_page, command_completion, command_manual, command_launch, command_await,
    command_counters, command_ranks, command_merge, command_analyze;

static const struct command *const commands[] = {
    &command_run,       &command_record,
    &command_counters,  &command_analyze,
    &command_top,       &command_report,
    &command_whatif,    &command_diff,
    &command_check,     &command_ranks,
    &command_info,      &command_import,
    &command_merge,     &command_query,
    &command_export,    &command_devices,
    &command_doctor,    &command_peaks,
    &command_bench,     &command_demo,
    &command_help_page, &command_completion,
    &command_manual,    &command_launch,
    &command_await,     NULL,
};
enum { COMMANDS = ARRAY_COUNT(commands) - 1 };

/* With 0, 1 or 2 closed, the next file opened would take its place and be written over. */
static void keep_standard_files(void) {
    int fd;
    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

static int unknown_command(const char *word) {
    const char *names[COMMANDS];
    unsigned count = 0;
    for (const struct command *const *command = commands; *command; command++)
        if (!(*command)->hidden)
            names[count++] = (*command)->name;
    const char *meant = command_suggest(word, names, count);
    if (meant)
        command_message("ridge: unknown command '%s'; did you mean '%s'? ('ridge help' lists them)",
                        word, meant);
    else if (access(word, F_OK) == 0)
        command_message("ridge: '%s' is a file, not a command; try 'ridge report %s'", word, word);
    else
        command_message("ridge: unknown command '%s' ('ridge help' lists them)", word);
    return EXIT_ERROR;
}

static int run_command(struct command_line *line, const struct command *command, int argc,
                       char **argv) {
    struct status status = {0};
    int result;
    if (!command->runs_program)   /* else the program would inherit it */
        signal(SIGXFSZ, SIG_IGN); /* a write that fails is enough */
    if (!command_line_parse(line, command, argc, argv, &status))
        result = command_fail(line, &status);
    else if (line->wants_help)
        result = command_help(line, command);
    else
        result = command->run(line);
    command_line_finish(line);
    return result;
}

static int print_version(const struct command_line *line) {
    struct status status = {0};
    if (printf("ridge %s\n", RIDGE_VERSION) >= 0 && fflush(stdout) == 0)
        return 0;
    status_fail_errno(&status, "standard output: cannot write");
    return command_fail(line, &status);
}

int main(int argc, char **argv) {
    struct command_line line = {.command = &command_help_page, .table = commands};
    keep_standard_files();
    interrupt_arm();
    /* `ridge ... | head` ends quietly, even under a parent that ignores it */
    line.pipe_was_ignored = signal(SIGPIPE, SIG_DFL) == SIG_IGN;
    const char *word = argc > 1 ? argv[1] : "--help";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return command_overview(&line);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return print_version(&line);
    const struct command *command = command_find(commands, word);
    if (!command)
        return unknown_command(word);
    return run_command(&line, command, argc - 2, argv + 2);
}
