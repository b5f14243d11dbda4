/* What does a piece of JSON say? Strings lose their escapes here, and values that a trace keeps as
 * text are written again without white space and strictly valid, whatever their writer let slip.
 */
#include "base/array.h"
#include "base/json_read.h"

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

/* \uXXXX with `at` behind the u; a pair of surrogates is one character, half a pair is U+FFFD. */
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
            buffer_append(out, stop, 2); /* not an escape at all: a Windows path */
    }
}

/* The place after a string whose opening quote is at `at`; the copy has only valid escapes. */
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

/* Where in an object or array the copy stands. */
enum place { VALUE, VALUE_OR_END, KEY, KEY_OR_END, COLON, COMMA_OR_END };

struct compacting {
    uint64_t is_object[SCAN_DEPTH / 64];
    unsigned depth;
    enum place place;
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
    state->place = object ? KEY_OR_END : VALUE_OR_END;
    return true;
}

/* Brackets, commas and colons; false when they do not belong here. */
static bool compact_structure(struct compacting *state, char byte) {
    enum place place = state->place;
    bool wants_value = place == VALUE || place == VALUE_OR_END;
    switch (byte) {
    case '{':
    case '[':
        return wants_value && open_level(state, byte == '{');
    case '}':
    case ']':
        if (state->depth == 0 || in_object(state) != (byte == '}') ||
            (place != COMMA_OR_END && place != (byte == '}' ? KEY_OR_END : VALUE_OR_END)))
            return false;
        state->depth--;
        state->place = COMMA_OR_END;
        return true;
    case ',':
        if (place != COMMA_OR_END)
            return false;
        state->place = in_object(state) ? KEY : VALUE;
        return true;
    default:
        if (place != COLON)
            return false;
        state->place = VALUE;
        return true;
    }
}

static const char *compact_token(struct compacting *state, const char *at, const char *end,
                                 struct buffer *out) {
    bool wants_key = state->place == KEY || state->place == KEY_OR_END;
    bool wants_value = state->place == VALUE || state->place == VALUE_OR_END;
    if (memchr("{}[],:", *at, 6)) {
        if (!compact_structure(state, *at))
            return NULL;
        buffer_byte(out, *at);
        return at + 1;
    }
    if (!wants_value && !(wants_key && *at == '"'))
        return NULL;
    state->place = wants_key ? COLON : COMMA_OR_END;
    return *at == '"' ? compact_string(at, end, out) : compact_word(at, end, out);
}

bool scan_compact(struct text raw, struct buffer *out) {
    struct compacting state = {.place = VALUE};
    const char *at = raw.data, *end = at + raw.length;
    size_t before = out->length;
    while (at) {
        while (at < end && scan_is_space(*at))
            at++;
        if (state.depth == 0 && state.place == COMMA_OR_END)
            break;
        at = at < end ? compact_token(&state, at, end, out) : NULL;
    }
    if (at == end)
        return true;
    out->length = before;
    return false;
}
