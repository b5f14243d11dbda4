/* The file format of a result: the members of its JSON objects and their fields in the struct.
 *
 * Writing and reading use the same tables. To store another figure, add its row to
 * result_members.c and to docs/bench-json.md.
 */
#ifndef RIDGE_BENCH_RESULTS_RESULT_MEMBERS_H
#define RIDGE_BENCH_RESULTS_RESULT_MEMBERS_H

#include "base/text.h"
#include "bench/results/result.h"

enum member_kind {
    MEMBER_TEXT,     /* char[size] */
    MEMBER_BOOL,     /* bool */
    MEMBER_SIGNED,   /* int64_t */
    MEMBER_UNSIGNED, /* uint64_t */
    MEMBER_COUNT,    /* unsigned */
    MEMBER_DOUBLE,   /* double; null is NaN */
    MEMBER_DTYPE,    /* enum ridge_dtype, by name */
    MEMBER_ROOF,     /* enum roof_id, by key */
    MEMBER_LIMIT,    /* enum limit_kind, by name */
    MEMBER_INTEGERS, /* int64_t[size]; those that are missing at its end are 0 */
    MEMBER_DOUBLES,  /* double[size], of which the unsigned at `count` are in use; null is NaN */
    MEMBER_OBJECT,   /* a struct with `members` */
    MEMBER_IF,       /* the same, there when the bool at `count` is true */
};

struct member {
    const char *key; /* NULL ends a table */
    enum member_kind kind;
    size_t offset, size, count;
    const struct member *members;
};

extern const struct member result_members[];  /* of struct result */
extern const struct member finding_members[]; /* of struct result_finding, without its text */

enum { BENCH_FORMAT_VERSION = 1 };
#define BENCH_SCHEMA "ridge.bench"

/* The roof's key; "none" for ROOF_COUNT. */
const char *result_roof_word(unsigned roof);

/* Copies what fits, whole characters only, and ends it. */
void result_copy_text(char *to, size_t capacity, struct text from);

#endif
