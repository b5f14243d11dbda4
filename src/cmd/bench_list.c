/* `ridge bench` without a name: which experiments are there, and what does each of them take? Says
 * what --size and --batch count in each, and the values that stand for them when not given.
 */
#include "bench/print/print_parts.h"
#include "cmd/bench_arguments.h"
#include "cmd/terminal.h"

enum { INDENT = 4 };

static void part(struct buffer *text, const char *option, const char *meaning) {
    if (text->length > 0)
        buffer_string(text, ". ");
    buffer_string(text, option);
    if (meaning)
        buffer_printf(text, ": %s", meaning);
}

static void describe_arguments(const struct experiment *experiment, struct buffer *text) {
    if (experiment->takes & TAKES_SIZE)
        part(text, "--size", experiment->sizes);
    if (experiment->takes & TAKES_BATCH)
        part(text, "--batch", experiment->batches);
    if (experiment->takes & TAKES_DTYPE)
        part(text, "--dtype", NULL);
    if (experiment->takes & TAKES_MODEL)
        part(text, "--model", NULL);
}

static bool paragraph(const struct buffer *text, unsigned indent, struct output *output,
                      struct status *status) {
    const struct print_style style = {.width = terminal_columns(output)};
    if (!buffer_ok(text, status))
        return false;
    print_paragraph(&style, indent, "", (struct text){text->data, text->length}, output);
    return true;
}

static bool list_experiment(const struct experiment *experiment, struct buffer *text,
                            struct output *output, struct status *status) {
    buffer_clear(text);
    buffer_printf(text, "%s: %s", experiment->name, experiment->summary);
    if (!paragraph(text, 0, output, status))
        return false;
    buffer_clear(text);
    describe_arguments(experiment, text);
    return paragraph(text, INDENT, output, status);
}

bool bench_list(struct status *status) {
    struct buffer text = {0};
    struct output output;
    bool ok = true;
    if (!output_open(&output, NULL, false, status))
        return false;
    for (unsigned i = 0; ok && experiments[i]; i++)
        ok = list_experiment(experiments[i], &text, &output, status);
    buffer_finish(&text);
    output_printf(&output, "all: every one of them\n\n"
                           "Run one with 'ridge bench NAME'; 'ridge help bench' tells more.\n");
    if (ok)
        return output_commit(&output, status);
    output_abandon(&output);
    return false;
}
