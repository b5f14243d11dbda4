/* `ridge completion SHELL`: a completion script for bash, zsh or fish, printed from the command
 * structs: commands, options, choices of values, and files where a file is expected. */
#include <ctype.h>
#include <string.h>

#include "base/output.h"
#include "cmd/options.h"

/* What a word of a command's arguments or an option's value is completed with. */
enum words { WORDS_NONE, WORDS_FILES, WORDS_COMMANDS, WORDS_CHOICE };

static bool mentions(const char *text, const char *word) {
    const char *hit = strstr(text, word);
    return hit && (hit == text || !isalpha((unsigned char)hit[-1])) &&
           !isalpha((unsigned char)hit[strlen(word)]);
}

static enum words words_for(const char *text) {
    if (!text)
        return WORDS_NONE;
    if (command_is_choice(text))
        return WORDS_CHOICE;
    if (mentions(text, "COMMAND"))
        return WORDS_COMMANDS;
    return mentions(text, "TRACE") || mentions(text, "FILE") ? WORDS_FILES : WORDS_NONE;
}

/* The words of "a|b|c" with spaces between them. */
static void print_choice(struct output *output, const char *choice) {
    for (; *choice; choice++)
        output_write(output, *choice == '|' ? " " : choice, 1);
}

static void print_names(struct output *output, const struct command *const *table) {
    const char *space = "";
    for (; *table; table++)
        if (!(*table)->hidden) {
            output_printf(output, "%s%s", space, (*table)->name);
            space = " ";
        }
}

/* Text inside single quotes of a shell. */
static void print_quoted(struct output *output, const char *text) {
    for (; *text; text++)
        if (*text == '\'')
            output_printf(output, "'\\''");
        else
            output_write(output, text, 1);
}

/* What bash's compgen takes for these words. */
static void print_bash_words(struct output *output, const char *text,
                             const struct command *const *table) {
    switch (words_for(text)) {
    case WORDS_CHOICE:
        output_printf(output, "-W '");
        print_choice(output, text);
        output_printf(output, "'");
        break;
    case WORDS_COMMANDS:
        output_printf(output, "-W '");
        print_names(output, table);
        output_printf(output, "'");
        break;
    case WORDS_FILES:
        output_printf(output, "-f");
        break;
    case WORDS_NONE:
        output_printf(output, "-W ''");
        break;
    }
}

static void print_bash_command(struct output *output, const struct command *command,
                               const struct command *const *table) {
    const struct command_option *option = command->options;
    output_printf(output, "    %s)\n        options='--help", command->name);
    for (; option && option->name; option++)
        output_printf(output, " --%s", option->name);
    output_printf(output, "'\n        case $before in\n");
    for (option = command->options; option && option->name; option++) {
        if (!option->value || command_value_is_optional(option))
            continue;
        output_printf(output, "        --%s", option->name);
        if (option->letter)
            output_printf(output, " | -%c", option->letter);
        output_printf(output, ") words=(");
        print_bash_words(output, option->value, table);
        output_printf(output, ") options= ;;\n");
    }
    output_printf(output, "        *) words=(");
    print_bash_words(output, command->arguments, table);
    output_printf(output, ") ;;\n        esac\n        ;;\n");
}

static void print_bash(struct output *output, const struct command *const *table) {
    output_printf(output,
                  "# bash completion for ridge, printed by 'ridge completion bash'\n"
                  "_ridge() {\n"
                  "    local word=${COMP_WORDS[COMP_CWORD]} "
                  "before=${COMP_WORDS[COMP_CWORD - 1]} options= words=(-W '')\n"
                  "    if [ \"$before\" = = ]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
                  "    if [ \"$word\" = = ]; then word=; before=${COMP_WORDS[COMP_CWORD - 1]}; fi\n"
                  "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
                  "        COMPREPLY=($(compgen -W '");
    print_names(output, table);
    output_printf(output, " --help --version' -- \"$word\"))\n"
                          "        return\n"
                          "    fi\n"
                          "    case ${COMP_WORDS[1]} in\n");
    for (const struct command *const *command = table; *command; command++)
        if (!(*command)->hidden)
            print_bash_command(output, *command, table);
    output_printf(
        output,
        "    esac\n"
        "    if [ -n \"$options\" ] && [ \"${word:0:1}\" = - ]; then words=(-W \"$options\"); fi\n"
        "    local found\n"
        "    found=$(compgen \"${words[@]}\" -- \"$word\")\n"
        "    local IFS=$'\\n'\n"
        "    COMPREPLY=($found)\n"
        "}\n"
        "complete -o filenames -F _ridge ridge\n");
}

static void print_zsh_words(struct output *output, const char *text,
                            const struct command *const *table) {
    switch (words_for(text)) {
    case WORDS_CHOICE:
        output_printf(output, "(");
        print_choice(output, text);
        output_printf(output, ")");
        break;
    case WORDS_COMMANDS:
        output_printf(output, "(");
        print_names(output, table);
        output_printf(output, ")");
        break;
    case WORDS_FILES:
        output_printf(output, "_files");
        break;
    case WORDS_NONE:
        output_printf(output, " ");
        break;
    }
}

/* Text inside the brackets of an _arguments description. */
static void print_zsh_help(struct output *output, const char *text) {
    for (; *text; text++)
        if (*text == ']' || *text == ':')
            output_printf(output, "\\%c", *text);
        else if (*text == '\'')
            output_printf(output, "'\\''");
        else
            output_write(output, text, 1);
}

static void print_zsh_option(struct output *output, const struct command_option *option,
                             const struct command *const *table) {
    if (option->letter)
        output_printf(output, "            '(-%c --%s)'{-%c%s,--%s%s}'", option->letter,
                      option->name, option->letter, option->value ? "+" : "", option->name,
                      option->value ? "=" : "");
    else
        output_printf(output, "            '--%s%s", option->name,
                      !option->value                      ? ""
                      : command_value_is_optional(option) ? "=-"
                                                          : "=");
    output_printf(output, "[");
    print_zsh_help(output, option->help);
    output_printf(output, "]");
    if (option->value) {
        output_printf(output, "%s:value:", command_value_is_optional(option) ? ":" : "");
        print_zsh_words(output, option->value, table);
    }
    output_printf(output, "' \\\n");
}

static void print_zsh(struct output *output, const struct command *const *table) {
    output_printf(output, "#compdef ridge\n"
                          "# zsh completion for ridge, printed by 'ridge completion zsh'\n"
                          "_ridge() {\n"
                          "    local -a commands\n"
                          "    commands=(\n");
    for (const struct command *const *command = table; *command; command++)
        if (!(*command)->hidden) {
            output_printf(output, "        '%s:", (*command)->name);
            print_quoted(output, (*command)->summary);
            output_printf(output, "'\n");
        }
    output_printf(output, "    )\n"
                          "    if ((CURRENT == 2)); then\n"
                          "        _describe command commands\n"
                          "        return\n"
                          "    fi\n"
                          "    local name=$words[2]\n"
                          "    shift words\n"
                          "    ((CURRENT--))\n"
                          "    case $name in\n");
    for (const struct command *const *command = table; *command; command++) {
        if ((*command)->hidden)
            continue;
        output_printf(output, "    %s)\n        _arguments -s \\\n", (*command)->name);
        const struct command_option *option = (*command)->options;
        for (; option && option->name; option++)
            print_zsh_option(output, option, table);
        output_printf(output, "            '(-h --help)'{-h,--help}'[show help]' \\\n"
                              "            '*:argument:");
        print_zsh_words(output, (*command)->arguments, table);
        output_printf(output, "'\n        ;;\n");
    }
    output_printf(
        output,
        "    esac\n"
        "}\n"
        "if [ \"$funcstack[1]\" = _ridge ]; then _ridge \"$@\"; else compdef _ridge ridge; fi\n");
}

static void print_fish_words(struct output *output, const char *text,
                             const struct command *const *table) {
    switch (words_for(text)) {
    case WORDS_CHOICE:
        output_printf(output, " -f -a '");
        print_choice(output, text);
        output_printf(output, "'");
        break;
    case WORDS_COMMANDS:
        output_printf(output, " -f -a '");
        print_names(output, table);
        output_printf(output, "'");
        break;
    case WORDS_FILES:
        output_printf(output, " -F");
        break;
    case WORDS_NONE:
        output_printf(output, " -f");
        break;
    }
}

/* Text inside single quotes of fish, which knows \' there. */
static void print_fish_quoted(struct output *output, const char *text) {
    for (; *text; text++)
        if (*text == '\'' || *text == '\\')
            output_printf(output, "\\%c", *text);
        else
            output_write(output, text, 1);
}

static void print_fish_command(struct output *output, const struct command *command,
                               const struct command *const *table) {
    const struct command_option *option = command->options;
    output_printf(output, "complete -c ridge -n __fish_use_subcommand -f -a %s -d '",
                  command->name);
    print_fish_quoted(output, command->summary);
    output_printf(output, "'\n");
    output_printf(output, "complete -c ridge -n '__fish_seen_subcommand_from %s'", command->name);
    print_fish_words(output, command->arguments, table);
    output_printf(output, "\n");
    for (; option && option->name; option++) {
        output_printf(output, "complete -c ridge -n '__fish_seen_subcommand_from %s' -l %s",
                      command->name, option->name);
        if (option->letter)
            output_printf(output, " -s %c", option->letter);
        if (option->value && !command_value_is_optional(option)) {
            output_printf(output, " -r");
            print_fish_words(output, option->value, table);
        }
        output_printf(output, " -d '");
        print_fish_quoted(output, option->help);
        output_printf(output, "'\n");
    }
}

static void print_fish(struct output *output, const struct command *const *table) {
    output_printf(output, "# fish completion for ridge, printed by 'ridge completion fish'\n");
    for (const struct command *const *command = table; *command; command++)
        if (!(*command)->hidden)
            print_fish_command(output, *command, table);
}

static int run_completion(const struct command_line *line) {
    const char *shell = command_arguments(line, NULL)[0];
    struct output output;
    struct status status;
    if (!command_choice_has(line->command->arguments, shell))
        return command_usage(line, "knows %s, not '%s'", line->command->arguments, shell);
    if (!output_open(&output, NULL, false, &status))
        return command_fail(line, &status);
    if (shell[0] == 'b')
        print_bash(&output, line->table);
    else if (shell[0] == 'z')
        print_zsh(&output, line->table);
    else
        print_fish(&output, line->table);
    return output_commit(&output, &status) ? 0 : command_fail(line, &status);
}

const struct command command_completion = {
    .name = "completion",
    .arguments = "bash|zsh|fish",
    .summary = "Print a completion script for a shell",
    .details =
        "The script completes commands, options, their values and files. 'make install' puts it "
        "where the shells look for it.",
    .examples = "source <(ridge completion bash)\tcompletion in this bash\n"
                "ridge completion fish | source\tcompletion in this fish",
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run_completion,
};
