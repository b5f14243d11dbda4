/* Results from a file. Whatever the bytes are, the answer is a set of results or one line that says
 * what is wrong: nothing is taken on trust, neither sizes nor counts nor the order of members.
 */
#include <math.h>

#include "base/array.h"
#include "base/memory.h"
#include "bench/results/result_reading.h"

/* Far more than any run has: a small file cannot make us allocate without end. */
enum { RESULTS_MAX = 1 << 14, ROOFS_MAX = 64, FINDINGS_MAX = 1 << 14, REFERENCES_MAX = 1 << 20 };

/* The samples are what was measured, and the summary is what they say. */
static bool summarize(struct reading *reading, struct measurement *measurement) {
    double sorted[MEASURE_SAMPLES];
    for (unsigned i = 0; i < measurement->sample_count; i++) {
        if (!isfinite(measurement->samples[i]))
            return reading_expected(reading, "numbers alone in samples_ns");
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
            ok = reading_take(reading, &value) && reading_words(reading, value);
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
    size_t most;
};

static bool take_list(struct reading *reading, const struct list *list, struct result_set *set) {
    bool more;
    if (!reading_open(reading, '[', &more))
        return status_context(reading->status, "%s", list->key);
    for (size_t i = 0; more; i++) {
        if (i == list->most)
            return reading_too_many(reading, list->most) ||
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
    return byte == 0 || reading_expected(reading, "nothing behind the document");
}

static bool check_head(struct reading *reading) {
    if (!reading->is_ours)
        return status_fail(reading->status, STATUS_INPUT, "it does not say \"schema\": \"%s\"",
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
