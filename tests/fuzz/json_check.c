/* A parser of JSON that keeps nothing. Nesting is a stack of brackets, not recursion. */
#include "json_check.h"

#include <ctype.h>

enum { DEPTH_MAX = 64 };

static size_t skip_space(struct text text, size_t at) {
    while (at < text.length && strchr(" \t\r\n", text.data[at]) && text.data[at])
        at++;
    return at;
}

static char byte_at(struct text text, size_t at) {
    return at < text.length ? text.data[at] : 0;
}

/* These return the position behind what they read, or 0. */
static size_t read_string(struct text text, size_t at) {
    for (at++; at < text.length; at++) {
        unsigned char byte = (unsigned char)text.data[at];
        if (byte == '"')
            return at + 1;
        if (byte < 0x20)
            return 0;
        if (byte != '\\')
            continue;
        byte = (unsigned char)byte_at(text, ++at);
        if (byte == 'u') {
            for (unsigned i = 1; i <= 4; i++)
                if (!isxdigit((unsigned char)byte_at(text, at + i)))
                    return 0;
            at += 4;
        } else if (!byte || !strchr("\"\\/bfnrt", byte)) {
            return 0;
        }
    }
    return 0;
}

static size_t read_digits(struct text text, size_t at) {
    size_t start = at;
    while (isdigit((unsigned char)byte_at(text, at)))
        at++;
    return at > start ? at : 0;
}

static size_t read_number(struct text text, size_t at) {
    at += byte_at(text, at) == '-';
    at = byte_at(text, at) == '0' ? at + 1 : read_digits(text, at);
    if (at && byte_at(text, at) == '.')
        at = read_digits(text, at + 1);
    if (at && (byte_at(text, at) | 0x20) == 'e') {
        at++;
        at += byte_at(text, at) == '+' || byte_at(text, at) == '-';
        at = read_digits(text, at);
    }
    return at;
}

static size_t read_scalar(struct text text, size_t at) {
    static const char *const words[] = {"null", "true", "false"};
    struct text rest = {text.data + at, text.length - at};
    for (unsigned i = 0; i < 3; i++)
        if (text_starts(rest, words[i]))
            return at + strlen(words[i]);
    return byte_at(text, at) == '"' ? read_string(text, at) : read_number(text, at);
}

static size_t read_key(struct text text, size_t at) {
    if (byte_at(text, at) != '"' || !(at = read_string(text, at)))
        return 0;
    at = skip_space(text, at);
    return byte_at(text, at) == ':' ? skip_space(text, at + 1) : 0;
}

/* Behind a value: closes what ends, and goes to the next value. */
static size_t read_on(struct text text, size_t at, const char *open, unsigned *depth) {
    while (*depth > 0) {
        char bracket = open[*depth - 1];
        at = skip_space(text, at);
        if (byte_at(text, at) == ',') {
            at = skip_space(text, at + 1);
            return bracket == '{' ? read_key(text, at) : at;
        }
        if (byte_at(text, at) != (bracket == '{' ? '}' : ']'))
            return 0;
        at++;
        --*depth;
    }
    return at;
}

size_t json_value_length(struct text text) {
    char open[DEPTH_MAX];
    unsigned depth = 0;
    size_t at = skip_space(text, 0);
    do {
        char byte = byte_at(text, at);
        if (byte == '{' || byte == '[') {
            if (depth == DEPTH_MAX)
                return 0;
            open[depth++] = byte;
            at = skip_space(text, at + 1);
            if (byte_at(text, at) != (byte == '{' ? '}' : ']')) {
                if (byte == '{' && !(at = read_key(text, at)))
                    return 0;
                continue;
            }
            at++;
            depth--;
        } else if (!(at = read_scalar(text, at))) {
            return 0;
        }
        at = read_on(text, at, open, &depth);
    } while (at && depth > 0);
    return at;
}

bool json_is_valid(struct text text) {
    size_t length = json_value_length(text);
    return length > 0 && skip_space(text, length) == text.length &&
           text_utf8_valid(text) == text.length;
}
