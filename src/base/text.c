/* Slices and buffers. */
#include "base/text.h"

#include <stdio.h>

#include "base/memory.h"

ptrdiff_t text_find_text(struct text a, struct text needle) {
    if (needle.length == 0)
        return 0;
    for (size_t at = 0; at + needle.length <= a.length; at++) {
        const char *hit = memchr(a.data + at, needle.data[0], a.length - needle.length + 1 - at);
        if (!hit)
            return -1;
        at = (size_t)(hit - a.data);
        if (memcmp(hit, needle.data, needle.length) == 0)
            return (ptrdiff_t)at;
    }
    return -1;
}

ptrdiff_t text_find(struct text a, const char *needle) {
    return text_find_text(a, text_of(needle));
}

struct text text_line_with(struct text a, const char *word) {
    struct text first = {0};
    while (a.length > 0) {
        const char *end = memchr(a.data, '\n', a.length);
        struct text line = {a.data, end ? (size_t)(end - a.data) : a.length};
        if (text_find(line, word) >= 0)
            return line;
        if (first.length == 0)
            first = line;
        size_t taken = line.length + (end ? 1 : 0);
        a = (struct text){a.data + taken, a.length - taken};
    }
    return first;
}

char *text_printable(struct text text, char *shown, size_t size) {
    size_t used = 0;
    while (text.length > 0) {
        struct text next = text_next_printable(&text);
        if (next.length >= size - used)
            break;
        memcpy(shown + used, next.data, next.length);
        used += next.length;
    }
    shown[used] = '\0';
    return shown;
}

int text_compare(struct text a, struct text b) {
    size_t both = a.length < b.length ? a.length : b.length;
    int order = both ? memcmp(a.data, b.data, both) : 0; /* an empty text may have NULL data */
    if (order != 0)
        return order;
    return a.length < b.length ? -1 : a.length > b.length;
}

bool text_to_u64(struct text a, uint64_t *value) {
    uint64_t sum = 0;
    if (a.length == 0)
        return false;
    for (size_t i = 0; i < a.length; i++) {
        unsigned digit = (unsigned char)a.data[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, digit, &sum))
            return false;
    }
    *value = sum;
    return true;
}

bool text_to_i64(struct text a, int64_t *value) {
    bool negative = a.length > 0 && a.data[0] == '-';
    uint64_t magnitude;
    if (!text_to_u64(negative ? (struct text){a.data + 1, a.length - 1} : a, &magnitude))
        return false;
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

size_t text_decode(struct text a, uint32_t *point) {
    const unsigned char *s = (const unsigned char *)a.data;
    size_t extra;
    uint32_t min_point;
    *point = s[0];
    if (s[0] < 0x80)
        return 1;
    if ((s[0] & 0xE0) == 0xC0)
        extra = 1, *point = s[0] & 0x1F, min_point = 0x80;
    else if ((s[0] & 0xF0) == 0xE0)
        extra = 2, *point = s[0] & 0x0F, min_point = 0x800;
    else if ((s[0] & 0xF8) == 0xF0)
        extra = 3, *point = s[0] & 0x07, min_point = 0x10000;
    else
        return 0;
    if (a.length <= extra)
        return 0;
    for (size_t i = 1; i <= extra; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
        *point = *point << 6 | (s[i] & 0x3F);
    }
    bool valid = *point >= min_point && *point <= 0x10FFFF && (*point < 0xD800 || *point >= 0xE000);
    return valid ? extra + 1 : 0;
}

size_t text_utf8_valid(struct text a) {
    size_t i = 0;
    uint32_t point;
    while (i < a.length) {
        size_t length = text_decode((struct text){a.data + i, a.length - i}, &point);
        if (length == 0)
            break;
        i += length;
    }
    return i;
}

bool text_is_control(uint32_t point) {
    return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x061C || point == 0x200E ||
           point == 0x200F || (point >= 0x2028 && point <= 0x202E) ||
           (point >= 0x2066 && point <= 0x2069);
}

struct text text_next_printable(struct text *rest) {
    uint32_t point;
    size_t length = text_decode(*rest, &point);
    struct text shown = {rest->data, length};
    if (length == 0)
        length = 1, shown = TEXT("\xEF\xBF\xBD");
    else if ((point >= '\t' && point <= '\r') || point == 0x2028 || point == 0x2029)
        shown = TEXT(" ");
    else if (text_is_control(point))
        shown = TEXT("\xEF\xBF\xBD");
    rest->data += length;
    rest->length -= length;
    return shown;
}

char *text_copy(struct text a, struct status *status) {
    char *copy = memory_allocate(a.length + 1, 1, status);
    if (copy)
        memcpy(copy, a.data, a.length);
    return copy;
}

static bool make_room(struct buffer *buffer, size_t more) {
    struct status ignored;
    size_t needed;
    if (buffer->failed || __builtin_add_overflow(buffer->length, more, &needed) ||
        !GROW(buffer->data, &buffer->capacity, needed, &ignored)) {
        buffer->failed = true;
        return false;
    }
    return true;
}

void buffer_append(struct buffer *buffer, const void *data, size_t length) {
    if (length == 0 || !make_room(buffer, length))
        return;
    memcpy(buffer->data + buffer->length, data, length);
    buffer->length += length;
}

void buffer_text(struct buffer *buffer, struct text text) {
    buffer_append(buffer, text.data, text.length);
}

void buffer_string(struct buffer *buffer, const char *string) {
    buffer_append(buffer, string, strlen(string));
}

void buffer_byte(struct buffer *buffer, char byte) {
    buffer_append(buffer, &byte, 1);
}

void buffer_vprintf(struct buffer *buffer, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0)
        buffer->failed = true;
    else if (make_room(buffer, (size_t)length + 1)) {
        vsnprintf(buffer->data + buffer->length, (size_t)length + 1, format, again);
        buffer->length += (size_t)length;
    }
    va_end(again);
}

void buffer_printf(struct buffer *buffer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    buffer_vprintf(buffer, format, arguments);
    va_end(arguments);
}

void buffer_clear(struct buffer *buffer) {
    buffer->length = 0;
}

void buffer_reset(struct buffer *buffer) {
    buffer->length = 0;
    buffer->failed = false;
}

void buffer_finish(struct buffer *buffer) {
    memory_free(buffer->data);
    memset(buffer, 0, sizeof *buffer);
}

bool buffer_ok(const struct buffer *buffer, struct status *status) {
    return buffer->failed ? status_no_memory(status) : true;
}
