/* Reading a file of results: the scan and what the parts of result_set_read() share. */
#ifndef RIDGE_BENCH_RESULTS_RESULT_READING_H
#define RIDGE_BENCH_RESULTS_RESULT_READING_H

#include "bench/results/result_members.h"
#include "base/json_read.h"

struct reading {
    struct scan scan;
    struct buffer key, words;
    bool is_ours; /* the schema was seen */
    int64_t version;
    struct status *status;
};

/* The value at scan->at as it stands in the file; the scan goes on behind it. */
bool reading_take(struct reading *reading, struct text *value);
/* Fails: something else stands there. */
bool reading_expected(struct reading *reading, const char *what);
bool reading_too_many(struct reading *reading, size_t most);

/* What a value that was taken says. */
bool reading_integer(struct reading *reading, struct text value, int64_t *number);
bool reading_double(struct reading *reading, struct text value, double *number);
/* The decoded string is in reading->words. */
bool reading_words(struct reading *reading, struct text value);
/* Takes a string; null leaves `to` as it is. */
bool reading_text(struct reading *reading, char *to, size_t capacity);

/* Enters the array or object ('[' or '{') at scan->at, and goes on in an array. */
bool reading_open(struct reading *reading, char opening, bool *more);
bool reading_next(struct reading *reading, bool *more);

const struct member *reading_find(const struct member *members, struct text key);
bool reading_member(struct reading *reading, const struct member *member, char *base);
/* A whole object; members that are not known are passed over. */
bool reading_members(struct reading *reading, const struct member *members, char *base);

#endif
