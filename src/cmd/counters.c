/* ridge counters: hardware counters of a program's kernels, measured by Nsight Compute. With a
 * trace, those of the kernels that take most of its time; the result is the trace with their
 * counters. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/temporary.h"
#include "cmd/counters.h"
#include "cmd/report.h"
#include "import/import.h"
#include "record/ncu_run.h"
#include "record/record.h"

/* ---- Which counters ---- */

#define ALWAYS "SpeedOfLight,LaunchStats,Occupancy"
static const struct {
    const char *name, *sections;
} sets[] = {
    {"speed", ALWAYS},
    {"occupancy", ALWAYS},
    {"memory", ALWAYS ",MemoryWorkloadAnalysis,MemoryWorkloadAnalysis_Tables"},
    {"warps", ALWAYS ",WarpStateStats,SourceCounters"},
    {"compute", ALWAYS ",ComputeWorkloadAnalysis,SpeedOfLight_RooflineChart,InstructionStats"},
    {"full", ALWAYS ",MemoryWorkloadAnalysis,MemoryWorkloadAnalysis_Tables,WarpStateStats,"
                    "SourceCounters,ComputeWorkloadAnalysis,SpeedOfLight_RooflineChart,"
                    "InstructionStats"},
};

/* A set, or names of metrics: those of ncu have two underscores. */
static bool choose_counters(const char *given, struct ncu_options *options, struct status *status) {
    for (size_t i = 0; i < ARRAY_COUNT(sets); i++)
        if (strcmp(given, sets[i].name) == 0) {
            options->sections = sets[i].sections;
            return true;
        }
    if (!strstr(given, "__"))
        return status_fail(status, STATUS_USAGE,
                           "--set: '%s' is neither speed, occupancy, memory, warps, compute or "
                           "full, nor a list of ncu's metrics",
                           given);
    options->metrics = given;
    return true;
}

/* ---- Which kernels ---- */

enum { KERNELS_MAX = 16 };
#define TIME_SHARE 0.95 /* of the kernel time of a trace */

/* The function's name, without template arguments, as part of a regular expression. */
static void add_kernel(struct text name, struct buffer *expression) {
    size_t length = 0;
    while (length < name.length && (isalnum((unsigned char)name.data[length]) ||
                                    name.data[length] == '_' || name.data[length] == '$'))
        length++;
    if (length == 0)
        return;
    buffer_string(expression, expression->length ? "|" : "^(");
    for (size_t i = 0; i < length; i++)
        buffer_printf(expression, name.data[i] == '$' ? "\\%c" : "%c", name.data[i]);
}

/* The kernels that take most of the time of a trace. */
static bool choose_kernels(const char *trace, struct buffer *expression, int64_t *start,
                           struct status *status) {
    struct report_options options = {.trace_name = trace, .top = 10, .no_verdict = true};
    struct opened_report opened;
    if (!report_open(&opened, &options, false, status))
        return false;
    const struct kernels *kernels = &opened.report.kernels;
    int64_t time = 0;
    for (size_t i = 0; i < kernels->group_count && i < KERNELS_MAX &&
                       (double)time < TIME_SHARE * (double)kernels->total;
         i++) {
        add_kernel(kernels->groups[i].short_name, expression);
        time += kernels->groups[i].total;
    }
    *start = opened.report.model.first;
    report_close(&opened);
    if (expression->length == 0)
        return status_fail(status, STATUS_INPUT, "%s: has no kernels to measure", trace);
    buffer_append(expression, ")$", 3);
    return buffer_ok(expression, status);
}

/* ---- The command ---- */

struct counters_run {
    const struct command_line *line;
    const char *trace; /* or NULL */
    struct ncu_options options;
    struct buffer kernels;
    bool replace;  /* the output, if it exists */
    int64_t start; /* of the trace */
    char *folder;  /* temporary */
    char report[PATH_MAX], log[PATH_MAX];
    struct ncu_result result;
};

/* "TRACE -- COMMAND..." or "COMMAND..." */
static bool read_arguments(struct counters_run *run, struct status *status) {
    unsigned count;
    const char *const *arguments = command_arguments(run->line, &count);
    if (count >= 2 && strcmp(arguments[1], "--") == 0) {
        run->trace = arguments[0];
        arguments += 2;
        count -= 2;
    }
    if (count == 0)
        return status_fail(status, STATUS_USAGE,
                           "no program to measure: ridge counters [TRACE] -- COMMAND");
    run->options.command = (char *const *)arguments;
    return true;
}

static bool read_options(struct counters_run *run, struct status *status) {
    const struct command_line *line = run->line;
    const char *set = command_value(line, "set"), *replay = command_value(line, "replay");
    run->options.launches = 5;
    run->options.kernels = command_value(line, "kernel");
    run->options.base_clocks = command_flag(line, "base-clocks");
    run->options.application = replay && strcmp(replay, "application") == 0;
    if (!command_count(line, "launches", &run->options.launches, status) ||
        !choose_counters(set ? set : "full", &run->options, status))
        return false;
    const char *kept = command_value(line, "report");
    if (kept && (strlen(kept) < 9 || strcmp(kept + strlen(kept) - 8, ".ncu-rep") != 0))
        return status_fail(status, STATUS_USAGE, "--report: the name must end in .ncu-rep");
    if (run->options.launches > 1000)
        return status_fail(status, STATUS_USAGE, "--launches is at most 1000");
    if (!run->trace || run->options.kernels)
        return true;
    if (!choose_kernels(run->trace, &run->kernels, &run->start, status))
        return false;
    run->options.kernels = run->kernels.data;
    return true;
}

static bool measure(struct counters_run *run, struct status *status) {
    if (!temporary_folder(&run->folder, status))
        return false;
    const char *kept = command_value(run->line, "report");
    if (kept)
        snprintf(run->report, sizeof run->report, "%s", kept);
    else
        snprintf(run->report, sizeof run->report, "%s/report.ncu-rep", run->folder);
    snprintf(run->log, sizeof run->log, "%s/ncu.log", run->folder);
    run->options.report = run->report;
    run->options.log = run->log;
    if (!command_flag(run->line, "quiet") && ncu_is_installed())
        command_message("counters  ncu runs each measured kernel several times and restores its "
                        "memory; kernels that wait for the host or other devices may hang "
                        "(--replay application avoids that)");
    if (!ncu_run(&run->options, &run->result, status))
        return false;
    if (run->result.problem[0])
        command_message("counters  incomplete, ncu: %s", run->result.problem);
    return true;
}

static bool write_trace(struct counters_run *run, const char *path, struct status *status) {
    struct output output;
    const char *both[] = {run->trace, run->report};
    struct import_options options = {.counters_only = run->trace != NULL,
                                     .counters_time = run->start};
    if (!output_open(&output, path, run->replace, status))
        return false;
    bool ok = run->trace ? import_files(both, 2, output.fd, &options, status)
                         : import_files(both + 1, 1, output.fd, &options, status);
    return output_close(&output, ok, status);
}

static bool print_counters(const char *path, struct status *status) {
    struct report_options options = {.trace_name = path, .top = 20};
    struct opened_report opened;
    struct output output;
    if (!report_open(&opened, &options, false, status))
        return false;
    bool ok = output_open(&output, NULL, false, status);
    if (ok) {
        struct report_style style = report_style(&output);
        style.sections = "counters";
        ok = output_close(&output, report_print(&opened.report, NULL, &style, &output, status),
                          status);
    }
    report_close(&opened);
    return ok;
}

static void clean_up(struct counters_run *run) {
    if (run->report[0] && !command_flag(run->line, "report"))
        unlink(run->report);
    if (run->log[0])
        unlink(run->log);
    if (run->folder)
        rmdir(run->folder);
    memory_free(run->folder);
    buffer_finish(&run->kernels);
}

bool counters_add(const struct command_line *line, const char *trace, struct status *status) {
    struct counters_run run = {.line = line, .trace = trace, .replace = true};
    run.options.command = (char *const *)command_arguments(line, NULL);
    run.options.launches = 5;
    bool ok = choose_counters("full", &run.options, status) &&
              choose_kernels(trace, &run.kernels, &run.start, status);
    run.options.kernels = run.kernels.data;
    ok = ok && measure(&run, status) && write_trace(&run, trace, status);
    clean_up(&run);
    return ok;
}

static int counters_main(const struct command_line *line) {
    struct counters_run run = {.line = line, .replace = command_flag(line, "force")};
    struct status status = {0};
    const char *path = command_value(line, "output");
    path = path ? path : "counters.ridge";
    bool ok = read_arguments(&run, &status) && read_options(&run, &status);
    if (ok && !run.replace && access(path, F_OK) == 0)
        ok = status_fail(&status, STATUS_USAGE, "%s exists; -f replaces it", path);
    ok = ok && measure(&run, &status) && write_trace(&run, path, &status) &&
         print_counters(path, &status);
    if (ok && !command_flag(line, "quiet"))
        command_message("counters  %s", path);
    clean_up(&run);
    return ok ? run.result.exit_status : command_fail(line, &status);
}

static const struct command_option options[] = {
    {"kernel", 'k', "REGEX", "kernels by the name of their function (default: all, or TRACE's)"},
    {"set", 's', "SET",
     "speed, occupancy, memory, warps, compute, full (default), or names of ncu's metrics"},
    {"launches", 'n', "N", "measure the first N launches of each kernel (default 5)"},
    {"replay", 0, "kernel|application",
     "repeat each kernel (default), or the whole program for each group of counters"},
    {"base-clocks", 0, NULL, "lock the clocks of the device to base while measuring"},
    {"report", 0, "FILE", "keep ncu's report, for its own viewer"},
    {"output", 'o', "FILE", "output file (default: counters.ridge)"},
    {"force", 'f', NULL, "replace the output if it exists"},
    {"quiet", 'q', NULL, "print only the counters"},
    {0},
};

const struct command command_counters = {
    .name = "counters",
    .arguments = "[TRACE] -- COMMAND [ARGUMENT...]",
    .summary = "Measure hardware counters of a program's kernels",
    .details =
        "Runs the program under Nsight Compute (ncu), which must be installed, and reports the "
        "counters of its kernels with targets. With TRACE, a trace of the same program, the "
        "kernels that take most of its time are measured; the output is the trace with their "
        "counters, joined by name, grid and order.\n\n"
        "ncu runs each measured kernel once for every group of counters that the hardware can "
        "count together, and restores the memory that it wrote. Fewer counters need fewer runs: "
        "--set speed is the smallest set. Clocks are not changed unless --base-clocks is given.",
    .examples = "ridge counters -k gemm -- python train.py\n"
                "ridge counters --set speed -- ./solver\tfewest repetitions\n"
                "ridge counters run.ridge -- python train.py\tof the kernels that matter",
    .options = options,
    .arguments_min = 1,
    .arguments_max = UINT_MAX,
    .run = counters_main,
    .runs_program = true,
};
