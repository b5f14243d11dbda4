/* ridge ranks: a distributed job, all ranks together. One trace is open at a time, so that a job of
 * many ranks fits into memory. */
#include <string.h>

#include "cmd/ranks.h"
#include "cmd/report.h"
#include "cmd/terminal.h"
#include "cmd/trace_files.h"
#include "import/import.h"
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

static bool print_job(const struct job *job, bool as_json, struct output *output,
                      struct status *status) {
    struct job_report report;
    if (!job_report_build(&report, job, status))
        return false;
    bool ok = as_json ? job_report_json(&report, output, status)
                      : job_report_text(&report, terminal_columns(output), output, status);
    job_report_finish(&report);
    return ok;
}

static int run_ranks(const struct command_line *line) {
    unsigned count;
    const char *const *arguments = command_arguments(line, &count);
    static const struct format_suffix suffixes[] = {{".json", "json"}, {".txt", "text"}, {0}};
    const char *format = command_flag(line, "json") ? "json" : command_format(line, suffixes);
    struct job job = {0};
    struct status status = {0};
    struct output output;
    bool ok =
        output_open(&output, command_value(line, "output"), command_flag(line, "force"), &status);
    if (!ok)
        return command_fail(line, &status);
    ok = ranks_read(arguments, count, command_flag(line, "skip-invalid"), &job, &status) &&
         print_job(&job, format && strcmp(format, "json") == 0, &output, &status);
    ok = output_close(&output, ok, &status);
    job_finish(&job);
    return ok ? 0 : command_fail(line, &status);
}

static const struct command_option options[] = {
    {"format", 0, "text|json", "output format; default: by the suffix of FILE, else text"},
    {"json", 0, NULL, "short for --format json"},
    {"output", 'o', "FILE", "write to FILE instead of standard output"},
    {"force", 'f', NULL, "replace FILE if it exists"},
    {"skip-invalid", 0, NULL, "drop events with impossible times, and count them"},
    {0},
};

const struct command command_ranks = {
    .name = "ranks",
    .arguments = "TRACE|FOLDER...",
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
        "A rank's cost is what the job would gain if that rank took as long as the median of the "
        "others between collectives, by a replay of all ranks.",
    .examples = "ridge ranks run.ridge\ta recording of mpirun or torchrun\n"
                "ridge ranks traces/\tone trace per rank\n"
                "ridge ranks rank*.json.gz --json\tfor a program",
    .options = options,
    .arguments_min = 1,
    .arguments_max = 100000,
    .run = run_ranks,
};
