/* How values, arrays and objects of a file of results are read, by the tables of members. Sizes and
 * counts are checked against the room there is; a wrong kind of value says what was expected. Null
 * stands for a figure that nobody could tell.
 */
#include "bench/results/result_reading.h"

#include <limits.h>
#include <math.h>

/* ---- Values ----------------------------------------------------------------------------- */

/* The value at scan->at as it stands in the file; the scan goes on behind it. */
bool reading_take(struct reading *reading, struct text *value) {
    struct scan *scan = &reading->scan;
    const char *after;
    char byte;
    if (!scan_peek(scan, &byte, reading->status))
        return false;
    while (!(after = scan_skip(scan, scan->at)))
        if (!scan_more(scan, "a value", reading->status))
            return false;
    *value = (struct text){scan->at, (size_t)(after - scan->at)};
    scan->at = after;
    return true;
}

static bool is_null(struct text value) {
    return text_is(value, "null");
}

bool reading_expected(struct reading *reading, const char *what) {
    return status_fail(reading->status, STATUS_INPUT, "expected %s", what);
}

static bool is_number(struct text value) {
    return value.length > 0 &&
           (value.data[0] == '-' || (value.data[0] >= '0' && value.data[0] <= '9'));
}

bool reading_integer(struct reading *reading, struct text value, int64_t *number) {
    bool is_integer = false;
    if (is_number(value))
        scan_integer(&reading->scan, value.data, number, &is_integer);
    return is_integer || reading_expected(reading, "a whole number");
}

static bool to_unsigned(struct reading *reading, struct text value, uint64_t *number) {
    int64_t bits = 0;
    if (!is_number(value) || value.data[0] == '-')
        return reading_expected(reading, "a whole number that is not negative");
    if (!reading_integer(reading, value, &bits))
        return false;
    *number = (uint64_t)bits;
    return true;
}

static bool to_count(struct reading *reading, struct text value, unsigned *count) {
    uint64_t number;
    if (!to_unsigned(reading, value, &number))
        return false;
    if (number > UINT_MAX)
        return reading_expected(reading, "a smaller number");
    *count = (unsigned)number;
    return true;
}

bool reading_double(struct reading *reading, struct text value, double *number) {
    bool ok = false;
    if (is_number(value))
        scan_double(&reading->scan, value.data, number, &ok);
    return (ok && isfinite(*number)) || reading_expected(reading, "a number");
}

static bool to_bool(struct reading *reading, struct text value, bool *truth) {
    *truth = text_is(value, "true");
    return *truth || text_is(value, "false") || reading_expected(reading, "true or false");
}

/* The decoded string is in reading->words. */
bool reading_words(struct reading *reading, struct text value) {
    if (value.length < 2 || value.data[0] != '"')
        return reading_expected(reading, "a string");
    buffer_clear(&reading->words);
    scan_decode((struct text){value.data + 1, value.length - 2}, &reading->words);
    return buffer_ok(&reading->words, reading->status);
}

bool reading_text(struct reading *reading, char *to, size_t capacity) {
    struct text value;
    if (!reading_take(reading, &value))
        return false;
    if (is_null(value))
        return true;
    if (!reading_words(reading, value))
        return false;
    result_copy_text(to, capacity, buffer_as_text(&reading->words));
    return true;
}

static const char *dtype_word(unsigned i) {
    return ridge_dtype_name((enum ridge_dtype)i);
}
static const char *limit_word(unsigned i) {
    return limit_kind_name((enum limit_kind)i);
}

/* Which of `count` words a string is. */
static bool to_choice(struct reading *reading, struct text value, const char *(*word)(unsigned),
                      unsigned count, unsigned *choice) {
    if (!reading_words(reading, value))
        return false;
    struct text words = buffer_as_text(&reading->words);
    for (unsigned i = 0; i < count; i++)
        if (text_is(words, word(i))) {
            *choice = i;
            return true;
        }
    return status_fail(reading->status, STATUS_INPUT, "\"%.*s\" is unknown here",
                       words.length < 40 ? (int)words.length : 40, words.data);
}

/* ---- Arrays ----------------------------------------------------------------------------- */

bool reading_open(struct reading *reading, char opening, bool *more) {
    char byte;
    if (!scan_peek(&reading->scan, &byte, reading->status))
        return false;
    if (byte != opening)
        return reading_expected(reading, opening == '[' ? "an array" : "an object");
    return scan_enter(&reading->scan, opening == '[' ? ']' : '}', more, reading->status);
}

bool reading_next(struct reading *reading, bool *more) {
    return scan_next(&reading->scan, ']', more, reading->status);
}

bool reading_too_many(struct reading *reading, size_t most) {
    return status_fail(reading->status, STATUS_INPUT, "more than %zu of them", most);
}

/* Arrays that share their count are of one length. */
static bool take_doubles(struct reading *reading, double *values, size_t most, unsigned *count) {
    bool more;
    struct text value;
    unsigned read = 0;
    if (!reading_open(reading, '[', &more))
        return false;
    while (more) {
        if (read == most)
            return reading_too_many(reading, most);
        values[read] = NAN;
        if (!reading_take(reading, &value) ||
            (!is_null(value) && !reading_double(reading, value, &values[read])) ||
            !reading_next(reading, &more))
            return false;
        read++;
    }
    if (*count > 0 && read != *count)
        return reading_expected(reading, "as many numbers as in the array that goes with it");
    *count = read;
    return true;
}

static bool take_integers(struct reading *reading, int64_t *values, size_t most) {
    bool more;
    struct text value;
    if (!reading_open(reading, '[', &more))
        return false;
    for (size_t i = 0; more; i++) {
        if (i == most)
            return reading_too_many(reading, most);
        if (!reading_take(reading, &value) || !reading_integer(reading, value, &values[i]) ||
            !reading_next(reading, &more))
            return false;
    }
    return true;
}

/* ---- Objects ---------------------------------------------------------------------------- */

static bool take_scalar(struct reading *reading, const struct member *member, void *at) {
    struct text value;
    unsigned choice = 0;
    if (!reading_take(reading, &value))
        return false;
    if (is_null(value)) {
        if (member->kind == MEMBER_DOUBLE)
            *(double *)at = NAN;
        return true;
    }
    switch (member->kind) {
    case MEMBER_BOOL:
        return to_bool(reading, value, at);
    case MEMBER_SIGNED:
        return reading_integer(reading, value, at);
    case MEMBER_UNSIGNED:
        return to_unsigned(reading, value, at);
    case MEMBER_COUNT:
        return to_count(reading, value, at);
    case MEMBER_DTYPE:
        if (!to_choice(reading, value, dtype_word, RIDGE_DTYPES, &choice))
            return false;
        *(enum ridge_dtype *)at = (enum ridge_dtype)choice;
        return true;
    case MEMBER_ROOF:
        if (!to_choice(reading, value, result_roof_word, ROOF_COUNT + 1, &choice))
            return false;
        *(enum roof_id *)at = (enum roof_id)choice;
        return true;
    case MEMBER_LIMIT:
        if (!to_choice(reading, value, limit_word, LIMIT_KINDS, &choice))
            return false;
        *(enum limit_kind *)at = (enum limit_kind)choice;
        return true;
    default:
        return reading_double(reading, value, at);
    }
}

bool reading_member(struct reading *reading, const struct member *member, char *base) {
    void *at = base + member->offset;
    switch (member->kind) {
    case MEMBER_TEXT:
        return reading_text(reading, at, member->size);
    case MEMBER_INTEGERS:
        return take_integers(reading, at, member->size);
    case MEMBER_DOUBLES:
        return take_doubles(reading, at, member->size, (unsigned *)(void *)(base + member->count));
    case MEMBER_IF:
        *(bool *)(base + member->count) = true;
        return reading_members(reading, member->members, at);
    case MEMBER_OBJECT:
        return reading_members(reading, member->members, at);
    default:
        return take_scalar(reading, member, at);
    }
}

const struct member *reading_find(const struct member *members, struct text key) {
    for (; members->key; members++)
        if (text_is(key, members->key))
            return members;
    return NULL;
}

/* Depth here is that of the tables, not of the file. */
bool reading_members(struct reading *reading, const struct member *members, char *base) {
    bool more;
    struct text key;
    if (!reading_open(reading, '{', &more))
        return false;
    while (more) {
        if (!scan_key_copy(&reading->scan, &reading->key, &key, reading->status))
            return false;
        const struct member *member = reading_find(members, key);
        if (member && !reading_member(reading, member, base))
            return status_context(reading->status, "%s", member->key);
        if (!member && !json_skip(&reading->scan, reading->status))
            return false;
        if (!scan_next(&reading->scan, '}', &more, reading->status))
            return false;
    }
    return true;
}
