/* Roofs as JSON and back. Input may be damaged: every number is checked, and unknown members are
 * skipped. */
#include <math.h>
#include <stdio.h>

#include "bench/roofs/roofs.h"
#include "base/json_read.h"

static void write_roof(const struct roof *roof, struct json *json) {
    json_member_number(json, "value", roof->value);
    json_member_number(json, "spread", roof->spread);
    json_member_number(json, "stated", roof->stated);
    json_member_string(json, "how", roof->how);
}

static void write_transfer(const struct transfer_roof *transfer, struct json *json) {
    json_begin_object(json);
    json_member_unsigned(json, "bytes", transfer->bytes);
    json_member_bool(json, "to_device", transfer->to_device);
    json_member_bool(json, "pinned", transfer->pinned);
    write_roof(&transfer->roof, json);
    json_end_object(json);
}

static void write_working_set(const struct working_set *set, struct json *json) {
    json_begin_object(json);
    json_member_unsigned(json, "bytes", set->bytes);
    write_roof(&set->roof, json);
    json_end_object(json);
}

void roofs_write_json(const struct roofs *roofs, struct json *json) {
    json_begin_object(json);
    json_member_string(json, "device", roofs->device);
    json_member_string(json, "description", roofs->description);
    json_member_string(json, "driver", roofs->driver);
    json_member_integer(json, "measured_at", roofs->measured_at);
    json_member_bool(json, "quick", roofs->quick);
    json_member_unsigned(json, "cache_bytes", roofs->cache_bytes);
    json_member_string(json, "note", roofs->note);
    json_key(json, "roofs");
    json_begin_object(json);
    for (unsigned i = 0; i < ROOF_COUNT; i++) {
        json_key(json, roof_infos[i].key);
        json_begin_object(json);
        write_roof(&roofs->of[i], json);
        json_end_object(json);
    }
    json_end_object(json);
    json_key(json, "transfers");
    json_begin_array(json);
    for (unsigned i = 0; i < roofs->transfer_count && i < TRANSFERS_MAX; i++)
        write_transfer(&roofs->transfers[i], json);
    json_end_array(json);
    json_key(json, "working_sets");
    json_begin_array(json);
    for (unsigned i = 0; i < roofs->working_set_count && i < WORKING_SETS_MAX; i++)
        write_working_set(&roofs->working_sets[i], json);
    json_end_array(json);
    json_end_object(json);
}

/* ---- Reading ---------------------------------------------------------------------------- */

struct reader {
    struct scan scan;
    struct buffer key, text;
    struct status *status;
};

/* Takes one value with `scan_one`, reading on when the window ends in it. */
static bool take_text(struct reader *reader, char *to, size_t capacity) {
    struct scan *scan = &reader->scan;
    struct scan_string string;
    const char *after;
    while (!(after = scan_string(scan, scan->at, &string)))
        if (!scan_more(scan, "a text", reader->status))
            return false;
    buffer_clear(&reader->text);
    scan_decode(string.raw, &reader->text);
    if (!buffer_ok(&reader->text, reader->status))
        return false;
    snprintf(to, capacity, "%.*s", TEXT_ARGS(buffer_as_text(&reader->text)));
    scan->at = after;
    return true;
}

static bool take_number(struct reader *reader, double *value) {
    struct scan *scan = &reader->scan;
    bool is_number = false;
    const char *after;
    while (!(after = scan_double(scan, scan->at, value, &is_number)))
        if (!scan_more(scan, "a number", reader->status))
            return false;
    if (!is_number || !isfinite(*value) || *value < 0)
        return scan_unexpected(scan, "a non-negative number", reader->status);
    scan->at = after;
    return true;
}

static bool take_integer(struct reader *reader, int64_t *value) {
    struct scan *scan = &reader->scan;
    bool is_number = false;
    const char *after;
    while (!(after = scan_integer(scan, scan->at, value, &is_number)))
        if (!scan_more(scan, "a number", reader->status))
            return false;
    if (!is_number || *value < 0)
        return scan_unexpected(scan, "a non-negative integer", reader->status);
    scan->at = after;
    return true;
}

static bool take_size(struct reader *reader, uint64_t *value) {
    int64_t number;
    if (!take_integer(reader, &number))
        return false;
    *value = (uint64_t)number;
    return true;
}

static bool take_bool(struct reader *reader, bool *value) {
    char byte;
    if (!scan_peek(&reader->scan, &byte, reader->status))
        return false;
    if (byte != 't' && byte != 'f')
        return scan_unexpected(&reader->scan, "true or false", reader->status);
    *value = byte == 't';
    return json_skip(&reader->scan, reader->status);
}

typedef bool member_taker(struct reader *reader, struct text key, void *context);

/* Calls `take` for each member of an object; it must read the value. */
static bool each_member(struct reader *reader, member_taker *take, void *context) {
    char byte;
    bool more = false;
    struct text key;
    if (!scan_peek(&reader->scan, &byte, reader->status))
        return false;
    if (byte != '{')
        return scan_unexpected(&reader->scan, "an object", reader->status);
    bool ok = scan_enter(&reader->scan, '}', &more, reader->status);
    while (ok && more)
        ok = scan_key_copy(&reader->scan, &reader->key, &key, reader->status) &&
             take(reader, key, context) && scan_next(&reader->scan, '}', &more, reader->status);
    return ok;
}

static bool take_roof_member(struct reader *reader, struct text key, void *context) {
    struct roof *roof = context;
    if (text_is(key, "value"))
        return take_number(reader, &roof->value);
    if (text_is(key, "spread"))
        return take_number(reader, &roof->spread);
    if (text_is(key, "stated"))
        return take_number(reader, &roof->stated);
    if (text_is(key, "how"))
        return take_text(reader, roof->how, sizeof roof->how);
    return json_skip(&reader->scan, reader->status);
}

static bool take_roof(struct reader *reader, struct text key, void *context) {
    struct roofs *roofs = context;
    for (unsigned i = 0; i < ROOF_COUNT; i++)
        if (text_is(key, roof_infos[i].key))
            return each_member(reader, take_roof_member, &roofs->of[i]);
    return json_skip(&reader->scan, reader->status);
}

static bool take_transfer_member(struct reader *reader, struct text key, void *context) {
    struct transfer_roof *transfer = context;
    if (text_is(key, "bytes"))
        return take_size(reader, &transfer->bytes);
    if (text_is(key, "to_device"))
        return take_bool(reader, &transfer->to_device);
    if (text_is(key, "pinned"))
        return take_bool(reader, &transfer->pinned);
    return take_roof_member(reader, key, &transfer->roof);
}

static bool take_working_set_member(struct reader *reader, struct text key, void *context) {
    struct working_set *set = context;
    if (text_is(key, "bytes"))
        return take_size(reader, &set->bytes);
    return take_roof_member(reader, key, &set->roof);
}

/* Rows of `size` bytes each, `capacity` of them at most. */
struct rows {
    void *rows;
    size_t size;
    unsigned capacity, *count;
    member_taker *take;
    const char *name;
};

static bool take_rows(struct reader *reader, const struct rows *rows) {
    char byte;
    bool more = false;
    if (!scan_peek(&reader->scan, &byte, reader->status))
        return false;
    if (byte != '[')
        return scan_unexpected(&reader->scan, "an array", reader->status);
    bool ok = scan_enter(&reader->scan, ']', &more, reader->status);
    while (ok && more) {
        if (*rows->count == rows->capacity)
            return status_fail(reader->status, STATUS_INPUT, "more than %u %s", rows->capacity,
                               rows->name);
        ok = each_member(reader, rows->take, (char *)rows->rows + (*rows->count)++ * rows->size) &&
             scan_next(&reader->scan, ']', &more, reader->status);
    }
    return ok;
}

static bool take_transfers(struct reader *reader, struct roofs *roofs) {
    return take_rows(reader,
                     &(struct rows){roofs->transfers, sizeof *roofs->transfers, TRANSFERS_MAX,
                                    &roofs->transfer_count, take_transfer_member, "transfers"});
}

static bool take_working_sets(struct reader *reader, struct roofs *roofs) {
    return take_rows(reader, &(struct rows){roofs->working_sets, sizeof *roofs->working_sets,
                                            WORKING_SETS_MAX, &roofs->working_set_count,
                                            take_working_set_member, "working sets"});
}

static bool take_member(struct reader *reader, struct text key, void *context) {
    struct roofs *roofs = context;
    if (text_is(key, "device"))
        return take_text(reader, roofs->device, sizeof roofs->device);
    if (text_is(key, "description"))
        return take_text(reader, roofs->description, sizeof roofs->description);
    if (text_is(key, "driver"))
        return take_text(reader, roofs->driver, sizeof roofs->driver);
    if (text_is(key, "note"))
        return take_text(reader, roofs->note, sizeof roofs->note);
    if (text_is(key, "measured_at"))
        return take_integer(reader, &roofs->measured_at);
    if (text_is(key, "quick"))
        return take_bool(reader, &roofs->quick);
    if (text_is(key, "cache_bytes"))
        return take_size(reader, &roofs->cache_bytes);
    if (text_is(key, "roofs"))
        return each_member(reader, take_roof, roofs);
    if (text_is(key, "transfers"))
        return take_transfers(reader, roofs);
    if (text_is(key, "working_sets"))
        return take_working_sets(reader, roofs);
    return json_skip(&reader->scan, reader->status);
}

bool roofs_read_json(struct text object, struct roofs *roofs, struct status *status) {
    struct reader reader = {.status = status};
    struct input input;
    *roofs = (struct roofs){0};
    if (!input_open_bytes(&input, object.data, object.length, status))
        return false;
    scan_open(&reader.scan, &input);
    bool ok =
        each_member(&reader, take_member, roofs) || status_context(status, "the roofs of a device");
    scan_close(&reader.scan);
    buffer_finish(&reader.key);
    buffer_finish(&reader.text);
    return ok;
}
