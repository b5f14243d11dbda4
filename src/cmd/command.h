/* What a command is: one file in this folder, one struct command, one row in main.c's table.
 *
 * The help text, the man page and the shell completions are all printed from these structs.
 */
#ifndef RIDGE_CMD_COMMAND_H
#define RIDGE_CMD_COMMAND_H

#include "base/status.h"

struct command_option {
    const char *name;  /* long name without dashes; NULL ends the list */
    char letter;       /* short form, or 0 */
    const char *value; /* what it takes, as shown in help ("FILE", "text|md|json"); NULL: a flag;
                          "[=NAME]": it may do without, and takes none from the next word */
    const char *help;  /* one line */
};

struct command_line;

struct command {
    const char *name;
    const char *arguments; /* "TRACE SQL" */
    const char *summary;   /* one line, no full stop */
    const char *details;   /* paragraphs for the man page and --help; may be NULL */
    const char *examples;  /* lines "command\tcomment"; may be NULL */
    const struct command_option *options;
    unsigned arguments_min, arguments_max;
    int (*run)(const struct command_line *line); /* returns the exit status */
    bool hidden;       /* left out of the overview, the man page and completions */
    bool runs_program; /* its arguments are a command: options behind the first are that one's */
};

enum { EXIT_ANSWER_NO = 1, EXIT_ERROR = 2 };

const char *const *command_arguments(const struct command_line *line, unsigned *count);
/* The option's value (the last one given), or NULL. A flag that was given has the value "". */
const char *command_value(const struct command_line *line, const char *option);
/* The values of an option that may be given several times, in order: the nth (from 0), or NULL. */
const char *command_value_at(const struct command_line *line, const char *option, unsigned nth);
/* How many arguments stand before the option; all of them when it was not given. */
unsigned command_position(const struct command_line *line, const char *option);
static inline bool command_flag(const struct command_line *line, const char *option) {
    return command_value(line, option) != 0;
}
/* Whether ridge was started to ignore SIGPIPE, as a program that it starts then is. */
bool command_pipe_was_ignored(const struct command_line *line);
/* Prints a line to stderr. File names and contents in it may hold anything: characters that could
 * control a terminal are replaced. */
void command_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints "ridge NAME: message" to stderr and returns the exit status for it. */
int command_fail(const struct command_line *line, const struct status *status);
/* A usage error: the message, and the line to read more. */
int command_usage(const struct command_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* --format, else the format that the suffix of --output names; NULL: neither. A NULL suffix ends
 * the list. */
struct format_suffix {
    const char *suffix, *format;
};
const char *command_format(const struct command_line *line, const struct format_suffix *suffixes);
/* Parses an option as a positive integer; true and *value unchanged when it was not given. */
bool command_count(const struct command_line *line, const char *option, unsigned *value,
                   struct status *status);

#endif
