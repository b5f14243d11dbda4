/* ridge report: where does the time go? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/format.h"
#include "base/memory.h"
#include "base/temporary.h"
#include "cmd/command.h"
#include "cmd/terminal.h"
#include "cmd/peaks_option.h"
#include "cmd/report.h"
#include "compare/diff.h"
#include "import/import.h"
#include "report/job.h"
#include "report/report.h"
#include "report/select.h"
#include "trace/rank_select.h"

static bool wants_color(const struct output *output) {
    const char *terminal = getenv("TERM"), *refused = getenv("NO_COLOR");
    return !output->path && isatty(output->fd) && !(refused && *refused) &&
           !(terminal && strcmp(terminal, "dumb") == 0);
}

static bool is_text(const char *format) {
    return !format || strcmp(format, "text") == 0;
}

struct report_style report_style(const struct output *output) {
    return (struct report_style){
        .color = wants_color(output),
        .width = terminal_columns(output),
    };
}

static bool write_report(const struct report *report, const char *format,
                         const struct report_style *style, struct output *output,
                         struct status *status) {
    if (is_text(format))
        return report_write_text(report, style, output, status);
    if (strcmp(format, "md") == 0)
        return report_write_markdown(report, output, status);
    if (strcmp(format, "csv") == 0)
        return report_write_csv(report, style->sections, output, status);
    return report_write_json(report, output, status);
}

/* Replaces the trace by one with what belongs to a rank alone. */
static bool select_rank(struct trace **trace, const char *given, struct status *status) {
    int64_t rank;
    char *name;
    int fd;
    if (!text_to_i64(text_of(given), &rank) || rank < 0)
        return status_fail(status, STATUS_USAGE, "--rank takes the number of a rank, not '%s'",
                           given);
    if (!temporary_file(&name, &fd, status))
        return false;
    temporary_remove(name);
    struct trace *selected = NULL;
    bool ok = trace_select_rank(*trace, rank, fd, status) &&
              trace_open_fd(fd, "the selected rank", &selected, status);
    close(fd);
    if (ok) {
        trace_close(*trace);
        *trace = selected;
    }
    return ok;
}

static bool open_trace(const struct report_options *options, bool skip_invalid,
                       struct trace **trace, struct status *status) {
    struct import_options import = {.skip_invalid = skip_invalid};
    if (!import_open(options->trace_name, &import, trace, status))
        return false;
    if (!options->rank || select_rank(trace, options->rank, status))
        return true;
    trace_close(*trace);
    return status_context(status, "%s", options->trace_name);
}

/* Asks all questions about opened->trace, which is closed on failure. */
static bool build_report(struct opened_report *opened, const struct report_options *options,
                         struct status *status) {
    struct report_options with_limits = *options;
    struct limits *given = NULL;
    bool ok = peaks_option_find(opened->trace, &given, status);
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

bool report_open(struct opened_report *opened, const struct report_options *options,
                 bool skip_invalid, struct status *status) {
    struct progress *progress = progress_begin("reading", -1);
    bool ok = open_trace(options, skip_invalid, &opened->trace, status);
    progress_say(progress, "analyzing");
    ok = ok && build_report(opened, options, status);
    progress_end(progress);
    return ok;
}

void report_close(struct opened_report *opened) {
    report_finish(&opened->report);
    trace_close(opened->trace);
}

bool report_print(const struct report *report, const char *format, const struct report_style *style,
                  struct output *output, struct status *status) {
    if (format && strcmp(format, "html") == 0)
        return report_print_page(&report, 1, output, status);
    return write_report(report, format, style, output, status);
}

static void say_merged(const struct page_summary *summary) {
    char events[FORMAT_SIZE], length[FORMAT_SIZE];
    if (summary->merged_events)
        fprintf(stderr,
                "page: %s events shorter than %s are drawn merged; the trace has them all\n",
                format_count(summary->merged_events, events),
                format_duration(summary->shorter, length));
}

bool report_print_difference(const struct diff *diff, struct output *output,
                             struct status *status) {
    const struct report *const both[] = {diff->sides[BEFORE].report, diff->sides[AFTER].report};
    struct buffer json = {0};
    struct output into = output_into(&json);
    struct page_summary summary;
    bool ok = diff_write_json(diff, &into, status) && buffer_ok(&json, status) &&
              report_write_difference_html(both, buffer_as_text(&json), output, &summary, status);
    buffer_finish(&json);
    if (ok)
        say_merged(&summary);
    return ok;
}

bool report_print_page(const struct report *const *reports, size_t count, struct output *output,
                       struct status *status) {
    struct page_summary summary;
    struct diff diff;
    if (count == 2 && reports[0]->device_count && reports[1]->device_count) {
        if (!diff_build(&diff, reports[0], reports[1], status))
            return false;
        bool ok = report_print_difference(&diff, output, status);
        diff_finish(&diff);
        return ok;
    }
    if (!report_write_html(reports, count, output, &summary, status))
        return false;
    say_merged(&summary);
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

/* Whether nothing is asked of a job but how it does. */
static bool is_overview(const struct report_options *options, const char *format,
                        const struct report_style *style) {
    return is_text(format) && !options->rank && !options->device && !options->range &&
           !options->steps && !options->window && !style->full && !style->sections;
}

static bool print_job(struct trace *trace, const char *name, struct output *output,
                      struct status *status) {
    struct job job = {0};
    struct job_report report;
    bool ok = job_add(&job, trace, name, status) && job_join(&job, status) &&
              job_report_build(&report, &job, status);
    if (ok) {
        output_printf(output, "%s\n", name);
        ok = job_report_text(&report, terminal_columns(output), output, status);
        output_printf(output, "\n--rank N reports one rank; --full reports all devices.\n");
        job_report_finish(&report);
    }
    job_finish(&job);
    return ok;
}

static bool print_one(const struct report_options *options, const char *format,
                      const struct report_style *style, bool skip_invalid, struct output *output,
                      struct status *status) {
    struct opened_report opened;
    struct progress *progress = progress_begin("reading", -1);
    bool ok = open_trace(options, skip_invalid, &opened.trace, status);
    bool is_job = ok && is_overview(options, format, style) && trace_has_ranks(opened.trace);
    progress_say(progress, "analyzing");
    ok = ok && (is_job || build_report(&opened, options, status));
    progress_end(progress);
    if (!ok)
        return false;
    bool paged = is_text(format) && !output->path && pager_start();
    ok = is_job ? print_job(opened.trace, options->trace_name, output, status)
                : report_print(&opened.report, format, style, output, status);
    if (paged)
        ok = output_flush(output, status) && ok;
    if (is_job)
        trace_close(opened.trace);
    else
        report_close(&opened);
    return ok;
}

static const struct format_suffix suffixes[] = {{".md", "md"},
                                                {".json", "json"},
                                                {".html", "html"},
                                                {".htm", "html"},
                                                {".csv", "csv"},
                                                {".txt", "text"},
                                                {0}};

/* The parts that --section or --by name; or NULL. */
static const char *sections_of(const struct command_line *line) {
    const char *by = command_value(line, "by");
    if (!by)
        return command_value(line, "section");
    return strcmp(by, "line") == 0 ? "lines" : "kernels";
}

/* What does not go together; or NULL. */
static const char *contradiction(const struct command_line *line, const char *format,
                                 unsigned traces) {
    const char *output = command_value(line, "output"), *sections = sections_of(line);
    bool page = format && strcmp(format, "html") == 0;
    if (command_value(line, "by") && command_value(line, "section"))
        return "--by names a table, and so does --section: give one of them";
    if (traces > 1 && !page)
        return "two traces are compared on a page: add --format html -o FILE";
    if (page && (!output || strcmp(output, "-") == 0) && isatty(STDOUT_FILENO))
        return "a page is for a browser: add -o FILE.html";
    if (sections && !is_text(format) && strcmp(format, "csv") != 0)
        return "--section selects parts of the text report, or the table of --format csv";
    if (sections && !is_text(format) && strchr(sections, ','))
        return "CSV holds one table: name one section";
    if (command_flag(line, "full") && !is_text(format))
        return "--full is for the text report; the other formats are complete";
    return NULL;
}

/* The output is opened first: a name that cannot be written should not cost a long import. */
static int run_report(const struct command_line *line) {
    struct status status = {0};
    unsigned count;
    const char *const *traces = command_arguments(line, &count);
    struct report_options options = {
        .trace_name = traces[0],
        .device = command_value(line, "device"),
        .rank = command_value(line, "rank"),
        .range = command_value(line, "range"),
        .steps = command_value(line, "steps"),
        .window = command_value(line, "window"),
        .top = 10,
        .no_verdict = command_flag(line, "no-verdict"),
    };
    struct output output;
    bool skip_invalid = command_flag(line, "skip-invalid");
    const char *format = command_flag(line, "json") ? "json" : command_format(line, suffixes);
    const char *wrong = contradiction(line, format, count);
    if (wrong)
        return command_usage(line, "%s", wrong);
    /* these two are read by people: their figures are about the part that the verdict is about */
    options.steady = is_text(format) || strcmp(format, "md") == 0;
    if (!report_check_sections(sections_of(line), &status) ||
        !command_count(line, "top", &options.top, &status) || !select_check(&options, &status) ||
        !output_open(&output, command_value(line, "output"), command_flag(line, "force"), &status))
        return command_fail(line, &status);
    struct report_style style = report_style(&output);
    style.full = command_flag(line, "full");
    style.sections = sections_of(line);
    bool ok = count > 1 ? print_both(&options, traces[1], skip_invalid, &output, &status)
                        : print_one(&options, format, &style, skip_invalid, &output, &status);
    ok = output_close(&output, ok, &status);
    pager_finish();
    return ok ? 0 : command_fail(line, &status);
}

static const struct command_option options[] = {
    {"section", 'S', "NAME[,NAME]", "print these parts only; the last line of a report names them"},
    {"by", 0, "line|kernel", "print one table only: the program's lines, or the kernels"},
    {"full", 0, NULL, "print every part"},
    {"device", 'd', "LABEL", "only this device, as the report names it"},
    {"rank", 0, "N", "only this rank of a distributed job"},
    {"range", 'r', "NAME", "only what was launched inside ranges of this name"},
    {"steps", 's', "A-B",
     "only these steps, counted from 1; \"steady\": those after warm-up; \"all\": the whole run"},
    {"window", 'w', "T1,T2",
     "only this interval since the start of the run, such as 10ms,1.5s (ns, us, ms or s)"},
    {"top", 'n', "N", "rows of each table (10)"},
    {"format", 0, "text|md|json|csv|html",
     "text, Markdown, JSON, one table as CSV, or a page for a browser; default: by the suffix of "
     "FILE, else text"},
    {"json", 0, NULL, "short for --format json"},
    {"output", 'o', "FILE", "write to FILE instead of standard output"},
    {"force", 'f', NULL, "replace FILE if it exists"},
    {"no-verdict", 0, NULL, "skip the verdict: faster on very large traces"},
    {"skip-invalid", 0, NULL, "drop events with impossible times, and count them"},
    {0},
};

const struct command command_report = {
    .name = "report",
    .arguments = "TRACE [TRACE]",
    .summary = "Report where the time goes and what holds the run back",
    .details =
        "TRACE is a .ridge file or any trace that ridge imports: torch.profiler and other Chrome "
        "JSON (plain, .gz, .zst), Nsight Systems SQLite, xctrace XML (a folder or one table), RPD, "
        "XPlane, Perfetto.\n\n"
        "The default is a summary: the verdict, the findings, the account, a timeline and the top "
        "kernels. --section prints single parts, --full all of them.\n\n"
        "For each device the time from its first to its last activity is split exactly into busy "
        "(a compute kernel runs), exposed communication (a collective runs and no compute kernel), "
        "exposed copy (a copy or memset runs and no kernel) and idle. Each idle gap is split by "
        "what the launching thread did meanwhile.\n\n"
        "Text and Markdown describe the steady steps where the run has at least three steps; "
        "--steps all describes the whole run. JSON, CSV and the page hold the whole run, and the "
        "verdict on the steady steps. --range, --steps and --window select their "
        "intersection.\n\n"
        "A range or step is host time. Its window on a device extends from the first to the last "
        "activity launched in it.\n\n"
        "Of a trace with several ranks of a job the text report is that of the job, as by 'ridge "
        "ranks'; --rank reports one of them.\n\n"
        "A page (-o FILE.html) is one file that opens in any current browser without a network. "
        "With two traces it shows both on one time axis.\n\n"
        "On a terminal the text goes through $PAGER.",
    .examples = "ridge report trace.json.gz\tof a torch.profiler trace\n"
                "ridge report run.ridge --section kernels,gaps\ttwo tables\n"
                "ridge report run.ridge --range forward --full\tone part of the program\n"
                "ridge report run.ridge -o PROFILING_RESULTS.md\tto share\n"
                "ridge report before.ridge after.ridge -o both.html\tside by side",
    .options = options,
    .arguments_min = 1,
    .arguments_max = 2,
    .run = run_report,
};
