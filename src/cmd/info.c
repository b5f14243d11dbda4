/* `ridge info`: what does a trace hold, and how far can it be trusted? Gathers counts and spans
 * here; info_text.c and info_json.c print them. Only the time columns are loaded, one table after
 * another, so a large trace costs little. */
#include "cmd/info.h"

#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "cmd/command.h"
#include "import/import.h"

static const int64_t *time_column(const struct trace *trace, unsigned table, const char *name) {
    const struct table_info *info = &trace_tables[table];
    for (unsigned column = 0; column < info->column_count; column++)
        if (strcmp(info->columns[column].name, name) == 0)
            return trace_column(trace, table, column);
    return NULL;
}

static bool find_span(struct trace *trace, unsigned table, struct info_span *span,
                      struct status *status) {
    *span = (struct info_span){.rows = trace_rows(trace, table)};
    if (span->rows == 0)
        return true;
    if (!trace_load(trace, table, "start time duration", status))
        return false;
    const int64_t *start = time_column(trace, table, "start");
    const int64_t *duration = time_column(trace, table, "duration");
    if (!start)
        start = time_column(trace, table, "time");
    span->first = start[0];
    span->last = INT64_MIN;
    for (size_t i = 0; i < span->rows; i++) {
        int64_t end;
        if (__builtin_add_overflow(start[i], duration ? duration[i] : 0, &end))
            end = INT64_MAX;
        if (start[i] < span->first)
            span->first = start[i];
        if (end > span->last)
            span->last = end;
    }
    trace_unload(trace, table, "start");
    trace_unload(trace, table, "time");
    trace_unload(trace, table, "duration");
    return true;
}

static void join_spans(struct info *info) {
    info->all = (struct info_span){.first = INT64_MAX, .last = INT64_MIN};
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++) {
        const struct info_span *span = &info->spans[table];
        info->all.rows += span->rows;
        if (span->rows && span->first < info->all.first)
            info->all.first = span->first;
        if (span->rows && span->last > info->all.last)
            info->all.last = span->last;
    }
    if (info->all.rows == 0)
        info->all.first = info->all.last = 0;
}

/* Kernels, copies and sets of every queue and device. */
static bool count_work(struct info *info, struct status *status) {
    struct trace *trace = info->trace;
    info->queues = memory_allocate(trace->queue.count, sizeof *info->queues, status);
    info->devices = memory_allocate(trace->device.count, sizeof *info->devices, status);
    if (!info->queues || !info->devices || !trace_load(trace, TABLE_ACTIVITY, "queue kind", status))
        return false;
    for (size_t i = 0; i < trace->activity.count; i++) {
        unsigned kind = trace->activity.kind[i];
        if (kind < ACTIVITY_KINDS)
            info->queues[trace->activity.queue[i]].count[kind]++;
    }
    for (size_t queue = 0; queue < trace->queue.count; queue++)
        for (unsigned kind = 0; kind < ACTIVITY_KINDS; kind++)
            info->devices[trace->queue.device[queue]].count[kind] +=
                info->queues[queue].count[kind];
    trace_unload(trace, TABLE_ACTIVITY, "queue");
    trace_unload(trace, TABLE_ACTIVITY, "kind");
    return true;
}

static bool gather(struct info *info, struct status *status) {
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++)
        if (!find_span(info->trace, table, &info->spans[table], status))
            return false;
    join_spans(info);
    return count_work(info, status);
}

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
    bool ok = true;
    if (as_json)
        info_print_json(info, &output);
    else
        ok = info_print_text(info, &output, status);
    if (ok)
        return output_commit(&output, status);
    output_abandon(&output);
    return false;
}

static int run(const struct command_line *line) {
    const char *path = command_arguments(line, NULL)[0];
    struct import_options options = {.skip_invalid = command_flag(line, "skip-invalid")};
    struct status status = {0};
    struct info info = {.path = path};
    if (!import_open(path, &options, &info.trace, &status))
        return command_fail(line, &status);
    info.file_bytes = size_of(path, info.trace);
    bool ok = gather(&info, &status);
    if (!ok)
        status_context(&status, "%s", path);
    const char *format = command_value(line, "format");
    bool as_json = command_flag(line, "json") || (format && strcmp(format, "json") == 0);
    ok = ok && print(&info, as_json, &status);
    memory_free(info.queues);
    memory_free(info.devices);
    trace_close(info.trace);
    return ok ? 0 : command_fail(line, &status);
}

static const struct command_option options[] = {
    {"format", 0, "text|json", "how to print it (default: text)"},
    {"json", 0, NULL, "short for --format json"},
    {"skip-invalid", 0, NULL, "drop and count events with impossible times instead of stopping"},
    {0},
};

const struct command command_info = {
    .name = "info",
    .arguments = "TRACE",
    .summary = "Say what a trace holds and how far it can be trusted",
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
    .run = run,
};
