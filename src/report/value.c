/* Which figures are known, and how they print. */
#include "report/value.h"

char *value_text(struct value value, char text[FORMAT_SIZE]) {
    if (!value.known) {
        text[0] = '?';
        text[1] = '\0';
        return text;
    }
    switch (value.unit) {
    case VALUE_COUNT:
        return format_count(value.integer, text);
    case VALUE_NS:
        return format_duration((int64_t)value.integer, text);
    case VALUE_BYTES:
        return format_bytes(value.integer, text);
    case VALUE_BYTES_PER_S:
        return format_rate(value.real, text);
    case VALUE_RATIO:
        break;
    }
    return format_percent(value.real, text);
}

void value_cell(struct table *table, struct value value) {
    char text[FORMAT_SIZE];
    table_cell(table, text_of(value_text(value, text)));
}

void value_member(struct json *json, const char *key, struct value value) {
    json_key(json, key);
    if (!value.known)
        json_null(json);
    else if (value.unit == VALUE_BYTES_PER_S || value.unit == VALUE_RATIO)
        json_number(json, value.real);
    else
        json_unsigned(json, value.integer);
}

static struct value integer(enum value_unit unit, uint64_t integer, bool known) {
    return (struct value){.known = known, .unit = unit, .integer = integer};
}

static struct value ratio(double part, double whole, bool known) {
    return (struct value){
        .known = known, .unit = VALUE_RATIO, .real = whole > 0 ? part / whole : 0};
}

/* ---- Copies ---------------------------------------------------------------------------- */

/* No copies have no bytes; that is known. */
bool copies_sized(const struct copy_group *group) {
    return group->count == 0 || group->without_bytes < group->count;
}

static bool memory_known(const struct copy_group *group) {
    return group->count == 0 || group->without_memory < group->count;
}

static struct value copies_count(const struct copy_group *group) {
    return integer(VALUE_COUNT, group->count, true);
}

struct value copies_bytes(const struct copy_group *group) {
    return integer(VALUE_BYTES, group->bytes, copies_sized(group));
}

static struct value copies_time(const struct copy_group *group) {
    return integer(VALUE_NS, (uint64_t)group->time, true);
}

struct value copies_rate(const struct copy_group *group) {
    return (struct value){.known = group->time_with_bytes > 0,
                          .unit = VALUE_BYTES_PER_S,
                          .real = copy_group_rate(group)};
}

struct value copies_small_share(const struct copy_group *group) {
    return ratio((double)group->small, (double)(group->count - group->without_bytes),
                 copies_sized(group));
}

struct value copies_small_time_share(const struct copy_group *group) {
    return ratio((double)group->small_time, (double)group->time_with_bytes, copies_sized(group));
}

static struct value copies_pageable(const struct copy_group *group) {
    return integer(VALUE_COUNT, group->pageable, memory_known(group));
}

static struct value copies_pinned(const struct copy_group *group) {
    return integer(VALUE_COUNT, group->pinned, memory_known(group));
}

struct value copies_pageable_bytes(const struct copy_group *group) {
    bool sized = group->pageable == 0 || group->pageable_without_bytes < group->pageable;
    return integer(VALUE_BYTES, group->pageable_bytes, memory_known(group) && sized);
}

static struct value copies_pinned_bytes(const struct copy_group *group) {
    bool sized = group->pinned == 0 || group->pinned_without_bytes < group->pinned;
    return integer(VALUE_BYTES, group->pinned_bytes, memory_known(group) && sized);
}

const struct copies_column copies_columns[COPIES_COLUMNS] = {
    {"direction", "Copies", NULL},
    {"count", "Count", copies_count},
    {"bytes", "Bytes", copies_bytes},
    {"time", "Time", copies_time},
    {"rate", "Rate", copies_rate},
    {"<64 KiB", "Small", copies_small_share},
    {"pageable", "Pageable", copies_pageable},
    {"pinned", "Pinned", copies_pinned},
};

static void copies_row(struct table *table, const char *name, const struct copy_group *group) {
    if (group->count == 0)
        return;
    for (unsigned i = 0; i < COPIES_COLUMNS; i++)
        if (copies_columns[i].get)
            value_cell(table, copies_columns[i].get(group));
        else
            table_cell(table, text_of(name));
}

void copies_rows(const struct copies *copies, struct table *table) {
    for (unsigned direction = 1; direction <= COPY_DIRECTIONS; direction++) {
        unsigned shown = direction % COPY_DIRECTIONS; /* unknown last */
        copies_row(table, copy_direction_name(shown), &copies->direction[shown]);
    }
    copies_row(table, "memset", &copies->sets);
}

static void write_part(struct json *json, const char *key, struct value count, struct value bytes,
                       int64_t time, uint64_t whole) {
    json_key(json, key);
    json_begin_object(json);
    value_member(json, "count", count);
    value_member(json, "bytes", bytes);
    value_member(json, "time_ns", integer(VALUE_NS, (uint64_t)time, count.known));
    value_member(json, "share", ratio((double)count.integer, (double)whole, count.known));
    json_end_object(json);
}

void copies_members(struct json *json, const struct copy_group *group) {
    uint64_t with_bytes = group->count - group->without_bytes;
    bool sized = copies_sized(group);
    json_begin_object(json);
    json_member_unsigned(json, "count", group->count);
    value_member(json, "bytes", copies_bytes(group));
    json_member_integer(json, "time_ns", group->time);
    json_member_unsigned(json, "without_bytes", group->without_bytes);
    struct value rate = copies_rate(group);
    rate.real *= 1e-9;
    value_member(json, "gb_per_s", rate);
    write_part(json, "small", integer(VALUE_COUNT, group->small, sized),
               integer(VALUE_BYTES, group->small_bytes, sized), group->small_time, with_bytes);
    write_part(json, "pageable", copies_pageable(group), copies_pageable_bytes(group),
               group->pageable_time, group->count);
    write_part(json, "pinned", copies_pinned(group), copies_pinned_bytes(group), group->pinned_time,
               group->count);
    json_end_object(json);
}
