/* ridge merge: the traces of all ranks of a job become one. The output appears under its name only
 * when it is complete. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "base/output.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/terminal.h"
#include "cmd/trace_files.h"
#include "import/import.h"
#include "ranks/ranks.h"

/* "; missing: ranks 2, 3" */
static void add_ranks(struct buffer *line, const char *what, const struct job *job, bool cut) {
    struct buffer list = {0};
    size_t listed = 0;
    int64_t missing;
    for (size_t i = 0; cut && i < job->rank_count; i++)
        if (job->ranks[i].is_cut)
            buffer_printf(&list, "%s%" PRId64, listed++ ? ", " : "", job->ranks[i].number);
    for (size_t i = 0; !cut && (missing = job_missing(job, i)) >= 0; i++)
        buffer_printf(&list, "%s%" PRId64, listed++ ? ", " : "", missing);
    if (listed)
        buffer_printf(line, "; %s: %s %.*s", what, listed > 1 ? "ranks" : "rank",
                      TEXT_ARGS(buffer_as_text(&list)));
    buffer_finish(&list);
}

/* "4 files: 4 of 8 ranks -> job.ridge; missing: ranks 2, 3; cut short: rank 1" */
static bool print_summary(const struct trace_files *files, const char *path, const struct job *job,
                          struct status *status) {
    struct buffer line = {0};
    struct output output;
    char count[FORMAT_PLURAL_SIZE];
    buffer_printf(&line, "%s: ", format_plural(files->count, "file", "files", count));
    if (job->world > (int64_t)job->rank_count)
        buffer_printf(&line, "%zu of %" PRId64 " ranks", job->rank_count, job->world);
    else
        buffer_string(&line, format_plural(job->rank_count, "rank", "ranks", count));
    buffer_printf(&line, " -> %s", path);
    add_ranks(&line, "missing", job, false);
    add_ranks(&line, "cut short", job, true);
    buffer_byte(&line, '\n');
    bool ok = buffer_ok(&line, status) && output_open(&output, NULL, false, status);
    if (ok) {
        output_write(&output, line.data, line.length);
        ok = output_commit(&output, status);
    }
    buffer_finish(&line);
    return ok;
}

/* Reads the output again, which also verifies it. */
static bool read_ranks(int fd, const char *path, struct job *job, struct status *status) {
    struct trace *trace;
    if (!trace_open_fd(fd, path, &trace, status))
        return false;
    bool ok = job_add(job, trace, path, status);
    trace_close(trace);
    return ok && job_join(job, status);
}

static int merge_files(const struct command_line *line, const struct trace_files *files,
                       const char *path) {
    struct import_options options = {.skip_invalid = command_flag(line, "skip-invalid")};
    struct status status = {0};
    struct output output;
    struct job job = {0};
    bool quiet = command_flag(line, "quiet");
    if (!output_open(&output, path, command_flag(line, "force"), &status))
        return command_fail(line, &status);
    struct progress *progress = quiet ? NULL : progress_begin("merging", output.fd);
    bool ok =
        import_files((const char *const *)files->paths, files->count, output.fd, &options, &status);
    if (!ok && text_starts(text_of(status.message), "cannot write"))
        status_context(&status, "%s", path);
    ok = ok && read_ranks(output.fd, path, &job, &status);
    progress_end(progress);
    ok = output_close(&output, ok, &status) && (quiet || print_summary(files, path, &job, &status));
    job_finish(&job);
    return ok ? 0 : command_fail(line, &status);
}

static int run_merge(const struct command_line *line) {
    unsigned count;
    const char *const *arguments = command_arguments(line, &count);
    const char *path = command_value(line, "output");
    struct trace_files files = {0};
    struct status status = {0};
    if (!path)
        path = "job.ridge";
    if (strcmp(path, "-") == 0)
        return command_usage(line,
                             "a .ridge file cannot be written to standard output; use -o FILE");
    int result = trace_files_find(arguments, count, &files, &status)
                     ? merge_files(line, &files, path)
                     : command_fail(line, &status);
    trace_files_finish(&files);
    return result;
}

static const struct command_option options[] = {
    {"output", 'o', "FILE", "output file (default: job.ridge)"},
    {"force", 'f', NULL, "replace the output if it exists"},
    {"skip-invalid", 0, NULL, "drop and count events with invalid times instead of failing"},
    {"quiet", 'q', NULL, "print nothing"},
    {0},
};

const struct command command_merge = {
    .name = "merge",
    .arguments = "FOLDER|TRACE...",
    .summary = "Make one trace of the traces of all ranks of a job",
    .details =
        "A FOLDER stands for the traces in it, of any format that ridge imports: one per rank, as "
        "'mpirun ridge record -o FOLDER/run-%r.ridge -- PROGRAM' writes them on several hosts. The "
        "rank comes from the recording, from distributedInfo of torch.profiler, or from the name "
        "of the file (rank3). Ranks that are missing or cut short are listed.\n\n"
        "Times are copied as they are. 'ridge ranks' aligns the clocks of several hosts.",
    .examples = "ridge merge traces/ -o job.ridge\n"
                "ridge merge rank*.json.gz -o job.ridge\n"
                "ridge ranks job.ridge\twhich rank do the others wait for?",
    .options = options,
    .arguments_min = 1,
    .arguments_max = 100000,
    .run = run_merge,
};
