/* ridge diff: what changed between two traces? */
#include <string.h>

#include "base/memory.h"
#include "cmd/command.h"
#include "cmd/pager.h"
#include "cmd/report.h"
#include "compare/diff.h"
#include "report/select.h"

enum { RUNS_MAX = 64, ROWS_DEFAULT = 12 };

/* The traces of both sides: `diff A B`, or `diff A1 A2 --against B1 B2`. */
struct runs {
    const char *names[SIDES][RUNS_MAX];
    size_t count[SIDES];
};

static bool find_runs(const struct command_line *line, struct runs *runs, struct status *status) {
    unsigned count;
    const char *const *traces = command_arguments(line, &count);
    const char *against = command_value_at(line, "against", 0);
    if (!against) {
        if (count != 2)
            return status_fail(status, STATUS_USAGE,
                               "give two traces, or several runs a side: diff A1 A2 A3 --against "
                               "B1 --against B2 --against B3");
        for (unsigned at = BEFORE; at < SIDES; at++) {
            runs->names[at][0] = traces[at];
            runs->count[at] = 1;
        }
        return true;
    }
    for (unsigned i = 0; i < count && i < RUNS_MAX; i++)
        runs->names[BEFORE][runs->count[BEFORE]++] = traces[i];
    for (unsigned i = 0; i < RUNS_MAX && (against = command_value_at(line, "against", i)); i++)
        runs->names[AFTER][runs->count[AFTER]++] = against;
    return true;
}

static bool write_diff(const struct diff *diff, const char *format, size_t rows,
                       struct output *output, struct status *status) {
    if (!format || strcmp(format, "text") == 0) {
        struct report_style style = report_style(output);
        return diff_write_text(diff, &style, rows, output, status);
    }
    if (strcmp(format, "md") == 0)
        return diff_write_markdown(diff, rows, output, status);
    return diff_write_json(diff, output, status);
}

static bool compare_two(const struct report_options *options, const char *const names[SIDES],
                        const char *format, bool skip_invalid, struct output *output,
                        struct status *status) {
    struct opened_report opened[SIDES];
    struct diff diff;
    unsigned open = 0;
    bool ok = true;
    for (; open < SIDES && ok; open += ok) {
        struct report_options of = *options;
        of.trace_name = names[open];
        ok = report_open(&opened[open], &of, skip_invalid, status);
    }
    ok = ok && diff_build(&diff, &opened[BEFORE].report, &opened[AFTER].report, status);
    if (ok) {
        ok = write_diff(&diff, format, options->top, output, status);
        diff_finish(&diff);
    }
    while (open > 0)
        report_close(&opened[--open]);
    return ok;
}

static const struct format_suffix suffixes[] = {
    {".md", "md"}, {".json", "json"}, {".html", "html"}, {".htm", "html"}, {".txt", "text"}, {0}};

static int run(const struct command_line *line) {
    struct status status = {0};
    struct report_options options = {
        .device = command_value(line, "device"),
        .range = command_value(line, "range"),
        .steps = command_value(line, "steps"),
        .window = command_value(line, "window"),
        .steady = true,
        .top = ROWS_DEFAULT,
        .no_verdict = true,
    };
    const char *format = command_flag(line, "json") ? "json" : command_format(line, suffixes);
    struct runs runs = {0};
    struct output output;
    if (!find_runs(line, &runs, &status) || !command_count(line, "top", &options.top, &status) ||
        !select_check(&options, &status) ||
        !output_open(&output, command_value(line, "output"), command_flag(line, "force"), &status))
        return command_fail(line, &status);
    const char *const names[SIDES] = {runs.names[BEFORE][0], runs.names[AFTER][0]};
    bool ok =
        compare_two(&options, names, format, command_flag(line, "skip-invalid"), &output, &status);
    ok = output_close(&output, ok, &status);
    return ok ? 0 : command_fail(line, &status);
}

static const struct command_option options[] = {
    {"against", 'a', "TRACE", "a run after the change; repeat it for several runs a side"},
    {"device", 'd', "LABEL", "compare this device, as the report names it"},
    {"range", 'r', "NAME", "compare turns of the ranges of this name"},
    {"steps", 's', "A-B",
     "compare these steps, counted from 1; \"steady\": those after warm-up; \"all\": the whole "
     "run"},
    {"window", 'w', "T1,T2", "compare this interval since the start of the run, such as 10ms,1.5s"},
    {"top", 'n', "N", "rows of the table (12)"},
    {"format", 0, "text|md|json|html",
     "text, Markdown, JSON, or a page for a browser; default: by the suffix of FILE, else text"},
    {"json", 0, NULL, "short for --format json"},
    {"output", 'o', "FILE", "write to FILE instead of standard output"},
    {"force", 'f', NULL, "replace FILE if it exists"},
    {"skip-invalid", 0, NULL, "drop events with impossible times, and count them"},
    {0},
};

const struct command command_diff = {
    .name = "diff",
    .arguments = "BEFORE AFTER",
    .summary = "Report what changed between two traces, in parts that sum to the difference",
    .details = "",
    .examples = "ridge diff before.ridge after.ridge\twhy is it faster?",
    .options = options,
    .arguments_min = 1,
    .arguments_max = RUNS_MAX,
    .run = run,
};
