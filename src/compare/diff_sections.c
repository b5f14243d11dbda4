/* Rows of the same part are distinguished by their names; a row of several kernels names the one
 * with most time. */
#include "compare/diff_sections.h"

#include <math.h>
#include <stdio.h>

#include "base/format.h"

#define DIFF_VALUE(function, type, ...)                                                            \
    static struct value function(const void *source, const void *row, struct buffer *words) {      \
        const struct diff *of = source;                                                            \
        const type *at = row;                                                                      \
        (void)of, (void)at, (void)words;                                                           \
        return __VA_ARGS__;                                                                        \
    }

char *diff_signed(int64_t ns, char text[DIFF_SIGNED_SIZE]) {
    char time[FORMAT_SIZE];
    snprintf(text, DIFF_SIGNED_SIZE, "%s%s",
             ns > 0   ? "+"
             : ns < 0 ? "-"
                      : "",
             format_duration(ns < 0 ? -ns : ns, time));
    return text;
}

static struct value signed_value(int64_t ns, struct buffer *words) {
    char text[DIFF_SIGNED_SIZE];
    buffer_string(words, diff_signed(ns, text));
    return value_text(buffer_as_text(words));
}

/* ---- parts ---- */

struct part_row {
    unsigned part;
};

static const void *part_row(const void *source, size_t index) {
    static const struct part_row rows[] = {{0}, {1}, {2}, {3}, {4},  {5},
                                           {6}, {7}, {8}, {9}, {10}, {11}};
    (void)source;
    _Static_assert(PART_COUNT <= sizeof rows / sizeof rows[0], "a row for each part");
    return index < PART_COUNT ? &rows[index] : NULL;
}

/* Parts that a side has. */
static const void *used_part_row(const void *source, size_t index) {
    const struct diff *diff = source;
    for (unsigned part = 0; part < PART_COUNT; part++)
        if ((diff->sides[BEFORE].part_time[part] || diff->sides[AFTER].part_time[part]) &&
            index-- == 0)
            return part_row(source, part);
    return NULL;
}

static struct value part_words(unsigned part, struct buffer *words) {
    buffer_printf(words, "%s%s", part >= PART_IDLE ? "idle, " : "", part_title(part));
    return value_text(buffer_as_text(words));
}

DIFF_VALUE(part_key_value, struct part_row, value_string(part_key(at->part)))
DIFF_VALUE(part_title_value, struct part_row, value_string(part_title(at->part)))
DIFF_VALUE(part_title_words, struct part_row, part_words(at->part, words))
DIFF_VALUE(part_before, struct part_row, value_integer(of->sides[BEFORE].part_time[at->part]))
DIFF_VALUE(part_after, struct part_row, value_integer(of->sides[AFTER].part_time[at->part]))
DIFF_VALUE(part_change, struct part_row, value_integer(of->part[at->part]))
DIFF_VALUE(part_change_words, struct part_row, signed_value(of->part[at->part], words))

static const struct column part_columns[] = {
    {"part", NULL, UNIT_TEXT, 0, part_key_value},
    {"title", NULL, UNIT_TEXT, 0, part_title_value},
    {NULL, "part", UNIT_TEXT, 0, part_title_words},
    {"before_ns", "before", UNIT_NS, 0, part_before},
    {"after_ns", "after", UNIT_NS, 0, part_after},
    {"change_ns", NULL, UNIT_NS, 0, part_change},
    {NULL, "change", UNIT_TEXT, COLUMN_RIGHT, part_change_words},
    {0},
};
const struct section diff_section_parts = {
    .key = "parts", .title = "Parts", .columns = part_columns, .row = part_row};

const struct section diff_section_used_parts = {
    .key = "parts", .title = "Parts", .columns = part_columns, .row = used_part_row};

/* ---- rows ---- */

static const void *diff_row(const void *source, size_t index) {
    const struct diff *diff = source;
    return index < diff->row_count ? &diff->rows[index] : NULL;
}

static struct value real_if(double value) {
    return value > 0 ? value_real(value) : value_none();
}

/* "20 x 4.20 µs" of activities, else the time. */
static struct value side_words(const struct diff_row *row, unsigned at, struct buffer *words) {
    char time[FORMAT_SIZE];
    double count = row->count[at];
    if (row->entries[at] == 0)
        return value_none();
    if (row->part >= PART_IDLE || count <= 0)
        buffer_string(words, format_duration(row->time[at], time));
    else if (fabs(count - round(count)) < 0.005)
        buffer_printf(words, "%.0f x %s", round(count),
                      format_duration((int64_t)row->duration[at], time));
    else
        buffer_printf(words, "%.3g x %s", count, format_duration((int64_t)row->duration[at], time));
    return value_text(buffer_as_text(words));
}

static void append_names(const struct diff_row *row, unsigned at, struct buffer *words) {
    buffer_text(words, row->name[at]);
    if (row->entries[at] > 1)
        buffer_printf(words, " and %zu more", row->entries[at] - 1);
}

/* "gemm -> fused_gemm", "new: dropout", "idle, host code: prepare_batch". */
static struct value name_words(const struct diff_row *row, struct buffer *words) {
    unsigned at = row->entries[BEFORE] ? BEFORE : AFTER;
    if (row->part >= PART_IDLE) {
        buffer_printf(words, "idle, %s%s", part_title(row->part), row->name[at].length ? ": " : "");
        append_names(row, at, words);
        return value_text(buffer_as_text(words));
    }
    if (row->kind == ROW_GONE || row->kind == ROW_NEW)
        buffer_printf(words, "%s: ", row_kind_name(row->kind));
    append_names(row, at, words);
    if (row->kind == ROW_REPLACED) {
        buffer_string(words, " -> ");
        append_names(row, AFTER, words);
    }
    return value_text(buffer_as_text(words));
}

DIFF_VALUE(row_part, struct diff_row, value_string(part_key(at->part)))
DIFF_VALUE(row_title, struct diff_row, value_string(part_title(at->part)))
DIFF_VALUE(row_kind, struct diff_row, value_string(row_kind_name(at->kind)))
DIFF_VALUE(row_change, struct diff_row, value_integer(at->change))
DIFF_VALUE(row_change_words, struct diff_row, signed_value(at->change, words))
DIFF_VALUE(row_by_count, struct diff_row, value_integer(at->by_count))
DIFF_VALUE(row_by_duration, struct diff_row, value_integer(at->by_duration))
DIFF_VALUE(row_before, struct diff_row, value_integer(at->time[BEFORE]))
DIFF_VALUE(row_after, struct diff_row, value_integer(at->time[AFTER]))
DIFF_VALUE(row_name_before, struct diff_row,
           at->entries[BEFORE] ? value_text(at->name[BEFORE]) : value_none())
DIFF_VALUE(row_name_after, struct diff_row,
           at->entries[AFTER] ? value_text(at->name[AFTER]) : value_none())
DIFF_VALUE(row_names_before, struct diff_row, value_integer((int64_t)at->entries[BEFORE]))
DIFF_VALUE(row_names_after, struct diff_row, value_integer((int64_t)at->entries[AFTER]))
DIFF_VALUE(row_count_before, struct diff_row, real_if(at->count[BEFORE]))
DIFF_VALUE(row_count_after, struct diff_row, real_if(at->count[AFTER]))
DIFF_VALUE(row_duration_before, struct diff_row, real_if(at->duration[BEFORE]))
DIFF_VALUE(row_duration_after, struct diff_row, real_if(at->duration[AFTER]))
DIFF_VALUE(row_side_before, struct diff_row, side_words(at, BEFORE, words))
DIFF_VALUE(row_side_after, struct diff_row, side_words(at, AFTER, words))
DIFF_VALUE(row_place, struct diff_row, at->place.length ? value_text(at->place) : value_none())
static struct value text_if(struct text text) {
    return text.length ? value_text(text) : value_none();
}
DIFF_VALUE(row_shapes_before, struct diff_row, text_if(at->shapes[BEFORE]))
DIFF_VALUE(row_shapes_after, struct diff_row, text_if(at->shapes[AFTER]))
DIFF_VALUE(row_words, struct diff_row, name_words(at, words))

static const struct column row_columns[] = {
    {"part", NULL, UNIT_TEXT, 0, row_part},
    {"title", NULL, UNIT_TEXT, 0, row_title},
    {"kind", NULL, UNIT_TEXT, 0, row_kind},
    {"change_ns", NULL, UNIT_NS, 0, row_change},
    {NULL, "change", UNIT_TEXT, COLUMN_RIGHT, row_change_words},
    {"by_count_ns", NULL, UNIT_NS, 0, row_by_count},
    {"by_duration_ns", NULL, UNIT_NS, 0, row_by_duration},
    {"before_ns", NULL, UNIT_NS, 0, row_before},
    {"after_ns", NULL, UNIT_NS, 0, row_after},
    {NULL, "before", UNIT_TEXT, COLUMN_RIGHT, row_side_before},
    {NULL, "after", UNIT_TEXT, COLUMN_RIGHT, row_side_after},
    {"count_before", NULL, UNIT_NUMBER, 0, row_count_before},
    {"count_after", NULL, UNIT_NUMBER, 0, row_count_after},
    {"duration_before_ns", NULL, UNIT_NS_MEAN, 0, row_duration_before},
    {"duration_after_ns", NULL, UNIT_NS_MEAN, 0, row_duration_after},
    {"names_before", NULL, UNIT_COUNT, 0, row_names_before},
    {"names_after", NULL, UNIT_COUNT, 0, row_names_after},
    {"name_before", NULL, UNIT_TEXT, 0, row_name_before},
    {"name_after", NULL, UNIT_TEXT, 0, row_name_after},
    {"place", NULL, UNIT_TEXT, 0, row_place},
    {"shapes_before", NULL, UNIT_TEXT, 0, row_shapes_before},
    {"shapes_after", NULL, UNIT_TEXT, 0, row_shapes_after},
    {NULL, "what", UNIT_TEXT, COLUMN_FLEXIBLE, row_words},
    {0},
};
const struct section diff_section_rows = {.key = "rows",
                                          .title = "What changed",
                                          .columns = row_columns,
                                          .row = diff_row,
                                          .rows = "rows"};

/* ---- counts ---- */

struct count_row {
    unsigned count;
};

static const void *count_row(const void *source, size_t index) {
    static struct count_row rows[SIDE_COUNTS];
    (void)source;
    if (index >= SIDE_COUNTS)
        return NULL;
    rows[index].count = (unsigned)index;
    return &rows[index];
}

static struct value per_unit(const struct diff *diff, unsigned at, unsigned count) {
    const struct side *side = &diff->sides[at];
    return value_if(side->counts_known[count], value_real(side->count_mean[count]));
}

DIFF_VALUE(count_key, struct count_row, value_string(side_count_key(at->count)))
DIFF_VALUE(count_title, struct count_row, value_string(side_count_title(at->count)))
DIFF_VALUE(count_before, struct count_row, per_unit(of, BEFORE, at->count))
DIFF_VALUE(count_after, struct count_row, per_unit(of, AFTER, at->count))

static const struct column count_columns[] = {
    {"count", NULL, UNIT_TEXT, 0, count_key},
    {"title", "count", UNIT_TEXT, 0, count_title},
    {"before", "before", UNIT_NUMBER, 0, count_before},
    {"after", "after", UNIT_NUMBER, 0, count_after},
    {0},
};
const struct section diff_section_counts = {
    .key = "counts", .title = "Counts", .columns = count_columns, .row = count_row};

/* ---- conditions ---- */

static const void *condition_row(const void *source, size_t index) {
    const struct diff *diff = source;
    return index < diff->condition_count ? &diff->conditions[index] : NULL;
}

DIFF_VALUE(condition_key, struct condition, value_string(at->key))
DIFF_VALUE(condition_words, struct condition, value_string(at->words))

static const struct column condition_columns[] = {
    {"key", NULL, UNIT_TEXT, 0, condition_key},
    {"words", "condition", UNIT_TEXT, COLUMN_FLEXIBLE, condition_words},
    {0},
};
const struct section diff_section_conditions = {
    .key = "conditions", .title = "Conditions", .columns = condition_columns, .row = condition_row};
