/* ridge ranks: a distributed job, all ranks together. One trace is open at a time, so that a job of
 * many ranks fits into memory. */
#include <string.h>

#include "cmd/ranks.h"
#include "cmd/report.h"
#include "cmd/terminal.h"
#include "cmd/trace_files.h"
#include "import/import.h"
#include "report/fleet.h"
#include "report/job.h"

static bool read_files(const struct trace_files *files, const struct import_options *options,
                       struct job *job, struct status *status) {
    struct progress *progress = progress_begin("reading", -1);
    bool ok = true;
    for (size_t i = 0; i < files->count && ok; i++) {
        struct trace *trace;
        ok = import_open(files->paths[i], options, &trace, status);
        if (!ok)
            break;
        ok = job_add(job, trace, files->paths[i], status);
        trace_close(trace);
        if (!ok && status->code == STATUS_INPUT)
            status_context(status, "%s", files->paths[i]);
    }
    progress_say(progress, "joining");
    ok = ok && job_join(job, status);
    progress_end(progress);
    if (ok && job->rank_count == 0)
        ok = status_fail(status, STATUS_INPUT, "nothing of a rank was recorded in these traces");
    return ok;
}

bool ranks_read(const char *const *arguments, unsigned count, bool skip_invalid, struct job *job,
                struct status *status) {
    struct import_options options = {.skip_invalid = skip_invalid};
    struct trace_files files = {0};
    bool ok = trace_files_find(arguments, count, &files, status) &&
              read_files(&files, &options, job, status);
    trace_files_finish(&files);
    return ok;
}

enum ranks_format { RANKS_TEXT, RANKS_JSON, RANKS_HTML };

static bool print_job(const struct job *job, const char *name, enum ranks_format format,
                      struct output *output, struct status *status) {
    struct job_report report;
    if (!job_report_build(&report, job, status))
        return false;
    bool ok = format == RANKS_JSON ? job_report_json(&report, output, status)
              : format == RANKS_HTML
                  ? job_report_html(&report, name, output, status)
                  : job_report_text(&report, terminal_columns(output), output, status);
    job_report_finish(&report);
    return ok;
}

/* ---- reports instead of traces ---- */

/* All or none of the files are reports. */
static bool are_reports(const struct trace_files *files, bool *reports, struct status *status) {
    *reports = files->count > 0 && fleet_is_report(files->paths[0]);
    for (size_t i = 1; i < files->count; i++)
        if (*reports && !fleet_is_report(files->paths[i]))
            return status_fail(status, STATUS_INPUT,
                               "%s is a report and %s is none; pass reports or traces",
                               files->paths[0], files->paths[i]);
    return true;
}

static bool print_fleet(const struct trace_files *files, enum ranks_format format,
                        struct output *output, struct status *status) {
    struct fleet fleet = {0};
    if (format == RANKS_HTML)
        return status_fail(status, STATUS_USAGE,
                           "the page is made of traces, not of reports; use --format json");
    struct progress *progress = progress_begin("reading", -1);
    bool ok = true;
    for (size_t i = 0; i < files->count && ok; i++)
        ok = fleet_add(&fleet, files->paths[i], status);
    ok = ok && fleet_join(&fleet, status);
    progress_end(progress);
    ok =
        ok && (format == RANKS_JSON ? fleet_json(&fleet, output, status)
                                    : fleet_text(&fleet, terminal_columns(output), output, status));
    fleet_finish(&fleet);
    return ok;
}

static bool print_ranks(const char *const *arguments, unsigned count, bool skip_invalid,
                        enum ranks_format format, struct output *output, struct status *status) {
    struct trace_files files = {0};
    struct job job = {0};
    bool reports = false;
    bool ok =
        trace_files_find(arguments, count, &files, status) && are_reports(&files, &reports, status);
    if (ok && reports)
        ok = print_fleet(&files, format, output, status);
    else if (ok)
        ok = read_files(&files, &(struct import_options){.skip_invalid = skip_invalid}, &job,
                        status) &&
             print_job(&job, arguments[0], format, output, status);
    job_finish(&job);
    trace_files_finish(&files);
    return ok;
}

static int run_ranks(const struct command_line *line) {
    unsigned count;
    const char *const *arguments = command_arguments(line, &count);
    static const struct format_suffix suffixes[] = {
        {".json", "json"}, {".html", "html"}, {".txt", "text"}, {0}};
    const char *given = command_flag(line, "json") ? "json" : command_format(line, suffixes);
    enum ranks_format format = given && strcmp(given, "json") == 0   ? RANKS_JSON
                               : given && strcmp(given, "html") == 0 ? RANKS_HTML
                                                                     : RANKS_TEXT;
    struct status status = {0};
    struct output output;
    bool ok =
        output_open(&output, command_value(line, "output"), command_flag(line, "force"), &status);
    if (!ok)
        return command_fail(line, &status);
    ok =
        print_ranks(arguments, count, command_flag(line, "skip-invalid"), format, &output, &status);
    ok = output_close(&output, ok, &status);
    return ok ? 0 : command_fail(line, &status);
}

static const struct command_option options[] = {
    {"format", 0, "text|json|html", "output format; default: by the suffix of FILE, else text"},
    {"json", 0, NULL, "short for --format json"},
    {"output", 'o', "FILE", "write to FILE instead of standard output"},
    {"force", 'f', NULL, "replace FILE if it exists"},
    {"skip-invalid", 0, NULL, "drop events with impossible times, and count them"},
    {0},
};

const struct command command_ranks = {
    .name = "ranks",
    .arguments = "TRACE|FOLDER|REPORT...",
    .summary = "Report a distributed job: which rank do the others wait for, and why",
    .details =
        "Each TRACE holds one rank or several: a recording of mpirun or torchrun, a merged trace, "
        "or one trace per rank of any format that ridge imports. A FOLDER stands for the traces in "
        "it.\n\n"
        "Collectives and messages are matched over the ranks, by process group and sequence number "
        "where they are recorded, else by group, operation, size and order. Ranks of one host "
        "share a clock. Between hosts, offset and drift are solved from causality: no collective "
        "ends before its last rank has arrived. The error bound is printed.\n\n"
        "The time of each rank, from the first collective that all ranks share to the last, is "
        "split exactly into computing, waiting for other ranks, transfer, copies and idle. A rank "
        "without a device computes while its main thread runs outside MPI and gloo.\n\n"
        "Reports of 'ridge report --format json' instead of traces, one per rank, are joined by "
        "reading one after another: thousands fit. They show the slowest hosts and ranks and the "
        "kernels that take longer on one rank; who waited for whom is in traces only.\n\n"
        "A rank's cost is what the job would gain if that rank took as long as the median of the "
        "others between collectives, by a replay of all ranks.",
    .examples = "ridge ranks run.ridge\ta recording of mpirun or torchrun\n"
                "ridge ranks traces/\tone trace per rank\n"
                "ridge ranks traces/ -o job.html\tthe page: ranks aligned in time, steps\n"
                "ridge ranks rank*.json.gz --json\tfor a program\n"
                "ridge ranks reports/*.json\treports of 'ridge report --format json'",
    .options = options,
    .arguments_min = 1,
    .arguments_max = 100000,
    .run = run_ranks,
};
