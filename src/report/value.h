/* A figure of a report that the trace may not hold, and how each format prints it: "?" in text and
 * Markdown, null in JSON. Writers take their figures from the functions here and below, so that a
 * figure is known in all formats or in none. */
#ifndef RIDGE_REPORT_VALUE_H
#define RIDGE_REPORT_VALUE_H

#include "analysis/copies.h"
#include "base/format.h"
#include "base/json_write.h"
#include "base/table.h"

enum value_unit { VALUE_COUNT, VALUE_NS, VALUE_BYTES, VALUE_BYTES_PER_S, VALUE_RATIO };

struct value {
    bool known;
    enum value_unit unit;
    union {
        uint64_t integer; /* VALUE_COUNT, VALUE_NS and VALUE_BYTES */
        double real;      /* VALUE_BYTES_PER_S and VALUE_RATIO */
    };
};

/* "12.34 MB" or "?"; returns `text`. */
char *value_text(struct value value, char text[FORMAT_SIZE]);
void value_cell(struct table *table, struct value value);
void value_member(struct json *json, const char *key, struct value value);

/* ---- Copies ---------------------------------------------------------------------------- */

/* Sizes are known when at least one copy of the group has one; they are sums over those. */
bool copies_sized(const struct copy_group *group);
struct value copies_bytes(const struct copy_group *group);
struct value copies_rate(const struct copy_group *group);
/* Of the copies with a size: those below 64 KiB, by count and by time. */
struct value copies_small_share(const struct copy_group *group);
struct value copies_small_time_share(const struct copy_group *group);
struct value copies_pageable_bytes(const struct copy_group *group);

/* One object of JSON. */
void copies_members(struct json *json, const struct copy_group *group);

/* The table of copies: one row for each direction with copies, then the sets. */
struct copies_column {
    const char *text_title, *markdown_title;
    struct value (*get)(const struct copy_group *group); /* NULL: the row's name */
};
enum { COPIES_COLUMNS = 8 };
extern const struct copies_column copies_columns[COPIES_COLUMNS];
void copies_rows(const struct copies *copies, struct table *table);

#endif
