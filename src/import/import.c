/* Which importer reads this file, and what trace comes of it? Files are recognised by content,
 * after gzip or zstd is undone. A foreign trace is imported into a temporary file without a name,
 * stored uncompressed, since it lives only as long as the command; a .ridge file is read in place.
 * What arrives through a pipe is put into a named temporary file first, because importers may
 * read a source twice. */
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
    &import_kineto, &import_nsys,     &import_xctrace,      &import_rpd,
    &import_xplane, &import_perfetto, &import_ridge_sqlite,
};
enum { IMPORTERS = ARRAY_COUNT(importers) };

/* A file as it was found: its kind, its first bytes, and where to read it. */
struct found {
    struct import_source source;
    unsigned char head[IMPORT_HEAD_BYTES];
    char *spool;              /* temporary copy of what came through a pipe, or NULL */
    uint64_t size;            /* in bytes, 0 for a folder */
    bool packed;              /* gzip or zstd */
    struct status head_fault; /* why the head ends early, if it does */
};

static void forget(struct found *found) {
    if (found)
        temporary_remove(found->spool);
    memory_free(found);
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
            return status_context(status, "its temporary copy (set TMPDIR to a folder with room)");
    }
}

static bool spool_pipe(struct found *found, int from, struct status *status) {
    int to;
    if (!temporary_named_file(&found->spool, &to, status))
        return false;
    bool ok = copy_stream(from, to, status);
    struct stat info;
    if (ok && fstat(to, &info) == 0)
        found->size = (uint64_t)info.st_size;
    close(to);
    found->source.path = found->spool;
    return ok;
}

/* Finds out what kind of file it is; a pipe is read to its end here. */
static bool examine(struct found *found, const char *path, struct status *status) {
    struct stat info;
    bool standard_input = strcmp(path, "-") == 0;
    found->source.path = path;
    if ((standard_input ? fstat(STDIN_FILENO, &info) : stat(path, &info)) != 0)
        return status_fail_errno(status, "cannot open it");
    found->size = (uint64_t)info.st_size;
    found->source.is_folder = S_ISDIR(info.st_mode);
    if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode))
        return status_fail(status, STATUS_INPUT, "is a device, not a trace; give a trace file");
    if (standard_input)
        return spool_pipe(found, STDIN_FILENO, status);
    if (S_ISREG(info.st_mode) || found->source.is_folder)
        return true;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return status_fail_errno(status, "cannot open it");
    bool ok = spool_pipe(found, fd, status);
    close(fd);
    return ok;
}

/* The first bytes. A fault after some bytes is kept aside: the importer will meet it too, and knows
 * better what to say. */
static bool read_head(struct found *found, struct status *status) {
    struct input input;
    found->source.head = found->head;
    if (found->source.is_folder)
        return true;
    if (access(found->source.path, R_OK) != 0)
        return status_fail_errno(status, "cannot open it");
    if (!input_open(&input, found->source.path, status))
        return false;
    found->packed = input.compression != 0;
    while (input.length < IMPORT_HEAD_BYTES && !input.at_end)
        if (!input_more(&input, 2 * IMPORT_HEAD_BYTES, &found->head_fault))
            break;
    size_t length = input.length < IMPORT_HEAD_BYTES ? input.length : IMPORT_HEAD_BYTES;
    if (length)
        memcpy(found->head, input.data, length);
    found->source.head_length = length;
    input_close(&input);
    if (length == 0 && found->head_fault.code != STATUS_OK) {
        *status = found->head_fault;
        return false;
    }
    return true;
}

static struct found *find(const char *path, struct status *status) {
    struct found *found = memory_allocate(1, sizeof *found, status);
    if (found && examine(found, path, status) && read_head(found, status))
        return found;
    forget(found);
    return NULL;
}

/* The importer that is surest, or NULL and why there is none. */
static const struct importer *choose_importer(const struct found *found, struct status *status) {
    const struct importer *best = NULL;
    int best_confidence = 0;
    for (unsigned i = 0; i < IMPORTERS; i++) {
        int confidence = importers[i]->detect(&found->source);
        if (confidence > best_confidence) {
            best_confidence = confidence;
            best = importers[i];
        }
    }
    if (best && best->run)
        return best;
    if (best)
        status_fail(status, STATUS_UNSUPPORTED,
                    "is a %s trace, which this ridge cannot read because it was built without %s; "
                    "install it and build ridge again",
                    best->format, best->missing);
    else if (found->head_fault.code != STATUS_OK)
        *status = found->head_fault;
    else
        import_explain_unknown(&found->source, status);
    return NULL;
}

/* Distinguishes this recording from all others: the same file at the same place in the same command
 * always gets the same number. */
static uint64_t identify(const struct found *found, const char *path, size_t index) {
    uint64_t parts[4] = {
        checksum64(path, strlen(path)),
        checksum64(found->head, found->source.head_length),
        found->size,
        index,
    };
    return checksum64(parts, sizeof parts);
}

/* Runs the importer; *write_failed tells a failure to write from one to read. */
static bool import_foreign(const struct found *found, const char *path, size_t index, int fd,
                           int level, const struct import_options *options, bool *write_failed,
                           struct status *status) {
    const struct importer *importer = choose_importer(found, status);
    if (!importer)
        return false;
    uint64_t session = identify(found, path, index);
    struct trace_writer *writer = trace_writer_create(
        fd, &(struct trace_writer_options){.session = session, .writer = index + 1, .level = level},
        status);
    if (!writer)
        return false;
    trace_writer_meta(writer, META_SOURCE_FILE, text_of(path));
    bool ok = importer->run(&found->source, options, writer, status);
    *write_failed = trace_writer_failed(writer);
    if (ok || *write_failed) {
        ok = trace_writer_finish(writer, status);
        *write_failed = !ok;
    }
    trace_writer_destroy(writer);
    return ok;
}

static bool import_one(const struct found *found, const char *path, size_t index, int fd, int level,
                       const struct import_options *options, struct merge *merge,
                       bool *write_failed, struct status *status) {
    if (trace_detect(found->head, found->source.head_length))
        return merge_trace(merge, found->source.path, path, fd, write_failed, status);
    if (!import_foreign(found, path, index, fd, level, options, write_failed, status))
        return false;
    return merge_claim(merge, identify(found, path, index), index + 1, status);
}

static bool open_through_temporary(const struct found *found, const char *path,
                                   const struct import_options *options, struct trace **trace,
                                   struct status *status) {
    char *name;
    int fd;
    if (!temporary_file(&name, &fd, status))
        return false;
    unlink(name);
    memory_free(name);
    struct merge merge = {0};
    bool write_failed = false;
    bool ok = import_one(found, path, 0, fd, 0, options, &merge, &write_failed, status);
    if (!ok && write_failed && status->code == STATUS_IO)
        status_context(status, "its temporary trace (set TMPDIR to a folder with room)");
    if (!ok)
        status_context(status, "%s", path);
    ok = ok && trace_open_fd(fd, path, trace, status);
    merge_finish(&merge);
    close(fd);
    return ok;
}

bool import_open(const char *path, const struct import_options *options, struct trace **trace,
                 struct status *status) {
    struct found *found = find(path, status);
    if (!found)
        return status_context(status, "%s", path);
    bool ok;
    if (!found->packed && !found->spool && trace_detect(found->head, found->source.head_length))
        ok = trace_open(path, trace, status);
    else
        ok = open_through_temporary(found, path, options, trace, status);
    forget(found);
    return ok;
}

bool import_files(const char *const *paths, size_t count, int fd,
                  const struct import_options *options, struct status *status) {
    enum { LEVEL = 3 };
    struct merge merge = {0};
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++) {
        bool write_failed = false;
        struct found *found = find(paths[i], status);
        ok = found &&
             import_one(found, paths[i], i, fd, LEVEL, options, &merge, &write_failed, status);
        if (!ok && !write_failed)
            status_context(status, "%s", paths[i]);
        forget(found);
    }
    merge_finish(&merge);
    return ok;
}
