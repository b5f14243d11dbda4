/* A record is walked with a stack of its own, because input decides how deep it is. */
#include "base/json_record.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

static bool walk(struct scan *scan, char opening, char closing, json_visitor *visit, void *context,
                 struct status *status) {
    struct buffer buffer = {0};
    struct text key = TEXT("");
    bool more = false;
    char byte;
    if (!scan_peek(scan, &byte, status))
        return false;
    if (byte != opening)
        return json_skip(scan, status);
    bool ok = scan_enter(scan, closing, &more, status);
    while (ok && more)
        ok = (closing == ']' || scan_key_copy(scan, &buffer, &key, status)) &&
             visit(context, scan, key, status) && scan_next(scan, closing, &more, status);
    buffer_finish(&buffer);
    return ok;
}

bool json_members(struct scan *scan, json_visitor *visit, void *context, struct status *status) {
    return walk(scan, '{', '}', visit, context, status);
}

bool json_elements(struct scan *scan, json_visitor *visit, void *context, struct status *status) {
    return walk(scan, '[', ']', visit, context, status);
}

/* ---- records ---- */

/* A container that is open, and the next element of a list. */
struct level {
    bool is_list;
    size_t path_length, index;
};

struct record_walk {
    struct scan *scan;
    struct json_record *record;
    struct level levels[JSON_RECORD_DEPTH];
    unsigned depth;
    struct buffer path;
};

static bool add_value(struct record_walk *walk, const char *at, const char *after, bool is_string,
                      struct status *status) {
    struct json_record *record = walk->record;
    if (!GROW(record->members, &record->capacity, record->count + 1, status))
        return false;
    struct json_member *member = &record->members[record->count++];
    member->path = record->text.length;
    member->path_length = walk->path.length;
    buffer_text(&record->text, buffer_as_text(&walk->path));
    member->value = record->text.length;
    if (is_string)
        scan_decode((struct text){at + 1, (size_t)(after - at) - 2}, &record->text);
    else
        buffer_append(&record->text, at, (size_t)(after - at));
    member->value_length = record->text.length - member->value;
    return buffer_ok(&record->text, status) && buffer_ok(&walk->path, status);
}

/* Moves over the key of an object's member, or counts an element, and extends the path by it. */
static const char *begin_member(struct record_walk *walk, const char *at) {
    struct level *level = &walk->levels[walk->depth - 1];
    struct text key;
    walk->path.length = level->path_length;
    if (walk->path.length > 0)
        buffer_byte(&walk->path, '.');
    if (level->is_list) {
        buffer_printf(&walk->path, "%zu", level->index++);
        return at;
    }
    if ((at = scan_key(walk->scan, at, &key)))
        buffer_text(&walk->path, key);
    return at;
}

/* After a value: to the next member, out of all containers that end here; NULL at the end. */
static const char *next_member(struct record_walk *walk, const char *at) {
    while (walk->depth > 0) {
        at = scan_space(at);
        if (*at == ',')
            at = scan_space(at + 1);
        if (*at != ']' && *at != '}')
            return begin_member(walk, at);
        walk->depth--;
        at++;
    }
    return NULL;
}

static bool is_empty(const char *at) {
    at = scan_space(at + 1);
    return *at == ']' || *at == '}';
}

/* The value from `at` to `end`, of which scan_skip() knows that it is well formed. */
static bool walk_record(struct record_walk *walk, const char *at, const char *end,
                        struct status *status) {
    while (at && at < end) {
        bool nested = *at == '{' || *at == '[';
        if (nested && walk->depth < JSON_RECORD_DEPTH && !is_empty(at)) {
            walk->levels[walk->depth++] =
                (struct level){.is_list = *at == '[', .path_length = walk->path.length};
            at = begin_member(walk, scan_space(at + 1));
            continue;
        }
        const char *after = scan_skip(walk->scan, at);
        if (!after || after > end)
            break;
        if (!nested && !add_value(walk, at, after, *at == '"', status))
            return false;
        at = next_member(walk, after);
    }
    return true;
}

bool json_record_read(struct scan *scan, struct json_record *record, struct status *status) {
    struct record_walk walk = {.scan = scan, .record = record};
    const char *after;
    char byte;
    if (!scan_peek(scan, &byte, status))
        return false;
    while (!(after = scan_skip(scan, scan->at)))
        if (!scan_more(scan, "a record", status))
            return false;
    record->count = 0;
    buffer_clear(&record->text);
    bool ok = walk_record(&walk, scan->at, after, status);
    scan->at = after;
    buffer_finish(&walk.path);
    return ok;
}

void json_record_finish(struct json_record *record) {
    memory_free(record->members);
    buffer_finish(&record->text);
    *record = (struct json_record){0};
}

static const struct json_member *find(const struct json_record *record, const char *path) {
    size_t length = strlen(path);
    for (size_t i = 0; i < record->count; i++) {
        const struct json_member *member = &record->members[i];
        if (member->path_length == length &&
            memcmp(record->text.data + member->path, path, length) == 0)
            return member;
    }
    return NULL;
}

struct text json_record_text(const struct json_record *record, const char *path) {
    const struct json_member *member = find(record, path);
    return member ? (struct text){record->text.data + member->value, member->value_length}
                  : TEXT("");
}

bool json_record_has(const struct json_record *record, const char *path) {
    return find(record, path) != NULL;
}

int64_t json_record_integer(const struct json_record *record, const char *path, int64_t fallback) {
    struct text text = json_record_text(record, path);
    int64_t value;
    uint64_t large;
    if (text_to_i64(text, &value))
        return value;
    return text_to_u64(text, &large) ? (int64_t)large : fallback;
}

uint32_t json_record_u32(const struct json_record *record, const char *path) {
    int64_t value = json_record_integer(record, path, 0);
    return value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

double json_record_double(const struct json_record *record, const char *path, double fallback) {
    struct text text = json_record_text(record, path);
    char copy[64], *end;
    if (text.length == 0 || text.length >= sizeof copy)
        return fallback;
    snprintf(copy, sizeof copy, "%.*s", TEXT_ARGS(text));
    double value = strtod(copy, &end);
    return *end ? fallback : value;
}
