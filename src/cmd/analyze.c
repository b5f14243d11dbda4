/* ridge analyze: what can be recorded here, a recording, counters where they are permitted, the
 * report and the page, in one word. */
#include <limits.h>
#include <stdio.h>

#include "base/text.h"
#include "cmd/counters.h"
#include "cmd/record.h"
#include "import/import.h"
#include "record/ncu_run.h"

extern const struct command command_doctor;

/* Counters are those of NVIDIA's GPUs. */
static bool ran_on_nvidia(const char *path) {
    struct import_options options = {0};
    struct status ignored = {0};
    struct trace *trace;
    bool found = false;
    if (!import_open(path, &options, &trace, &ignored))
        return false;
    for (size_t i = 1; i < trace->device.count && !found; i++)
        found = text_find(trace_text(trace, trace->device.vendor[i]), "NVIDIA") >= 0;
    found = found && trace_rows(trace, TABLE_ACTIVITY) > 0;
    trace_close(trace);
    return found;
}

/* A failure costs only the counters. */
static void add_counters(const struct command_line *line, const char *trace) {
    struct status status = {0};
    bool quiet = command_flag(line, "quiet");
    if (command_flag(line, "no-counters") || !ran_on_nvidia(trace))
        return;
    if (!ncu_is_installed()) {
        if (!quiet)
            command_message("counters  none: Nsight Compute (ncu) is not installed");
        return;
    }
    if (!quiet)
        command_message("counters  the program runs again, under ncu");
    if (!counters_add(line, trace, &status))
        command_message("counters  none: %s", status.message);
}

static int analyze_main(const struct command_line *line) {
    static struct record_summary summary;
    int exit_status;
    if (!command_flag(line, "quiet"))
        command_doctor.run(line);
    if (!record_run(line, &summary, &exit_status))
        return exit_status;
    add_counters(line, summary.path);
    run_report(line, summary.path);
    target_exit_alike(&summary.target);
}

static const struct command_option options[] = {
    RECORD_ARGUMENTS,
    {"no-counters", 0, NULL, "do not run the program again for hardware counters"},
    {"no-page", 0, NULL, "do not write the HTML page"},
    {0},
};

const struct command command_analyze = {
    .name = "analyze",
    .arguments = "-- COMMAND [ARGUMENT...]",
    .summary = "Check the machine, record a program, measure counters, report",
    .details =
        "Runs 'ridge doctor', 'ridge record', 'ridge counters' where an NVIDIA GPU did the work "
        "and ncu is installed, and 'ridge report' with its page. For counters the program runs a "
        "second time; where they are not permitted, the reason is printed and the rest stays. The "
        "exit status is that of the first run.",
    .examples = "ridge analyze -- python train.py\n"
                "ridge analyze --no-counters -o run.ridge -- ./solver\trun the program once",
    .options = options,
    .arguments_min = 1,
    .arguments_max = UINT_MAX,
    .run = analyze_main,
    .runs_program = true,
};
