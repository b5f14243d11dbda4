/* Any bytes as a Chrome trace. The first byte says in what pieces the rest arrives, so that the
 * window's edge meets every state of the scanner; the second whether bad times are dropped. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <zstd.h>

#include "import/json_scan.h"
#include "import/kineto.h"

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

/* What is kept as JSON must be JSON: compacting it again changes nothing. */
static void check_compact(const uint8_t *data, size_t size) {
    struct buffer once = {0}, twice = {0};
    if (scan_compact((struct text){(const char *)data, size}, &once) &&
        (!scan_compact(buffer_as_text(&once), &twice) ||
         !text_equal(buffer_as_text(&once), buffer_as_text(&twice))))
        abort();
    buffer_finish(&once);
    buffer_finish(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct status status = {0};
    struct input input;
    struct buffer packed = {0};
    if (size < 2)
        return 0;
    struct import_options options = {.skip_invalid = data[1] & 1};
    size_t piece = data[0];
    data += 2;
    size -= 2;
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
