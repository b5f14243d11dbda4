/* Keeps the trace readable while it grows, and trims it for --ring and --delay.
 *
 * The file consists of chunks only. Trimming copies the chunks to keep to a temporary file, which
 * then takes over the name and the descriptor, so that there is a readable trace at any time. It is
 * done only when the file is much longer than wanted, so each byte is copied a few times at most.
 */
#include "record/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "trace/chunk.h"

/* Errors that the user can correct in the name are STATUS_USAGE. Others (no descriptors, no space)
 * are failures to record. */
static bool fail_to_create(const char *path, struct status *status) {
    static const int wrong_names[] = {EACCES, EPERM,        ENOENT, ENOTDIR, EROFS,   EISDIR, ELOOP,
                                      EINVAL, ENAMETOOLONG, ENXIO,  ENODEV,  ETXTBSY, 0};
    int reason = errno;
    status_fail_errno(status, "cannot create %s", path);
    for (const int *wrong = wrong_names; *wrong; wrong++)
        if (*wrong == reason)
            status->code = STATUS_USAGE;
    return false;
}

static bool open_temporary(struct record_file *file, int *fd, struct status *status) {
    snprintf(file->temporary, sizeof file->temporary, "%s.XXXXXX.tmp", file->path);
    *fd = mkstemps(file->temporary, 4); /* mode 0600 */
    if (*fd < 0) {
        file->temporary[0] = 0;
        return fail_to_create(file->path, status);
    }
    fcntl(*fd, F_SETFD, FD_CLOEXEC);
    return true;
}

bool record_file_open(struct record_file *file, const char *path, bool replace,
                      struct status *status) {
    struct stat existing;
    *file = (struct record_file){.fd = -1, .regular = true};
    if (!*path || strcmp(path, "-") == 0)
        return status_fail(status, STATUS_USAGE,
                           "the trace needs a file (-o run.ridge): standard output belongs to the "
                           "program");
    if (strlen(path) >= sizeof file->path)
        return status_fail(status, STATUS_USAGE, "the name of the output file is too long");
    strcpy(file->path, path);
    bool exists = stat(path, &existing) == 0;
    if (exists && S_ISDIR(existing.st_mode))
        return status_fail(status, STATUS_USAGE, "%s is a folder; give a file name", path);
    if (exists && !S_ISREG(existing.st_mode)) {
        file->regular = false;
        file->fd = open(path, O_WRONLY | O_CLOEXEC);
    } else if (replace) {
        return open_temporary(file, &file->fd, status);
    } else {
        file->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    }
    if (file->fd >= 0)
        return true;
    if (errno == EEXIST)
        return status_fail(status, STATUS_USAGE, "%s exists; add -f to replace it", path);
    return fail_to_create(path, status);
}

bool record_file_commit(struct record_file *file, struct status *status) {
    if (file->temporary[0] && rename(file->temporary, file->path) != 0)
        return status_fail_errno(status, "cannot replace %s", file->path);
    file->temporary[0] = 0;
    return true;
}

void record_file_discard(struct record_file *file) {
    if (file->fd < 0)
        return;
    close(file->fd);
    file->fd = -1;
    if (file->regular)
        unlink(file->temporary[0] ? file->temporary : file->path);
}

bool record_file_close(struct record_file *file, struct status *status) {
    int fd = file->fd;
    file->fd = -1;
    return close(fd) == 0 || status_fail_errno(status, "%s: cannot write", file->path);
}

uint64_t record_file_bytes(const struct record_file *file) {
    struct stat info;
    return fstat(file->fd, &info) == 0 && info.st_size > 0 ? (uint64_t)info.st_size : 0;
}

/* ---- Chunks ------------------------------------------------------------------------------ */

struct file_chunk {
    struct chunk_header header;
    uint64_t offset, size; /* with the header */
    bool event;
};

struct file_chunks {
    struct file_chunk *list;
    size_t count, capacity;
};

static bool is_event(uint32_t type) {
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++)
        if (trace_tables[table].fourcc == type)
            return true;
    return false;
}

/* All complete chunks, without a partial one that a failed write left. */
static bool find_chunks(const struct record_file *file, struct file_chunks *file_chunks,
                        struct status *status) {
    uint64_t at = 0, end = record_file_bytes(file);
    unsigned char bytes[CHUNK_HEADER_SIZE];
    while (end - at >= sizeof bytes &&
           pread(file->fd, bytes, sizeof bytes, (off_t)at) == (ssize_t)sizeof bytes) {
        struct file_chunk file_chunk = {.offset = at};
        if (!chunk_read_header(bytes, &file_chunk.header))
            break;
        file_chunk.size = CHUNK_HEADER_SIZE + file_chunk.header.body_size;
        file_chunk.event = is_event(file_chunk.header.type);
        if (file_chunk.size > end - at)
            break;
        if (!GROW(file_chunks->list, &file_chunks->capacity, file_chunks->count + 1, status))
            return false;
        file_chunks->list[file_chunks->count++] = file_chunk;
        at += file_chunk.size;
    }
    return true;
}

static bool copy_chunk(int from, int to, const struct file_chunk *file_chunk,
                       struct status *status) {
    char block[64 * 1024];
    for (uint64_t done = 0; done < file_chunk->size;) {
        uint64_t left = file_chunk->size - done;
        ssize_t got = pread(from, block, left < sizeof block ? (size_t)left : sizeof block,
                            (off_t)(file_chunk->offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return status_fail_errno(status, "cannot read the recorded trace");
        if (!output_write_fd(to, block, (size_t)got, status))
            return false;
        done += (uint64_t)got;
    }
    return true;
}

/* The index from which on event chunks are kept, so that the file has `keep` bytes. */
static size_t first_kept(const struct file_chunks *file_chunks, uint64_t keep) {
    uint64_t total = 0;
    size_t first = 0;
    for (size_t i = 0; i < file_chunks->count; i++)
        total += file_chunks->list[i].size;
    for (; first < file_chunks->count && total > keep; first++)
        if (file_chunks->list[first].event)
            total -= file_chunks->list[first].size;
    return first;
}

static bool copy_kept(const struct record_file *file, int to, const struct file_chunks *file_chunks,
                      size_t first, uint64_t *rows, struct status *status) {
    for (size_t i = 0; i < file_chunks->count; i++) {
        const struct file_chunk *file_chunk = &file_chunks->list[i];
        if (file_chunk->event && i < first)
            *rows += file_chunk->header.rows;
        else if (!copy_chunk(file->fd, to, file_chunk, status))
            return false;
    }
    return true;
}

/* The temporary file takes over the name and the descriptor. */
static bool replace_file(struct record_file *file, int fd, struct status *status) {
    if (rename(file->temporary, file->path) != 0)
        return status_fail_errno(status, "cannot replace %s", file->path);
    file->temporary[0] = 0;
    if (dup2(fd, file->fd) < 0)
        return status_fail_errno(status, "%s: cannot duplicate the descriptor", file->path);
    fcntl(file->fd, F_SETFD, FD_CLOEXEC);
    return true;
}

bool record_file_trim(struct record_file *file, uint64_t keep, uint64_t *rows,
                      struct status *status) {
    struct file_chunks file_chunks = {0};
    uint64_t dropped = 0;
    int fd = -1;
    if (!file->regular)
        return true;
    bool ok = find_chunks(file, &file_chunks, status) && open_temporary(file, &fd, status) &&
              copy_kept(file, fd, &file_chunks, first_kept(&file_chunks, keep), &dropped, status) &&
              replace_file(file, fd, status);
    if (file->temporary[0])
        unlink(file->temporary);
    file->temporary[0] = 0;
    if (fd >= 0)
        close(fd);
    memory_free(file_chunks.list);
    if (ok)
        *rows += dropped;
    return ok;
}

bool record_file_renumber(struct record_file *file, struct status *status) {
    struct file_chunks file_chunks = {0};
    bool ok = !file->regular || find_chunks(file, &file_chunks, status);
    for (size_t i = 0; i < file_chunks.count && ok; i++) {
        unsigned char bytes[CHUNK_HEADER_SIZE];
        struct file_chunk *file_chunk = &file_chunks.list[i];
        file_chunk->header.sequence = (uint32_t)i;
        chunk_write_header(bytes, &file_chunk->header);
        if (pwrite(file->fd, bytes, sizeof bytes, (off_t)file_chunk->offset) !=
            (ssize_t)sizeof bytes)
            ok = status_fail_errno(status, "%s: cannot write", file->path);
    }
    memory_free(file_chunks.list);
    return ok;
}
