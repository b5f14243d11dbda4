/* How do binary columns get into an HTML file? Deflated, and that as base64, while they are being
 * made: nothing but a few kilobytes is held.
 *
 *   if (page_stream_begin(&stream, output, &status)) {
 *       page_stream_write(&stream, bytes, length); ...
 *       page_stream_end(&stream);
 *   }
 */
#ifndef RIDGE_REPORT_HTML_STREAM_H
#define RIDGE_REPORT_HTML_STREAM_H

#include <zlib.h>

#include "base/output.h"

struct page_stream {
    struct output *output;
    z_stream deflate;
    unsigned char rest[3]; /* of the deflated bytes, until there are three for four letters */
    unsigned rest_count;
};

bool page_stream_begin(struct page_stream *stream, struct output *output, struct status *status);
void page_stream_write(struct page_stream *stream, const void *bytes, size_t length);
/* Writes what is left, and frees. Once for each stream that began. */
void page_stream_end(struct page_stream *stream);

#endif
