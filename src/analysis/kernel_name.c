/* Short kernel names. `void at::native::vectorized_elementwise_kernel<4,
 * at::native::CUDAFunctor_add<float>, ...>(int, ...)` becomes `vectorized_elementwise_kernel<4,
 * CUDAFunctor_add<float>, ...>`: the operation stays visible, because it distinguishes one
 * elementwise kernel from another. */
#include <string.h>

#include "analysis/kernels.h"
#include "base/demangle.h"

enum { KEPT_LEVELS = 2, SHORT_MAX = 160 };

static bool is_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

/* The index after the bracket that closes the one at `at`, or the end. */
static size_t skip_brackets(struct text name, size_t at, char open, char close) {
    size_t depth = 0;
    for (; at < name.length; at++) {
        if (name.data[at] == open)
            depth++;
        else if (name.data[at] == close && --depth == 0)
            return at + 1;
    }
    return name.length;
}

static bool starts_at(struct text name, size_t at, const char *word) {
    size_t length = strlen(word);
    return name.length - at >= length && memcmp(name.data + at, word, length) == 0;
}

/* Inside template arguments `f(...)` is followed by something local to f: a lambda, its operator().
 * Returns its end: the next comma or bracket of this level. */
static size_t skip_local(struct text name, size_t at) {
    while (at < name.length) {
        char c = name.data[at];
        if (c == ',' || c == '>' || c == ')')
            break;
        if (c == '<')
            at = skip_brackets(name, at, '<', '>');
        else if (c == '(')
            at = skip_brackets(name, at, '(', ')');
        else if (c == '{')
            at = skip_brackets(name, at, '{', '}');
        else
            at++;
    }
    return at;
}

/* Drops the current component from `from` on: it was a namespace or a type. */
static void drop_back(struct buffer *out, size_t from) {
    if (!out->failed)
        out->length = from;
}

/* `(anonymous namespace)::`, `(lambda at ...)`, `(int)4`: brackets that are part of a name. */
static bool is_parameter_list(struct text name, size_t at, unsigned level, bool after_name) {
    return level == 0 && after_name && !starts_at(name, at, "(anonymous") &&
           !starts_at(name, at, "(lambda");
}

bool kernel_short_name(struct text full, struct buffer *out, struct status *status) {
    struct buffer plain = {0};
    struct text name = demangle(full, &plain) ? buffer_as_text(&plain) : full;
    size_t component = out->length, start = out->length; /* start of the current name */
    unsigned level = 0;
    bool after_name = false;
    for (size_t at = 0; at < name.length;) {
        char c = name.data[at];
        if (starts_at(name, at, "<unnamed>")) { /* ncu's anonymous namespace */
            at += strlen("<unnamed>");
        } else if (c == '<' && at > 0 && !starts_at(name, at, "<<")) {
            level++;
            if (level > KEPT_LEVELS) {
                buffer_string(out, "<>");
                at = skip_brackets(name, at, '<', '>');
                level--;
                after_name = true;
                continue;
            }
            buffer_byte(out, c);
            component = out->length;
            at++;
        } else if (c == '>' && level > 0) {
            level--;
            if (!out->failed && out->length > start && out->data[out->length - 1] == ' ')
                out->length--;
            buffer_byte(out, c);
            after_name = true;
            at++;
        } else if (c == ',' && level > 0) {
            buffer_string(out, ", ");
            at++;
            while (at < name.length && name.data[at] == ' ')
                at++;
            component = out->length;
        } else if (starts_at(name, at, "::")) {
            drop_back(out, component);
            after_name = false;
            at += 2;
        } else if (c == '(') {
            size_t end = skip_brackets(name, at, '(', ')');
            bool lambda = starts_at(name, at, "(lambda");
            if (is_parameter_list(name, at, level, after_name) && !starts_at(name, end, "::")) {
                break; /* the parameters: the name is complete */
            }
            if (level > 0 && after_name && out->length > component) {
                at = skip_local(name, end);
                continue;
            }
            if (lambda)
                buffer_string(out, "lambda");
            at = end;
            after_name = lambda;
        } else if (c == '{') {
            buffer_string(out, "lambda");
            at = skip_brackets(name, at, '{', '}');
            after_name = true;
        } else if (c == ' ' && level == 0) {
            /* the part before was the return type, unless it is `operator` or a plain name */
            size_t rest = at + 1;
            bool more = false;
            for (size_t i = rest; i < name.length && !more; i++)
                more = name.data[i] == '(' || name.data[i] == '<';
            if (more && (starts_at(name, 0, "void ") || name.data[name.length - 1] == ')')) {
                drop_back(out, start);
                component = start;
            } else {
                buffer_byte(out, c);
                component = out->length;
            }
            after_name = false;
            at++;
        } else {
            buffer_byte(out, c);
            after_name = is_name_byte(c) || after_name;
            at++;
        }
    }
    out->failed |= plain.failed;
    buffer_finish(&plain);
    if (out->length == start)
        buffer_text(out, full);
    if (!out->failed && out->length - start > SHORT_MAX) {
        size_t keep = start + text_utf8_valid((struct text){out->data + start, SHORT_MAX - 3});
        out->length = keep;
        buffer_string(out, "...");
    }
    return buffer_ok(out, status);
}
