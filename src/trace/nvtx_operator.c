/* The numbers follow the name in any order; the first of them ends it. */
#include "trace/nvtx_operator.h"

#include <string.h>

#include "base/array.h"

enum { DIGITS_MAX = 18 };

static uint64_t read_number(const char *at, const char *end) {
    uint64_t number = 0;
    for (const char *first = at; at < end && at < first + DIGITS_MAX && *at >= '0' && *at <= '9';
         at++)
        number = number * 10 + (uint64_t)(*at - '0');
    return number;
}

size_t nvtx_operator(struct text text, uint64_t *sequence) {
    static const char *const marks[] = {", seq = ", ", op_id = ", ", sizes = "};
    size_t length = 0;
    *sequence = 0;
    for (size_t i = 0; i < ARRAY_COUNT(marks); i++) {
        ptrdiff_t at = text_find(text, marks[i]);
        if (at > 0 && i == 0)
            *sequence = 1 + read_number(text.data + at + strlen(marks[i]), text.data + text.length);
        if (at > 0 && (length == 0 || (size_t)at < length))
            length = (size_t)at;
    }
    return length;
}
