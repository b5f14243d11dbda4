/* `ridge import`: converts traces of other tools, and .ridge files such as one per rank, into one
 * .ridge file. The output appears under its name only when it is complete. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/format.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/terminal.h"
#include "import/import.h"

/* The first file's name without its folder and known suffixes, plus .ridge. */
static char *default_output(const char *path, struct status *status) {
    static const char *const endings[] = {
        ".pt",        ".gz",      ".zst",  ".json",   ".sqlite",     ".rpd",
        ".xplane.pb", ".pftrace", ".xml",  ".pb",     ".trace",      ".perfetto-trace",
        ".ridge",     ".csv",     ".txt",  ".folded", ".speedscope", ".ncu-rep",
        ".pickle",    ".db",      ".data", ".pstats", ".prof",       ".hatchet"};
    struct text name = text_of(path);
    while (name.length > 1 && name.data[name.length - 1] == '/')
        name.length--;
    for (size_t i = name.length; i > 0; i--)
        if (name.data[i - 1] == '/' && i < name.length) {
            name = (struct text){name.data + i, name.length - i};
            break;
        }
    for (size_t i = 0; i < ARRAY_COUNT(endings); i++) {
        size_t length = strlen(endings[i]);
        if (name.length > length &&
            memcmp(name.data + name.length - length, endings[i], length) == 0) {
            name.length -= length;
            i = (size_t)-1; /* suffixes can be combined: .pt.trace.json.gz */
        }
    }
    if (text_is(name, "-"))
        name = TEXT("stdin");
    struct buffer output = {0};
    buffer_text(&output, name);
    buffer_string(&output, ".ridge");
    buffer_byte(&output, 0);
    if (buffer_ok(&output, status))
        return output.data;
    buffer_finish(&output);
    return NULL;
}

static uint64_t size_of(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
}

/* Reopens the output to count its events, which also verifies it. */
static bool count_events(int fd, const char *path, uint64_t *events, uint64_t *drops,
                         struct status *status) {
    struct trace *trace;
    if (!trace_open_fd(fd, path, &trace, status))
        return false;
    *events = 0;
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++)
        *events += trace_rows(trace, table);
    *drops = (uint64_t)trace_meta_sum(trace, META_DROPS);
    trace_close(trace);
    return true;
}

static bool print_summary(const char *const *paths, unsigned count, const char *path,
                          uint64_t events, uint64_t drops, struct status *status) {
    char in[FORMAT_SIZE], out[FORMAT_SIZE], number[FORMAT_PLURAL_SIZE];
    struct output output;
    uint64_t bytes = 0;
    if (!output_open(&output, NULL, false, status))
        return false;
    for (unsigned i = 0; i < count; i++)
        bytes += size_of(paths[i]);
    if (count == 1)
        output_printf(&output, "%s: ", paths[0]);
    else
        output_printf(&output, "%u files: ", count);
    output_printf(&output, "%s", format_plural(events, "event", "events", number));
    if (drops)
        output_printf(&output, " (%s dropped)", format_count(drops, number));
    if (bytes)
        output_printf(&output, ", %s", format_bytes(bytes, in));
    output_printf(&output, " -> %s, %s\n", path, format_bytes(size_of(path), out));
    return output_commit(&output, status);
}

static int import_to(const struct command_line *line, const char *path) {
    unsigned count;
    const char *const *paths = command_arguments(line, &count);
    struct import_options options = {.skip_invalid = command_flag(line, "skip-invalid"),
                                     .execution_trace = command_value(line, "execution-trace")};
    struct status status = {0};
    struct output output;
    uint64_t events = 0, drops = 0;
    bool quiet = command_flag(line, "quiet");
    if (!output_open(&output, path, command_flag(line, "force"), &status))
        return command_fail(line, &status);
    struct progress *progress = quiet ? NULL : progress_begin("importing", output.fd);
    bool ok = import_files(paths, count, output.fd, &options, &status);
    if (!ok && text_starts(text_of(status.message), "cannot write"))
        status_context(&status, "%s", path);
    if (ok && output.temporary)
        ok = count_events(output.fd, path, &events, &drops, &status);
    progress_end(progress);
    ok = output_close(&output, ok, &status);
    if (!ok)
        return command_fail(line, &status);
    if (!quiet && size_of(path) && !print_summary(paths, count, path, events, drops, &status))
        return command_fail(line, &status);
    return 0;
}

static int run_import(const struct command_line *line) {
    unsigned count;
    struct status status = {0};
    const char *const *paths = command_arguments(line, &count);
    const char *path = command_value(line, "output");
    if (path && strcmp(path, "-") == 0)
        return command_usage(line,
                             "a .ridge file cannot be written to standard output; use -o FILE");
    if (path)
        return import_to(line, path);
    char *default_path = default_output(paths[0], &status);
    if (!default_path)
        return command_fail(line, &status);
    int result = import_to(line, default_path);
    memory_free(default_path);
    return result;
}

static const struct command_option options[] = {
    {"output", 'o', "FILE",
     "output file (default: the first FILE's name with .ridge, in the current folder)"},
    {"force", 'f', NULL, "replace the output if it exists"},
    {"execution-trace", 0, "FILE",
     "PyTorch's execution trace of the same run: shapes that the Kineto trace lacks"},
    {"skip-invalid", 0, NULL, "drop and count events with invalid times instead of failing"},
    {"quiet", 'q', NULL, "print nothing"},
    {0},
};

const struct command command_import = {
    .name = "import",
    .arguments = "FILE...",
    .summary = "Convert traces of other tools into one .ridge file",
    .details =
        "Each FILE is a trace of torch.profiler (Kineto), Nsight Systems (SQLite export), Apple "
        "Instruments (xctrace export), rocprof (CSV, JSON, rocpd), rocmProfileData (.rpd), JAX "
        "(.xplane.pb) or Perfetto, counters of Nsight Compute (.ncu-rep, CSV, text), totals of "
        "Proton (.hatchet), a CPU profile of perf (perf.data, perf script), cProfile, Firefox "
        "Profiler (samply), speedscope, austin or folded stacks, a PyTorch memory snapshot, a heap "
        "profile of tracemalloc or memray (CSV), any Chrome trace JSON, or a .ridge file. gzip "
        "and zstd files are decompressed. The format "
        "is detected from the content, not from the name. A FILE of - is standard input.\n\n"
        "Several files become one trace: pass the files of all ranks of a distributed run. The "
        "other commands read all these formats too; importing once makes them faster and the file "
        "smaller.\n\n"
        "The output appears under its name only when it is complete.",
    .examples = "ridge import trace.json.gz\twrites trace.ridge\n"
                "ridge import rank*.json -o run.ridge\tall ranks in one trace\n"
                "ridge import report.sqlite -f -q\treplace report.ridge, print nothing",
    .options = options,
    .arguments_min = 1,
    .arguments_max = 100000,
    .run = run_import,
};
