/* Text: slices that point into memory owned by others, and a growing buffer.
 *
 * A slice is not terminated; print it with "%.*s" and TEXT_ARGS(). A buffer's failure is sticky:
 * append freely, then check buffer.failed or buffer_ok() once.
 */
#ifndef RIDGE_BASE_TEXT_H
#define RIDGE_BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

struct text {
    const char *data;
    size_t length;
};

#define TEXT(literal) ((struct text){(literal), sizeof(literal) - 1})
#define TEXT_ARGS(text) (int)(text).length, (text).data

static inline struct text text_of(const char *string) {
    return (struct text){string, strlen(string)};
}
static inline bool text_equal(struct text a, struct text b) {
    return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}
/* Byte order; negative, 0 or positive. */
int text_compare(struct text a, struct text b);
static inline bool text_is(struct text a, const char *string) {
    return text_equal(a, text_of(string));
}
static inline bool text_starts(struct text a, const char *prefix) {
    size_t length = strlen(prefix);
    return a.length >= length && memcmp(a.data, prefix, length) == 0;
}
/* Position of `needle` in `a`, or -1. */
ptrdiff_t text_find(struct text a, const char *needle);
ptrdiff_t text_find_text(struct text a, struct text needle);

/* The first line that contains `word`, else the first line that is not empty. */
struct text text_line_with(struct text a, const char *word);

/* The whole slice as a decimal integer; false when it is not one or out of range. */
bool text_to_i64(struct text a, int64_t *value);
bool text_to_u64(struct text a, uint64_t *value);

/* Length in bytes of the longest valid UTF-8 prefix. */
size_t text_utf8_valid(struct text a);

/* Control characters (C0, DEL, C1), bidirectional controls, U+2028 and U+2029. */
bool text_is_control(uint32_t point);
/* The first character of a non-empty text: its length in bytes and its code point, or 0 for invalid
 * UTF-8. */
size_t text_decode(struct text a, uint32_t *point);
/* Removes the next character from a non-empty *rest and returns it in a form that is safe to print
 * on a terminal. White space other than a blank, and U+2028 and U+2029, become a blank. Control
 * characters (C0, DEL, C1), bidirectional controls and invalid UTF-8 become U+FFFD. */
struct text text_next_printable(struct text *rest);
/* The whole text in that form, truncated to `size` bytes; returns `shown`. */
char *text_printable(struct text text, char *shown, size_t size);

/* A terminated copy; NULL when out of memory. Free with memory_free(). */
char *text_copy(struct text a, struct status *status);

struct buffer {
    char *data;
    size_t length, capacity;
    bool failed;
};

void buffer_append(struct buffer *buffer, const void *data, size_t length);
void buffer_text(struct buffer *buffer, struct text text);
void buffer_string(struct buffer *buffer, const char *string);
void buffer_byte(struct buffer *buffer, char byte);
void buffer_printf(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void buffer_vprintf(struct buffer *buffer, const char *format, va_list arguments);
/* Empties the buffer; keeps its memory, and a failure. */
void buffer_clear(struct buffer *buffer);
/* As buffer_clear, and clears a failure that the caller has handled. */
void buffer_reset(struct buffer *buffer);
void buffer_finish(struct buffer *buffer);
/* False and an out-of-memory status if any append failed. */
bool buffer_ok(const struct buffer *buffer, struct status *status);
static inline struct text buffer_as_text(const struct buffer *buffer) {
    return (struct text){buffer->data ? buffer->data : "", buffer->length};
}

#endif
