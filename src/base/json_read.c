/* How is JSON read at memory speed? Strings are most of a trace, so the search for their ends looks
 * at 16 bytes at once (json_bytes.h); numbers and structure are read byte by byte against the
 * window's zero padding, which stops every loop without a bounds check.
 *
 * Nothing here recurses: skipping counts brackets, compacting keeps a bit per level.
 */
#include "base/json_read.h"

#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

static const char no_bytes[INPUT_PADDING];

void scan_open(struct scan *scan, const struct input *input) {
    *scan = (struct scan){.input = *input, .at = no_bytes, .end = no_bytes};
    if (input->length) {
        scan->at = input->data;
        scan->end = input->data + input->length;
    }
}

void scan_close(struct scan *scan) {
    input_close(&scan->input);
    scan->at = scan->end = no_bytes;
}

uint64_t scan_offset(const struct scan *scan) {
    return scan->input.offset + scan->input.length - (uint64_t)(scan->end - scan->at);
}

const char *scan_fail(struct scan *scan, const char *at, const char *why) {
    scan->trouble = at >= scan->end ? NULL : why;
    scan->trouble_at = at;
    return NULL;
}

/* Drops what lies before scan->at and reads on once. */
static bool slide(struct scan *scan, struct status *status) {
    struct input *input = &scan->input;
    if (scan->end != no_bytes)
        input_consume(input, (size_t)(scan->at - input->data));
    bool ok = input_more(input, SCAN_UNIT_MAX, status);
    scan->at = input->data;
    scan->end = input->data + input->length;
    return ok;
}

bool scan_more(struct scan *scan, const char *what, struct status *status) {
    uint64_t start = scan_offset(scan);
    if (scan->trouble)
        return status_fail(status, STATUS_INPUT, "damaged JSON at byte %llu: %s",
                           (unsigned long long)(start + (uint64_t)(scan->trouble_at - scan->at)),
                           scan->trouble);
    if (scan->input.at_end)
        return status_fail(status, STATUS_INPUT,
                           "truncated: the file ends at byte %llu inside %s that begins at byte "
                           "%llu; record or copy it again",
                           (unsigned long long)(scan->input.offset + scan->input.length), what,
                           (unsigned long long)start);
    /* At least double what was too short, so that trying again costs linear time in all. */
    size_t had = (size_t)(scan->end - scan->at);
    do {
        if (!slide(scan, status))
            return status_context(status, "%s at byte %llu", what, (unsigned long long)start);
    } while (scan->input.length < 2 * had && !scan->input.at_end);
    return true;
}

bool scan_peek(struct scan *scan, char *byte, struct status *status) {
    for (;;) {
        scan->at = scan_space(scan->at);
        if (scan->at < scan->end) {
            *byte = *scan->at;
            return true;
        }
        scan->at = scan->end;
        *byte = 0;
        if (scan->input.at_end)
            return true;
        if (!slide(scan, status))
            return false;
    }
}

/* Moves past the rest of a string whose opening quote (or a part) has been read. */
static bool pass_string(struct scan *scan, struct status *status) {
    uint64_t start = scan_offset(scan);
    for (;;) {
        const char *stop = bytes_find_quote(scan->at, scan->end);
        if (stop < scan->end && *stop == '"') {
            scan->at = stop + 1;
            return true;
        }
        if (stop + 1 < scan->end) {
            scan->at = stop + 2;
            continue;
        }
        scan->at = stop < scan->end ? stop : scan->end;
        if (scan->input.at_end)
            return status_fail(status, STATUS_INPUT,
                               "truncated: the file ends at byte %llu inside a string that begins "
                               "at byte %llu; record or copy it again",
                               (unsigned long long)scan_offset(scan), (unsigned long long)start);
        if (!slide(scan, status))
            return false;
    }
}

static bool pass_scalar(struct scan *scan, struct status *status) {
    const char *after;
    while (!(after = scan_skip(scan, scan->at)))
        if (!scan_more(scan, "a value", status))
            return false;
    scan->at = after;
    return true;
}

static bool pass_container(struct scan *scan, struct status *status) {
    unsigned depth = 0;
    uint64_t start = scan_offset(scan);
    for (;;) {
        scan->at = bytes_find_structure(scan->at, scan->end);
        if (scan->at >= scan->end) {
            scan->at = scan->end;
            if (scan->input.at_end)
                return status_fail(status, STATUS_INPUT,
                                   "truncated: the file ends at byte %llu inside a value that "
                                   "begins at byte %llu; record or copy it again",
                                   (unsigned long long)scan_offset(scan),
                                   (unsigned long long)start);
            if (!slide(scan, status))
                return false;
            continue;
        }
        char byte = *scan->at++;
        if (byte == '"') {
            if (!pass_string(scan, status))
                return false;
        } else if (byte == '{' || byte == '[') {
            if (++depth > SCAN_DEPTH)
                return status_fail(status, STATUS_INPUT,
                                   "damaged JSON at byte %llu: nested more than %d deep",
                                   (unsigned long long)scan_offset(scan) - 1, SCAN_DEPTH);
        } else if (--depth == 0) {
            return true;
        }
    }
}

bool json_skip(struct scan *scan, struct status *status) {
    char byte;
    if (!scan_peek(scan, &byte, status))
        return false;
    if (byte == '{' || byte == '[')
        return pass_container(scan, status);
    if (byte != '"')
        return pass_scalar(scan, status);
    scan->at++;
    return pass_string(scan, status);
}

bool scan_unexpected(const struct scan *scan, const char *expected, struct status *status) {
    unsigned long long offset = scan_offset(scan);
    if (scan->at == scan->end)
        return status_fail(
            status, STATUS_INPUT,
            "truncated: the file ends at byte %llu where %s should follow; record or "
            "copy it again",
            offset, expected);
    return status_fail(status, STATUS_INPUT, "damaged JSON at byte %llu: expected %s", offset,
                       expected);
}

static bool at_element(struct scan *scan, char closing, bool *more, struct status *status) {
    char byte;
    if (!scan_peek(scan, &byte, status))
        return false;
    *more = byte != closing;
    scan->at += byte == closing;
    return true;
}

bool scan_enter(struct scan *scan, char closing, bool *more, struct status *status) {
    scan->at++;
    return at_element(scan, closing, more, status);
}

bool scan_next(struct scan *scan, char closing, bool *more, struct status *status) {
    char byte;
    if (!scan_peek(scan, &byte, status))
        return false;
    if (byte == ',')
        scan->at++;
    else if (byte != closing)
        return scan_unexpected(scan, "a comma or a closing bracket", status);
    return at_element(scan, closing, more, status);
}

bool scan_take_key(struct scan *scan, struct buffer *buffer, struct text *key,
                   struct status *status) {
    struct scan_string string;
    const char *after;
    char byte;
    if (scan->at == scan->end)
        return scan_unexpected(scan, "a key", status);
    while (!(after = scan_string(scan, scan->at, &string)))
        if (!scan_more(scan, "a key", status))
            return false;
    buffer_clear(buffer);
    buffer_text(buffer, string.raw);
    buffer_append(buffer, "\0\0\0\0\0\0\0", 8);
    if (!buffer_ok(buffer, status))
        return false;
    *key = (struct text){buffer->data, buffer->length - 8};
    scan->at = after;
    if (!scan_peek(scan, &byte, status))
        return false;
    if (byte != ':')
        return scan_unexpected(scan, "a colon", status);
    scan->at++;
    return scan_peek(scan, &byte, status);
}

const char *scan_escaped_string(struct scan *scan, const char *start, const char *stop,
                                struct scan_string *string) {
    while (stop < scan->end && *stop == '\\')
        stop = bytes_find_quote(stop + 2, scan->end);
    if (stop >= scan->end)
        return scan_fail(scan, scan->end, NULL);
    string->raw = (struct text){start, (size_t)(stop - start)};
    return stop + 1;
}

static const char *skip_container(struct scan *scan, const char *at) {
    unsigned depth = 0;
    for (;;) {
        at = bytes_find_structure(at, scan->end);
        if (at >= scan->end)
            return scan_fail(scan, scan->end, NULL);
        char byte = *at;
        if (byte == '"') {
            struct scan_string ignored;
            if (!(at = scan_string(scan, at, &ignored)))
                return NULL;
            continue;
        }
        at++;
        if (byte == '{' || byte == '[') {
            if (++depth > SCAN_DEPTH)
                return scan_fail(scan, at - 1, "nested more than 512 deep");
        } else if (--depth == 0) {
            return at;
        }
    }
}

/* The end of a number or a word such as true or NaN. */
static const char *scalar_end(const char *at) {
    static const bool inside[256] = {
        ['+'] = true, ['-'] = true, ['.'] = true,
#define TEN(a)                                                                                     \
    [a] = true, [a + 1] = true, [a + 2] = true, [a + 3] = true, [a + 4] = true, [a + 5] = true,    \
    [a + 6] = true, [a + 7] = true, [a + 8] = true, [a + 9] = true
        TEN('0'),     TEN('a'),     TEN('k'),     ['u'] = true, ['v'] = true, ['w'] = true,
        ['x'] = true, ['y'] = true, ['z'] = true, TEN('A'),     TEN('K'),     ['U'] = true,
        ['V'] = true, ['W'] = true, ['X'] = true, ['Y'] = true, ['Z'] = true,
#undef TEN
    };
    while (inside[(unsigned char)*at])
        at++;
    return at;
}

const char *scan_skip(struct scan *scan, const char *at) {
    struct scan_string ignored;
    if (*at == '"')
        return scan_string(scan, at, &ignored);
    if (*at == '{' || *at == '[')
        return skip_container(scan, at);
    const char *after = scalar_end(at);
    if (after >= scan->end || after == at)
        return scan_fail(scan, after, "expected a value");
    return after;
}

/* The text of a number or of a string that may hold one; empty for any other value. */
static const char *number_text(struct scan *scan, const char *at, struct text *number) {
    struct scan_string string;
    const char *after = scan_skip(scan, at);
    *number = TEXT("");
    if (!after)
        return NULL;
    bool quoted = *at == '"';
    char first = at[quoted];
    if (first != '-' && (first < '0' || first > '9'))
        return after;
    if (quoted && scan_string(scan, at, &string))
        *number = string.raw;
    else
        *number = (struct text){at, (size_t)(after - at)};
    return after;
}

/* What the fast paths leave: strings, exponents, fractions, more than 18 digits. */
static const char *integer_slowly(struct scan *scan, const char *at, int64_t *value,
                                  bool *is_number) {
    struct text number;
    uint64_t bits;
    double approximately;
    const char *after = number_text(scan, at, &number);
    if (!after)
        return NULL;
    *is_number = true;
    if (decimal_scaled(number, 0, value))
        return after;
    if (text_to_u64(number, &bits)) {
        *value = (int64_t)bits;
        return after;
    }
    *is_number = false;
    if (number.length)
        after = scan_double(scan, at, &approximately, is_number);
    if (*is_number)
        *value = approximately < 0 ? INT64_MIN : INT64_MAX;
    return after;
}

static bool ends_number(char byte) {
    return byte == ',' || byte == '}' || byte == ']' || scan_is_space(byte);
}

const char *scan_integer(struct scan *scan, const char *at, int64_t *value, bool *is_number) {
    bool quoted = *at == '"';
    bool negative = at[quoted] == '-';
    const char *p = at + quoted + negative, *digits = p;
    uint64_t sum = 0;
    while ((unsigned)(*p - '0') <= 9)
        sum = sum * 10 + (unsigned)(*p++ - '0');
    size_t count = (size_t)(p - digits);
    if (count == 0 || count > 18 || !(quoted ? *p == '"' : ends_number(*p)))
        return integer_slowly(scan, at, value, is_number);
    *value = negative ? -(int64_t)sum : (int64_t)sum;
    *is_number = true;
    return p + quoted;
}

const char *scan_microseconds(struct scan *scan, const char *at, int64_t *value, bool *is_number) {
    static const uint64_t scale[4] = {1000, 100, 10, 1};
    const char *p = at;
    uint64_t sum = 0;
    while ((unsigned)(*p - '0') <= 9)
        sum = sum * 10 + (unsigned)(*p++ - '0');
    size_t whole = (size_t)(p - at), fraction = 0;
    if (*p == '.') {
        const char *point = p++;
        while ((unsigned)(*p - '0') <= 9)
            sum = sum * 10 + (unsigned)(*p++ - '0');
        fraction = (size_t)(p - point) - 1;
    }
    /* 16 + 3 digits fit 64 bits without a sign, so nothing has wrapped. */
    if (whole > 0 && whole <= 16 && fraction <= 3 && ends_number(*p) &&
        sum * scale[fraction] <= INT64_MAX) {
        *value = (int64_t)(sum * scale[fraction]);
        *is_number = true;
        return p;
    }
    struct text number;
    const char *after = number_text(scan, at, &number);
    if (after)
        *is_number = decimal_scaled(number, 3, value);
    return after;
}

const char *scan_double(struct scan *scan, const char *at, double *value, bool *is_number) {
    struct text number;
    char copy[64];
    const char *after = number_text(scan, at, &number);
    if (!after)
        return NULL;
    *is_number = false;
    if (number.length == 0 || number.length >= sizeof copy)
        return after;
    memcpy(copy, number.data, number.length);
    copy[number.length] = 0;
    char *end;
    *value = strtod(copy, &end);
    *is_number = *end == 0;
    return after;
}
