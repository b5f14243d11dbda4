/* read() into a sliding window, through zlib or zstd depending on the first bytes. Files with
 * several gzip members or zstd frames are read to the end. */
#include "base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/memory.h"

enum { PACKED = 256 * 1024, WINDOW = 1024 * 1024 };
/* The largest supported zstd window as a power of two: 1 GiB of memory, as needed by zstd
 * --long=30. */
enum { ZSTD_WINDOW_LOG = 30 };
enum { PLAIN, GZIP, ZSTD };

static bool read_packed(struct input *input, struct status *status) {
    if (input->fd < 0) {
        input->packed_end = true;
        return true;
    }
    ssize_t got;
    do
        got = read(input->fd, input->packed, PACKED);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return status_fail_errno(status, "cannot read");
    input->read_bytes += (uint64_t)got;
    if (got == 0 && input->read_bytes < input->file_size)
        return status_fail(status, STATUS_INPUT,
                           "was truncated while it was being read; try again when no program "
                           "writes to it");
    input->packed_at = 0;
    input->packed_length = (size_t)got;
    input->packed_end = got == 0;
    return true;
}

static bool start_decoder(struct input *input, struct status *status) {
    const unsigned char *p = input->packed;
    size_t length = input->packed_length;
    if (length >= 3 && p[0] == 0x1F && p[1] == 0x8B && p[2] == 8) {
        z_stream *stream = memory_allocate(1, sizeof *stream, status);
        if (!stream)
            return false;
        if (inflateInit2(stream, 15 + 16) != Z_OK) {
            memory_free(stream);
            return status_no_memory(status);
        }
        input->compression = GZIP;
        input->decoder = stream;
    } else if (length >= 4 && p[0] == 0x28 && p[1] == 0xB5 && p[2] == 0x2F && p[3] == 0xFD) {
        input->compression = ZSTD;
        input->decoder = ZSTD_createDStream();
        if (!input->decoder || ZSTD_isError(ZSTD_DCtx_setParameter(
                                   input->decoder, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG)))
            return status_no_memory(status);
    }
    return true;
}

bool input_open(struct input *input, const char *path, struct status *status) {
    memset(input, 0, sizeof *input);
    input->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (input->fd < 0)
        return status_fail_errno(status, "cannot open %s", path);
    struct stat info;
    if (fstat(input->fd, &info) != 0) {
        status_fail_errno(status, "cannot examine %s", path);
        input_close(input);
        return false;
    }
    if (S_ISDIR(info.st_mode)) {
        input_close(input);
        return status_fail(status, STATUS_INPUT, "%s is a folder", path);
    }
    input->file_size = S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
    input->packed = memory_allocate(PACKED, 1, status);
    if (!input->packed || !read_packed(input, status) || !start_decoder(input, status)) {
        input_close(input);
        return false;
    }
    return true;
}

bool input_open_bytes(struct input *input, const void *bytes, size_t length,
                      struct status *status) {
    memset(input, 0, sizeof *input);
    input->fd = -1;
    input->packed = memory_allocate(length, 1, status);
    if (!input->packed)
        return false;
    if (length)
        memcpy(input->packed, bytes, length);
    input->packed_length = length;
    if (!start_decoder(input, status)) {
        input_close(input);
        return false;
    }
    return true;
}

void input_close(struct input *input) {
    if (input->fd >= 0)
        close(input->fd);
    if (input->compression == GZIP && input->decoder) {
        inflateEnd(input->decoder);
        memory_free(input->decoder);
    } else if (input->compression == ZSTD) {
        ZSTD_freeDStream(input->decoder);
    }
    memory_free(input->packed);
    memory_free(input->buffer);
    memset(input, 0, sizeof *input);
    input->fd = -1;
}

/* Moves the unread bytes to the front and ensures space after them. */
static bool make_room(struct input *input, size_t limit, struct status *status) {
    if (input->buffer && input->length)
        memmove(input->buffer, input->data, input->length);
    if (!input->buffer || input->capacity - input->length < WINDOW / 4 + INPUT_PADDING) {
        size_t wanted = input->length + WINDOW + INPUT_PADDING;
        if (input->length > limit)
            return status_fail(status, STATUS_INPUT, "more than %zu MiB without an end",
                               limit >> 20);
        if (!GROW(input->buffer, &input->capacity, wanted, status))
            return false;
    }
    input->data = input->buffer;
    memset(input->data + input->length, 0, INPUT_PADDING);
    return true;
}

static bool inflate_some(struct input *input, char *out, size_t room, size_t *made,
                         struct status *status) {
    z_stream *stream = input->decoder;
    stream->next_in = input->packed + input->packed_at;
    stream->avail_in = (uInt)(input->packed_length - input->packed_at);
    stream->next_out = (unsigned char *)out;
    stream->avail_out = (uInt)room;
    int result = inflate(stream, Z_NO_FLUSH);
    *made = room - stream->avail_out;
    input->packed_at = input->packed_length - stream->avail_in;
    input->frame_open = result != Z_STREAM_END;
    if (result == Z_STREAM_END)
        inflateReset(stream);
    else if (result != Z_OK && result != Z_BUF_ERROR)
        return status_fail(status, STATUS_INPUT,
                           "the gzip data is damaged after %llu unpacked bytes; copy it again",
                           (unsigned long long)(input->offset + input->length));
    return true;
}

static bool zstd_some(struct input *input, char *out, size_t room, size_t *made,
                      struct status *status) {
    ZSTD_inBuffer in = {input->packed, input->packed_length, input->packed_at};
    ZSTD_outBuffer to = {out, room, 0};
    size_t result = ZSTD_decompressStream(input->decoder, &to, &in);
    *made = to.pos;
    input->packed_at = in.pos;
    input->frame_open = result != 0;
    if (!ZSTD_isError(result))
        return true;
    if (ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "the zstd data needs a window of more than 1 GiB; compress it again "
                           "with zstd --long=30 or less");
    if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
        return status_no_memory(status);
    return status_fail(status, STATUS_INPUT,
                       "the zstd data is damaged after %llu unpacked bytes; copy it again",
                       (unsigned long long)(input->offset + input->length));
}

bool input_more(struct input *input, size_t limit, struct status *status) {
    if (input->at_end)
        return true;
    if (!make_room(input, limit, status))
        return false;
    size_t made = 0;
    while (made == 0) {
        if (input->packed_at == input->packed_length && !input->packed_end &&
            !read_packed(input, status))
            return false;
        char *out = input->data + input->length;
        size_t room = input->capacity - INPUT_PADDING - input->length;
        size_t packed = input->packed_length - input->packed_at;
        if (input->packed_end && packed == 0) {
            if (input->compression != PLAIN && input->frame_open)
                return status_fail(
                    status, STATUS_INPUT,
                    "the compressed data is cut off after %llu unpacked bytes; copy it again",
                    (unsigned long long)(input->offset + input->length));
            input->at_end = true;
            return true;
        }
        if (input->compression == PLAIN) {
            made = packed < room ? packed : room;
            memcpy(out, input->packed + input->packed_at, made);
            input->packed_at += made;
        } else if (input->compression == GZIP) {
            if (!inflate_some(input, out, room, &made, status))
                return false;
        } else if (!zstd_some(input, out, room, &made, status)) {
            return false;
        }
    }
    input->length += made;
    memset(input->data + input->length, 0, INPUT_PADDING);
    return true;
}

bool input_read_file(struct input *input, const char *path, size_t limit, struct status *status) {
    if (!input_open(input, path, status))
        return false;
    while (!input->at_end)
        if (!input_more(input, limit, status))
            return false;
    return true;
}
