/* Reads JSON of any size from a window that slides over the file, without building a tree.
 *
 * Scanning functions take a position inside the window and return the position after what they
 * read, or NULL when they could not read it. They keep nothing, so the caller may start again from
 * the same place with more bytes:
 *
 *   while (!(after = scan_skip(scan, scan->at)))
 *       if (!scan_more(scan, "a value", status))
 *           return false;      // damaged, cut off, too long, unreadable: the status says which
 *   scan->at = after;
 *
 * Slices point into the window: they are good until the next scan_more(), scan_peek() or
 * json_skip(). What writers of traces get wrong is let through: NaN and Infinity, control
 * characters and unknown escapes in strings. Nesting beyond SCAN_DEPTH is refused.
 */
#ifndef RIDGE_BASE_JSON_READ_H
#define RIDGE_BASE_JSON_READ_H

#include <stdint.h>

#include "base/input.h"
#include "base/text.h"
#include "base/json_bytes.h"

enum { SCAN_DEPTH = 512, SCAN_UNIT_MAX = 64 << 20 };

struct scan {
    struct input input;
    const char *at, *end;   /* the window's unread bytes; INPUT_PADDING zero bytes follow */
    const char *trouble;    /* what was wrong with the last scan; NULL: it needs more bytes */
    const char *trouble_at; /* where */
};

/* A string between its quotes, as it stands in the file. */
struct scan_string {
    struct text raw;
    bool escaped; /* has backslashes: decode it with scan_decode() */
};

/* Takes over an opened input; scan_close() closes it. */
void scan_open(struct scan *scan, const struct input *input);
void scan_close(struct scan *scan);
/* Position of scan->at in the uncompressed file. */
uint64_t scan_offset(const struct scan *scan);

/* After a scan from scan->at failed: reads on so that it can be tried again, or fails. `what` is
 * being read, for the message. */
bool scan_more(struct scan *scan, const char *what, struct status *status);
/* Moves scan->at past white space to the next byte of meaning and gives it; 0 at the end. */
bool scan_peek(struct scan *scan, char *byte, struct status *status);
/* Moves scan->at past one value of any length: the window does not grow for it. */
bool json_skip(struct scan *scan, struct status *status);

/* Walks a container of any length, one element at a time: enter it at its opening bracket, go on
 * from behind each element. scan->at is then at an element or, when *more is false, behind the
 * container. `closing` is the bracket that ends it.
 *
 *   bool ok = scan_enter(scan, '}', &more, status);
 *   while (ok && more)
 *       ok = scan_take_key(scan, &buffer, &key, status) && ... scan_next(scan, '}', &more, status);
 */
bool scan_enter(struct scan *scan, char closing, bool *more, struct status *status);
bool scan_next(struct scan *scan, char closing, bool *more, struct status *status);
/* Moves scan->at over a member's key to its value. The key is kept in `buffer`, as it stands in the
 * file, and padded for keywords_find(). */
bool scan_take_key(struct scan *scan, struct buffer *buffer, struct text *key,
                   struct status *status);
/* What stands at scan->at is not what should: fails and says so. */
bool scan_unexpected(const struct scan *scan, const char *expected, struct status *status);

/* Marks the failure of a scan at `at` and returns NULL. */
const char *scan_fail(struct scan *scan, const char *at, const char *why);

/* The rest of scan_string() for a string with backslashes: the first is at `stop`. */
const char *scan_escaped_string(struct scan *scan, const char *start, const char *stop,
                                struct scan_string *string);

static inline bool scan_is_space(char byte) {
    return byte == ' ' || (unsigned char)(byte - '\t') <= '\r' - '\t';
}

static inline const char *scan_space(const char *at) {
    if (!scan_is_space(*at))
        return at;
    if (!scan_is_space(*++at))
        return at;
    return bytes_skip_space(at);
}

/* A string; `at` is at its opening quote. */
static inline const char *scan_string(struct scan *scan, const char *at,
                                      struct scan_string *string) {
    if (*at != '"')
        return scan_fail(scan, at, "expected a string");
    const char *start = at + 1, *stop = bytes_find_quote(start, scan->end);
    string->escaped = *stop == '\\';
    if (*stop != '"')
        return scan_escaped_string(scan, start, stop, string);
    string->raw = (struct text){start, (size_t)(stop - start)};
    return stop + 1;
}

/* A value that is not kept. */
const char *scan_skip(struct scan *scan, const char *at);
/* A number, or a string that holds one. Fractions are rounded; what does not fit saturates, except
 * that unsigned 64-bit values keep their bits. False in *is_number: it was some other value. */
const char *scan_integer(struct scan *scan, const char *at, int64_t *value, bool *is_number);
/* A number of microseconds, or a string that holds one, as exact nanoseconds. */
const char *scan_microseconds(struct scan *scan, const char *at, int64_t *value, bool *is_number);
/* A number as a double, for measurements. */
const char *scan_double(struct scan *scan, const char *at, double *value, bool *is_number);

/* Walks an object: first (or past the comma) to a key, then over the key to its value. Keys are
 * given as they stand, escapes and all. `closed`: the object ended, and the position is behind it.
 */
static inline const char *scan_key(struct scan *scan, const char *at, struct text *key) {
    struct scan_string string;
    if (!(at = scan_string(scan, at, &string)))
        return NULL;
    *key = string.raw;
    at = scan_space(at);
    if (*at != ':')
        return scan_fail(scan, at, "expected a colon after a key");
    return scan_space(at + 1);
}

static inline const char *scan_next_member(struct scan *scan, const char *at, bool *closed) {
    at = scan_space(at);
    *closed = *at == '}';
    if (*at == '}')
        return at + 1;
    if (*at != ',')
        return scan_fail(scan, at, "expected a comma or a closing brace");
    at = scan_space(at + 1);
    if (*at == '}') { /* a comma too many harms nobody */
        *closed = true;
        return at + 1;
    }
    return at;
}

static inline const char *scan_first_member(const char *at, bool *closed) {
    at = scan_space(at + 1);
    *closed = *at == '}';
    return *closed ? at + 1 : at;
}

/* The bytes that an escaped string stands for, appended as UTF-8. */
void scan_decode(struct text raw, struct buffer *out);
/* Appends the value without white space and as strictly valid JSON (NaN becomes null); false, with
 * nothing appended, when it is not a value. */
bool scan_compact(struct text raw, struct buffer *out);

#endif
