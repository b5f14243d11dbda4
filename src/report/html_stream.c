/* zlib's format is what a browser's DecompressionStream("deflate") reads. The columns are byte
 * planes, in which matches are short and few: the filtered strategy suits them. */
#include "report/html_stream.h"

#include <limits.h>
#include <string.h>

enum { PACKED_BYTES = 3 * 4096 };

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool page_stream_begin(struct page_stream *stream, struct output *output, struct status *status) {
    memset(stream, 0, sizeof *stream);
    stream->output = output;
    if (deflateInit2(&stream->deflate, 6, Z_DEFLATED, 15, 9, Z_FILTERED) != Z_OK)
        return status_no_memory(status);
    return true;
}

static void put_letters(char *out, const unsigned char *in) {
    out[0] = letters[in[0] >> 2];
    out[1] = letters[(in[0] & 3) << 4 | in[1] >> 4];
    out[2] = letters[(in[1] & 15) << 2 | in[2] >> 6];
    out[3] = letters[in[2] & 63];
}

static void write_base64(struct page_stream *stream, const unsigned char *bytes, size_t length) {
    char text[PACKED_BYTES / 3 * 4 + 4];
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        stream->rest[stream->rest_count++] = bytes[i];
        if (stream->rest_count == 3) {
            put_letters(text + used, stream->rest);
            used += 4;
            stream->rest_count = 0;
        }
    }
    output_write(stream->output, text, used);
}

static void pump(struct page_stream *stream, int flush) {
    unsigned char packed[PACKED_BYTES];
    do {
        stream->deflate.next_out = packed;
        stream->deflate.avail_out = sizeof packed;
        deflate(&stream->deflate, flush); /* fails only on misuse */
        write_base64(stream, packed, sizeof packed - stream->deflate.avail_out);
    } while (stream->deflate.avail_out == 0);
}

void page_stream_write(struct page_stream *stream, const void *bytes, size_t length) {
    const unsigned char *at = bytes;
    while (length > 0) {
        uInt piece = length < INT_MAX ? (uInt)length : INT_MAX;
        stream->deflate.next_in = (unsigned char *)at;
        stream->deflate.avail_in = piece;
        pump(stream, Z_NO_FLUSH);
        at += piece;
        length -= piece;
    }
}

void page_stream_end(struct page_stream *stream) {
    char text[4];
    pump(stream, Z_FINISH);
    deflateEnd(&stream->deflate);
    if (stream->rest_count == 0)
        return;
    memset(stream->rest + stream->rest_count, 0, 3 - stream->rest_count);
    put_letters(text, stream->rest);
    text[3] = '=';
    if (stream->rest_count == 1)
        text[2] = '=';
    output_write(stream->output, text, sizeof text);
}
