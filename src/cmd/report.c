/* ridge report: where did the time go? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/format.h"
#include "base/memory.h"
#include "base/table.h"
#include "cmd/command.h"
#include "cmd/peaks_option.h"
#include "cmd/report.h"
#include "import/import.h"
#include "report/report.h"
#include "report/select.h"

static bool wants_colour(const struct output *output) {
    const char *terminal = getenv("TERM"), *refused = getenv("NO_COLOR");
    return !output->path && isatty(output->fd) && !(refused && *refused) &&
           !(terminal && strcmp(terminal, "dumb") == 0);
}

static bool write_report(const struct report *report, const char *format, struct output *output,
                         struct status *status) {
    if (!format || strcmp(format, "text") == 0) {
        unsigned width = output->path ? 0 : table_terminal_width(output->fd);
        struct report_style style = {
            .colour = wants_colour(output),
            .width = width ? (width < 160 ? width : 160) : 80,
        };
        return report_write_text(report, &style, output, status);
    }
    if (strcmp(format, "md") == 0)
        return report_write_markdown(report, output, status);
    if (strcmp(format, "csv") == 0)
        return report_write_csv(report, output, status);
    return report_write_json(report, output, status);
}

bool report_open(struct opened_report *opened, const struct report_options *options,
                 bool skip_invalid, struct status *status) {
    struct import_options import = {.skip_invalid = skip_invalid};
    struct report_options with_limits = *options;
    struct limits *given = NULL;
    if (!import_open(options->trace_name, &import, &opened->trace, status))
        return false;
    bool ok = given_limits_find(opened->trace, &given, status);
    with_limits.given = given;
    ok = ok && report_build(&opened->report, opened->trace, &with_limits, status);
    opened->report.options.given = NULL; /* it has taken what it needs */
    memory_free(given);
    if (ok)
        return true;
    if (status->code == STATUS_INPUT)
        status_context(status, "%s", options->trace_name);
    trace_close(opened->trace);
    return false;
}

void report_close(struct opened_report *opened) {
    report_finish(&opened->report);
    trace_close(opened->trace);
}

bool report_print(const struct report *report, const char *format, struct output *output,
                  struct status *status) {
    return format && strcmp(format, "html") == 0 ? report_print_page(&report, 1, output, status)
                                                 : write_report(report, format, output, status);
}

bool report_print_page(const struct report *const *reports, size_t count, struct output *output,
                       struct status *status) {
    struct page_summary summary;
    char events[FORMAT_SIZE], length[FORMAT_SIZE];
    if (!report_write_html(reports, count, output, &summary, status))
        return false;
    if (summary.merged_events)
        fprintf(
            stderr, "page: %s events shorter than %s are drawn merged; the trace has them all\n",
            format_count(summary.merged_events, events), format_duration(summary.shorter, length));
    return true;
}

/* Two traces stand side by side on one page, each narrowed as the options say. */
static bool print_both(const struct report_options *options, const char *second, bool skip_invalid,
                       struct output *output, struct status *status) {
    struct report_options of_second = *options;
    struct opened_report before, after;
    of_second.trace_name = second;
    if (!report_open(&before, options, skip_invalid, status))
        return false;
    bool ok = report_open(&after, &of_second, skip_invalid, status);
    if (ok) {
        const struct report *const both[] = {&before.report, &after.report};
        ok = report_print_page(both, 2, output, status);
        report_close(&after);
    }
    report_close(&before);
    return ok;
}

static bool print_one(const struct report_options *options, const char *format, bool skip_invalid,
                      struct output *output, struct status *status) {
    struct opened_report opened;
    if (!report_open(&opened, options, skip_invalid, status))
        return false;
    bool ok = report_print(&opened.report, format, output, status);
    report_close(&opened);
    return ok;
}

/* What does not go together; or NULL. */
static const char *contradiction(const char *format, unsigned traces, const char *output) {
    bool page = format && strcmp(format, "html") == 0;
    if (traces > 1 && !page)
        return "two traces are compared on a page: add --format html -o FILE";
    if (page && (!output || strcmp(output, "-") == 0) && isatty(STDOUT_FILENO))
        return "a page is for a browser: add -o FILE.html";
    return NULL;
}

/* The output is opened first: a name that cannot be written should not cost a long import. */
static int run(const struct command_line *line) {
    struct status status = {0};
    unsigned count;
    const char *const *traces = command_arguments(line, &count);
    struct report_options options = {
        .trace_name = traces[0],
        .device = command_value(line, "device"),
        .range = command_value(line, "range"),
        .steps = command_value(line, "steps"),
        .window = command_value(line, "window"),
        .top = 10,
        .no_verdict = command_flag(line, "no-verdict"),
    };
    struct output output;
    bool skip_invalid = command_flag(line, "skip-invalid");
    const char *format = command_flag(line, "json") ? "json" : command_value(line, "format");
    const char *wrong = contradiction(format, count, command_value(line, "output"));
    if (wrong)
        return command_usage(line, "%s", wrong);
    if (!command_count(line, "top", &options.top, &status) || !select_check(&options, &status) ||
        !output_open(&output, command_value(line, "output"), command_flag(line, "force"), &status))
        return command_fail(line, &status);
    bool ok = count > 1 ? print_both(&options, traces[1], skip_invalid, &output, &status)
                        : print_one(&options, format, skip_invalid, &output, &status);
    ok = output_close(&output, ok, &status);
    return ok ? 0 : command_fail(line, &status);
}

static const struct command_option options[] = {
    {"device", 'd', "LABEL", "only this device, as the report names it"},
    {"range", 'r', "NAME", "only what was launched inside ranges of this name"},
    {"steps", 's', "A-B",
     "only these steps, counted from 1; \"steady\": those after warm-up; "
     "\"all\": the whole run, also for the verdict"},
    {"window", 'w', "T1,T2",
     "only this time from the run's start, such as 10ms,1.5s (ns, us, ms or s)"},
    {"top", 'n', "N", "rows of each table (10)"},
    {"format", 0, "text|md|json|csv|html",
     "text (default), Markdown, JSON, the kernel table as CSV, or a page for a browser"},
    {"json", 0, NULL, "short for --format json"},
    {"output", 'o', "FILE", "write there instead of to standard output"},
    {"force", 'f', NULL, "replace FILE if it exists"},
    {"no-verdict", 0, NULL, "only the account: faster for very large traces"},
    {"skip-invalid", 0, NULL, "drop events with impossible times, and count them"},
    {0},
};

const struct command command_report = {
    .name = "report",
    .arguments = "TRACE [TRACE]",
    .summary = "Give an exact account of where the time went",
    .details =
        "TRACE is a .ridge file or any trace that ridge can import: torch.profiler and other "
        "Chrome "
        "JSON (plain, .gz, .zst), Nsight Systems SQLite, xctrace XML (a folder or one table), RPD, "
        "XPlane, Perfetto.\n\n"
        "For every device the window from its first to its last activity is split exactly into "
        "busy (some kernel ran), exposed copy (a copy or set ran and no kernel) and idle; every "
        "idle gap is split among causes by what the launching thread did meanwhile. Then come the "
        "kernels, launches, copies, synchronisations, API calls, memory, steps and ranges, and "
        "what the trace does not know.\n\n"
        "The verdict is about the steady steps where the run has three steps or more; --steps all "
        "makes it about the whole run. --range, --steps and --window together select what is in "
        "all of them.\n\n"
        "A range or step is host time; its window on a device reaches from the first to the last "
        "activity launched in it.\n\n"
        "--format html makes one file that any current browser opens without a network: the "
        "verdict, the account, the timeline of all events and the other views. Of two traces it "
        "shows both on one time axis.",
    .examples = "ridge report trace.json.gz\tof a torch.profiler trace\n"
                "ridge report run.ridge --steps steady\twithout the warm-up\n"
                "ridge report run.ridge --range forward --top 20\tone part of the program\n"
                "ridge report run.ridge --format md -o PROFILING_RESULTS.md\tto share\n"
                "ridge report before.ridge after.ridge --format html -o both.html\tside by side",
    .options = options,
    .arguments_min = 1,
    .arguments_max = 2,
    .run = run,
};
