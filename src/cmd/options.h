/* A parsed command line: what main.c makes of argv and hands to a command. Commands look at it
 * through command.h; only those that print the table itself (help, manual, completion) need this.
 */
#ifndef RIDGE_CMD_OPTIONS_H
#define RIDGE_CMD_OPTIONS_H

#include "cmd/command.h"

#include <ridge.h>

struct command_line {
    const struct command *command;
    const struct command *const *table; /* all commands; NULL ends it */
    const char **arguments;
    unsigned argument_count;
    struct command_given {
        const struct command_option *option;
        const char *value;
        unsigned position; /* number of arguments before it */
    } * given;
    unsigned given_count;
    bool wants_help;       /* --help or -h was among the options */
    bool pipe_was_ignored; /* SIGPIPE, when ridge was started */
};

/* Parses what follows the command's name. On failure *message of the status is ready to print.
 * End with command_line_finish() either way. */
bool command_line_parse(struct command_line *line, const struct command *command, int argc,
                        char **argv, struct status *status);
void command_line_finish(struct command_line *line);

/* The command of that name, or NULL. */
const struct command *command_find(const struct command *const *table, const char *name);
/* The name among `names` (count of them) that `word` was probably meant to be, or NULL. */
const char *command_suggest(const char *word, const char *const *names, unsigned count);

/* Whether an option can do without its value: "[=NAME]". */
static inline bool command_value_is_optional(const struct command_option *option) {
    return option->value && option->value[0] == '[';
}

/* Whether an option or argument is a choice ("text|md|json"), and whether `word` is among it. */
bool command_is_choice(const char *value);
bool command_choice_has(const char *choice, const char *word);

/* What `ridge help` and `ridge help COMMAND` print; the exit status. */
int command_help(const struct command_line *line, const struct command *about);
int command_overview(const struct command_line *line);

#endif
