/* `ridge manual`: the man page ridge(1), printed from the command structs in man(7) macros, so that
 * it can never lag behind the options. `make install` puts it in place. */
#include <stdio.h>
#include <string.h>

#include "base/output.h"
#include "cmd/options.h"

/* Text with roff's own characters escaped: backslashes, dashes that must stay dashes, quotes, and a
 * dot or apostrophe at the start of a line. */
static void print_escaped(struct output *output, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if ((c == '.' || c == '\'') && (i == 0 || text[i - 1] == '\n'))
            output_printf(output, "\\&%s", c == '.' ? "." : "\\(aq");
        else if (c == '\\')
            output_printf(output, "\\e");
        else if (c == '-')
            output_printf(output, "\\-");
        else if (c == '\'')
            output_printf(output, "\\(aq");
        else if (c == '`')
            output_printf(output, "\\(ga");
        else if (c == '"')
            output_printf(output, "\\(dq");
        else
            output_write(output, &text[i], 1);
    }
}

static void print_line(struct output *output, const char *text) {
    print_escaped(output, text, strlen(text));
    output_printf(output, "\n");
}

/* Paragraphs are parted by an empty line; a line that begins with a space stays as it is. */
static void print_details(struct output *output, const char *text) {
    bool verbatim = false;
    while (*text) {
        size_t length = strcspn(text, "\n");
        bool indented = *text == ' ';
        if (indented != verbatim)
            output_printf(output, indented ? ".PP\n.nf\n" : ".fi\n");
        verbatim = indented;
        if (length == 0)
            output_printf(output, ".PP\n");
        else {
            print_escaped(output, text, length);
            output_printf(output, "\n");
        }
        text += length + (text[length] == '\n');
    }
    if (verbatim)
        output_printf(output, ".fi\n");
}

static void print_option(struct output *output, const struct command_option *option) {
    output_printf(output, ".TP\n");
    if (option->letter)
        output_printf(output, "\\fB\\-%c\\fR, ", option->letter);
    output_printf(output, "\\fB\\-\\-");
    print_escaped(output, option->name, strlen(option->name));
    output_printf(output, "\\fR");
    if (option->value) {
        output_printf(output, "%s\\fI", command_value_is_optional(option) ? "" : " ");
        print_escaped(output, option->value, strlen(option->value));
        output_printf(output, "\\fR");
    }
    output_printf(output, "\n");
    print_line(output, option->help);
}

/* Examples are "command\tcomment" lines. */
static void print_examples(struct output *output, const char *examples) {
    output_printf(output, ".PP\nExamples:\n");
    while (*examples) {
        size_t length = strcspn(examples, "\n"), command = strcspn(examples, "\t\n");
        output_printf(output, ".TP\n\\fB");
        print_escaped(output, examples, command);
        output_printf(output, "\\fR\n");
        if (command < length)
            print_escaped(output, examples + command + 1, length - command - 1);
        else
            output_printf(output, "\\&");
        output_printf(output, "\n");
        examples += length + (examples[length] == '\n');
    }
}

static void print_command(struct output *output, const struct command *command) {
    output_printf(output, ".SS \"ridge %s", command->name);
    if (command->options && command->options->name)
        output_printf(output, " [OPTIONS]");
    if (command->arguments && *command->arguments) {
        output_printf(output, " ");
        print_escaped(output, command->arguments, strlen(command->arguments));
    }
    output_printf(output, "\"\n");
    print_escaped(output, command->summary, strlen(command->summary));
    output_printf(output, ".\n");
    if (command->details) {
        output_printf(output, ".PP\n");
        print_details(output, command->details);
    }
    const struct command_option *option = command->options;
    for (; option && option->name; option++)
        print_option(output, option);
    if (command->examples)
        print_examples(output, command->examples);
}

static const char top[] =
    ".TH RIDGE 1 \"\" \"ridge " RIDGE_VERSION "\" \"User Commands\"\n"
    ".SH NAME\n"
    "ridge \\- show why a tensor program is slower than its hardware allows\n"
    ".SH SYNOPSIS\n"
    "\\fBridge\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n"
    ".SH DESCRIPTION\n"
    "ridge records programs and reads the traces of other profilers. It accounts for every\n"
    "nanosecond of a device, explains why it is idle, and predicts what a fix would gain.\n"
    ".PP\n"
    "A \\fITRACE\\fR is a .ridge file, or a trace of torch.profiler, Nsight Systems (exported to\n"
    "SQLite), Apple Instruments (exported with xctrace), rocmProfileData, JAX or Perfetto, or\n"
    "any Chrome trace JSON. Formats are detected by content; gzip and zstd files are\n"
    "decompressed. \\- is standard input.\n"
    ".SH COMMANDS\n";

static const char bottom[] =
    ".SH EXIT STATUS\n"
    ".TP\n0\nsuccess\n"
    ".TP\n1\nthe command succeeded, and the answer is no\n"
    ".TP\n2\nthe command line is invalid, or something failed; one line on standard error "
    "explains\n"
    "what, on which file, and what to do\n"
    ".SH ENVIRONMENT\n"
    ".TP\n\\fBTMPDIR\\fR\nwhere other tools\\(aq traces are unpacked while a command runs "
    "(default: /tmp)\n"
    ".TP\n\\fBNO_COLOR\\fR\nwhen set, output has no colors even on a terminal\n";

static int run_manual(const struct command_line *line) {
    struct output output;
    struct status status;
    if (!output_open(&output, NULL, false, &status))
        return command_fail(line, &status);
    output_write(&output, top, sizeof top - 1);
    for (const struct command *const *command = line->table; *command; command++)
        if (!(*command)->hidden)
            print_command(&output, *command);
    output_write(&output, bottom, sizeof bottom - 1);
    return output_commit(&output, &status) ? 0 : command_fail(line, &status);
}

const struct command command_manual = {
    .name = "manual",
    .arguments = "",
    .summary = "Print the man page",
    .examples = "ridge manual | man -l -\tread it without installing it",
    .run = run_manual,
    .hidden = true,
};
