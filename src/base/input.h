/* A file as a stream of plain bytes. gzip and zstd files are detected by content and decompressed.
 *
 * The unread bytes are input.data[0 .. input.length). input_more() appends to them and
 * input_consume() drops from their front, so a parser sees each token whole and memory stays at the
 * size of the window. After input_more() INPUT_PADDING zero bytes follow the unread ones, so that a
 * parser may look ahead without a bounds check for every byte.
 */
#ifndef RIDGE_BASE_INPUT_H
#define RIDGE_BASE_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { INPUT_PADDING = 64 };

struct input {
    char *data;
    size_t length;
    uint64_t offset; /* of data[0] in the uncompressed stream */
    bool at_end;     /* nothing will follow data[length - 1] */

    /* private */
    int fd;
    uint64_t file_size; /* when it was opened; 0 if it is not a regular file */
    uint64_t read_bytes;
    char *buffer;
    size_t capacity;
    int compression;
    void *decoder;
    unsigned char *packed;
    size_t packed_at, packed_length;
    bool packed_end, frame_open;
};

bool input_open(struct input *input, const char *path, struct status *status);
/* Reads from memory that the caller owns, for tests and fuzzers. Detects compression too. */
bool input_open_bytes(struct input *input, const void *bytes, size_t length, struct status *status);
void input_close(struct input *input);

/* Reads more; the window moves (data changes) and grows when it is full. Fails if it would have to
 * grow beyond `limit` bytes; the caller reports which token is too long. */
bool input_more(struct input *input, size_t limit, struct status *status);
/* Opens the file and reads all of it, at most `limit` bytes. */
bool input_read_file(struct input *input, const char *path, size_t limit, struct status *status);
static inline void input_consume(struct input *input, size_t count) {
    if (count == 0)
        return; /* `data` may still be NULL */
    input->data += count;
    input->length -= count;
    input->offset += count;
}

#endif
