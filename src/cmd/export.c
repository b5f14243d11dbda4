/* `ridge export`: writes a trace in the format of another program. The output appears under its
 * name only when it is complete; binary formats are not written to a terminal. */
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "cmd/command.h"
#include "export/export.h"
#include "import/import.h"

static const struct command_option options[] = {
    {"format", 'F', "perfetto|chrome|sqlite|csv|folded|speedscope|pprof",
     "output format (default: by the suffix of FILE: .pftrace, .json, .sqlite, .csv, .folded, "
     ".speedscope.json, .pb)"},
    {"output", 'o', "FILE", "output file (default: standard output, also -)"},
    {"force", 'f', NULL, "replace FILE if it exists"},
    {"table", 't', "NAME", "csv: the table to write (default: activity)"},
    {"skip-invalid", 0, NULL, "drop events with invalid times instead of failing"},
    {0},
};

static bool find_table(const char *name, enum trace_table *table, struct status *status) {
    struct buffer names = {0};
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        if (strcmp(trace_tables[i].name, name) == 0) {
            *table = i;
            buffer_finish(&names);
            return true;
        }
        buffer_printf(&names, "%s%s", i ? ", " : "", trace_tables[i].name);
    }
    if (buffer_ok(&names, status))
        status_fail(status, STATUS_USAGE, "unknown table '%s'; the tables are %.*s", name,
                    (int)names.length, names.data);
    buffer_finish(&names);
    return false;
}

static const struct format_suffix suffixes[] = {{".pftrace", "perfetto"},
                                                {".speedscope.json", "speedscope"},
                                                {".folded", "folded"},
                                                {".pb", "pprof"},
                                                {".perfetto-trace", "perfetto"},
                                                {".json", "chrome"},
                                                {".sqlite", "sqlite"},
                                                {".db", "sqlite"},
                                                {".csv", "csv"},
                                                {0}};

static bool parse_options(const struct command_line *line, const struct export_format **format,
                          struct export_options *settings, struct status *status) {
    const char *name = command_format(line, suffixes), *table = command_value(line, "table");
    *settings = (struct export_options){.table = TABLE_ACTIVITY};
    if (!name)
        return status_fail(
            status, STATUS_USAGE,
            "--format is required: perfetto, chrome, sqlite, csv, folded, speedscope or pprof");
    *format = export_find(name);
    if (!*format)
        return status_fail(status, STATUS_USAGE,
                           "unknown format '%s'; choose perfetto, chrome, sqlite, csv, folded, "
                           "speedscope or pprof",
                           name);
    if (table && strcmp(name, "csv") != 0)
        return status_fail(status, STATUS_USAGE, "--table is for --format csv; %s holds all tables",
                           name);
    return !table || find_table(table, &settings->table, status);
}

static bool is_standard_output(const char *path) {
    return !path || strcmp(path, "-") == 0;
}

static bool write_trace(const char *source, const struct import_options *import,
                        const struct export_format *format, const struct export_options *settings,
                        struct output *output, struct status *status) {
    struct trace *trace;
    if (!import_open(source, import, &trace, status))
        return false;
    bool ok = format->write(trace, settings, output, status);
    if (!ok && status->code == STATUS_INPUT)
        status_context(status, "%s", source);
    trace_close(trace);
    return ok;
}

static int run_export(const struct command_line *line) {
    struct import_options import = {.skip_invalid = command_flag(line, "skip-invalid")};
    const char *const *arguments = command_arguments(line, NULL);
    const char *path = command_value(line, "output");
    const struct export_format *format = NULL;
    struct export_options settings;
    struct status status = {0};
    struct output output;
    if (!parse_options(line, &format, &settings, &status))
        return command_usage(line, "%s", status.message);
    if (format->binary && is_standard_output(path) && isatty(STDOUT_FILENO))
        return command_usage(line, "%s is a binary format; write it to a file with -o FILE",
                             format->name);
    if (!output_open(&output, path, command_flag(line, "force"), &status))
        return command_fail(line, &status);
    bool ok = write_trace(arguments[0], &import, format, &settings, &output, &status);
    ok = output_close(&output, ok, &status);
    return ok ? 0 : command_fail(line, &status);
}

const struct command command_export = {
    .name = "export",
    .arguments = "TRACE",
    .summary = "Write a trace in the format of another program",
    .details =
        "perfetto is for ui.perfetto.dev: queues, threads and counters on tracks, with arrows from "
        "calls to what they launched. chrome is the JSON of torch.profiler, for chrome://tracing "
        "and everything else that reads it. sqlite is a database with the tables of ridge query. "
        "csv is one table for a spreadsheet, with names in place of ids; a cell that a spreadsheet "
        "would run as a formula gets an apostrophe in front. folded (for flamegraph.pl), "
        "speedscope "
        "and pprof are flame graphs of the stacks: the device time that their calls launched, and "
        "CPU samples.\n\n"
        "Times are exact to the nanosecond in all of them. Exports are for other programs; to keep "
        "a trace, keep the .ridge file.",
    .examples = "ridge export t.ridge -o t.pftrace\topen it in ui.perfetto.dev\n"
                "ridge export nsys.sqlite --format chrome -o t.json\tfrom any trace\n"
                "ridge export t.ridge --format csv --table call > calls.csv\tone table",
    .options = options,
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run_export,
};
