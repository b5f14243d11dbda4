/* SQLite exports of Nsight Systems, schemas 2.9 to 3.25. Tables and columns differ between
 * versions, so each is looked up and none is required. The .nsys-rep file itself is in a closed
 * format: nsys exports it where it is installed, else the message has the command. Times are
 * relative to the start of the session, whose Unix time the report has. */
#include "import/nsys/nsys.h"

#include <stdio.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/program.h"
#include "base/temporary.h"

static bool ends_with(const char *path, const char *ending) {
    size_t length = strlen(path), wanted = strlen(ending);
    return length >= wanted && strcmp(path + length - wanted, ending) == 0;
}

static bool has_signature(const struct import_source *source) {
    static const char signature[] = "NVIDIA Tegra Profiler Report";
    return source->head_length >= sizeof signature - 1 &&
           memcmp(source->head, signature, sizeof signature - 1) == 0;
}

/* 3 by content; 1 by name alone, for a binary file of unknown content. */
static int detect_report(const struct import_source *source) {
    if (source->is_folder || sqlite_source_detect(source->head, source->head_length))
        return 0;
    if (has_signature(source))
        return 3;
    bool named = ends_with(source->path, ".nsys-rep") || ends_with(source->path, ".qdrep");
    return named && source->head_length > 0 && memchr(source->head, 0, source->head_length) ? 1 : 0;
}

static bool explain_report(const struct import_source *source, struct status *status) {
    const char *name = strrchr(source->path, '/');
    name = name ? name + 1 : source->path;
    const char *dot = strrchr(name, '.');
    int stem = dot ? (int)(dot - source->path) : (int)strlen(source->path);
    return status_fail(
        status, STATUS_UNSUPPORTED,
        "is an Nsight Systems report in a closed format; export it first: nsys export "
        "--type sqlite -o %.*s.sqlite %s",
        stem, source->path, source->path);
}

#ifdef RIDGE_HAVE_SQLITE

bool nsys_next(struct nsys *nsys, struct sqlite_rows *rows, struct status *status) {
    if (nsys->events % 4096 == 0 && trace_writer_failed(nsys->writer))
        return false;
    if (!sqlite_rows_next(rows, status))
        return false;
    nsys->events++;
    return true;
}

bool nsys_span(struct nsys *nsys, struct sqlite_rows *rows, int64_t *start, int64_t *duration,
               struct status *status) {
    if (!sqlite_rows_span(rows, nsys->options, nsys->writer, start, duration, status))
        return false;
    if (*start + *duration > nsys->last_time)
        nsys->last_time = *start + *duration;
    return true;
}

static bool is_export(struct sqlite_source *source) {
    static const char *const tables[] = {
        "META_DATA_EXPORT",  "EXPORT_META_DATA", "TARGET_INFO_SESSION_START_TIME",
        "NVTX_EVENTS",       "COMPOSITE_EVENTS", "GPU_METRICS",
        "PROFILER_OVERHEAD", "OSRT_API",         "TARGET_INFO_GPU",
    };
    if (sqlite_source_has_prefix(source, "CUPTI_ACTIVITY_KIND_"))
        return true;
    for (size_t i = 0; i < ARRAY_COUNT(tables); i++)
        if (sqlite_source_has_table(source, tables[i]))
            return true;
    return false;
}

/* Accepts any SQLite database as a last resort, so that an unknown one gets a message that
 * describes it. */
static int nsys_detect(const struct import_source *source) {
    struct sqlite_source database;
    struct status ignored = {0};
    if (source->is_folder || !sqlite_source_detect(source->head, source->head_length))
        return detect_report(source);
    if (!sqlite_source_open(&database, source->path, &ignored))
        return 1;
    int confidence = is_export(&database) ? 3 : 1;
    sqlite_source_close(&database);
    return confidence;
}

static bool explain_unknown_schema(struct sqlite_source *source, struct status *status) {
    char tables[240];
    if (sqlite_source_has_table(source, "ridge_meta"))
        return status_fail(status, STATUS_INPUT,
                           "is a database that 'ridge export' wrote for other programs; pass the "
                           ".ridge file that it was exported from");
    sqlite_source_list_tables(source, tables, sizeof tables);
    return status_fail(status, STATUS_INPUT,
                       "is a SQLite database, but not one that ridge reads (exports of Nsight "
                       "Systems and RPD traces); its tables are: %s",
                       tables[0] ? tables : "none");
}

/* The command and its arguments are separate rows, among those of the environment. */
static bool read_command(struct nsys *nsys, struct status *status) {
    struct sqlite_rows rows;
    struct buffer command = {0};
    sqlite_rows_open(&rows, &nsys->source, "META_DATA_CAPTURE", "name value", NULL, status);
    while (sqlite_rows_next(&rows, status)) {
        struct text name = sqlite_rows_text(&rows, 0), value = sqlite_rows_text(&rows, 1);
        bool first = text_is(name, "PROCESS_0:COMMAND");
        if (!first && !text_starts(name, "PROCESS_0:ARGUMENT_"))
            continue;
        if (command.length > 0)
            buffer_byte(&command, ' ');
        buffer_text(&command, value);
    }
    if (command.length > 0 || command.failed)
        trace_writer_meta_of(nsys->writer, META_COMMAND, &command);
    buffer_finish(&command);
    return sqlite_rows_close(&rows);
}

struct export_info {
    char product[64], version[64], schema[64];
    bool unix_times; /* the exporter has normalized times */
};

static void copy_text(char *to, size_t size, struct text text) {
    snprintf(to, size, "%.*s", text.length < size ? (int)text.length : (int)size - 1, text.data);
}

static bool read_export_info(struct nsys *nsys, const char *table, struct export_info *info,
                             struct status *status) {
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &nsys->source, table, "name value", NULL, status);
    while (sqlite_rows_next(&rows, status)) {
        struct text name = sqlite_rows_text(&rows, 0), value = sqlite_rows_text(&rows, 1);
        if (text_is(name, "EXPORT_PRODUCT_NAME"))
            copy_text(info->product, sizeof info->product, value);
        else if (text_is(name, "EXPORT_PRODUCT_VERSION"))
            copy_text(info->version, sizeof info->version, value);
        else if (text_is(name, "EXPORT_SCHEMA_VERSION"))
            copy_text(info->schema, sizeof info->schema, value);
        else if (text_is(name, "EXPORT_PARAM_TIME_NORMALIZE"))
            info->unix_times = text_is(value, "true");
    }
    return sqlite_rows_close(&rows);
}

static bool read_clock(struct nsys *nsys, const struct export_info *info, struct status *status) {
    const int64_t year_2000 = INT64_C(946684800000000000);
    struct sqlite_rows rows;
    int64_t start = 0;
    sqlite_rows_open(&rows, &nsys->source, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs", NULL,
                     status);
    while (start == 0 && sqlite_rows_next(&rows, status))
        start = sqlite_rows_integer(&rows, 0, 0);
    bool valid = start > year_2000 && start < TRACE_TIME_LIMIT;
    if (valid && !info->unix_times)
        trace_writer_meta_integer(nsys->writer, META_CLOCK_OFFSET, start);
    trace_writer_meta(nsys->writer, META_CLOCK_BASE,
                      valid || info->unix_times ? TEXT("unix") : TEXT("trace"));
    return sqlite_rows_close(&rows);
}

static bool read_meta(struct nsys *nsys, struct status *status) {
    struct export_info info = {.product = "NVIDIA Nsight Systems"};
    struct buffer tool = {0};
    if (!read_export_info(nsys, "EXPORT_META_DATA", &info, status) ||
        !read_export_info(nsys, "META_DATA_EXPORT", &info, status))
        return false;
    buffer_string(&tool, info.product);
    if (info.version[0])
        buffer_printf(&tool, " %s", info.version);
    if (info.schema[0])
        buffer_printf(&tool, " (schema %s)", info.schema);
    trace_writer_meta(nsys->writer, META_SOURCE_FORMAT, TEXT("nsys"));
    trace_writer_meta_of(nsys->writer, META_SOURCE_TOOL, &tool);
    buffer_finish(&tool);
    return read_command(nsys, status) && read_clock(nsys, &info, status);
}

/* Warnings and errors of the profiler itself. */
static bool read_diagnostics(struct nsys *nsys, struct status *status) {
    enum { WARNING = 2, ERROR = 3, SHOWN = 20 };
    struct sqlite_rows rows;
    struct intern seen = {0};
    unsigned shown = 0;
    sqlite_rows_open(&rows, &nsys->source, "DIAGNOSTIC_EVENT", "severity text", NULL, status);
    while (sqlite_rows_next(&rows, status)) {
        int64_t severity = sqlite_rows_integer(&rows, 0, 0);
        struct text text = sqlite_rows_text(&rows, 1);
        size_t before = seen.count;
        uint32_t id;
        if ((severity != WARNING && severity != ERROR) || text.length == 0 || shown == SHOWN)
            continue;
        rows.failed = !intern_add(&seen, text, &id, status);
        if (rows.failed || seen.count == before)
            continue;
        struct buffer warning = {0};
        buffer_printf(&warning, "nsys %s: ", severity == ERROR ? "error" : "warning");
        buffer_text(&warning, text);
        trace_writer_meta_of(nsys->writer, META_WARNING, &warning);
        buffer_finish(&warning);
        shown++;
    }
    intern_finish(&seen);
    return sqlite_rows_close(&rows);
}

static void write_summary(struct nsys *nsys) {
    trace_writer_meta_integer(nsys->writer, "source.events", (int64_t)nsys->events);
    sqlite_source_warn(&nsys->source, nsys->writer);
}

static bool read_all(struct nsys *nsys, struct status *status) {
    struct map sync_calls = {0};
    bool ok = read_meta(nsys, status) &&
              sqlite_strings_open(&nsys->strings, &nsys->source, nsys->writer, "StringIds", "value",
                                  status) &&
              nsys_entities_load(nsys, status) && nsys_calls(nsys, &sync_calls, status) &&
              nsys_activities(nsys, status) && nsys_waits(nsys, &sync_calls, status) &&
              nsys_memory(nsys, status) && nsys_ranges(nsys, status) &&
              nsys_samples(nsys, status) && nsys_counters(nsys, status) &&
              read_diagnostics(nsys, status) && sqlite_source_ok(&nsys->source, status);
    if (ok)
        write_summary(nsys);
    map_finish(&sync_calls);
    return ok;
}

static bool read_database(const char *path, const struct import_options *options,
                          struct trace_writer *writer, struct status *status) {
    struct nsys nsys = {.writer = writer, .options = options};
    if (!sqlite_source_open(&nsys.source, path, status))
        return false;
    bool ok = is_export(&nsys.source) ? read_all(&nsys, status)
                                      : sqlite_source_ok(&nsys.source, status) &&
                                            explain_unknown_schema(&nsys.source, status);
    nsys_entities_finish(&nsys);
    sqlite_strings_close(&nsys.strings);
    sqlite_source_close(&nsys.source);
    return ok;
}

/* Runs `nsys export` into a folder. */
static bool export_report(const struct import_source *source, const char *database,
                          const struct import_options *options, struct status *status) {
    static const char *const places[] = {"/usr/local/cuda/bin/nsys",
                                         "/opt/nvidia/nsight-systems/*/bin/nsys", NULL};
    struct buffer program = {0};
    bool found = program_find("nsys", places, &program);
    int result = 0;
    if (found && options->progress)
        options->progress(options->progress_context, "exporting the report with nsys");
    const char *const arguments[] = {program.data,        "export", "--type",   "sqlite",
                                     "--force-overwrite", "true",   "--output", database,
                                     source->path,        NULL};
    bool ok = found && program_run(arguments, &found, &result, status);
    buffer_finish(&program);
    if (!found)
        return explain_report(source, status);
    if (ok && (result != 0 || access(database, R_OK) != 0))
        ok = status_fail(
            status, STATUS_INPUT,
            "is an Nsight Systems report that the installed nsys does not export (status %d); "
            "run 'nsys export --type sqlite %s' to see why: a report needs an nsys of its own "
            "version or a later one",
            result, source->path);
    return ok;
}

static bool read_report(const struct import_source *source, const struct import_options *options,
                        struct trace_writer *writer, struct status *status) {
    char database[4096], *folder;
    if (!temporary_folder(&folder, status))
        return false;
    snprintf(database, sizeof database, "%s/report.sqlite", folder);
    bool ok = export_report(source, database, options, status) &&
              read_database(database, options, writer, status);
    unlink(database);
    rmdir(folder);
    memory_free(folder);
    return ok;
}

static bool nsys_run(const struct import_source *source, const struct import_options *options,
                     struct trace_writer *writer, struct status *status) {
    return detect_report(source) > 0 ? read_report(source, options, writer, status)
                                     : read_database(source->path, options, writer, status);
}

#else

static int nsys_detect(const struct import_source *source) {
    bool database = !source->is_folder && sqlite_source_detect(source->head, source->head_length);
    return database ? 1 : detect_report(source);
}

/* Without SQLite, this still explains what to do with a .nsys-rep. */
static bool nsys_run(const struct import_source *source, const struct import_options *options,
                     struct trace_writer *writer, struct status *status) {
    (void)options, (void)writer;
    if (detect_report(source) > 0)
        return explain_report(source, status);
    return status_fail(status, STATUS_UNSUPPORTED,
                       "is a SQLite database, but this ridge was built without SQLite; install it "
                       "and build ridge again");
}

#endif

const struct importer import_nsys = {.format = "nsys", .detect = nsys_detect, .run = nsys_run};
