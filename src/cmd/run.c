/* ridge run: records a program, then reports where its time went. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/record.h"
#include "cmd/report.h"

/* The page of run.ridge is run.html. */
static bool page_name(const char *trace, struct buffer *name, struct status *status) {
    struct text stem = text_of(trace);
    static const char ending[] = ".ridge";
    size_t length = sizeof ending - 1;
    if (stem.length > length && strcmp(trace + stem.length - length, ending) == 0)
        stem.length -= length;
    buffer_text(name, stem);
    buffer_append(name, ".html", sizeof ".html");
    return buffer_ok(name, status);
}

static bool print_text(const struct report *report, struct status *status) {
    struct output output;
    if (!output_open(&output, NULL, false, status))
        return false;
    struct report_style style = report_style(&output);
    return output_close(&output, report_print(report, NULL, &style, &output, status), status);
}

static bool write_page(const struct command_line *line, const struct report *report,
                       const char *trace, struct status *status) {
    struct buffer name = {0};
    struct output output;
    bool ok = page_name(trace, &name, status) &&
              output_open(&output, name.data, command_flag(line, "force"), status);
    if (ok) {
        fchmod(output.fd, S_IRUSR | S_IWUSR); /* like the trace, whose events it contains */
        ok = output_close(&output, report_print_page(&report, 1, &output, status), status);
    }
    if (ok && !command_flag(line, "quiet"))
        command_message("page      %s", name.data);
    buffer_finish(&name);
    return ok;
}

/* ridge exits as the program did, even if the report fails. */
void run_report(const struct command_line *line, const char *trace) {
    struct status status = {0};
    struct report_options options = {.trace_name = trace, .top = 10, .steady = true};
    struct opened_report opened;
    bool open = report_open(&opened, &options, false, &status);
    bool ok = open && print_text(&opened.report, &status);
    bool page = ok && !command_flag(line, "no-page");
    if (page && opened.report.narrowed) { /* the page shows the whole run */
        report_close(&opened);
        options.steady = false;
        ok = open = report_open(&opened, &options, false, &status);
    }
    if (page && ok)
        ok = write_page(line, &opened.report, trace, &status);
    if (open)
        report_close(&opened);
    if (!ok)
        command_fail(line, &status);
}

static int run_main(const struct command_line *line) {
    static struct record_summary summary;
    int exit_status;
    if (!record_run(line, &summary, &exit_status))
        return exit_status;
    run_report(line, summary.path);
    target_exit_alike(&summary.target);
}

static const struct command_option options[] = {
    RECORD_ARGUMENTS,
    {"no-page", 0, NULL, "do not write the HTML page"},
    {0},
};

const struct command command_run = {
    .name = "run",
    .arguments = "-- COMMAND [ARGUMENT...]",
    .summary = "Record a program, then report where its time went",
    .details =
        "Runs 'ridge record' and then 'ridge report' on the trace, which is kept. The report is "
        "printed to standard output after the program has ended. An HTML page is written next to "
        "the trace (run.html for run.ridge), unless --no-page is given.",
    .examples = "ridge run -- python train.py\n"
                "ridge run -o run.ridge --duration 10 -- ./server\tthe first ten seconds",
    .options = options,
    .arguments_min = 1,
    .arguments_max = UINT_MAX,
    .run = run_main,
    .runs_program = true,
};
