/* `ridge info`: what a trace contains and what is missing from it. */
#include "report/info.h"

#include <string.h>
#include <sys/stat.h>

#include "cmd/command.h"
#include "import/import.h"

static uint64_t size_of(const char *path, const struct trace *trace) {
    struct stat file;
    if (stat(path, &file) == 0 && S_ISREG(file.st_mode))
        return (uint64_t)file.st_size;
    return trace->file_bytes;
}

static bool print(const struct info *info, bool as_json, struct status *status) {
    struct output output;
    if (!output_open(&output, NULL, false, status))
        return false;
    bool ok =
        as_json ? info_print_json(info, &output, status) : info_print_text(info, &output, status);
    return output_close(&output, ok, status);
}

static int run_info(const struct command_line *line) {
    const char *path = command_arguments(line, NULL)[0];
    struct import_options options = {.skip_invalid = command_flag(line, "skip-invalid")};
    struct status status = {0};
    struct info info = {.path = path};
    if (!import_open(path, &options, &info.trace, &status))
        return command_fail(line, &status);
    info.file_bytes = size_of(path, info.trace);
    bool ok = info_gather(&info, &status);
    if (!ok)
        status_context(&status, "%s", path);
    const char *format = command_value(line, "format");
    bool as_json = command_flag(line, "json") || (format && strcmp(format, "json") == 0);
    ok = ok && print(&info, as_json, &status);
    info_finish(&info);
    trace_close(info.trace);
    return ok ? 0 : command_fail(line, &status);
}

static const struct command_option options[] = {
    {"format", 0, "text|json", "output format (default: text)"},
    {"json", 0, NULL, "short for --format json"},
    {"skip-invalid", 0, NULL, "drop and count events with invalid times instead of failing"},
    {0},
};

const struct command command_info = {
    .name = "info",
    .arguments = "TRACE",
    .summary = "Show what a trace contains and what is missing from it",
    .details = "Prints where the trace comes from (tool, machine, command), the span of time it "
               "covers, its "
               "devices with their properties, queues, processes and threads, how many rows each "
               "table has, "
               "and what is missing from it: dropped events, damage, an unfinished recording.",
    .examples = "ridge info trace.json.gz\n"
                "ridge info run.ridge --format json | jq .devices",
    .options = options,
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run_info,
};
