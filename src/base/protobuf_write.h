/* Writes the protobuf wire format into a buffer.
 *
 *   size_t event = protobuf_begin(&bytes, 11);
 *   protobuf_put_integer(&bytes, 9, 1);
 *   protobuf_put_text(&bytes, 23, name);
 *   protobuf_end(&bytes, event);
 *
 * Failure to allocate is the buffer's: ask buffer_ok() once.
 */
#ifndef RIDGE_BASE_PROTOBUF_WRITE_H
#define RIDGE_BASE_PROTOBUF_WRITE_H

#include <stdint.h>

#include "base/text.h"

/* An int64, uint64, bool or enum; negative values take ten bytes, as the format has it. */
void protobuf_put_integer(struct buffer *bytes, uint32_t field, uint64_t value);
void protobuf_put_fixed64(struct buffer *bytes, uint32_t field, uint64_t value);
void protobuf_put_double(struct buffer *bytes, uint32_t field, double value);
void protobuf_put_text(struct buffer *bytes, uint32_t field, struct text value);

/* A message inside the message: everything put until protobuf_end() belongs to it. */
size_t protobuf_begin(struct buffer *bytes, uint32_t field);
void protobuf_end(struct buffer *bytes, size_t begun);

#endif
