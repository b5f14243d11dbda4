/* Any bytes as a Chrome trace. A last byte above 127, which no text ends with, is the size of the
 * pieces in which the rest arrives, so that the edge of the window meets every state of the
 * scanner; odd values drop invalid times. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/json_read.h"
#include "import/kineto/kineto.h"
#include "targets.h"

static struct trace_writer *shared_writer(void) {
    static struct trace_writer *writer;
    struct status status;
    if (!writer)
        writer =
            trace_writer_create(open("/dev/null", O_WRONLY),
                                &(struct trace_writer_options){.session = 1, .writer = 1}, &status);
    if (!writer)
        abort();
    return writer;
}

static void pack(struct buffer *out, const uint8_t *data, size_t size, size_t piece) {
    char frame[1024];
    for (size_t at = 0; at < size; at += piece) {
        size_t length = size - at < piece ? size - at : piece;
        buffer_append(out, frame, ZSTD_compress(frame, sizeof frame, data + at, length, 1));
    }
}

/* Details must be JSON: compacting them again changes nothing. */
static void check_compact(const uint8_t *data, size_t size) {
    struct buffer once = {0}, twice = {0};
    if (scan_compact((struct text){(const char *)data, size}, &once) &&
        (!scan_compact(buffer_as_text(&once), &twice) ||
         !text_equal(buffer_as_text(&once), buffer_as_text(&twice))))
        abort();
    buffer_finish(&once);
    buffer_finish(&twice);
}

int fuzz_kineto(const uint8_t *data, size_t size) {
    struct status status = {0};
    struct input input;
    struct buffer packed = {0};
    if (size == 0)
        return 0;
    size_t piece = data[size - 1] > 127 ? data[size - 1] - 127u : 0;
    struct import_options options = {.skip_invalid = piece % 2};
    size -= piece > 0;
    check_compact(data, size);
    if (piece)
        pack(&packed, data, size, piece);
    bool opened = piece ? input_open_bytes(&input, packed.data, packed.length, &status)
                        : input_open_bytes(&input, data, size, &status);
    if (opened)
        kineto_import(&input, &options, shared_writer(), &status);
    buffer_finish(&packed);
    return 0;
}
