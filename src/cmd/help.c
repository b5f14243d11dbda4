/* `ridge help`: what can ridge do, and how is one command used? Everything is printed from the
 * command structs, wrapped to 80 columns. */
#include <stdio.h>
#include <string.h>

#include "base/output.h"
#include "cmd/options.h"
#include "cmd/terminal.h"

static int finish_page(const struct command_line *line, struct output *output) {
    struct status status;
    return output_commit(output, &status) ? 0 : command_fail(line, &status);
}

/* Paragraphs are parted by an empty line; a line that begins with a space stays as it is. */
static void print_details(struct output *output, const char *text) {
    while (*text) {
        const char *end = text;
        if (*text == ' ') {
            end = text + strcspn(text, "\n");
            output_printf(output, "%.*s\n", (int)(end - text), text);
        } else {
            while (*end && !(end[0] == '\n' && (end[1] == '\n' || end[1] == ' ' || !end[1])))
                end++;
            print_text_wrapped(output, (struct text){text, (size_t)(end - text)}, 0);
        }
        if (*end == '\n')
            end++;
        if (*end == '\n')
            output_printf(output, "\n");
        while (*end == '\n')
            end++;
        text = end;
    }
}

static void print_options(struct output *output, const struct command_option *option) {
    enum { COLUMN = 26 };
    output_printf(output, "\nOptions:\n");
    for (; option && option->name; option++) {
        char label[200];
        int length = option->letter ? snprintf(label, sizeof label, "  -%c, --%s", option->letter,
                                               option->name)
                                    : snprintf(label, sizeof label, "      --%s", option->name);
        if (option->value)
            length += snprintf(label + length, sizeof label - (size_t)length, "%s%s",
                               command_value_is_optional(option) ? "" : " ", option->value);
        if (length + 2 > COLUMN)
            output_printf(output, "%s\n%*s", label, COLUMN, "");
        else
            output_printf(output, "%-*s", COLUMN, label);
        print_wrapped(output, option->help, COLUMN);
    }
    output_printf(output, "  -h, --help              this text\n");
}

static void print_examples(struct output *output, const char *examples) {
    enum { COLUMN = 44 };
    output_printf(output, "\nExamples:\n");
    while (*examples) {
        size_t length = strcspn(examples, "\n"), command = strcspn(examples, "\t\n");
        output_printf(output, "  %.*s", (int)command, examples);
        if (command < length) {
            size_t at = command + 2;
            if (at + 2 > COLUMN) {
                output_printf(output, "\n");
                at = 0;
            }
            output_printf(output, "%*s# ", (int)(COLUMN - at), "");
            print_text_wrapped(output, (struct text){examples + command + 1, length - command - 1},
                               COLUMN + 2);
        } else {
            output_printf(output, "\n");
        }
        examples += length + (examples[length] == '\n');
    }
}

int command_help(const struct command_line *line, const struct command *about) {
    struct output output;
    struct status status;
    if (!output_open(&output, NULL, false, &status))
        return command_fail(line, &status);
    output_printf(&output, "Usage: ridge %s%s%s%s\n\n", about->name,
                  about->options && about->options->name ? " [OPTIONS]" : "",
                  about->arguments && *about->arguments ? " " : "",
                  about->arguments ? about->arguments : "");
    output_printf(&output, "%s.\n", about->summary);
    if (about->details) {
        output_printf(&output, "\n");
        print_details(&output, about->details);
    }
    print_options(&output, about->options);
    if (about->examples)
        print_examples(&output, about->examples);
    return finish_page(line, &output);
}

int command_overview(const struct command_line *line) {
    struct output output;
    struct status status;
    if (!output_open(&output, NULL, false, &status))
        return command_fail(line, &status);
    output_printf(&output,
                  "ridge shows why a tensor program is slower than its hardware allows.\n\n"
                  "Usage: ridge COMMAND [OPTIONS] [ARGUMENTS]\n\nCommands:\n");
    for (const struct command *const *command = line->table; *command; command++)
        if (!(*command)->hidden)
            output_printf(&output, "  %-12s%s\n", (*command)->name, (*command)->summary);
    output_printf(&output,
                  "\nA TRACE is a .ridge file or another tool's trace, recognized by its content.\n"
                  "'ridge help COMMAND' describes one; 'ridge --version' prints the version.\n");
    return finish_page(line, &output);
}

static int run_help(const struct command_line *line) {
    unsigned count;
    const char *const *arguments = command_arguments(line, &count);
    if (count == 0)
        return command_overview(line);
    const struct command *about = command_find(line->table, arguments[0]);
    if (!about)
        return command_usage(line, "there is no command '%s'", arguments[0]);
    return command_help(line, about);
}

const struct command command_help_page = {
    .name = "help",
    .arguments = "[COMMAND]",
    .summary = "Describe ridge, or one command",
    .arguments_max = 1,
    .run = run_help,
};
