/* Instruments traces: a folder of `xctrace export` tables with their table of contents, a single
 * table, or a .trace bundle, which xctrace exports first.
 *
 * Instruments records the whole machine; only rows of the target process become events. The table
 * of contents names the target; without it, the process with the most rows is used, with a warning.
 * Tables are read one after another as streams, in order of their dependencies. */
#include "import/xctrace/xctrace.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/input.h"
#include "base/memory.h"
#include "import/xctrace/xctrace_files.h"
static int detect_folder(const char *path) {
    struct xctrace_files files = {0};
    struct status ignored = {0};
    int confidence = 0;
    if (xctrace_files_list(path, &files, &ignored)) {
        if (files.is_bundle)
            confidence = 3;
        for (size_t i = 0; i < files.count; i++)
            if (files.files[i].kind == XCTRACE_TOC || files.files[i].kind == XCTRACE_TABLE)
                confidence = 3;
        if (files.count && confidence == 0)
            confidence = 1;
    }
    xctrace_files_finish(&files);
    return confidence;
}

static int xctrace_detect(const struct import_source *source) {
    struct text schema;
    if (source->is_folder)
        return detect_folder(source->path);
    switch (xctrace_file_kind((struct text){(const char *)source->head, source->head_length},
                              &schema)) {
    case XCTRACE_TOC:
    case XCTRACE_TABLE:
        return 3;
    default:
        return 0;
    }
}

#ifdef RIDGE_HAVE_EXPAT

/* ---- import ---- */

/* Rows per process, to choose a target when no table of contents names one. */
struct census {
    struct map rows; /* by pid */
    uint64_t best_pid, best_rows;
};

static const char *const census_columns[] = {"process", "thread", NULL};

static const char *const *census_schema(void *context, struct text name, unsigned run) {
    (void)context, (void)run;
    unsigned rank;
    return xctrace_kind_of(name, &rank) ? census_columns : NULL;
}

static bool census_row(void *context, const struct xctrace_table *table, const uint32_t *cells,
                       struct status *status) {
    struct census *census = context;
    uint64_t pid = xctrace_pid(table, cells[0] ? cells[0] : cells[1]);
    if (pid == 0)
        return true;
    const uint64_t *known = map_find(&census->rows, pid);
    uint64_t rows = known ? *known + 1 : 1;
    if (rows > census->best_rows) {
        census->best_rows = rows;
        census->best_pid = pid;
    }
    return map_set(&census->rows, pid, rows, status);
}

static bool read_table(const char *path, struct xctrace_reader *reader, struct status *status) {
    struct input input;
    if (!input_open(&input, path, status))
        return false;
    bool ok = xctrace_table_read(&input, reader, status);
    input_close(&input);
    return ok;
}

/* The table that is being imported. */
struct document {
    struct xctrace *import;
    const struct xctrace_kind *kind;
    bool failed; /* memory was short while the schema was noted */
    struct status status;
};

static const char *const *document_schema(void *context, struct text name, unsigned run) {
    struct document *document = context;
    struct xctrace *import = document->import;
    unsigned rank;
    document->kind = xctrace_kind_of(name, &rank);
    if (import->run == 0)
        import->run = run;
    if (run && run != import->run) {
        import->other_runs++;
        return NULL;
    }
    uint32_t ignored;
    if (name.length &&
        !intern_add(document->kind ? &import->schemas_read : &import->schemas_unknown, name,
                    &ignored, &document->status))
        document->failed = true;
    return document->kind ? document->kind->columns : NULL;
}

static bool document_row(void *context, const struct xctrace_table *table, const uint32_t *cells,
                         struct status *status) {
    struct document *document = context;
    struct xctrace *import = document->import;
    import->rows++;
    if (import->rows % 4096 == 0 && trace_writer_failed(import->writer))
        return false;
    return document->kind->row(import, table, cells, status);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool import_table(struct xctrace *import, const char *path, struct status *status) {
    struct document document = {.import = import};
    struct xctrace_reader reader = {
        .schema = document_schema, .row = document_row, .context = &document};
    bool ok = read_table(path, &reader, status);
    import->unresolved += reader.unresolved;
    if (ok && document.failed)
        *status = document.status;
    return ok && !document.failed;
}

static bool read_toc(const char *path, struct xctrace_toc *toc, struct status *status) {
    return xctrace_toc_read(path, toc, status) || status_context(status, "%s", base_name(path));
}

static bool count_processes(const struct xctrace_file *tables, size_t count, struct census *census,
                            struct status *status) {
    struct xctrace_reader reader = {.schema = census_schema, .row = census_row, .context = census};
    for (unsigned wanted = 0; xctrace_kinds[wanted] && census->best_pid == 0; wanted++)
        for (size_t i = 0; i < count; i++)
            if (tables[i].kind == XCTRACE_TABLE && tables[i].rank == wanted &&
                !read_table(tables[i].path, &reader, status))
                return count > 1 ? status_context(status, "%s", base_name(tables[i].path)) : false;
    return true;
}

static bool guess_target(struct xctrace *import, const struct xctrace_file *tables, size_t count,
                         struct status *status) {
    struct census census = {0};
    bool ok = count_processes(tables, count, &census, status);
    import->target_pid = census.best_pid;
    if (ok && census.rows.count > 0) {
        struct buffer warning = {0};
        buffer_printf(&warning,
                      "no table of contents names the target process; using process %llu, which "
                      "has the most rows",
                      (unsigned long long)census.best_pid);
        trace_writer_meta_of(import->writer, META_WARNING, &warning);
        buffer_finish(&warning);
    }
    map_finish(&census.rows);
    return ok;
}

/* Chooses the table of contents whose target has rows in the table. */
static bool choose_toc(struct xctrace *import, const struct xctrace_files *beside,
                       const struct xctrace_file *table, struct status *status) {
    struct census census = {0};
    size_t toc_count = 0;
    while (toc_count < beside->count && beside->files[toc_count].kind == XCTRACE_TOC)
        toc_count++;
    bool ok = toc_count < 2 || count_processes(table, 1, &census, status);
    bool chosen = false;
    for (size_t i = 0; ok && !chosen && i < toc_count; i++) {
        struct xctrace_toc toc = {0};
        ok = read_toc(beside->files[i].path, &toc, status);
        chosen = ok && (toc_count == 1 || map_find(&census.rows, toc.target_pid));
        if (chosen)
            import->toc = toc;
        else
            xctrace_toc_finish(&toc);
    }
    map_finish(&census.rows);
    return ok;
}

static void write_text(struct xctrace *import, const char *key, struct text value) {
    if (value.length)
        trace_writer_meta(import->writer, key, value);
}

static void write_joined(struct xctrace *import, const char *key, struct text first,
                         const char *between, struct text second) {
    struct buffer joined = {0};
    buffer_text(&joined, first);
    if (second.length) {
        buffer_string(&joined, between);
        buffer_text(&joined, second);
    }
    if (joined.length || joined.failed)
        trace_writer_meta_of(import->writer, key, &joined);
    buffer_finish(&joined);
}

static void write_clock(struct xctrace *import) {
    int64_t start;
    import->time_limit = TRACE_TIME_LIMIT;
    if (import->toc.start_date.length && xctrace_date(import->toc.start_date, &start)) {
        trace_writer_meta(import->writer, META_CLOCK_BASE, TEXT("unix"));
        trace_writer_meta_integer(import->writer, META_CLOCK_OFFSET, start);
        import->time_limit -= start;
    } else {
        trace_writer_meta(import->writer, META_CLOCK_BASE, TEXT("trace"));
    }
}

/* "exit(3)", "signal(9)": as a shell reports it, 128 + n for signal n. */
static void write_exit_status(struct xctrace *import) {
    struct text reason = import->toc.termination;
    uint64_t number;
    ptrdiff_t at = text_find(reason, "signal");
    if (at < 0)
        at = text_find(reason, "Signal");
    ptrdiff_t open = text_find(reason, "(");
    if (at >= 0 && open >= 0) {
        struct text digits = {reason.data + open + 1, 0};
        while ((size_t)(open + 1) + digits.length < reason.length &&
               digits.data[digits.length] >= '0' && digits.data[digits.length] <= '9')
            digits.length++;
        if (text_to_u64(digits, &number) && number > 0 && number < 128)
            trace_writer_meta_integer(import->writer, "target.status", 128 + (int64_t)number);
    } else if (text_to_u64(import->toc.exit_status, &number) && number < 256) {
        trace_writer_meta_integer(import->writer, "target.status", (int64_t)number);
    }
}

static void write_header(struct xctrace *import) {
    const struct xctrace_toc *toc = &import->toc;
    trace_writer_meta(import->writer, META_SOURCE_FORMAT, TEXT("xctrace"));
    write_joined(import, META_SOURCE_TOOL, TEXT("Instruments"), " ", toc->instruments_version);
    if (import->options->command)
        write_text(import, META_COMMAND, text_of(import->options->command));
    else
        write_joined(import, META_COMMAND, toc->target_name, " ", toc->target_arguments);
    write_text(import, META_HOST, toc->host);
    write_text(import, "host.model", toc->model);
    write_joined(import, "host.system", toc->system, " ", toc->system_version);
    write_text(import, "source.template", toc->template_name);
    write_text(import, "source.recording_mode", toc->recording_mode);
    write_text(import, "source.end_reason", toc->end_reason);
    write_text(import, "source.start_date", toc->start_date);
    write_exit_status(import);
    write_clock(import);
    if (toc->run_count > 1)
        trace_writer_meta(import->writer, META_WARNING,
                          TEXT("the trace contains several runs; only the first was imported"));
}

static void write_count(struct xctrace *import, const char *key, uint64_t count) {
    if (count)
        trace_writer_meta_integer(import->writer, key, (int64_t)count);
}

static void write_counts(struct xctrace *import) {
    trace_writer_meta_integer(import->writer, "source.events", (int64_t)import->rows);
    write_count(import, "xctrace.foreign_gpu_rows", import->foreign);
    write_count(import, "xctrace.nested_gpu_rows", import->nested);
    write_count(import, "xctrace.rows_without_time", import->incomplete);
    write_count(import, "xctrace.unresolved_references", import->unresolved);
    write_count(import, "xctrace.unpaired_signposts", import->unpaired);
    write_count(import, "xctrace.tables_of_other_runs", import->other_runs);
    if (import->unresolved)
        trace_writer_meta(
            import->writer, META_WARNING,
            TEXT("some values refer to ids that the XML does not define and are missing"));
}

/* A list of names, separated by commas. */
static void write_list(struct xctrace *import, const char *key, const struct buffer *list) {
    if (list->length || list->failed)
        trace_writer_meta_of(import->writer, key, list);
}

static void add_name(struct buffer *list, struct text name) {
    if (list->length)
        buffer_string(list, ", ");
    buffer_text(list, name);
}

/* Which tables the recording has and ridge does not read, and which it would read if they were
 * exported. */
static void write_tables(struct xctrace *import) {
    const struct intern *listed = &import->toc.schemas, *unknown = &import->schemas_unknown;
    struct buffer unread = {0}, missing = {0};
    unsigned rank;
    for (uint32_t i = 1; i < unknown->count; i++)
        add_name(&unread, intern_text(unknown, i));
    for (uint32_t i = 1; i < listed->count; i++) {
        struct text schema = intern_text(listed, i);
        if (intern_find(&import->schemas_read, schema) != UINT32_MAX ||
            intern_find(unknown, schema) != UINT32_MAX)
            continue;
        add_name(xctrace_kind_of(schema, &rank) ? &missing : &unread, schema);
    }
    write_list(import, META_NOT_READ, &unread);
    write_list(import, META_NOT_FOUND, &missing);
    buffer_finish(&unread);
    buffer_finish(&missing);
}

/* Instruments sometimes loses the GPU's part of a recording: every command buffer of the target
 * should have an interval. */
static void check_gpu_intervals(struct xctrace *import) {
    struct buffer warning = {0};
    unsigned long long encoded = import->encoded_buffers, executed = import->executed_buffers;
    bool has_table =
        intern_find(&import->schemas_read, text_of(xctrace_gpu_intervals.schema)) != UINT32_MAX;
    write_count(import, "xctrace.command_buffers", encoded);
    if (has_table && encoded)
        write_count(import, "xctrace.command_buffers_without_gpu_interval", encoded - executed);
    if (!has_table)
        return;
    if (encoded && import->gpu_intervals == 0)
        buffer_printf(&warning,
                      "the program committed %llu command buffers, but Instruments recorded no GPU "
                      "interval of it: record again, with other programs that use the GPU closed",
                      encoded);
    else if (import->gpu_intervals == 0 && import->foreign)
        buffer_printf(&warning,
                      "the recording has no GPU work of process %llu, and %llu GPU intervals of "
                      "other processes: if a child process does the work, record that one with "
                      "ridge record -p PID; otherwise record again",
                      (unsigned long long)import->target_pid, (unsigned long long)import->foreign);
    else if (encoded && 10 * executed < 9 * encoded)
        buffer_printf(&warning,
                      "%llu of %llu command buffers of the program have no GPU interval: "
                      "Instruments lost them, so busy time is too low",
                      encoded - executed, encoded);
    if (warning.length || warning.failed)
        trace_writer_meta_of(import->writer, META_WARNING, &warning);
    buffer_finish(&warning);
}

/* The first word of the command without its folder, or what the table of contents names. */
static struct text target_name(const struct xctrace *import) {
    const char *command = import->options->command;
    if (!command)
        return import->toc.target_name;
    size_t length = strcspn(command, " ");
    for (size_t i = length; i > 0; i--)
        if (command[i - 1] == '/')
            return (struct text){command + i, length - i};
    return (struct text){command, length};
}

static void write_target(struct xctrace *import) {
    import->process = trace_write_process(
        import->writer, &(struct row_process){
                            .pid = import->target_pid,
                            .name = trace_writer_string(import->writer, target_name(import)),
                            .host = trace_writer_string(import->writer, import->toc.host),
                        });
}

static bool import_tables(struct xctrace *import, const struct xctrace_file *tables, size_t count,
                          struct status *status) {
    write_header(import);
    if (import->toc.run_count > 1)
        import->run = 1;
    import->target_pid = import->toc.target_pid;
    if (import->target_pid == 0 && !guess_target(import, tables, count, status))
        return false;
    write_target(import);
    for (size_t i = 0; i < count; i++)
        if (tables[i].kind == XCTRACE_TABLE && !import_table(import, tables[i].path, status))
            return count > 1 ? status_context(status, "%s", base_name(tables[i].path)) : false;
    xctrace_signposts_finish(import);
    write_counts(import);
    write_tables(import);
    check_gpu_intervals(import);
    if (!xctrace_waits_infer(import, status))
        return false;
    xctrace_compilations_write(import);
    return true;
}

static bool check_files(const struct xctrace_files *files, struct status *status) {
    size_t tables = 0, contents = 0;
    for (size_t i = 0; i < files->count; i++) {
        const struct xctrace_file *file = &files->files[i];
        if (file->kind == XCTRACE_LFS_POINTER)
            return status_fail(status, STATUS_INPUT,
                               "%s is a Git LFS pointer, not the table itself; run `git lfs pull`",
                               base_name(file->path));
        if (file->kind == XCTRACE_EMPTY)
            return status_fail(status, STATUS_INPUT, "%s is empty; export that table again",
                               base_name(file->path));
        tables += file->kind == XCTRACE_TABLE;
        contents += file->kind == XCTRACE_TOC;
    }
    if (contents > 1)
        return status_fail(status, STATUS_INPUT,
                           "the folder holds %zu tables of contents (%s, %s); put each recording "
                           "into its own folder",
                           contents, base_name(files->files[0].path),
                           base_name(files->files[1].path));
    if (tables == 0)
        return status_fail(
            status, STATUS_INPUT,
            "is a folder without tables that xctrace exported; pass a trace file, or run `xctrace "
            "export --xpath` for tables such as metal-gpu-intervals");
    return true;
}

static bool import_exports(struct xctrace *import, const struct xctrace_files *files,
                           struct status *status) {
    return check_files(files, status) &&
           (files->files[0].kind != XCTRACE_TOC ||
            read_toc(files->files[0].path, &import->toc, status)) &&
           import_tables(import, files->files, files->count, status);
}

static bool import_bundle(struct xctrace *import, const char *bundle, struct status *status) {
    struct xctrace_files files = {0};
    char *folder;
    if (!xctrace_bundle_export(import, bundle, &folder, status))
        return false;
    bool ok = xctrace_files_list(folder, &files, status) && import_exports(import, &files, status);
    xctrace_files_finish(&files);
    xctrace_bundle_remove(folder);
    memory_free(folder);
    return ok;
}

static bool import_folder(struct xctrace *import, const char *folder, struct status *status) {
    struct xctrace_files files = {0};
    bool ok = xctrace_files_list(folder, &files, status);
    if (ok && files.is_bundle && files.count == 0)
        ok = import_bundle(import, folder, status);
    else if (ok)
        ok = import_exports(import, &files, status);
    xctrace_files_finish(&files);
    return ok;
}

/* The folder of a file. */
static char *folder_of(const char *path, struct status *status) {
    const char *slash = strrchr(path, '/');
    if (!slash)
        return text_copy(TEXT("."), status);
    return text_copy((struct text){path, slash == path ? 1 : (size_t)(slash - path)}, status);
}

static bool import_one(struct xctrace *import, const char *path, struct status *status) {
    struct xctrace_file table = {.path = (char *)path};
    if (!xctrace_file_inspect(&table, status))
        return false;
    if (table.kind == XCTRACE_TOC)
        return status_fail(status, STATUS_INPUT,
                           "is a table of contents without events; pass the folder that contains "
                           "it and the exported tables");
    table.kind = XCTRACE_TABLE;
    struct xctrace_files beside = {0};
    struct status unlisted = {0};
    char *folder = folder_of(path, status);
    if (!folder)
        return false;
    bool listed = xctrace_files_list(folder, &beside, &unlisted);
    bool ok = listed || unlisted.code != STATUS_MEMORY || status_no_memory(status);
    ok = ok && choose_toc(import, &beside, &table, status) &&
         import_tables(import, &table, 1, status);
    xctrace_files_finish(&beside);
    memory_free(folder);
    return ok;
}

static void xctrace_finish(struct xctrace *import) {
    xctrace_signposts_finish(import);
    xctrace_toc_finish(&import->toc);
    intern_finish(&import->devices);
    intern_finish(&import->queues);
    map_finish(&import->threads);
    map_finish(&import->device_ids);
    map_finish(&import->queue_ids);
    map_finish(&import->command_buffers);
    xctrace_waits_finish(import);
    xctrace_shaders_finish(import);
    intern_finish(&import->schemas_read);
    intern_finish(&import->schemas_unknown);
    map_finish(&import->samples);
    map_finish(&import->counter_names);
    map_finish(&import->frames);
    map_finish(&import->stacks);
}

static bool xctrace_run(const struct import_source *source, const struct import_options *options,
                        struct trace_writer *writer, struct status *status) {
    struct xctrace import = {.options = options, .writer = writer};
    bool ok = source->is_folder ? import_folder(&import, source->path, status)
                                : import_one(&import, source->path, status);
    xctrace_finish(&import);
    return ok;
}

const struct importer import_xctrace = {"xctrace", xctrace_detect, xctrace_run, NULL};

#else

const struct importer import_xctrace = {"xctrace", xctrace_detect, NULL, "expat"};

#endif
