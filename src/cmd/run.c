/* ridge run: record a program, then say where its time went. */
#include <limits.h>

#include "cmd/record_arguments.h"
#include "cmd/report.h"

/* The program's own end is ridge's, whatever became of the report. */
static void print_report(const struct command_line *line, const char *trace) {
    struct status status = {0};
    struct report_options options = {.trace_name = trace, .top = 10};
    struct output output;
    bool ok = output_open(&output, NULL, false, &status);
    if (ok && report_print(&options, NULL, false, &output, &status))
        ok = output_commit(&output, &status);
    else if (ok) {
        output_abandon(&output);
        ok = false;
    }
    if (!ok)
        command_fail(line, &status);
}

static int run(const struct command_line *line) {
    static struct record_summary summary;
    int exit_status;
    if (!record_run(line, &summary, &exit_status))
        return exit_status;
    print_report(line, summary.path);
    target_end_alike(&summary.target);
}

const struct command command_run = {
    .name = "run",
    .arguments = "-- COMMAND [ARGUMENT...]",
    .summary = "Record a program, then report where its time went",
    .details = "As 'ridge record' and then 'ridge report' of the trace, which is kept. The report "
               "goes to standard output when the program has ended, behind what the program itself "
               "printed there.",
    .examples = "ridge run -- python train.py\tthe main job\n"
                "ridge run -o run.ridge --duration 10 -- ./server\tits first ten seconds",
    .options = record_arguments,
    .arguments_min = 1,
    .arguments_max = UINT_MAX,
    .run = run,
    .runs_program = true,
};
