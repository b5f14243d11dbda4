/* ridge report: where did the time go? */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/table.h"
#include "cmd/command.h"
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

bool report_print(const struct report_options *options, const char *format, bool skip_invalid,
                  struct output *output, struct status *status) {
    struct import_options import = {.skip_invalid = skip_invalid};
    struct trace *trace;
    struct report report;
    if (!import_open(options->trace_name, &import, &trace, status))
        return false;
    bool ok = report_build(&report, trace, options, status);
    if (ok) {
        ok = write_report(&report, format, output, status);
        report_finish(&report);
    } else if (status->code == STATUS_INPUT) {
        status_context(status, "%s", options->trace_name);
    }
    trace_close(trace);
    return ok;
}

/* The output is opened first: a name that cannot be written should not cost a long import. */
static int run(const struct command_line *line) {
    struct status status = {0};
    struct report_options options = {
        .trace_name = command_arguments(line, NULL)[0],
        .device = command_value(line, "device"),
        .range = command_value(line, "range"),
        .steps = command_value(line, "steps"),
        .window = command_value(line, "window"),
        .top = 10,
    };
    struct output output;
    if (!command_count(line, "top", &options.top, &status) || !select_check(&options, &status) ||
        !output_open(&output, command_value(line, "output"), command_flag(line, "force"), &status))
        return command_fail(line, &status);
    const char *format = command_flag(line, "json") ? "json" : command_value(line, "format");
    bool ok = report_print(&options, format, command_flag(line, "skip-invalid"), &output, &status);
    ok = output_close(&output, ok, &status);
    return ok ? 0 : command_fail(line, &status);
}

static const struct command_option options[] = {
    {"device", 'd', "LABEL", "only this device, as the report names it"},
    {"range", 'r', "NAME", "only what was launched inside ranges of this name"},
    {"steps", 's', "A-B", "only these steps, counted from 1; \"steady\": those after warm-up"},
    {"window", 'w', "T1,T2", "only this time from the run's start, such as 10ms,1.5s"},
    {"top", 'n', "N", "rows of each table (10)"},
    {"format", 0, "text|md|json|csv", "text (default), Markdown, JSON or the kernel table as CSV"},
    {"json", 0, NULL, "short for --format json"},
    {"output", 'o', "FILE", "write there instead of to standard output"},
    {"force", 'f', NULL, "replace FILE if it exists"},
    {"skip-invalid", 0, NULL, "drop events with impossible times, and count them"},
    {0},
};

const struct command command_report = {
    .name = "report",
    .arguments = "TRACE",
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
        "A range or step is host time; its window on a device reaches from the first to the last "
        "activity launched in it.",
    .examples = "ridge report trace.json.gz\tof a torch.profiler trace\n"
                "ridge report run.ridge --steps steady\twithout the warm-up\n"
                "ridge report run.ridge --range forward --top 20\tone part of the program\n"
                "ridge report run.ridge --format md -o PROFILING_RESULTS.md\tto share",
    .options = options,
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
