/* ridge diff: what changed between two traces? */
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
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
    unsigned count, before = command_position(line, "against");
    const char *const *traces = command_arguments(line, &count);
    const char *against = command_value_at(line, "against", 0);
    if (!against)
        before = count > 1 ? count - 1 : count;
    if (count > RUNS_MAX)
        return status_fail(status, STATUS_USAGE, "more than %d traces", RUNS_MAX);
    for (unsigned i = 0; i < before; i++)
        runs->names[BEFORE][runs->count[BEFORE]++] = traces[i];
    for (unsigned i = 0; (against = command_value_at(line, "against", i)); i++) {
        if (runs->count[AFTER] == RUNS_MAX)
            return status_fail(status, STATUS_USAGE, "more than %d traces", RUNS_MAX);
        runs->names[AFTER][runs->count[AFTER]++] = against;
    }
    for (unsigned i = before; i < count && runs->count[AFTER] < RUNS_MAX; i++)
        runs->names[AFTER][runs->count[AFTER]++] = traces[i];
    if (runs->count[BEFORE] && runs->count[AFTER] &&
        (runs->count[BEFORE] == 1 || command_value(line, "against")))
        return true;
    return status_fail(status, STATUS_USAGE,
                       "give two traces, or several runs a side: A1 A2 A3 --against B1 B2 B3");
}

static bool write_diff(const struct diff *diff, const char *format, size_t rows,
                       struct output *output, struct status *status) {
    if (!format || strcmp(format, "text") == 0) {
        struct report_style style = report_style(output);
        return diff_write_text(diff, &style, rows, output, status);
    }
    if (strcmp(format, "md") == 0)
        return diff_write_markdown(diff, rows, output, status);
    if (strcmp(format, "html") == 0)
        return report_print_difference(diff, output, status);
    return diff_write_json(diff, output, status);
}

/* The median step of a run. */
static bool measure_run(const struct report_options *options, const char *name, bool whole,
                        bool skip_invalid, double *step, struct status *status) {
    struct report_options of = *options;
    struct opened_report opened;
    struct side side;
    of.trace_name = name;
    of.no_verdict = true;
    if (!report_open(&opened, &of, skip_invalid, status))
        return false;
    size_t device = side_main_device(&opened.report);
    bool ok = device != SIZE_MAX
                  ? side_build(&side, &opened.report, device, whole, status)
                  : status_fail(status, STATUS_INPUT, "%s: no device did anything", name);
    if (ok) {
        *step = (double)side.step;
        side_finish(&side);
    }
    report_close(&opened);
    return ok;
}

/* What several runs a side measure; one run a side is not measured. */
struct measured {
    double steps[SIDES][RUNS_MAX];
    size_t median[SIDES]; /* the run that is split */
};

static bool has_several(const struct runs *runs) {
    return runs->count[BEFORE] > 1 || runs->count[AFTER] > 1;
}

static size_t median_run(const double *steps, size_t count) {
    size_t middle = 0;
    for (size_t i = 0; i < count; i++) {
        size_t below = 0;
        for (size_t k = 0; k < count; k++)
            below += steps[k] < steps[i] || (steps[k] == steps[i] && k < i);
        middle = below == (count - 1) / 2 ? i : middle;
    }
    return middle;
}

static bool measure_runs(const struct runs *runs, const struct report_options *options, bool whole,
                         bool skip_invalid, struct measured *measured, struct status *status) {
    for (unsigned at = BEFORE; at < SIDES; at++) {
        for (size_t i = 0; i < runs->count[at]; i++)
            if (!measure_run(options, runs->names[at][i], whole, skip_invalid,
                             &measured->steps[at][i], status))
                return false;
        measured->median[at] = median_run(measured->steps[at], runs->count[at]);
    }
    return true;
}

/* The runs were measured by their steps; where the diff is one of whole runs, these are measured
 * instead. */
static bool add_runs(struct diff *diff, const struct runs *runs, struct measured *measured,
                     const struct report_options *options, bool skip_invalid,
                     struct status *status) {
    bool whole = !diff->same_units && strcmp(diff->sides[BEFORE].unit, "run") == 0;
    if (!has_several(runs))
        return true;
    if (whole && !measure_runs(runs, options, true, skip_invalid, measured, status))
        return false;
    return diff_add_runs(diff, measured->steps[BEFORE], runs->count[BEFORE], measured->steps[AFTER],
                         runs->count[AFTER], status);
}

static bool compare(const struct report_options *options, const struct runs *runs,
                    const char *format, bool skip_invalid, bool predict, struct output *output,
                    struct status *status) {
    struct opened_report opened[SIDES];
    struct measured measured = {0};
    struct diff diff;
    unsigned open = 0;
    bool ok =
        !has_several(runs) || measure_runs(runs, options, false, skip_invalid, &measured, status);
    for (; open < SIDES && ok; open += ok) {
        struct report_options of = *options;
        of.trace_name = runs->names[open][measured.median[open]];
        of.keep_replay = predict && open == BEFORE;
        ok = report_open(&opened[open], &of, skip_invalid, status);
    }
    ok = ok && diff_build(&diff, &opened[BEFORE].report, &opened[AFTER].report, status);
    if (ok) {
        ok = add_runs(&diff, runs, &measured, options, skip_invalid, status) &&
             (!predict || diff_predict(&diff, status)) &&
             write_diff(&diff, format, options->top, output, status);
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
    bool page = format && strcmp(format, "html") == 0;
    const char *path = command_value(line, "output");
    if (page && (!path || strcmp(path, "-") == 0) && isatty(STDOUT_FILENO))
        return command_usage(line, "a page is for a browser: add -o FILE.html");
    /* the page shows the whole runs and judges them */
    options.steady = !page;
    options.no_verdict = !page;
    if (!find_runs(line, &runs, &status) || !command_count(line, "top", &options.top, &status) ||
        !select_check(&options, &status) ||
        !output_open(&output, command_value(line, "output"), command_flag(line, "force"), &status))
        return command_fail(line, &status);
    bool ok = compare(&options, &runs, format, command_flag(line, "skip-invalid"),
                      command_flag(line, "predicted"), &output, &status);
    ok = output_close(&output, ok, &status);
    return ok ? 0 : command_fail(line, &status);
}

static const struct command_option options[] = {
    {"against", 'a', "TRACE", "this and the traces behind it are runs after the change"},
    {"predicted", 0, NULL, "set the what-if prediction of BEFORE beside what happened"},
    {"device", 'd', "LABEL", "compare this device, as the report names it"},
    {"range", 'r', "NAME", "compare occurrences of the ranges of this name"},
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
    .arguments = "BEFORE... AFTER",
    .summary = "Report what changed between two traces, in parts that sum to the difference",
    .details =
        "BEFORE and AFTER are .ridge files or any traces that ridge imports, also of different "
        "tools.\n\n"
        "The median of the steady steps of both is compared (or of the steps, ranges or window "
        "selected). Its difference is split exactly, in integer nanoseconds: busy by kernel, "
        "exposed copies, and idle time by cause. Kernels are matched by name, then by the operator "
        "that launches them, then by their place in the step, so that a fused kernel stands beside "
        "those it replaced. Swapping the traces negates every figure.\n\n"
        "What else differs (device, clock, driver, recording tool) is listed. With one run a side "
        "the noise is estimated from the steps; with several "
        "(A1 A2 A3 --against B1 B2 B3) an exact rank test compares the runs, and the run with the "
        "median step of each side is split.\n\n"
        "Where steps are not marked and what repeats is not the same on both sides, the whole runs "
        "are compared.",
    .examples = "ridge diff before.ridge after.ridge\twhy is it faster?\n"
                "ridge diff before.json.gz after.json.gz -o diff.md\tfor a pull request\n"
                "ridge diff before.ridge after.ridge -o diff.html\ta page\n"
                "ridge diff a1.ridge a2.ridge a3.ridge --against b1.ridge b2.ridge "
                "b3.ridge\tseveral runs\n"
                "ridge diff before.ridge after.ridge --predicted\tdid the fix do what was "
                "predicted?",
    .options = options,
    .arguments_min = 1,
    .arguments_max = RUNS_MAX,
    .run = run,
};
