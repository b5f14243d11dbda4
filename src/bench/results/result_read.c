/* Reads a file of results by the tables of members. Whatever the bytes are, the answer is a set of
 * results or one line that explains what is wrong: sizes, counts and the order of members are all
 * checked. Null stands for an unknown figure.
 */
#include <limits.h>
#include <math.h>

#include "base/array.h"
#include "base/json_read.h"
#include "base/memory.h"
#include "bench/results/result_members.h"

/* Far more than any run has: a small file cannot make us allocate without end. */
enum { RESULTS_MAX = 1 << 14, ROOFS_MAX = 64, FINDINGS_MAX = 1 << 14, REFERENCES_MAX = 1 << 20 };

struct reading {
    struct scan scan;
    struct buffer key, words;
    bool is_ours; /* the schema was seen */
    int64_t version;
    struct status *status;
};

/* ---- Values ----------------------------------------------------------------------------- */

/* The raw value at scan->at; the scan continues after it. */
static bool reading_take(struct reading *reading, struct text *value) {
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

static bool reading_expected(struct reading *reading, const char *what) {
    return status_fail(reading->status, STATUS_INPUT, "expected %s", what);
}

static bool is_number(struct text value) {
    return value.length > 0 &&
           (value.data[0] == '-' || (value.data[0] >= '0' && value.data[0] <= '9'));
}

static bool reading_integer(struct reading *reading, struct text value, int64_t *number) {
    bool is_integer = false;
    if (is_number(value))
        scan_integer(&reading->scan, value.data, number, &is_integer);
    return is_integer || reading_expected(reading, "a whole number");
}

static bool to_unsigned(struct reading *reading, struct text value, uint64_t *number) {
    int64_t bits = 0;
    if (!is_number(value) || value.data[0] == '-')
        return reading_expected(reading, "a non-negative integer");
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

static bool reading_double(struct reading *reading, struct text value, double *number) {
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
static bool reading_string(struct reading *reading, struct text value) {
    if (value.length < 2 || value.data[0] != '"')
        return reading_expected(reading, "a string");
    buffer_clear(&reading->words);
    scan_decode((struct text){value.data + 1, value.length - 2}, &reading->words);
    return buffer_ok(&reading->words, reading->status);
}

static bool reading_text(struct reading *reading, char *to, size_t capacity) {
    struct text value;
    if (!reading_take(reading, &value))
        return false;
    if (is_null(value))
        return true;
    if (!reading_string(reading, value))
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
    if (!reading_string(reading, value))
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

static bool reading_open(struct reading *reading, char opening, bool *more) {
    char byte;
    if (!scan_peek(&reading->scan, &byte, reading->status))
        return false;
    if (byte != opening)
        return reading_expected(reading, opening == '[' ? "an array" : "an object");
    return scan_enter(&reading->scan, opening == '[' ? ']' : '}', more, reading->status);
}

static bool reading_next(struct reading *reading, bool *more) {
    return scan_next(&reading->scan, ']', more, reading->status);
}

static bool reading_too_many(struct reading *reading, size_t max) {
    return status_fail(reading->status, STATUS_INPUT, "more than %zu of them", max);
}

/* Arrays that share their count are of one length. */
static bool take_doubles(struct reading *reading, double *values, size_t max, unsigned *count) {
    bool more;
    struct text value;
    unsigned read = 0;
    if (!reading_open(reading, '[', &more))
        return false;
    while (more) {
        if (read == max)
            return reading_too_many(reading, max);
        values[read] = NAN;
        if (!reading_take(reading, &value) ||
            (!is_null(value) && !reading_double(reading, value, &values[read])) ||
            !reading_next(reading, &more))
            return false;
        read++;
    }
    if (*count > 0 && read != *count)
        return reading_expected(reading, "as many numbers as in the matching array");
    *count = read;
    return true;
}

static bool take_integers(struct reading *reading, int64_t *values, size_t max) {
    bool more;
    struct text value;
    if (!reading_open(reading, '[', &more))
        return false;
    for (size_t i = 0; more; i++) {
        if (i == max)
            return reading_too_many(reading, max);
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

static bool reading_members(struct reading *reading, const struct member *members, char *base);

static bool reading_member(struct reading *reading, const struct member *member, char *base) {
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

static const struct member *reading_find(const struct member *members, struct text key) {
    for (; members->key; members++)
        if (text_is(key, members->key))
            return members;
    return NULL;
}

/* Depth here is that of the tables, not of the file. */
static bool reading_members(struct reading *reading, const struct member *members, char *base) {
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

/* ---- Results ----------------------------------------------------------------------------- */

/* The summary is computed from the samples. */
static bool summarize(struct reading *reading, struct measurement *measurement) {
    double sorted[MEASURE_SAMPLES];
    for (unsigned i = 0; i < measurement->sample_count; i++) {
        if (!isfinite(measurement->samples[i]))
            return reading_expected(reading, "only numbers in samples_ns");
        sorted[i] = measurement->samples[i];
    }
    if (measurement->sample_count > 0)
        measurement->time = statistics_summarize(sorted, measurement->sample_count);
    return true;
}

static bool take_result(struct reading *reading, struct result_set *set) {
    struct result result = {0};
    return reading_members(reading, result_members, (char *)&result) &&
           summarize(reading, &result.time) && summarize(reading, &result.peer) &&
           result_add(set, &result, reading->status);
}

static bool take_finding(struct reading *reading, struct result_set *set) {
    struct result_finding finding = {.value = NAN};
    struct buffer words = {0};
    bool more;
    struct text key, value;
    bool ok = reading_open(reading, '{', &more);
    while (ok && more) {
        ok = scan_key_copy(&reading->scan, &reading->key, &key, reading->status);
        const struct member *member = ok ? reading_find(finding_members, key) : NULL;
        if (!ok)
            break;
        if (member) {
            ok = reading_member(reading, member, (char *)&finding);
        } else if (text_is(key, "text")) {
            buffer_clear(&words);
            ok = reading_take(reading, &value) && reading_string(reading, value);
            buffer_text(&words, ok ? buffer_as_text(&reading->words) : TEXT(""));
        } else {
            ok = json_skip(&reading->scan, reading->status);
        }
        ok = ok && scan_next(&reading->scan, '}', &more, reading->status);
    }
    ok = ok && buffer_ok(&words, reading->status) &&
         finding_add(set, finding.experiment, finding.device, finding.key, finding.value,
                     reading->status, "%.*s", TEXT_ARGS(buffer_as_text(&words)));
    buffer_finish(&words);
    return ok;
}

static bool take_roofs(struct reading *reading, struct result_set *set) {
    struct text value;
    if (!reading_take(reading, &value) ||
        !GROW(set->roofs, &set->roofs_capacity, set->roofs_count + 1, reading->status))
        return false;
    set->roofs[set->roofs_count] = (struct roofs){0};
    if (!roofs_read_json(value, &set->roofs[set->roofs_count], reading->status))
        return false;
    set->roofs_count++;
    return true;
}

static bool take_reference(struct reading *reading, struct result_set *set) {
    struct text value;
    double number = 0;
    if (!reading_take(reading, &value) || !reading_double(reading, value, &number) ||
        !GROW(set->reference, &set->reference_capacity, set->reference_count + 1, reading->status))
        return false;
    set->reference[set->reference_count++] = number;
    return true;
}

struct list {
    const char *key;
    bool (*take)(struct reading *reading, struct result_set *set);
    size_t max;
};

static bool take_list(struct reading *reading, const struct list *list, struct result_set *set) {
    bool more;
    if (!reading_open(reading, '[', &more))
        return status_context(reading->status, "%s", list->key);
    for (size_t i = 0; more; i++) {
        if (i == list->max)
            return reading_too_many(reading, list->max) ||
                   status_context(reading->status, "%s", list->key);
        if (!list->take(reading, set))
            return status_context(reading->status, "%s[%zu]", list->key, i);
        if (!reading_next(reading, &more))
            return false;
    }
    return true;
}

static bool take_schema(struct reading *reading) {
    struct text value;
    if (!reading_take(reading, &value))
        return false;
    reading->is_ours = text_is(value, "\"" BENCH_SCHEMA "\"");
    return reading->is_ours || reading_expected(reading, "\"" BENCH_SCHEMA "\" as its schema");
}

static bool take_version(struct reading *reading) {
    struct text value;
    return reading_take(reading, &value) && reading_integer(reading, value, &reading->version);
}

static bool take_top_member(struct reading *reading, struct text key, struct result_set *set) {
    static const struct list lists[] = {
        {"results", take_result, RESULTS_MAX},
        {"findings", take_finding, FINDINGS_MAX},
        {"roofs", take_roofs, ROOFS_MAX},
        {"reference_ns", take_reference, REFERENCES_MAX},
    };
    struct text value;
    if (text_is(key, "schema"))
        return take_schema(reading);
    if (text_is(key, "version"))
        return take_version(reading);
    if (text_is(key, "ridge"))
        return reading_text(reading, set->ridge, sizeof set->ridge);
    if (text_is(key, "machine"))
        return reading_text(reading, set->machine, sizeof set->machine);
    if (text_is(key, "peer"))
        return reading_text(reading, set->peer, sizeof set->peer);
    if (text_is(key, "started_at"))
        return reading_take(reading, &value) && reading_integer(reading, value, &set->started_at);
    for (size_t i = 0; i < ARRAY_COUNT(lists); i++)
        if (text_is(key, lists[i].key))
            return take_list(reading, &lists[i], set);
    return json_skip(&reading->scan, reading->status);
}

static bool take_document(struct reading *reading, struct result_set *set) {
    bool more;
    struct text key;
    char byte;
    if (!reading_open(reading, '{', &more))
        return false;
    while (more)
        if (!scan_key_copy(&reading->scan, &reading->key, &key, reading->status) ||
            !take_top_member(reading, key, set) ||
            !scan_next(&reading->scan, '}', &more, reading->status))
            return false;
    if (!scan_peek(&reading->scan, &byte, reading->status))
        return false;
    return byte == 0 || reading_expected(reading, "nothing after the document");
}

static bool check_head(struct reading *reading) {
    if (!reading->is_ours)
        return status_fail(reading->status, STATUS_INPUT, "it does not contain \"schema\": \"%s\"",
                           BENCH_SCHEMA);
    if (reading->version == BENCH_FORMAT_VERSION)
        return true;
    return status_fail(reading->status, STATUS_UNSUPPORTED,
                       "format version %lld, and this ridge reads version %d: use the ridge that "
                       "wrote it, or measure again",
                       (long long)reading->version, BENCH_FORMAT_VERSION);
}

bool result_set_read(struct result_set *set, const char *path, struct status *status) {
    struct reading reading = {.status = status};
    struct input input;
    if (!input_open(&input, path, status))
        return false;
    scan_open(&reading.scan, &input);
    bool ok = take_document(&reading, set) && check_head(&reading);
    scan_close(&reading.scan);
    buffer_finish(&reading.key);
    buffer_finish(&reading.words);
    if (ok)
        return true;
    result_set_finish(set);
    if (!reading.is_ours && status->code == STATUS_INPUT)
        status_context(status, "not a file of ridge bench results");
    return status_context(status, "%s", path);
}
