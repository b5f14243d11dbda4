/* Records with Apple's xctrace, then imports the bundle into the trace: `ridge record` on macOS.
 *
 * A recording is never lost: if it cannot be imported, the bundle is kept, and the message has the
 * command to try again. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "cmd/record.h"
#include "cmd/terminal.h"
#include "import/import.h"
#include "record/xctrace_record.h"

bool record_uses_xctrace(const struct command_line *line, const struct record_options *options) {
    (void)line;
#ifdef __APPLE__
    if (options->backend == RECORD_AUTO && access("/usr/bin/xctrace", X_OK) == 0)
        return true;
#endif
    return options->backend == RECORD_XCTRACE;
}

/* Options that xctrace has no counterpart for. */
static bool check_options(const struct command_line *line, struct status *status) {
    static const char *const without[] = {"delay",  "capture-range", "max-size", "ring",
                                          "graph",  "sample-rate",   "stacks",   "store-env",
                                          "vulkan", "python-lines",  NULL};
    for (const char *const *option = without; *option; option++)
        if (command_value(line, *option))
            return status_fail(status, STATUS_USAGE, "--%s is not available with xctrace", *option);
    return true;
}

/* Shown only once the program has ended: before, the terminal is the program's. */
static void show_progress(void *context, const char *what) {
    struct progress **progress = context;
    if (*progress)
        progress_say(*progress, what);
    else
        *progress = progress_begin(what, -1);
}

/* The name of the trace with the ending .trace. */
static void bundle_name(const char *trace, char *name, size_t capacity) {
    size_t length = strlen(trace);
    if (length > 6 && strcmp(trace + length - 6, ".ridge") == 0)
        length -= 6;
    snprintf(name, capacity, "%.*s.trace", (int)length, trace);
}

static void keep_bundle(struct xctrace_record *record, struct record_summary *summary,
                        const char *reason) {
    char name[4096 + 8];
    struct status why = {0};
    bundle_name(record->file.path, name, sizeof name);
    if (!xctrace_record_keep(record, name, &why))
        record_note(summary, "the .trace bundle is not kept: %s", why.message);
    else if (reason)
        record_note(summary, "%s; the recording is kept, try ridge import %s", reason, name);
    else
        record_note(summary, "the .trace bundle is %s", name);
}

/* An exit status as wait() reports it: the table of contents has 128 + n for signal n. */
static int wait_status_of(int64_t exit_status) {
    return exit_status > 128 && exit_status < 160 ? (int)exit_status - 128 : (int)exit_status << 8;
}

static void count_activities(struct trace *trace, struct record_summary *summary) {
    struct status ignored = {0};
    if (!trace_load(trace, TABLE_ACTIVITY, "kind", &ignored))
        return;
    for (size_t i = 0; i < trace->activity.count; i++) {
        summary->kernels += trace->activity.kind[i] == ACTIVITY_KERNEL;
        summary->copies += trace->activity.kind[i] == ACTIVITY_COPY;
    }
}

/* Counts what was imported, and repeats the warnings of the import. */
static bool read_back(struct record_file *file, struct record_summary *summary,
                      struct status *status) {
    struct trace *trace;
    uint64_t exit_status;
    if (!trace_open_fd(file->fd, file->path, &trace, status))
        return false;
    count_activities(trace, summary);
    summary->processes = 1;
    summary->calls = trace_rows(trace, TABLE_CALL);
    summary->ranges = trace_rows(trace, TABLE_RANGE);
    summary->samples = trace_rows(trace, TABLE_SAMPLE);
    summary->lost =
        (uint64_t)(trace_meta_sum(trace, META_DROPS) +
                   trace_meta_sum(trace, "xctrace.command_buffers_without_gpu_interval"));
    for (size_t i = 0; i < trace->meta.count; i++)
        if (text_is(trace_text(trace, trace->meta.key[i]), META_WARNING))
            record_note(summary, "%.*s", TEXT_ARGS(trace_text(trace, trace->meta.value[i])));
    if (text_to_u64(trace_meta(trace, "target.status"), &exit_status))
        summary->target.wait_status = wait_status_of((int64_t)exit_status);
    else if (!summary->target.attached)
        record_note(summary, "Instruments did not record the program's exit status");
    trace_close(trace);
    return true;
}

static int64_t own_processor_ns(void) {
    struct rusage self = {0}, children = {0};
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    return ((int64_t)self.ru_utime.tv_sec + self.ru_stime.tv_sec + children.ru_utime.tv_sec +
            children.ru_stime.tv_sec) *
               1000000000 +
           ((int64_t)self.ru_utime.tv_usec + self.ru_stime.tv_usec + children.ru_utime.tv_usec +
            children.ru_stime.tv_usec) *
               1000;
}

/* xctrace has launched ridge, so the table of contents does not name the program. */
static bool import_bundle(struct xctrace_record *record, char *const *command,
                          struct record_summary *summary, struct status *status) {
    struct buffer text = {0};
    const char *paths[] = {record->bundle};
    struct record_file *file = &record->file;
    if (!summary->target.attached) {
        record_command_text(command, &text);
        buffer_byte(&text, 0);
    }
    struct import_options options = {.progress = record->progress,
                                     .progress_context = record->progress_context,
                                     .command = text.data};
    bool ok = buffer_ok(&text, status) && import_files(paths, 1, file->fd, &options, status);
    buffer_finish(&text);
    if (!ok || !read_back(file, summary, status) || !record_file_commit(file, status))
        return false;
    snprintf(summary->path, sizeof summary->path, "%s", file->path);
    summary->bytes = record_file_bytes(file);
    return record_file_close(file, status);
}

bool record_run_xctrace(const struct command_line *line, const struct record_options *options,
                        struct record_summary *summary, struct status *status) {
    struct progress *progress = NULL;
    struct xctrace_record record = {.file.fd = -1,
                                    .progress = command_flag(line, "quiet") ? NULL : show_progress,
                                    .progress_context = &progress};
    if (!check_options(line, status))
        return false;
    bool ok = xctrace_record(&record, options, summary, status);
    if (ok && !record.bundle[0]) {
        summary->no_trace = true;
    } else if (ok) {
        struct status why = {0};
        bool imported = import_bundle(&record, options->command, summary, &why);
        progress_end(progress);
        progress = NULL;
        if (!imported || command_flag(line, "keep"))
            keep_bundle(&record, summary, imported ? NULL : why.message);
        summary->no_trace = !imported;
    }
    progress_end(progress);
    summary->recorder_ns = own_processor_ns();
    xctrace_record_finish(&record);
    return ok;
}
