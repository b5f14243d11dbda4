/* Python pickles of plain data, read without executing anything.
 *
 * A pickle is a program for a stack machine. Only the instructions that build dicts, lists, tuples,
 * texts, numbers, booleans and None are known: those that import or call something (GLOBAL, REDUCE,
 * ...) are refused. An object of one of a few classes that hold plain data (tracemalloc's) becomes
 * the dict of its members; nothing is imported for it. Values are shared as in the file, so a small
 * file stays small in memory. They may share in cycles: a reader must bound its depth.
 */
#ifndef RIDGE_IMPORT_PICKLE_H
#define RIDGE_IMPORT_PICKLE_H

#include <stdint.h>

#include "base/memory.h"
#include "base/text.h"

enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INTEGER,
    PICKLE_REAL,
    PICKLE_TEXT, /* and bytes */
    PICKLE_LIST, /* and tuples */
    PICKLE_DICT, /* items are keys and values, one after the other */
    PICKLE_CLASS /* only while reading */
};

struct pickle_value {
    enum pickle_kind kind;
    union {
        int64_t integer; /* and booleans; a number that does not fit is a real */
        double real;
        struct text text;
        struct {
            const struct pickle_value **items;
            size_t count, capacity;
        };
    };
};

struct pickle {
    const struct pickle_value *value; /* what was pickled */
    struct arena arena;
    struct pickle_value **lists; /* whose items are allocated */
    size_t list_count, list_capacity;
};

/* `bytes` must live as long as the pickle: texts point into them. Call pickle_finish() in any case.
 */
bool pickle_read(struct pickle *pickle, struct text bytes, struct status *status);
void pickle_finish(struct pickle *pickle);
/* Whether the bytes begin as a pickle of protocol 2 or later. */
bool pickle_detect(struct text head);

/* The value of a key of a dict; NULL if it is not a dict or has no such key. */
const struct pickle_value *pickle_member(const struct pickle_value *dict, const char *key);
/* Of such a member; 0, "" and an empty list if it is missing or of another kind. */
int64_t pickle_integer(const struct pickle_value *dict, const char *key);
struct text pickle_text(const struct pickle_value *dict, const char *key);
const struct pickle_value *pickle_list(const struct pickle_value *dict, const char *key);

#endif
