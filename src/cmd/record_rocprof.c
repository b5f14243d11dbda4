/* Records HIP programs with AMD's rocprofv3: `ridge record` where ROCm is installed.
 *
 * The recorder runs rocprofv3 in place of the program, which becomes the program. Afterwards its
 * JSON is imported into the trace. A program that did nothing on a GPU leaves no records: then the
 * trace is what the recorder itself saw. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* nftw() */
#endif
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/program.h"
#include "base/temporary.h"
#include "cmd/record.h"
#include "import/import.h"
#include "record/trace_file.h"

enum { RESULTS_MAX = 256, DESCRIPTORS = 16 };

static bool find_rocprof(struct buffer *path) {
    static const char *const places[] = {"/opt/rocm/bin/rocprofv3", "/opt/rocm-*/bin/rocprofv3",
                                         NULL};
    return program_find("rocprofv3", places, path);
}

bool record_uses_rocprof(const struct record_options *options) {
    struct buffer path = {0};
    bool has_amd = access("/dev/kfd", F_OK) == 0 && access("/dev/nvidiactl", F_OK) != 0;
    bool found =
        options->backend == RECORD_AUTO && !options->attach && has_amd && find_rocprof(&path);
    buffer_finish(&path);
    return found || options->backend == RECORD_ROCM;
}

/* Options that rocprofv3 has no counterpart for. */
static bool check_options(const struct command_line *line, const struct record_options *options,
                          struct status *status) {
    static const char *const without[] = {"delay", "duration", "capture-range", "max-size",
                                          "ring",  "graph",    "vulkan",        NULL};
    for (const char *const *option = without; *option; option++)
        if (command_value(line, *option))
            return status_fail(status, STATUS_USAGE, "--%s is not available with rocprofv3",
                               *option);
    if (options->attach)
        return status_fail(status, STATUS_USAGE,
                           "rocprofv3 records programs that ridge starts; "
                           "leave out -p");
    return true;
}

/* ---- its results ---- */

/* nftw() has no context. */
static struct results {
    char *paths[RESULTS_MAX];
    size_t count;
} results;

static int find_result(const char *path, const struct stat *info, int kind, struct FTW *place) {
    static const char ending[] = "_results.json";
    struct status ignored = {0};
    size_t length = strlen(path);
    (void)info, (void)place;
    if (kind == FTW_F && results.count < RESULTS_MAX && length > sizeof ending &&
        strcmp(path + length - (sizeof ending - 1), ending) == 0 &&
        (results.paths[results.count] = text_copy(text_of(path), &ignored)))
        results.count++;
    return 0;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info, (void)kind, (void)place;
    remove(path);
    return 0;
}

static void forget_results(const char *folder) {
    for (size_t i = 0; i < results.count; i++)
        memory_free(results.paths[i]);
    results.count = 0;
    nftw(folder, remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}

/* Processes without GPU work leave files without events. */
static void keep_readable(void) {
    size_t kept = 0;
    for (size_t i = 0; i < results.count; i++) {
        struct status ignored = {0};
        struct trace *trace = NULL;
        bool good = import_open(results.paths[i], &(struct import_options){0}, &trace, &ignored);
        trace_close(trace);
        if (good)
            results.paths[kept++] = results.paths[i];
        else
            memory_free(results.paths[i]);
    }
    results.count = kept;
}

static void count_rows(const struct record_file *file, struct record_summary *summary) {
    struct status ignored = {0};
    struct trace *trace;
    if (!trace_open_fd(file->fd, file->path, &trace, &ignored))
        return;
    summary->kernels = summary->copies = 0;
    if (trace_load(trace, TABLE_ACTIVITY, "kind", &ignored))
        for (size_t i = 0; i < trace->activity.count; i++) {
            summary->kernels += trace->activity.kind[i] == ACTIVITY_KERNEL;
            summary->copies += trace->activity.kind[i] == ACTIVITY_COPY;
        }
    summary->calls = trace_rows(trace, TABLE_CALL);
    summary->ranges = trace_rows(trace, TABLE_RANGE);
    summary->samples = trace_rows(trace, TABLE_SAMPLE);
    trace_close(trace);
}

/* Writes the trace: the results, or what the recorder saw. */
static bool write_trace(const struct record_options *options, const char *own,
                        struct record_summary *summary, struct status *status) {
    struct record_file file;
    struct import_options import = {0};
    const char *const host[] = {own};
    keep_readable();
    if (results.count == 0)
        record_note(summary, "rocprofv3 recorded no work of a GPU; the trace has the CPU alone");
    bool ok = record_open_output(&file, options, summary->target.pid, status);
    if (ok) {
        ok = import_files(results.count ? (const char *const *)results.paths : host,
                          results.count ? results.count : 1, file.fd, &import, status);
        if (ok)
            count_rows(&file, summary);
        else
            record_file_discard(&file);
        ok = ok && record_file_commit(&file, status);
        snprintf(summary->path, sizeof summary->path, "%s", file.path);
        summary->bytes = record_file_bytes(&file);
        ok = record_file_close(&file, status) && ok;
    }
    return ok;
}

/* ---- the recording ---- */

static const char **wrap_command(char *const *command, const char *program, const char *folder,
                                 struct status *status) {
    const char *const front[] = {
        program, "--runtime-trace", "--output-format", "json", "-d", folder, "-o", "ridge", "--"};
    enum { FRONT = sizeof front / sizeof front[0] };
    size_t count = 0;
    while (command[count])
        count++;
    const char **words = memory_allocate(FRONT + count + 1, sizeof *words, status);
    for (size_t i = 0; words && i < FRONT; i++)
        words[i] = front[i];
    for (size_t i = 0; words && i < count; i++)
        words[FRONT + i] = command[i];
    return words;
}

static bool record_in(const struct record_options *options, const char *program, const char *folder,
                      struct record_summary *summary, struct status *status) {
    char own[4096];
    const char **words = wrap_command(options->command, program, folder, status);
    struct record_options wrapped = *options;
    if (!words)
        return false;
    snprintf(own, sizeof own, "%s/cpu.ridge", folder);
    wrapped.command = (char *const *)words;
    wrapped.output = own;
    wrapped.backend = RECORD_CPU;
    bool ok = record_program(&wrapped, summary, status);
    memory_free(words);
    if (!ok || summary->no_trace)
        return ok;
    nftw(folder, find_result, DESCRIPTORS, FTW_PHYS);
    struct status why = {0};
    if (!write_trace(options, own, summary, &why)) {
        record_note(summary, "%s", why.message);
        summary->no_trace = true;
    }
    return true;
}

bool record_run_rocprof(const struct command_line *line, const struct record_options *options,
                        struct record_summary *summary, struct status *status) {
    struct buffer program = {0};
    char *folder = NULL;
    if (!check_options(line, options, status))
        return false;
    bool ok = find_rocprof(&program) ||
              status_fail(status, STATUS_UNSUPPORTED,
                          "rocprofv3 is not installed; it is part of ROCm 6.2 and later "
                          "(rocprofiler-sdk)");
    ok = ok && temporary_folder(&folder, status);
    ok = ok && record_in(options, program.data, folder, summary, status);
    if (folder)
        forget_results(folder);
    memory_free(folder);
    buffer_finish(&program);
    return ok;
}
