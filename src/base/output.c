/* Write to PATH.XXXXXX.tmp, fsync nothing, rename at the end. A device or pipe given as PATH (such
 * as /dev/null) is written directly, since there is nothing to replace. */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/temporary.h"

enum { PENDING = 64 * 1024 };

bool output_write_fd(int fd, const void *data, size_t length, struct status *status) {
    const char *p = data;
    while (length > 0) {
        ssize_t written = write(fd, p, length);
        if (written < 0) {
            if (errno == EINTR)
                continue;
            return status_fail_errno(status, "cannot write");
        }
        p += written;
        length -= (size_t)written;
    }
    return true;
}

static void release(struct output *output) {
    temporary_unmark(output->temporary);
    memory_free(output->path);
    memory_free(output->temporary);
    memory_free(output->pending);
    memset(output, 0, sizeof *output);
    output->fd = -1;
}

bool output_open(struct output *output, const char *path, bool replace, struct status *status) {
    memset(output, 0, sizeof *output);
    output->fd = STDOUT_FILENO;
    output->pending = memory_allocate(PENDING, 1, status);
    if (!output->pending)
        return false;
    if (!path || strcmp(path, "-") == 0)
        return true;
    if (!*path) {
        release(output);
        return status_fail(status, STATUS_IO, "the output's name is empty; give a file name");
    }

    struct stat existing;
    bool exists = stat(path, &existing) == 0;
    if (exists && S_ISDIR(existing.st_mode)) {
        release(output);
        return status_fail(status, STATUS_IO, "%s is a folder; give a file name", path);
    }
    if (exists && S_ISREG(existing.st_mode) && !replace) {
        release(output);
        return status_fail(status, STATUS_IO, "%s exists; add -f to replace it", path);
    }
    output->path = text_copy(text_of(path), status);
    if (!output->path) {
        release(output);
        return false;
    }
    if (exists && !S_ISREG(existing.st_mode)) {
        output->fd = open(path, O_WRONLY | O_CLOEXEC);
    } else {
        size_t size = strlen(path) + sizeof ".XXXXXX.tmp";
        output->temporary = memory_allocate(size, 1, status);
        if (!output->temporary) {
            release(output);
            return false;
        }
        snprintf(output->temporary, size, "%s.XXXXXX.tmp", path);
        output->fd = mkstemps(output->temporary, 4);
        if (output->fd >= 0) {
            temporary_mark(output->temporary);
            mode_t mask = umask(0);
            umask(mask);
            fchmod(output->fd, exists ? existing.st_mode & 07777 : 0666 & ~mask);
            fcntl(output->fd, F_SETFD, FD_CLOEXEC);
        }
    }
    if (output->fd < 0) {
        status_fail_errno(status, "cannot create %s", path);
        release(output);
        return false;
    }
    return true;
}

bool output_flush(struct output *output, struct status *status) {
    if (!output->failed && output->used > 0 &&
        !output_write_fd(output->fd, output->pending, output->used, &output->why)) {
        output->failed = true;
        status_context(&output->why, "%s", output->path ? output->path : "standard output");
    }
    output->used = 0;
    if (output->failed)
        *status = output->why;
    return !output->failed;
}

void output_write(struct output *output, const void *data, size_t length) {
    const char *p = data;
    struct status ignored;
    if (output->memory) {
        buffer_append(output->memory, data, length);
        return;
    }
    while (length > 0 && !output->failed) {
        size_t part = PENDING - output->used < length ? PENDING - output->used : length;
        memcpy(output->pending + output->used, p, part);
        output->used += part;
        p += part;
        length -= part;
        if (output->used == PENDING)
            output_flush(output, &ignored);
    }
}

void output_printf(struct output *output, const char *format, ...) {
    struct buffer line = {0};
    va_list arguments;
    va_start(arguments, format);
    buffer_vprintf(&line, format, arguments);
    va_end(arguments);
    output_write(output, line.data, line.length);
    if (line.failed && !output->failed) {
        output->failed = true;
        status_no_memory(&output->why);
    }
    buffer_finish(&line);
}

bool output_commit(struct output *output, struct status *status) {
    bool ok = output_flush(output, status);
    if (ok && output->path) {
        /* close() can be where a full network disk is first reported. */
        ok = close(output->fd) == 0 || status_fail_errno(status, "%s: cannot write", output->path);
        output->fd = -1;
        if (ok && output->temporary && rename(output->temporary, output->path) != 0)
            ok = status_fail_errno(status, "cannot rename %s to %s", output->temporary,
                                   output->path);
    }
    if (!ok) {
        output_abandon(output);
        return false;
    }
    release(output);
    return true;
}

void output_abandon(struct output *output) {
    if (output->path && output->fd >= 0)
        close(output->fd);
    if (output->temporary)
        unlink(output->temporary);
    release(output);
}

bool output_close(struct output *output, bool ok, struct status *status) {
    if (ok)
        return output_commit(output, status);
    output_abandon(output);
    return false;
}

bool output_try(const char *path, bool replace, struct status *status) {
    struct output output;
    if (!output_open(&output, path, replace, status))
        return false;
    output_abandon(&output);
    return true;
}
