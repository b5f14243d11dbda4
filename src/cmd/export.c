/* `ridge export`: writes a trace in the format of another program. The output appears under its
 * name only when it is complete; binary formats are not written to a terminal. */
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "cmd/command.h"
#include "cmd/export_parquet.h"
#include "export/export.h"
#include "import/import.h"

static const struct command_option options[] = {
    {"format", 'F', "perfetto|chrome|sqlite|parquet|csv|folded|speedscope|pprof",
     "output format (default: by the suffix of FILE: .pftrace, .json, .sqlite, .parquet, .csv, "
     ".folded, .speedscope.json, .pb)"},
    {"output", 'o', "FILE",
     "output file (default: standard output, also -); parquet: also a folder, DIR/"},
    {"force", 'f', NULL, "replace FILE if it exists"},
    {"table", 't', "NAME", "csv, parquet: the table to write (default: activity)"},
    {"partition", 0, "rank|rank,step",
     "parquet in a folder: a folder for each rank, or each step of it (default: rank,step)"},
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
                                                {".parquet", "parquet"},
                                                {".csv", "csv"},
                                                {0}};

#define FORMATS "perfetto, chrome, sqlite, parquet, csv, folded, speedscope or pprof"

static bool is_parquet(const char *format) {
    return strcmp(format, "parquet") == 0;
}

/* *format is NULL for Parquet. */
static bool parse_options(const struct command_line *line, const struct export_format **format,
                          struct export_options *settings, struct status *status) {
    const char *name = command_format(line, suffixes), *table = command_value(line, "table");
    *settings = (struct export_options){.table = TABLE_ACTIVITY};
    if (!name)
        return status_fail(status, STATUS_USAGE, "--format is required: " FORMATS);
    *format = export_find(name);
    if (!*format && !is_parquet(name))
        return status_fail(status, STATUS_USAGE, "unknown format '%s'; choose " FORMATS, name);
    if (*format && command_value(line, "partition"))
        return status_fail(status, STATUS_USAGE, "--partition is for --format parquet");
    if (table && strcmp(name, "csv") != 0 && !is_parquet(name))
        return status_fail(status, STATUS_USAGE,
                           "--table is for --format csv and parquet; %s holds all tables", name);
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

static bool parquet_options(const struct command_line *line, struct parquet_request *request,
                            struct status *status) {
    const char *partition = command_value(line, "partition");
    bool folder = parquet_is_folder(request->path);
    request->by_step = !partition || strcmp(partition, "rank,step") == 0;
    if (partition && !folder)
        return status_fail(status, STATUS_USAGE, "--partition needs a folder: -o DIR/");
    if (folder && command_value(line, "table"))
        return status_fail(status, STATUS_USAGE,
                           "a folder holds all tables; --table is for a single file");
    return true;
}

static int run_parquet(const struct command_line *line, const struct import_options *import,
                       const struct export_options *settings) {
    struct parquet_request request = {.path = command_value(line, "output"),
                                      .replace = command_flag(line, "force"),
                                      .table = settings->table};
    const char *source = command_arguments(line, NULL)[0];
    struct status status = {0};
    struct trace *trace = NULL;
    if (!parquet_options(line, &request, &status))
        return command_usage(line, "%s", status.message);
    bool ok = import_open(source, import, &trace, &status);
    if (ok && !parquet_export(trace, &request, &status)) {
        ok = false;
        if (status.code == STATUS_INPUT)
            status_context(&status, "%s", source);
    }
    trace_close(trace);
    return ok ? 0 : command_fail(line, &status);
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
    if ((!format || format->binary) && is_standard_output(path) && isatty(STDOUT_FILENO))
        return command_usage(line, "%s is a binary format; write it to a file with -o FILE",
                             format ? format->name : "parquet");
    if (!format)
        return run_parquet(line, &import, &settings);
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
        "parquet is one table for DuckDB, pandas, Polars, Spark and ClickHouse, with a column for "
        "the rank and the step; with -o DIR/ all tables, in DIR/rank=R/step=S/TABLE.parquet. "
        "csv is one table for a spreadsheet, with names in place of ids; a cell that a spreadsheet "
        "would run as a formula gets an apostrophe in front. folded (for flamegraph.pl), "
        "speedscope "
        "and pprof are flame graphs of the stacks: the device time that their calls launched, and "
        "CPU samples.\n\n"
        "Times are exact to the nanosecond in all of them. Exports are for other programs; to keep "
        "a trace, keep the .ridge file.",
    .examples = "ridge export t.ridge -o t.pftrace\topen it in ui.perfetto.dev\n"
                "ridge export nsys.sqlite --format chrome -o t.json\tfrom any trace\n"
                "ridge export t.ridge --format csv --table call > calls.csv\tone table\n"
                "ridge export job.ridge --format parquet -o job/\tfor DuckDB, by rank and step",
    .options = options,
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run_export,
};
