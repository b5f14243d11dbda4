/* Writes to PATH.XXXXXX.tmp, without fsync(), and renames at the end. A device or pipe given as
 * PATH (such as /dev/null) is written directly, since there is nothing to replace. */
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
    temporary_unregister(output->temporary);
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
    if (!path || strcmp(path, "-") == 0) {
        output->terminal = isatty(output->fd);
        return true;
    }
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
        output->terminal = output->fd >= 0 && isatty(output->fd);
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
            temporary_register(output->temporary);
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

static bool write_pending(struct output *output, struct status *status) {
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

static void append(struct output *output, const char *data, size_t length) {
    struct status ignored;
    while (length > 0 && !output->failed) {
        size_t part = PENDING - output->used < length ? PENDING - output->used : length;
        memcpy(output->pending + output->used, data, part);
        output->used += part;
        data += part;
        length -= part;
        if (output->used == PENDING)
            write_pending(output, &ignored);
    }
}

/* Newlines and tabs are kept; a carriage return only in "\r\n". */
static void append_printable(struct output *output, struct text *rest) {
    char first = rest->data[0];
    bool line_end = first == '\r' && rest->length > 1 && rest->data[1] == '\n';
    if (first == '\n' || first == '\t' || line_end) {
        append(output, rest->data, 1);
        rest->data++;
        rest->length--;
        return;
    }
    struct text shown = text_next_printable(rest);
    append(output, shown.data, shown.length);
}

/* Whether the text may be the start of a longer character or of "\r\n". */
static bool is_partial(struct text text) {
    unsigned char first = (unsigned char)text.data[0];
    size_t whole = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (first == '\r')
        return text.length == 1;
    if (text.length >= whole || first >= 0xF8)
        return false;
    for (size_t i = 1; i < text.length; i++)
        if (((unsigned char)text.data[i] & 0xC0) != 0x80)
            return false;
    return true;
}

static void write_terminal(struct output *output, struct text text) {
    while (output->partial_length > 0 && text.length > 0) {
        output->partial[output->partial_length++] = text.data[0];
        text.data++;
        text.length--;
        struct text partial = {output->partial, output->partial_length};
        if (is_partial(partial))
            continue;
        output->partial_length = 0;
        while (partial.length > 0)
            append_printable(output, &partial);
    }
    while (text.length > 0 && !is_partial(text))
        append_printable(output, &text);
    if (text.length > 0) {
        memcpy(output->partial, text.data, text.length);
        output->partial_length = (unsigned)text.length;
    }
}

static void end_partial(struct output *output) {
    struct text partial = {output->partial, output->partial_length};
    output->partial_length = 0;
    while (partial.length > 0)
        append_printable(output, &partial);
}

bool output_flush(struct output *output, struct status *status) {
    end_partial(output);
    return write_pending(output, status);
}

void output_write(struct output *output, const void *data, size_t length) {
    if (output->memory)
        buffer_append(output->memory, data, length);
    else if (output->terminal)
        write_terminal(output, (struct text){data, length});
    else
        append(output, data, length);
}

void output_control(struct output *output, const char *sequence) {
    if (output->memory) {
        buffer_string(output->memory, sequence);
        return;
    }
    end_partial(output);
    append(output, sequence, strlen(sequence));
}

void output_printf(struct output *output, const char *format, ...) {
    struct buffer line = {0};
    va_list arguments;
    va_start(arguments, format);
    buffer_vprintf(&line, format, arguments);
    va_end(arguments);
    output_write(output, line.data, line.length);
    output_require(output, !line.failed);
    buffer_finish(&line);
}

void output_require(struct output *output, bool ok) {
    if (ok || output->failed)
        return;
    output->failed = true;
    status_no_memory(&output->why);
    if (output->memory)
        output->memory->failed = true;
}

bool output_commit(struct output *output, struct status *status) {
    bool ok = output_flush(output, status);
    if (ok && output->path) {
        /* a full network disk may first be reported by close() */
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

bool output_check(const char *path, bool replace, struct status *status) {
    struct output output;
    if (!output_open(&output, path, replace, status))
        return false;
    output_abandon(&output);
    return true;
}
