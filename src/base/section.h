/* A table described once and written in every format.
 *
 * A section names its columns: what each is called, its unit, and a function that takes the value
 * from a row. The formats walk that description, so a figure that is unknown is unknown in all of
 * them: "?" in text and Markdown, null in JSON, an empty field in CSV.
 *
 *   static const struct column columns[] = {
 *       {"count", "count", UNIT_COUNT, 0, copy_count},
 *       {"direction", "direction", UNIT_TEXT, COLUMN_FLEXIBLE, copy_direction},
 *       {0},
 *   };
 *   static const struct section copies = {.key = "copies", .title = "Copies", .columns = columns,
 *                                         .row = copy_row};
 *   section_write_json(&copies, source, &json, &status);
 *
 * `source` is whatever the section's functions expect; rows are pointers into it.
 */
#ifndef RIDGE_BASE_SECTION_H
#define RIDGE_BASE_SECTION_H

#include "base/json_write.h"
#include "base/table.h"

enum unit {
    UNIT_TEXT,
    UNIT_BOOL,
    UNIT_COUNT,
    UNIT_ID,      /* an integer without separators: a pid, a time stamp */
    UNIT_NS,      /* an integer */
    UNIT_NS_MEAN, /* a real number */
    UNIT_BYTES,
    UNIT_BYTES_PER_S,
    UNIT_FLOP_PER_S,
    UNIT_HZ,
    UNIT_SHARE,
    UNIT_FACTOR, /* "2.52x" */
    UNIT_NUMBER,
};

enum value_state {
    VALUE_UNKNOWN, /* "?", null */
    VALUE_NONE,    /* does not apply: "-", null */
    VALUE_KNOWN,
};

struct value {
    enum value_state state;
    union {
        int64_t integer; /* UNIT_BOOL, _COUNT, _ID, _NS and _BYTES */
        double real;
        struct text text;
    };
};

static inline struct value value_integer(int64_t integer) {
    return (struct value){.state = VALUE_KNOWN, .integer = integer};
}
static inline struct value value_real(double real) {
    return (struct value){.state = VALUE_KNOWN, .real = real};
}
static inline struct value value_text(struct text text) {
    return (struct value){.state = VALUE_KNOWN, .text = text};
}
static inline struct value value_string(const char *string) {
    return value_text(text_of(string));
}
static inline struct value value_none(void) {
    return (struct value){.state = VALUE_NONE};
}
static inline struct value value_unknown(void) {
    return (struct value){.state = VALUE_UNKNOWN};
}
/* part / whole; unknown without a whole. */
static inline struct value value_ratio(int64_t part, int64_t whole) {
    return whole > 0 ? value_real((double)part / (double)whole) : value_unknown();
}
/* `value` if `known`. */
static inline struct value value_if(bool known, struct value value) {
    return known ? value : value_unknown();
}

/* Defines a value function: `of` is the source, `at` the row. */
#define SECTION_VALUE(name, source_type, row_type, ...)                                            \
    static struct value name(const void *source, const void *row, struct buffer *words) {          \
        const source_type *of = source;                                                            \
        const row_type *at = row;                                                                  \
        (void)of, (void)at, (void)words;                                                           \
        return __VA_ARGS__;                                                                        \
    }

enum column_flags {
    COLUMN_FLEXIBLE = 1,  /* a name: last in text, and cut where the line is full */
    COLUMN_WIDE = 2,      /* in text only from SECTION_WIDE columns on */
    COLUMN_CSV = 4,       /* in CSV but not in JSON */
    COLUMN_RIGHT = 8,     /* a text that is a figure */
    COLUMN_IN_PLACE = 16, /* with COLUMN_FLEXIBLE: cut, but not moved to the end */
    COLUMN_LABEL = 64,    /* see COLUMN_RANK() */
    COLUMN_OPTIONAL = 32, /* JSON has the member only where the value is known */
};
/* In text with a limited width, the columns of the highest rank leave until the table fits; rank 0
 * stays. One with COLUMN_LABEL leaves for a line above the rows that share it; what fits then comes
 * back. At most 15. */
#define COLUMN_RANK(rank) ((unsigned)(rank) << 8)
enum { SECTION_WIDE = 110, SECTION_INDENT = 2 };

struct column {
    const char *key;   /* of JSON and CSV; NULL: not in these */
    const char *title; /* of text and Markdown; NULL: not in these */
    enum unit unit;
    unsigned flags;
    /* `words` is empty and may hold a text that is put together here. */
    struct value (*get)(const void *source, const void *row, struct buffer *words);
};

struct section {
    const char *key;
    const char *title;
    const struct column *columns; /* ended by a zeroed one; NULL: no table */
    const void *(*row)(const void *source, size_t index); /* NULL behind the last; of a table */
    size_t (*count)(const void *source); /* of rows; NULL where walking them is cheap */
    /* Appends what stands beside the title. False: the section does not apply to this source.
     * May be NULL. */
    bool (*note)(const void *source, struct buffer *line);
    /* Appends the index-th sentence below the table; false when there are no more. May be NULL. */
    bool (*sentence)(const void *source, size_t index, struct buffer *line);
    const char *rows; /* plural name of rows, for "12 more kernels"; may be NULL */
    size_t rows_max;  /* in text and Markdown; 0: as many as the reader asks for */
};

size_t section_rows(const struct section *section, const void *source);

/* Adds columns and rows for text (`width` columns, of which SECTION_INDENT are before the table) or
 * Markdown (`width` 0). A column in which no shown row has a known value is left out. Returns how
 * many rows were left out. */
size_t section_table(const struct section *section, const void *source, size_t rows, unsigned width,
                     struct table *table);

struct section_style {
    enum table_style style;
    unsigned width, indent; /* of text; `width` 0 is no limit */
    size_t rows;            /* at most; 0: all */
    bool no_header;         /* CSV: the rows follow those of an earlier call */
};
/* The table in one of the three styles, with the number of rows left out below it; without title,
 * note and sentences. Nothing for a section without rows, except the header of CSV. */
bool section_write(const struct section *section, const void *source,
                   const struct section_style *style, struct output *output, struct status *status);

/* The members of one row, into an object that the caller has begun. */
bool section_write_json_row(const struct section *section, const void *source, const void *row,
                            struct json *json, struct status *status);
/* An array of one object for each row. */
bool section_write_json(const struct section *section, const void *source, struct json *json,
                        struct status *status);
/* RFC 4180: the line of keys, and a line for each row. Times are in nanoseconds. */
void section_write_csv_head(const struct section *section, struct output *output);
bool section_write_csv(const struct section *section, const void *source, struct output *output,
                       struct status *status);

/* An object that describes the columns with a key and a title, for a program that shows the rows of
 * section_write_json(): {"title", "columns": [{"key", "title", "unit"}]}. */
void section_write_json_columns(const struct section *section, struct json *json);

/* The section as text shows it, for a program that shows it without knowing it: an object with
 * "part", "key", "title", "note", "columns": [{"title", "unit", "is_name"}], "rows": [[value]],
 * "more", "sentences". Unknown is null, and false does not apply. Columns without a known value are
 * left out, and so are rows beyond `rows`. Nothing where the section does not apply or has no rows.
 */
bool section_write_json_table(const struct section *section, const char *part, const void *source,
                              size_t rows, struct json *json, struct status *status);

/* One value as text and Markdown print it. Texts are returned as they are. */
struct text section_value_text(struct value value, enum unit unit, char text[40]);

#endif
