/* Opens any trace file. The format is detected from the content, after decompression. A foreign
 * trace is imported into an unnamed temporary .ridge file, stored uncompressed because it lives
 * only as long as the command; a .ridge file is read in place. Input from a pipe is copied to a
 * temporary file first, because importers may read a source twice. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/checksum.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/temporary.h"
#include "import/import.h"
#include "trace/merge.h"

static const struct importer *const importers[] = {
    &import_kineto,       &import_nsys,      &import_xctrace,      &import_rpd,
    &import_xplane,       &import_perfetto,  &import_perf_script,  &import_folded,
    &import_speedscope,   &import_rocprof,   &import_rocpd,        &import_ncu_report,
    &import_ncu_text,     &import_perf_data, &import_torch_memory, &import_pstats,
    &import_rocprof_json, &import_proton,    &import_gecko,        &import_tracemalloc,
    &import_memray,       &import_austin,
};
enum { IMPORTERS = ARRAY_COUNT(importers) };

/* A file to import. */
struct source_file {
    struct import_source source;
    unsigned char head[IMPORT_HEAD_BYTES];
    char *temporary_copy;     /* a copy of what a pipe delivered, or NULL */
    uint64_t size;            /* bytes, 0 for a folder */
    bool compressed;          /* gzip or zstd */
    struct status head_error; /* why the head could not be read completely */
};

static void source_file_close(struct source_file *file) {
    if (file)
        temporary_remove(file->temporary_copy);
    memory_free(file);
}

static bool copy_stream(int from, int to, struct status *status) {
    char block[64 * 1024];
    for (;;) {
        ssize_t got = read(from, block, sizeof block);
        if (got == 0)
            return true;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return status_fail_errno(status, "cannot read");
        if (!output_write_fd(to, block, (size_t)got, status))
            return status_context(status,
                                  "its temporary copy (set TMPDIR to a folder with enough space)");
    }
}

static bool copy_pipe(struct source_file *file, int from, struct status *status) {
    int to;
    if (!temporary_file(&file->temporary_copy, &to, status))
        return false;
    bool ok = copy_stream(from, to, status);
    struct stat info;
    if (ok && fstat(to, &info) == 0)
        file->size = (uint64_t)info.st_size;
    close(to);
    file->source.path = file->temporary_copy;
    return ok;
}

/* Gets the file's type and size; reads a pipe to its end. */
static bool inspect_file(struct source_file *file, const char *path, struct status *status) {
    struct stat info;
    bool standard_input = strcmp(path, "-") == 0;
    file->source.path = path;
    if ((standard_input ? fstat(STDIN_FILENO, &info) : stat(path, &info)) != 0)
        return status_fail_errno(status, "cannot open");
    file->size = (uint64_t)info.st_size;
    file->source.is_folder = S_ISDIR(info.st_mode);
    if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode))
        return status_fail(status, STATUS_INPUT, "is a device, not a trace; pass a trace file");
    if (standard_input)
        return copy_pipe(file, STDIN_FILENO, status);
    if (S_ISREG(info.st_mode) || file->source.is_folder)
        return true;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return status_fail_errno(status, "cannot open");
    bool ok = copy_pipe(file, fd, status);
    close(fd);
    return ok;
}

/* Reads the first bytes. An error after some bytes is kept: the importer will hit it too, with a
 * better message. */
static bool read_head(struct source_file *file, struct status *status) {
    struct input input;
    file->source.head = file->head;
    if (file->source.is_folder)
        return true;
    if (access(file->source.path, R_OK) != 0)
        return status_fail_errno(status, "cannot open");
    if (!input_open(&input, file->source.path, status))
        return false;
    file->compressed = input.compression != 0;
    while (input.length < IMPORT_HEAD_BYTES && !input.at_end)
        if (!input_more(&input, 2 * IMPORT_HEAD_BYTES, &file->head_error))
            break;
    size_t length = input.length < IMPORT_HEAD_BYTES ? input.length : IMPORT_HEAD_BYTES;
    if (length)
        memcpy(file->head, input.data, length);
    file->source.head_length = length;
    input_close(&input);
    if (length == 0 && file->head_error.code != STATUS_OK) {
        *status = file->head_error;
        return false;
    }
    return true;
}

static struct source_file *source_file_open(const char *path, struct status *status) {
    struct source_file *file = memory_allocate(1, sizeof *file, status);
    if (file && inspect_file(file, path, status) && read_head(file, status))
        return file;
    source_file_close(file);
    return NULL;
}

/* The importer with the highest confidence, or NULL and a status. */
static const struct importer *choose_importer(const struct source_file *file,
                                              struct status *status) {
    const struct importer *best = NULL;
    int best_confidence = 0;
    for (unsigned i = 0; i < IMPORTERS; i++) {
        int confidence = importers[i]->detect(&file->source);
        if (confidence > best_confidence) {
            best_confidence = confidence;
            best = importers[i];
        }
    }
    const char *other = best_confidence == 1 ? import_known_json(&file->source) : NULL;
    if (other) {
        status_fail(status, STATUS_INPUT, "%s", other);
        return NULL;
    }
    if (best && best->run)
        return best;
    if (best)
        status_fail(
            status, STATUS_UNSUPPORTED,
            "is a %s trace, but this ridge was built without %s; install it and build ridge again",
            best->format, best->missing);
    else if (file->head_error.code != STATUS_OK)
        *status = file->head_error;
    else
        import_explain_unknown(&file->source, status);
    return NULL;
}

/* The session id of a recording: the same file at the same position of the same command always gets
 * the same id. */
static uint64_t session_id(const struct source_file *file, const char *path, size_t index) {
    uint64_t parts[4] = {
        checksum64(path, strlen(path)),
        checksum64(file->head, file->source.head_length),
        file->size,
        index,
    };
    return checksum64(parts, sizeof parts);
}

/* The number after the last "rank" in the name of the file: rank0.json, trace_rank_3.json.gz,
 * rank-34.pt.trace.json. */
static void write_file_rank(struct trace_writer *writer, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *found = NULL;
    for (const char *at = strstr(name, "rank"); at; at = strstr(at + 4, "rank"))
        found = at + 4;
    if (found && strchr("-_.=", *found) && *found)
        found++;
    size_t digits = found ? strspn(found, "0123456789") : 0;
    if (digits > 0 && digits < 8)
        trace_writer_meta(writer, META_FILE_RANK, (struct text){found, digits});
}

/* Runs the importer. *write_failed distinguishes a failed write from a failed read. */
static bool import_foreign(const struct source_file *file, const char *path, size_t index, int fd,
                           int level, const struct import_options *options, bool *write_failed,
                           struct status *status) {
    const struct importer *importer = choose_importer(file, status);
    if (!importer)
        return false;
    uint64_t session = session_id(file, path, index);
    struct trace_writer *writer = trace_writer_create(
        fd, &(struct trace_writer_options){.session = session, .writer = index + 1, .level = level},
        status);
    if (!writer)
        return false;
    trace_writer_meta(writer, META_SOURCE_FILE, text_of(path));
    write_file_rank(writer, path);
    bool ok = importer->run(&file->source, options, writer, status);
    *write_failed = trace_writer_failed(writer);
    if (ok || *write_failed) {
        ok = trace_writer_finish(writer, status);
        *write_failed = !ok;
    }
    trace_writer_destroy(writer);
    return ok;
}

static bool import_one(const struct source_file *file, const char *path, size_t index, int fd,
                       int level, const struct import_options *options, struct merge *merge,
                       bool *write_failed, struct status *status) {
    if (trace_detect(file->head, file->source.head_length))
        return merge_trace(merge, file->source.path, path, fd, write_failed, status);
    if (!import_foreign(file, path, index, fd, level, options, write_failed, status))
        return false;
    return merge_claim(merge, session_id(file, path, index), index + 1, status);
}

static bool open_through_temporary(const struct source_file *file, const char *path,
                                   const struct import_options *options, struct trace **trace,
                                   struct status *status) {
    char *name;
    int fd;
    if (!temporary_file(&name, &fd, status))
        return false;
    temporary_remove(name);
    struct merge merge = {0};
    bool write_failed = false;
    bool ok = import_one(file, path, 0, fd, 0, options, &merge, &write_failed, status);
    if (!ok && write_failed && status->code == STATUS_IO)
        status_context(status, "its temporary trace (set TMPDIR to a folder with enough space)");
    if (!ok)
        status_context(status, "%s", path);
    ok = ok && trace_open_fd(fd, path, trace, status);
    merge_finish(&merge);
    close(fd);
    return ok;
}

bool import_open(const char *path, const struct import_options *options, struct trace **trace,
                 struct status *status) {
    struct source_file *file = source_file_open(path, status);
    if (!file)
        return status_context(status, "%s", path);
    bool ok;
    if (!file->compressed && !file->temporary_copy &&
        trace_detect(file->head, file->source.head_length))
        ok = trace_open(path, trace, status);
    else
        ok = open_through_temporary(file, path, options, trace, status);
    source_file_close(file);
    return ok;
}

bool import_files(const char *const *paths, size_t count, int fd,
                  const struct import_options *options, struct status *status) {
    enum { LEVEL = 3 };
    struct merge merge = {0};
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++) {
        bool write_failed = false;
        struct source_file *file = source_file_open(paths[i], status);
        ok = file &&
             import_one(file, paths[i], i, fd, LEVEL, options, &merge, &write_failed, status);
        if (!ok && !write_failed)
            status_context(status, "%s", paths[i]);
        source_file_close(file);
    }
    merge_finish(&merge);
    return ok;
}
