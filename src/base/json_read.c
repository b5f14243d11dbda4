/* Reads JSON at memory speed.
 *
 * Strings are most of a trace, so the search for their ends compares 16 bytes at once; numbers and
 * structure are read byte by byte. The zero padding behind the window ends every loop, so none
 * checks bounds.
 *
 * Nothing here recurses: skipping counts brackets, and compacting keeps one bit per level.
 */
#include "base/json_read.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
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
    scan->error = at >= scan->end ? NULL : why;
    scan->error_at = at;
    return NULL;
}

/* Drops the bytes before scan->at and reads more once. */
static bool read_more(struct scan *scan, struct status *status) {
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
    if (scan->error)
        return status_fail(status, STATUS_INPUT, "damaged JSON at byte %llu: %s",
                           (unsigned long long)(start + (uint64_t)(scan->error_at - scan->at)),
                           scan->error);
    if (scan->input.at_end)
        return status_fail(status, STATUS_INPUT,
                           "truncated: the file ends at byte %llu inside %s that begins at byte "
                           "%llu; record or copy it again",
                           (unsigned long long)(scan->input.offset + scan->input.length), what,
                           (unsigned long long)start);
    /* At least doubles the window, so that all retries together take linear time. */
    size_t had = (size_t)(scan->end - scan->at);
    do {
        if (!read_more(scan, status))
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
        if (!read_more(scan, status))
            return false;
    }
}

/* Skips the rest of a string whose opening quote, or more, has been read. */
static bool skip_string_stream(struct scan *scan, struct status *status) {
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
        if (!read_more(scan, status))
            return false;
    }
}

static bool skip_scalar_stream(struct scan *scan, struct status *status) {
    const char *after;
    while (!(after = scan_skip(scan, scan->at)))
        if (!scan_more(scan, "a value", status))
            return false;
    scan->at = after;
    return true;
}

static bool skip_container_stream(struct scan *scan, struct status *status) {
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
            if (!read_more(scan, status))
                return false;
            continue;
        }
        char byte = *scan->at++;
        if (byte == '"') {
            if (!skip_string_stream(scan, status))
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
        return skip_container_stream(scan, status);
    if (byte != '"')
        return skip_scalar_stream(scan, status);
    scan->at++;
    return skip_string_stream(scan, status);
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

bool scan_key_copy(struct scan *scan, struct buffer *buffer, struct text *key,
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

/* The text of a number, or of a string that may contain one; empty for any other value. */
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

/* The slow path: strings, exponents, fractions, more than 18 digits. */
static const char *scan_integer_slow(struct scan *scan, const char *at, int64_t *value,
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
        return scan_integer_slow(scan, at, value, is_number);
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
    /* 16 + 3 digits fit into 64 bits, so nothing has wrapped. */
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

/* ---- Strings without escapes, values without white space ---- */

static void append_utf8(struct buffer *out, uint32_t point) {
    if (point < 0x80) {
        buffer_byte(out, (char)point);
        return;
    }
    if (point < 0x800) {
        buffer_byte(out, (char)(0xC0 | point >> 6));
    } else {
        if (point < 0x10000) {
            buffer_byte(out, (char)(0xE0 | point >> 12));
        } else {
            buffer_byte(out, (char)(0xF0 | point >> 18));
            buffer_byte(out, (char)(0x80 | (point >> 12 & 0x3F)));
        }
        buffer_byte(out, (char)(0x80 | (point >> 6 & 0x3F)));
    }
    buffer_byte(out, (char)(0x80 | (point & 0x3F)));
}

static bool four_hex_digits(const char *at, const char *end, uint32_t *value) {
    if (end - at < 4)
        return false;
    *value = 0;
    for (int i = 0; i < 4; i++) {
        char byte = at[i], lower = (char)(byte | 0x20);
        if (byte >= '0' && byte <= '9')
            *value = *value << 4 | (uint32_t)(byte - '0');
        else if (lower >= 'a' && lower <= 'f')
            *value = *value << 4 | (uint32_t)(lower - 'a' + 10);
        else
            return false;
    }
    return true;
}

/* \uXXXX, with `at` after the u; a surrogate pair is one character, an unpaired surrogate U+FFFD.
 */
static const char *decode_unicode(const char *at, const char *end, struct buffer *out) {
    uint32_t high, low;
    if (!four_hex_digits(at, end, &high)) {
        buffer_append(out, "\\u", 2);
        return at;
    }
    at += 4;
    if (high >= 0xD800 && high < 0xDC00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u' &&
        four_hex_digits(at + 2, end, &low) && low >= 0xDC00 && low < 0xE000) {
        append_utf8(out, 0x10000 + ((high - 0xD800) << 10 | (low - 0xDC00)));
        return at + 6;
    }
    append_utf8(out, high >= 0xD800 && high < 0xE000 ? 0xFFFD : high);
    return at;
}

static const char escape_letters[] = "\"\\/bfnrt", escape_bytes[] = "\"\\/\b\f\n\r\t";

void scan_decode(struct text raw, struct buffer *out) {
    const char *at = raw.data, *end = at + raw.length;
    while (at < end) {
        const char *stop = memchr(at, '\\', (size_t)(end - at));
        if (!stop || stop + 1 == end) {
            buffer_append(out, at, (size_t)(end - at));
            return;
        }
        buffer_append(out, at, (size_t)(stop - at));
        at = stop + 2;
        const char *letter = stop[1] ? strchr(escape_letters, stop[1]) : NULL;
        if (letter)
            buffer_byte(out, escape_bytes[letter - escape_letters]);
        else if (stop[1] == 'u')
            at = decode_unicode(at, end, out);
        else
            buffer_append(out, stop, 2); /* not an escape: a Windows path */
    }
}

/* Copies the string whose opening quote is at `at` with only valid escapes; returns the position
 * after it. */
static const char *compact_string(const char *at, const char *end, struct buffer *out) {
    buffer_byte(out, *at++);
    for (; at < end; at++) {
        unsigned char byte = (unsigned char)*at;
        uint32_t ignored;
        if (byte == '"') {
            buffer_byte(out, '"');
            return at + 1;
        }
        if (byte == '\\' && at + 1 < end) {
            bool valid = (at[1] && strchr(escape_letters, at[1])) ||
                         (at[1] == 'u' && four_hex_digits(at + 2, end, &ignored));
            buffer_string(out, valid ? "\\" : "\\\\");
            if (valid)
                buffer_byte(out, *++at);
        } else if (byte < 0x20) {
            buffer_printf(out, "\\u%04x", byte);
        } else {
            buffer_byte(out, (char)byte);
        }
    }
    return NULL;
}

static const char *digits_end(const char *at, const char *end) {
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

/* Whether these bytes are a number by JSON's grammar. */
static bool is_number(struct text word) {
    const char *at = word.data, *end = at + word.length, *digits;
    at += at < end && *at == '-';
    digits = at;
    at = digits_end(at, end);
    if (at == digits || (*digits == '0' && at - digits > 1))
        return false;
    if (at < end && *at == '.') {
        digits = ++at;
        at = digits_end(at, end);
        if (at == digits)
            return false;
    }
    if (at < end && (*at | 0x20) == 'e') {
        at++;
        at += at < end && (*at == '-' || *at == '+');
        digits = at;
        at = digits_end(at, end);
        if (at == digits)
            return false;
    }
    return at == end;
}

static const char *compact_word(const char *at, const char *end, struct buffer *out) {
    static const char *const nulls[] = {"null",     "NaN",       "nan", "-nan",
                                        "Infinity", "-Infinity", "inf", "-inf"};
    const char *after = at;
    while (after < end && !scan_is_space(*after) && !memchr(",:]}[{\"", *after, 7))
        after++;
    struct text word = {at, (size_t)(after - at)};
    if (text_is(word, "true") || text_is(word, "false") || is_number(word)) {
        buffer_text(out, word);
        return after;
    }
    for (size_t i = 0; i < ARRAY_COUNT(nulls); i++)
        if (text_is(word, nulls[i])) {
            buffer_string(out, "null");
            return after;
        }
    return NULL;
}

/* What may follow in the object or array. */
enum expected { VALUE, VALUE_OR_END, KEY, KEY_OR_END, COLON, COMMA_OR_END };

struct compacting {
    uint64_t is_object[SCAN_DEPTH / 64];
    unsigned depth;
    enum expected expected;
};

static bool in_object(const struct compacting *state) {
    unsigned level = state->depth - 1;
    return state->depth > 0 && (state->is_object[level / 64] >> level % 64 & 1);
}

static bool open_level(struct compacting *state, bool object) {
    unsigned level = state->depth++;
    if (level >= SCAN_DEPTH)
        return false;
    uint64_t bit = (uint64_t)1 << level % 64;
    state->is_object[level / 64] =
        object ? state->is_object[level / 64] | bit : state->is_object[level / 64] & ~bit;
    state->expected = object ? KEY_OR_END : VALUE_OR_END;
    return true;
}

/* Brackets, commas and colons; false when not allowed here. */
static bool compact_structure(struct compacting *state, char byte) {
    enum expected expected = state->expected;
    bool wants_value = expected == VALUE || expected == VALUE_OR_END;
    switch (byte) {
    case '{':
    case '[':
        return wants_value && open_level(state, byte == '{');
    case '}':
    case ']':
        if (state->depth == 0 || in_object(state) != (byte == '}') ||
            (expected != COMMA_OR_END && expected != (byte == '}' ? KEY_OR_END : VALUE_OR_END)))
            return false;
        state->depth--;
        state->expected = COMMA_OR_END;
        return true;
    case ',':
        if (expected != COMMA_OR_END)
            return false;
        state->expected = in_object(state) ? KEY : VALUE;
        return true;
    default:
        if (expected != COLON)
            return false;
        state->expected = VALUE;
        return true;
    }
}

static const char *compact_token(struct compacting *state, const char *at, const char *end,
                                 struct buffer *out) {
    bool wants_key = state->expected == KEY || state->expected == KEY_OR_END;
    bool wants_value = state->expected == VALUE || state->expected == VALUE_OR_END;
    if (memchr("{}[],:", *at, 6)) {
        if (!compact_structure(state, *at))
            return NULL;
        buffer_byte(out, *at);
        return at + 1;
    }
    if (!wants_value && !(wants_key && *at == '"'))
        return NULL;
    state->expected = wants_key ? COLON : COMMA_OR_END;
    return *at == '"' ? compact_string(at, end, out) : compact_word(at, end, out);
}

bool scan_compact(struct text raw, struct buffer *out) {
    struct compacting state = {.expected = VALUE};
    const char *at = raw.data, *end = at + raw.length;
    size_t before = out->length;
    while (at) {
        while (at < end && scan_is_space(*at))
            at++;
        if (state.depth == 0 && state.expected == COMMA_OR_END)
            break;
        at = at < end ? compact_token(&state, at, end, out) : NULL;
    }
    if (at == end)
        return true;
    out->length = before;
    return false;
}
